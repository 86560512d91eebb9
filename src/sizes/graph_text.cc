#include "sizes/graph_text.h"

#include "model/element_count.h"
#include "model/field_kinds.h"
#include "model/onnx_fields.h"
#include "sizes/attributes.h"
#include "wire/field_reader.h"

namespace onnx_tag::sizes {
namespace {

using model::Is;
using wire::Field;
using wire::FieldReader;

constexpr GraphId kMain{0};

std::uint32_t Key(ValueId value) {
  return static_cast<std::uint32_t>(Index(value));
}

}  // namespace

GraphText::GraphText(const Model& model, bool dim_names) {
  for (const Initializer& tensor : model.initializers()) {
    if (tensor.external || tensor.sparse ||
        model[tensor.value].graph != kMain ||
        CountElements(model.Dims(tensor)) > kMostElements) {
      continue;
    }
    small_.emplace(model.ValueName(tensor.value), tensor.value);
  }
  for (std::size_t i = 0; dim_names && i < model.value_count(); ++i) {
    const auto value = MakeId<ValueId>(i);
    if (model[value].graph != kMain) continue;
    if (model.InfoOf(value) == nullptr) continue;
    values_.emplace(model.ValueName(value), value);
  }
  if (small_.empty() && values_.empty()) return;
  FieldReader reader(model.bytes());
  for (Field field; reader.Next(field);) {
    if (Is(field, onnx::ModelProto::kGraph)) ReadGraph(field.bytes, dim_names);
  }
}

void GraphText::ReadGraph(Bytes graph, bool dim_names) {
  FieldReader reader(graph);
  for (Field field; reader.Next(field);) {
    if (Is(field, onnx::GraphProto::kInitializer)) {
      // No tensor of so few elements takes more.
      if (field.bytes.size() < 64 * kMostElements) ReadTensor(field.bytes);
    } else if (dim_names && (Is(field, onnx::GraphProto::kInput) ||
                             Is(field, onnx::GraphProto::kOutput) ||
                             Is(field, onnx::GraphProto::kValueInfo))) {
      ReadValueInfo(field.bytes);
    }
  }
}

void GraphText::ReadTensor(Bytes tensor) {
  FieldReader reader(tensor);
  for (Field field; reader.Next(field);) {
    if (!Is(field, onnx::TensorProto::kName)) continue;
    const auto found = small_.find(field.bytes);
    if (found != small_.end()) tensors_.emplace(Key(found->second), tensor);
  }
}

void GraphText::ReadValueInfo(Bytes info) {
  std::string_view name;
  std::vector<std::string_view> dims;
  bool named = false;
  const auto read_dim = [&](Bytes dim) {
    dims.emplace_back();
    FieldReader reader(dim);
    for (Field field; reader.Next(field);) {
      if (!Is(field, onnx::TensorShapeProtoDimension::kDimParam)) continue;
      dims.back() = field.bytes;
      named = true;
    }
  };
  FieldReader reader(info);
  for (Field field; reader.Next(field);) {
    if (Is(field, onnx::ValueInfoProto::kName)) name = field.bytes;
    if (!Is(field, onnx::ValueInfoProto::kType)) continue;
    FieldReader types(field.bytes);
    for (Field type; types.Next(type);) {
      if (!Is(type, onnx::TypeProto::kTensorType)) continue;
      FieldReader parts(type.bytes);
      for (Field part; parts.Next(part);) {
        if (!Is(part, onnx::TypeProtoTensor::kShape)) continue;
        FieldReader shape(part.bytes);
        for (Field dim; shape.Next(dim);) {
          if (Is(dim, onnx::TensorShapeProto::kDim)) read_dim(dim.bytes);
        }
      }
    }
  }
  const auto found = values_.find(name);
  if (named && found != values_.end()) {
    dims_.emplace(Key(found->second), std::move(dims));
  }
}

Bytes GraphText::SmallTensorOf(ValueId value) const {
  const auto found = tensors_.find(Key(value));
  return found == tensors_.end() ? Bytes() : found->second;
}

std::string_view GraphText::DimName(ValueId value, std::size_t axis) const {
  const auto found = dims_.find(Key(value));
  return found == dims_.end() || axis >= found->second.size()
             ? std::string_view()
             : found->second[axis];
}

}  // namespace onnx_tag::sizes
