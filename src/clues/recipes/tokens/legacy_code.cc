#include "clues/recipes/tokens/legacy_code.h"

#include <algorithm>
#include <cstring>
#include <limits>
#include <string_view>

#include "base/text.h"
#include "core/hierarchy/name_parts.h"
#include "file/model/onnx_fields.h"
#include "file/wire/field_reader.h"

namespace onnx_tag::recipes {
namespace {

// Whether the tensor of a Constant node is this single number.
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

bool HasConstant(const DataFlow& flow, float number) {
  const Model& model = flow.model();
  const auto& order = flow.Order();
  return std::any_of(order.begin(), order.end(), [&](NodeId node) {
    return model.OpType(node) == "Constant" &&
           IsConstant(model.NodeBytes(node), number);
  });
}

std::int64_t Opset(const Model& model) {
  for (const OpsetImport& opset : model.opset_imports()) {
    if (opset.domain.empty() || opset.domain == "ai.onnx") return opset.version;
  }
  return 0;
}

}  // namespace

bool ActivationsAreFunctions(const DataFlow& flow) {
  constexpr float kOldMask = -10000.0F;
  constexpr float kNewMask = std::numeric_limits<float>::lowest();
  constexpr std::int64_t kOldOpset = 13;
  const Model& model = flow.model();
  const auto version = Split(model.producer_version(), '.');
  if (model.producer_name() != "pytorch" || version.size() < 2 ||
      version[0] != "1") {
    return false;
  }
  const int minor = hierarchy::SmallNumber(version[1], 99);
  if (minor != 10) return minor < 10;
  return HasConstant(flow, kOldMask) ||
         (Opset(model) <= kOldOpset && !HasConstant(flow, kNewMask));
}

}  // namespace onnx_tag::recipes
