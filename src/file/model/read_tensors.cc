// Reads types and shapes of weights and values, but only the first bytes of
// weight data.
// Tested by tests/file/model/reader_test.cc.
#include "file/model/field_kinds.h"
#include "file/model/message_walk.h"
#include "file/model/onnx_fields.h"
#include "file/model/reader.h"

namespace onnx_tag {
namespace {

using model::Deeper;
using model::Is;
using model::IsInt;
using wire::Field;
using wire::FieldReader;

void AppendInts(const Field& field, std::vector<std::int64_t>& out) {
  wire::ForEachVarint(field, [&](std::uint64_t value) {
    out.push_back(static_cast<std::int64_t>(value));
  });
}

// Looks at a few bytes behind the header, which are in memory with it. Eight
// bytes hold whole elements of every type.
bool IsUniform(Bytes data) {
  constexpr std::size_t kWord = 8;
  constexpr std::size_t kLookedAt = 8 * kWord;
  data = data.substr(0, kLookedAt);
  const auto repeats = [&](std::size_t bytes) {
    return data.substr(bytes) == data.substr(0, data.size() - bytes);
  };
  // Integers of a quantizer have one byte each.
  return (data.size() >= 2 * kWord && repeats(kWord)) ||
         (data.size() >= kWord && repeats(1));
}

}  // namespace

// `tensor.value` becomes the id of its name; NameResolver replaces it by that
// of the value.
void ModelReader::ReadTensorHeader(const Field& whole, Initializer& tensor,
                                   int depth) {
  const int inside = Deeper(whole, depth);
  std::vector<std::int64_t> dims;
  bool external = false;
  bool unreadable = false;
  std::string_view location;
  FieldReader reader(whole.bytes, inside);
  for (Field field; reader.Next(field);) {
    if (field.number == onnx::TensorProto::kDims) {
      AppendInts(field, dims);
    } else if (IsInt(field, onnx::TensorProto::kDataType)) {
      tensor.data_type = static_cast<std::int32_t>(field.varint);
    } else if (Is(field, onnx::TensorProto::kName)) {
      tensor.value = MakeId<ValueId>(
          Index(InternTensorName(field.bytes, whole.bytes.size())));
    } else if (IsInt(field, onnx::TensorProto::kDataLocation)) {
      external = field.varint == 1;
    } else if (Is(field, onnx::TensorProto::kExternalData)) {
      const MetadataEntry entry = ReadEntry(field, inside);
      if (entry.key == "location") location = entry.value;
    } else {
      if (Is(field, onnx::TensorProto::kRawData)) {
        tensor.uniform = IsUniform(field.bytes);
      }
      model::CheckField(field, onnx::MessageType::kTensorProto, inside,
                        unreadable);
    }
  }
  tensor.external = external;
  if (unreadable) {
    model_.unreadable_.push_back(
        tensor.value == kNo<ValueId>
            ? std::string_view()
            : model_.Name(MakeId<NameId>(Index(tensor.value))));
  } else if (!external && whole.bytes.size() <= Initializer::kMostSmall) {
    tensor.small = whole.bytes;
  }
  SetDims(dims, tensor);
  if (external && external_seen_.insert(location).second) {
    model_.external_files_.push_back(location);
  }
}

void ModelReader::ReadInitializer(const Field& field, GraphId graph,
                                  int depth) {
  Initializer tensor{.value = kNo<ValueId>};
  ReadTensorHeader(field, tensor, depth);
  AddInitializer(tensor, graph);
}

void ModelReader::SetDims(const std::vector<std::int64_t>& dims,
                          Initializer& tensor) {
  tensor.first_dim = static_cast<std::uint32_t>(model_.dims_.size());
  tensor.rank = static_cast<std::uint32_t>(dims.size());
  model_.dims_.insert(model_.dims_.end(), dims.begin(), dims.end());
}

void ModelReader::AddInitializer(Initializer tensor, GraphId graph) {
  if (tensor.value == kNo<ValueId>) {
    tensor.value = MakeId<ValueId>(Index(Intern("")));
  }
  graph_names_[Index(graph)].initializers.push_back(
      static_cast<std::uint32_t>(model_.initializers_.size()));
  model_.initializers_.push_back(tensor);
}

void ModelReader::ReadSparseInitializer(const Field& whole, GraphId graph,
                                        int depth) {
  const int inside = Deeper(whole, depth);
  Initializer tensor{.value = kNo<ValueId>};
  std::vector<std::int64_t> dims;
  FieldReader reader(whole.bytes, inside);
  for (Field field; reader.Next(field);) {
    if (Is(field, onnx::SparseTensorProto::kValues)) {
      ReadTensorHeader(field, tensor, inside);
    } else if (Is(field, onnx::SparseTensorProto::kIndices)) {
      bool unread = false;  // indices are not needed
      model::CheckField(field, onnx::MessageType::kSparseTensorProto, inside,
                        unread);
    } else if (field.number == onnx::SparseTensorProto::kDims) {
      AppendInts(field, dims);
    }
  }
  tensor.sparse = true;
  tensor.small = {};
  SetDims(dims, tensor);
  AddInitializer(tensor, graph);
}

void ModelReader::ReadValueInfo(const Field& whole, GraphId graph,
                                std::vector<NameId>* names, int depth) {
  const int inside = Deeper(whole, depth);
  ValueInfo info;
  NameId name = kNo<NameId>;
  info.first_metadata =
      static_cast<std::uint32_t>(model_.value_metadata_.size());
  FieldReader reader(whole.bytes, inside);
  for (Field field; reader.Next(field);) {
    if (Is(field, onnx::ValueInfoProto::kName)) {
      name = Intern(field.bytes);
    } else if (Is(field, onnx::ValueInfoProto::kType)) {
      ReadType(field, info, inside);
    } else if (Is(field, onnx::ValueInfoProto::kMetadataProps)) {
      model_.value_metadata_.push_back(ReadEntry(field, inside));
    }
  }
  info.metadata_count =
      static_cast<std::uint32_t>(model_.value_metadata_.size()) -
      info.first_metadata;
  if (name == kNo<NameId>) name = Intern("");
  if (names != nullptr) names->push_back(name);
  graph_names_[Index(graph)].infos.push_back(
      {name, static_cast<std::uint32_t>(model_.value_infos_.size())});
  model_.value_infos_.push_back(info);
}

void ModelReader::ReadType(const Field& field, ValueInfo& info, int depth) {
  // What is below is well-formed then.
  model::CheckField(field, onnx::MessageType::kValueInfoProto, depth);
  info.type = field.bytes;
  using onnx::TensorShapeProtoDimension;
  FieldReader type(field.bytes);
  for (Field tensor; type.Next(tensor);) {
    if (!Is(tensor, onnx::TypeProto::kTensorType)) continue;
    FieldReader parts(tensor.bytes);
    for (Field part; parts.Next(part);) {
      if (IsInt(part, onnx::TypeProtoTensor::kElemType)) {
        info.data_type = static_cast<std::int32_t>(part.varint);
      } else if (Is(part, onnx::TypeProtoTensor::kShape)) {
        info.has_shape = true;
        info.first_dim = static_cast<std::uint32_t>(model_.dims_.size());
        FieldReader shape(part.bytes);
        for (Field dim; shape.Next(dim);) {
          if (!Is(dim, onnx::TensorShapeProto::kDim)) continue;
          // -1: symbolic or unknown.
          model_.dims_.push_back(model::LastInt(
              dim.bytes, TensorShapeProtoDimension::kDimValue, -1));
        }
        info.rank =
            static_cast<std::uint32_t>(model_.dims_.size()) - info.first_dim;
      }
    }
  }
}

}  // namespace onnx_tag
