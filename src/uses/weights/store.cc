#include <algorithm>

#include "core/graph/operators.h"
#include "file/io/paths.h"
#include "file/model/attributes.h"
#include "file/model/field_kinds.h"
#include "file/model/message_walk.h"
#include "file/model/tensor_data.h"
#include "onnx_tag/error.h"
#include "uses/weights/refit.h"

namespace onnx_tag::weights {
namespace {

// The initializers of all graphs, by name; a name that occurs twice has none.
struct InitializerFinder {
  std::unordered_map<std::string_view, Bytes> found = {};

  bool Visit(const wire::Field& field, const onnx::FieldInfo& info) {
    if (info.child == onnx::MessageType::kTensorProto) {
      if (info.in != onnx::MessageType::kGraphProto) return false;
      const auto [at, added] = found.try_emplace(
          model::LastOf(field.bytes, onnx::TensorProto::kName), field.bytes);
      if (!added) at->second = {};
      return false;
    }
    return info.child == onnx::MessageType::kGraphProto ||
           info.child == onnx::MessageType::kNodeProto ||
           info.child == onnx::MessageType::kAttributeProto;
  }
  void Leave() {}
};

}  // namespace

std::uint64_t BytesOf(const Stored& stored) {
  return CountBytes(stored.count, stored.type);
}

Store::Store(const ModelFile& file) : files_(file.file()) {
  const Model& model = file.model();
  InitializerFinder finder;
  model::Walk(model.bytes(), onnx::MessageType::kModelProto, finder);
  const std::vector<Initializer>& list = model.initializers();
  for (std::uint32_t i = 0; i < list.size(); ++i) {
    const std::string_view name = model.ValueName(list[i].value);
    const auto at = finder.found.find(name);
    Add(at == finder.found.end() ? Bytes() : at->second, std::string(name),
        list[i].value, i);
    // What the file says of it without its bytes.
    tensors_.back().type = list[i].data_type;
    const auto dims = model.Dims(list[i]);
    tensors_.back().dims.assign(dims.begin(), dims.end());
    tensors_.back().count = CountElements(dims);
  }
  const Operators ops(model);
  for (const NodeId node : model.Nodes()) {
    if (ops[node] != Op::kConstant || model.Outputs(node).empty()) continue;
    const auto attribute = FindAttribute(model.NodeBytes(node), "value");
    if (!attribute || attribute->tensor.empty()) continue;
    const ValueId value = model.Outputs(node)[0];
    if (value == kNo<ValueId>) continue;
    Add(attribute->tensor, std::string(model.ValueName(value)), value,
        kNoTensor);
  }
}

void Store::Add(Bytes tensor, std::string name, ValueId value,
                std::uint32_t initializer) {
  Stored stored{{std::move(name)}, value, initializer, tensor};
  if (!tensor.empty()) {
    TensorData data = ReadTensorData(tensor);
    stored.type = data.data_type;
    stored.dims = data.dims;
    stored.count = CountElements(data.dims);
    stored.location = data.location;
    stored.in_place = data.converted.empty() || !data.location.empty();
    const WeightFiles::Piece piece = files_.Read(data);
    stored.file = piece.file;
    stored.bytes = piece.bytes;
    if (!stored.in_place) {
      converted_.push_back(std::move(data.converted));
      stored.bytes = converted_.back();
    }
    if (stored.bytes.size() != BytesOf(stored)) stored.bytes = {};
  }
  tensors_.push_back(std::move(stored));
}

}  // namespace onnx_tag::weights
