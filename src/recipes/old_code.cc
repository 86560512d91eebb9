#include "recipes/old_code.h"

#include <cstring>
#include <string_view>

#include "base/text.h"
#include "hierarchy/cut.h"
#include "model/onnx_fields.h"
#include "wire/field_reader.h"

namespace onnx_tag::recipes {
namespace {

// The tensor of a Constant node is this one number.
bool IsConstant(Bytes node, float number) {
  wire::FieldReader reader(node);
  for (wire::Field field; reader.Next(field);) {
    if (field.number != onnx::NodeProto::kAttribute || !field.IsBytes()) {
      continue;
    }
    wire::FieldReader attribute(field.bytes);
    for (wire::Field part; attribute.Next(part);) {
      if (part.number != onnx::AttributeProto::kT || !part.IsBytes()) continue;
      wire::FieldReader tensor(part.bytes);
      for (wire::Field data; tensor.Next(data);) {
        float value = 0;
        if (data.number != onnx::TensorProto::kRawData || !data.IsBytes() ||
            data.bytes.size() != sizeof(value)) {
          continue;
        }
        std::memcpy(&value, data.bytes.data(), sizeof(value));
        if (value == number) return true;
      }
    }
  }
  return false;
}

}  // namespace

bool ActivationsAreFunctions(const DataFlow& flow) {
  constexpr float kOldMask = -10000.0F;
  const Model& model = flow.model();
  const auto version = Split(model.producer_version(), '.');
  if (model.producer_name() != "pytorch" || version.size() < 2 ||
      version[0] != "1") {
    return false;
  }
  const int minor = hierarchy::SmallNumber(version[1], 99);
  if (minor <= 9) return true;
  if (minor > 10) return false;
  for (const NodeId node : flow.Order()) {
    if (model.OpType(node) == "Constant" &&
        IsConstant(model.NodeBytes(node), kOldMask)) {
      return true;
    }
  }
  return false;
}

}  // namespace onnx_tag::recipes
