// A small model in ONNX's text syntax, as far as tests of rungs need it:
//
//   main (x) => (c) {
//     [/net/fc/Gemm] a = Gemm (x, net.fc.weight)
//       @ pkg.torch.onnx.name_scopes = ['', 'net.fc', 'linear']
//     b = Slice <axes = [1], mode = "x"> (a)
//     c = If (b) <then_branch = then () => (d) { d = Relu (a) }>
//   }
//   <custom> helper (i) => (o) { o = Relu (i) }
//
// [name] is the node's name, @ an entry of its metadata; `custom.helper (x)`
// calls a function. Names are any text without blanks, commas and brackets.
#pragma once

#include <algorithm>
#include <stdexcept>
#include <string>
#include <string_view>

#include "onnx_tag_schema.pb.h"

namespace onnx_tag::test {

class GraphText {
 public:
  // Adds the graph and the functions of `text` to `model`.
  static void Read(std::string_view text, schema::ModelProto& model) {
    GraphText reader(text);
    reader.ReadGraph(*model.mutable_graph());
    while (!reader.AtEnd()) {
      reader.Expect('<');
      schema::FunctionProto* const function = model.add_functions();
      function->set_domain(reader.Word());
      reader.Expect('>');
      function->set_name(reader.Word());
      reader.ReadBody(
          *function, [&](std::string name) { function->add_input(name); },
          [&](std::string name) { function->add_output(name); });
    }
  }

 private:
  // AttributeProto.AttributeType of the specification.
  enum Type { kFloat = 1, kInt = 2, kString = 3, kGraph = 5, kInts = 7 };

  explicit GraphText(std::string_view text) : rest_(text) {}

  void SkipBlanks() {
    while (!rest_.empty()) {
      if (rest_.starts_with("//")) {
        rest_.remove_prefix(std::min(rest_.find('\n'), rest_.size()));
      } else if (rest_.front() == ' ' || rest_.front() == '\n') {
        rest_.remove_prefix(1);
      } else {
        return;
      }
    }
  }
  bool AtEnd() {
    SkipBlanks();
    return rest_.empty();
  }
  bool Accept(char c) {
    if (AtEnd() || rest_.front() != c) return false;
    rest_.remove_prefix(1);
    return true;
  }
  void Expect(char c) {
    if (Accept(c)) return;
    throw std::runtime_error("expected '" + std::string(1, c) +
                             "' before: " + std::string(rest_.substr(0, 60)));
  }
  std::string Until(std::string_view ends) {
    SkipBlanks();
    const std::size_t size = std::min(rest_.find_first_of(ends), rest_.size());
    const std::string text(rest_.substr(0, size));
    rest_.remove_prefix(size);
    return text;
  }
  std::string Word() { return Until(" ,=()[]{}<>\n"); }

  // "(a, b)"
  template <typename Add>
  void ReadNames(const Add& add) {
    Expect('(');
    while (!Accept(')')) {
      add(Word());
      Accept(',');
    }
  }

  template <typename Body, typename AddInput, typename AddOutput>
  void ReadBody(Body& body, const AddInput& add_input,
                const AddOutput& add_output) {
    ReadNames(add_input);
    Expect('=');
    Expect('>');
    ReadNames(add_output);
    Expect('{');
    while (!Accept('}')) ReadNode(*body.add_node());
  }

  void ReadGraph(schema::GraphProto& graph) {
    graph.set_name(Word());
    ReadBody(
        graph, [&](std::string name) { graph.add_input()->set_name(name); },
        [&](std::string name) { graph.add_output()->set_name(name); });
  }

  void ReadNode(schema::NodeProto& node) {
    if (Accept('[')) {
      node.set_name(Until("]"));
      Expect(']');
    }
    do {
      node.add_output(Word());
    } while (Accept(','));
    Expect('=');
    const std::string op = Word();
    const std::size_t dot = op.rfind('.');
    if (dot != op.npos) node.set_domain(op.substr(0, dot));
    node.set_op_type(op.substr(dot + 1));
    ReadAttributes(node);
    ReadNames([&](std::string name) {
      node.add_input(name == "_" ? std::string() : name);
    });
    ReadAttributes(node);
    while (Accept('@')) {
      schema::StringStringEntryProto* const entry = node.add_metadata_props();
      entry->set_key(Word());
      Expect('=');
      entry->set_value(Until("\n"));
    }
  }

  void ReadAttributes(schema::NodeProto& node) {
    if (!Accept('<')) return;
    while (!Accept('>')) {
      schema::AttributeProto* const attribute = node.add_attribute();
      attribute->set_name(Word());
      Expect('=');
      ReadValue(*attribute);
      Accept(',');
    }
  }

  void ReadValue(schema::AttributeProto& attribute) {
    if (Accept('"')) {
      attribute.set_type(kString);
      attribute.set_s(Until("\""));
      Expect('"');
    } else if (Accept('[')) {
      attribute.set_type(kInts);
      while (!Accept(']')) {
        attribute.add_ints(std::stoll(Word()));
        Accept(',');
      }
    } else if (rest_.front() == '-' || (rest_[0] >= '0' && rest_[0] <= '9')) {
      const std::string number = Word();
      if (number.find('.') == number.npos) {
        attribute.set_type(kInt);
        attribute.set_i(std::stoll(number));
      } else {
        attribute.set_type(kFloat);
        attribute.set_f(std::stof(number));
      }
    } else {
      attribute.set_type(kGraph);
      ReadGraph(*attribute.mutable_g());
    }
  }

  std::string_view rest_;
};

}  // namespace onnx_tag::test
