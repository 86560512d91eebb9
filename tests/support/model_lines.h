// Small graphs, written down as lines and read as files are.
//
//   ModelLines model({"MatMul x w -> y", "Add y b -> z"}, {{"w", 2}, {"b",
//   1}});
#pragma once

#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "onnx_tag/model.h"
#include "onnx_tag_schema.pb.h"

namespace onnx_tag::test {

// A tensor of the file and its rank.
using Tensors = std::vector<std::pair<std::string, int>>;

class ModelLines {
 public:
  // Each line: an operator, what it reads, "->", what it makes. `x` is fed;
  // the last value is the output. `Op[name=text]` has an attribute; a number
  // is a float. `-` is an input that is left out.
  ModelLines(const std::vector<std::string>& lines, const Tensors& tensors)
      : bytes_(Write(lines, tensors)), model_(ReadModel(bytes_)) {}

  const Model& model() const { return model_; }
  const std::string& bytes() const { return bytes_; }

  // kNo if there is no such value.
  ValueId Value(std::string_view name) const {
    for (const ValueId id : AllIds<ValueId>(model_.value_count())) {
      if (model_.ValueName(id) == name) return id;
    }
    return kNo<ValueId>;
  }

 private:
  static std::string Write(const std::vector<std::string>& lines,
                           const Tensors& tensors) {
    schema::ModelProto proto;
    proto.set_ir_version(8);
    schema::GraphProto* const graph = proto.mutable_graph();
    graph->add_input()->set_name("x");
    for (const auto& [name, rank] : tensors) {
      schema::TensorProto* const tensor = graph->add_initializer();
      tensor->set_name(name);
      for (int i = 0; i < rank; ++i) tensor->add_dims(2 + i);
    }
    std::string last;
    for (const std::string& line : lines) {
      std::istringstream words(line);
      schema::NodeProto* const node = graph->add_node();
      std::string word;
      words >> word;
      SetOperator(word, *node);
      bool makes = false;
      while (words >> word) {
        if (word == "->") {
          makes = true;
        } else if (makes) {
          node->add_output(word);
          last = word;
        } else {
          node->add_input(word == "-" ? "" : word);
        }
      }
    }
    graph->add_output()->set_name(last);
    return proto.SerializeAsString();
  }

  static void SetOperator(const std::string& word, schema::NodeProto& node) {
    const std::size_t open = word.find('[');
    node.set_op_type(word.substr(0, open));
    if (open == std::string::npos) return;
    const std::size_t equals = word.find('=');
    const std::string value = word.substr(equals + 1, word.size() - equals - 2);
    schema::AttributeProto* const attribute = node.add_attribute();
    attribute->set_name(word.substr(open + 1, equals - open - 1));
    if (value.find_first_not_of("0123456789.") == std::string::npos) {
      attribute->set_f(std::stof(value));
    } else {
      attribute->set_s(value);
    }
  }

  std::string bytes_;
  Model model_;
};

// The same graph as the body of an If of a file that has the tensors itself.
inline std::string InABranch(const std::string& bytes) {
  schema::ModelProto proto;
  proto.ParseFromString(bytes);
  schema::GraphProto body = proto.graph();
  schema::GraphProto* const main = proto.mutable_graph();
  main->clear_node();
  body.clear_input();
  body.clear_initializer();
  main->add_input()->set_name("which");
  schema::NodeProto* const branch = main->add_node();
  branch->set_op_type("If");
  branch->add_input("which");
  branch->add_output("chosen");
  schema::AttributeProto* const attribute = branch->add_attribute();
  attribute->set_name("then_branch");
  *attribute->mutable_g() = std::move(body);
  main->mutable_output(0)->set_name("chosen");
  return proto.SerializeAsString();
}

}  // namespace onnx_tag::test
