#include <algorithm>
#include <deque>

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

// Numbers that lie in one field as in raw_data; empty if they do not.
Bytes PlainNumbers(Bytes tensor, const TensorData& data) {
  if (!data.raw.empty()) return data.raw;
  Bytes found;
  int fields = 0;
  wire::FieldReader reader(tensor);
  for (wire::Field field; reader.Next(field);) {
    if (field.number != onnx::TensorProto::kFloatData &&
        field.number != onnx::TensorProto::kDoubleData) {
      continue;
    }
    ++fields;
    found = field.IsBytes() ? field.bytes : Bytes();
  }
  return fields == 1 ? found : Bytes();
}

}  // namespace

std::uint64_t BytesOf(const Stored& stored) {
  return CountBytes(stored.count, stored.type);
}

Store::Store(const ModelFile& file) : file_(file) {
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
        0xffffffff);
  }
}

void Store::Add(Bytes tensor, std::string name, ValueId value,
                std::uint32_t initializer) {
  Stored stored{std::move(name), value, initializer, tensor};
  if (!tensor.empty()) {
    const TensorType type = ReadTensorType(tensor);
    stored.type = type.data_type;
    stored.dims = type.dims;
    stored.count = CountElements(type.dims);
    // Reads the numbers of a large tensor only where they are no view.
    TensorData head;
    wire::FieldReader reader(tensor);
    for (wire::Field field; reader.Next(field);) {
      if (model::Is(field, onnx::TensorProto::kRawData)) head.raw = field.bytes;
      if (!model::Is(field, onnx::TensorProto::kExternalData)) continue;
      head = ReadTensorData(tensor);
      break;
    }
    if (!head.location.empty()) {
      stored.location = head.location;
      ReadExternal(stored, head.offset, head.length);
    } else {
      stored.bytes = PlainNumbers(tensor, head);
      stored.file = &file_.file();
      if (stored.bytes.empty() && stored.count > 0) {
        stored.in_place = false;
        stored.file = nullptr;
        converted_.push_back(ReadTensorData(tensor).converted);
        stored.bytes = converted_.back();
      }
    }
    if (stored.bytes.size() != CountBytes(stored.count, stored.type)) {
      stored.bytes = {};
    }
  }
  tensors_.push_back(std::move(stored));
}

// Files outside the folder of the model are not read.
void Store::ReadExternal(Stored& stored, std::uint64_t offset,
                         std::optional<std::uint64_t> length) {
  const auto path = ToPath(stored.location);
  const bool inside =
      path.is_relative() &&
      std::none_of(path.begin(), path.end(),
                   [](const auto& part) { return part == ".."; });
  auto [at, fresh] = files_.try_emplace(stored.location);
  if (fresh && inside) {
    try {
      at->second = std::make_unique<MappedFile>(
          MappedFile::Open(ToText(ToPath(ParentFolder(file_.path())) / path)));
    } catch (const Error&) {
      at->second.reset();  // its tensors are refused
    }
  }
  const MappedFile* const file = at->second.get();
  const std::uint64_t size = CountBytes(stored.count, stored.type);
  if (file == nullptr || offset > file->size() ||
      size > file->size() - offset || length.value_or(size) != size) {
    return;
  }
  stored.bytes = file->bytes().substr(offset, size);
  stored.file = file;
}

}  // namespace onnx_tag::weights
