// Small models for the tests of sizes, and what is known of their values.
#pragma once

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "onnx_tag/error.h"
#include "support/onnx_models.h"
#include "uses/sizes/assumptions.h"
#include "uses/sizes/formulas.h"
#include "uses/sizes/shapes.h"

namespace onnx_tag::test {

using List = std::vector<std::int64_t>;

// A graph with inputs and initializers with their dimensions as
// words: "batch 3 ?"; a word is the name of a dimension, "?" has none.
class Maker {
 public:
  Maker& Input(const std::string& name, const std::string& dims, int type = 1) {
    FillInfo(*graph().add_input(), name, dims, type);
    return *this;
  }
  Maker& Weight(const std::string& name, const List& dims, int type = 1) {
    schema::TensorProto* const tensor = graph().add_initializer();
    tensor->set_name(name);
    tensor->set_data_type(type);
    for (const std::int64_t dim : dims) tensor->add_dims(dim);
    return *this;
  }
  Maker& Ints(const std::string& name, const List& numbers) {
    schema::TensorProto* const tensor = graph().add_initializer();
    tensor->set_name(name);
    tensor->set_data_type(7);
    tensor->add_dims(static_cast<std::int64_t>(numbers.size()));
    for (const std::int64_t number : numbers) tensor->add_int64_data(number);
    return *this;
  }
  Maker& Node(const std::string& op, std::initializer_list<std::string> inputs,
              std::initializer_list<std::string> outputs) {
    node_ = AddNode(graph(), op, op, inputs, outputs);
    return *this;
  }
  Maker& Attribute(const std::string& name, const List& ints) {
    schema::AttributeProto* const attribute = node_->add_attribute();
    attribute->set_name(name);
    for (const std::int64_t number : ints) attribute->add_ints(number);
    return *this;
  }
  Maker& Attribute(const std::string& name, std::int64_t number) {
    schema::AttributeProto* const attribute = node_->add_attribute();
    attribute->set_name(name);
    attribute->set_i(number);
    return *this;
  }
  Maker& TextAttribute(const std::string& name, const std::string& text) {
    schema::AttributeProto* const attribute = node_->add_attribute();
    attribute->set_name(name);
    attribute->set_s(text);
    return *this;
  }
  // A float initializer with its numbers.
  Maker& Floats(const std::string& name, const std::vector<float>& numbers) {
    schema::TensorProto* const tensor = graph().add_initializer();
    tensor->set_name(name);
    tensor->set_data_type(1);
    tensor->add_dims(static_cast<std::int64_t>(numbers.size()));
    for (const float number : numbers) tensor->add_float_data(number);
    return *this;
  }
  Maker& Scalar(const std::string& name, std::int64_t number) {
    schema::TensorProto* const tensor = graph().add_initializer();
    tensor->set_name(name);
    tensor->set_data_type(7);
    tensor->add_int64_data(number);
    return *this;
  }
  // What the file records of a value.
  Maker& Info(const std::string& name, const std::string& dims, int type = 1) {
    FillInfo(*graph().add_value_info(), name, dims, type);
    return *this;
  }
  Maker& Output(const std::string& name, const std::string& dims,
                int type = 1) {
    FillInfo(*graph().add_output(), name, dims, type);
    return *this;
  }
  schema::NodeProto& node() { return *node_; }
  // A graph in an attribute of the last node.
  schema::GraphProto& Body(const std::string& name) {
    schema::AttributeProto* const attribute = node_->add_attribute();
    attribute->set_name(name);
    return *attribute->mutable_g();
  }
  schema::GraphProto& graph() { return *model_.mutable_graph(); }
  schema::ModelProto& proto() { return model_; }
  std::string Bytes() {
    model_.set_ir_version(8);
    return model_.SerializeAsString();
  }

 private:
  static void FillInfo(schema::ValueInfoProto& info, const std::string& name,
                       const std::string& dims, int type) {
    info.set_name(name);
    auto& tensor = *info.mutable_type()->mutable_tensor_type();
    tensor.set_elem_type(type);
    auto& shape = *tensor.mutable_shape();
    std::string word;
    for (const char c : dims + " ") {
      if (c != ' ') {
        word += c;
        continue;
      }
      if (word.empty()) continue;
      auto& dim = *shape.add_dim();
      if (isdigit(static_cast<unsigned char>(word[0])) != 0 || word[0] == '-') {
        dim.set_dim_value(std::stoll(word));
      } else if (word != "?") {
        dim.set_dim_param(word);
      }
      word.clear();
    }
  }

  schema::ModelProto model_;
  schema::NodeProto* node_ = nullptr;
};

// What the program knows of a model.
struct Known {
  explicit Known(Maker& maker, const std::vector<sizes::GivenShape>& given = {})
      : bytes(maker.Bytes()), model(ReadModel(bytes)), shapes(model, given) {}

  ValueId Value(std::string_view name) const {
    for (std::size_t i = 0; i < model.value_count(); ++i) {
      const auto value = MakeId<ValueId>(i);
      if (model.ValueName(value) == name) return value;
    }
    ADD_FAILURE() << "no value " << name;
    return ValueId{0};
  }
  std::string Text(const sizes::Shape& shape) const {
    std::string text = "[";
    for (const sizes::Dim dim : shape) {
      if (text.size() > 1) text += ", ";
      text += FormulaText(shapes.formulas(), dim);
    }
    return text + "]";
  }
  // "[batch, 2·sequence, 3]", or "?" if not even the rank is known.
  std::string ShapeOf(std::string_view name) const {
    const auto& shape = shapes.Of(Value(name));
    return shape ? Text(*shape) : "?";
  }
  std::string Flops(std::uint32_t node) const {
    return FormulaText(shapes.formulas(), shapes.Flops(NodeId{node}));
  }

  std::string bytes;
  Model model;
  sizes::Shapes shapes;
};

}  // namespace onnx_tag::test
