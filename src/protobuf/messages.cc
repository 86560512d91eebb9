// Tested by tests/protobuf/messages_test.cc.
#include "protobuf/messages.h"

#include "onnx_tag_lite.pb.h"

namespace onnx_tag::protobuf {
namespace {

lite::TypeProto TypeIn(Bytes info) {
  lite::ValueInfoProto known;
  // The file was checked when it was read.
  if (!known.ParseFromArray(info.data(), static_cast<int>(info.size()))) {
    return {};
  }
  return std::move(*known.mutable_type());
}

// An empty type has no size. A type of another kind than tensor, sequence or
// optional is an unknown field, and has one.
bool IsEmpty(const lite::TypeProto& type) { return type.ByteSizeLong() == 0; }

bool IsComplete(const lite::TypeProto& type) {
  if (!type.has_tensor_type()) return !IsEmpty(type);
  return type.tensor_type().elem_type() != 0 && type.tensor_type().has_shape();
}

}  // namespace

std::string BuildValueInfo(std::string_view name, Bytes known,
                           TensorType type) {
  lite::ValueInfoProto info;
  info.set_name(name.data(), name.size());
  lite::TypeProto said = TypeIn(known);
  if (IsComplete(said) || (!IsEmpty(said) && type.element == 0)) {
    *info.mutable_type() = std::move(said);
  } else if (type.element != 0) {
    lite::TypeProto::Tensor& tensor =
        *info.mutable_type()->mutable_tensor_type();
    tensor.set_elem_type(type.element);
    if (type.rank >= 0) tensor.mutable_shape();
    for (std::int32_t i = 0; i < type.rank; ++i) {
      tensor.mutable_shape()->add_dim();
    }
  }
  return info.SerializeAsString();
}

bool IsCompleteInfo(Bytes known, TensorType type) {
  return (type.element != 0 && type.rank >= 0) || IsComplete(TypeIn(known));
}

std::string BuildIdentity(std::string_view name, std::string_view input,
                          std::string_view output) {
  lite::NodeProto node;
  node.add_input(input.data(), input.size());
  node.add_output(output.data(), output.size());
  node.set_name(name.data(), name.size());
  node.set_op_type("Identity");
  return node.SerializeAsString();
}

std::string BuildMetadataEntry(std::string_view key, std::string_view value) {
  lite::StringStringEntryProto entry;
  entry.set_key(key.data(), key.size());
  entry.set_value(value.data(), value.size());
  return entry.SerializeAsString();
}

}  // namespace onnx_tag::protobuf
