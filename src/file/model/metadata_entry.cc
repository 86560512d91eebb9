#include "file/model/metadata_entry.h"

#include "file/model/field_kinds.h"
#include "file/model/onnx_fields.h"

namespace onnx_tag::model {

MetadataEntry ReadEntry(const wire::Field& field, int depth) {
  MetadataEntry entry;
  entry.whole = field.whole;
  wire::FieldReader reader(field.bytes, depth);
  for (wire::Field part; reader.Next(part);) {
    if (Is(part, onnx::StringStringEntryProto::kKey)) {
      entry.key = part.bytes;
    } else if (Is(part, onnx::StringStringEntryProto::kValue)) {
      entry.value = part.bytes;
    }
  }
  return entry;
}

}  // namespace onnx_tag::model
