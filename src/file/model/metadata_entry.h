// A key and its value: of metadata, and of weights in other files.
#ifndef ONNX_TAG_FILE_MODEL_METADATA_ENTRY_H_
#define ONNX_TAG_FILE_MODEL_METADATA_ENTRY_H_

#include "file/wire/field_reader.h"
#include "onnx_tag/model.h"

namespace onnx_tag::model {

// `field` holds a StringStringEntryProto, `depth` messages deep in the file.
MetadataEntry ReadEntry(const wire::Field& field, int depth = 0);

}  // namespace onnx_tag::model

#endif  // ONNX_TAG_FILE_MODEL_METADATA_ENTRY_H_
