// Tested by tests/file/protobuf/messages_test.cc.
#include "file/protobuf/messages.h"

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

bool IsOfAnotherKind(const lite::TypeProto& type) {
  return !type.has_tensor_type() && !type.has_sequence_type();
}

bool IsComplete(const lite::TypeProto& type) {
  if (!type.has_tensor_type()) return !IsEmpty(type);
  return type.tensor_type().elem_type() != 0 && type.tensor_type().has_shape();
}

}  // namespace

std::string BuildValueInfo(std::string_view name, Bytes known,
                           const TensorType& type) {
  lite::ValueInfoProto info;
  info.set_name(name.data(), name.size());
  lite::TypeProto said = TypeIn(known);
  if (!IsEmpty(said) && (type.element == 0 || IsOfAnotherKind(said))) {
    *info.mutable_type() = std::move(said);
  } else if (type.element != 0) {
    lite::TypeProto* element = info.mutable_type();
    if (type.sequence) {
      element = element->mutable_sequence_type()->mutable_elem_type();
    }
    lite::TypeProto::Tensor& tensor = *element->mutable_tensor_type();
    tensor.set_elem_type(type.element);
    if (type.dims) {
      tensor.mutable_shape();
      for (const TensorDim& dim : *type.dims) {
        auto& open = *tensor.mutable_shape()->add_dim();
        if (dim.number >= 0) {
          open.set_dim_value(dim.number);
        } else if (!dim.name.empty()) {
          open.set_dim_param(dim.name);
        }
      }
    }
  }
  return info.SerializeAsString();
}

bool IsCompleteInfo(Bytes known, const TensorType& type) {
  return (type.element != 0 && (type.dims || type.sequence)) ||
         IsComplete(TypeIn(known));
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
