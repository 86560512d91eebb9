// A stack of layers to record and to ask for, and a book of such recipes.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "clues/recipes/answer/ask_book.h"
#include "clues/recipes/book/recipe.h"
#include "clues/recipes/small_model.h"

namespace onnx_tag::recipes::test {

class ListBook : public Book {
 public:
  void Add(Recipe recipe) {
    summaries_.push_back(Summarize(recipe));
    recipes_.push_back(std::move(recipe));
  }
  std::size_t size() const override { return recipes_.size(); }
  SummaryView Summary(std::size_t index) const override {
    return summaries_[index].view();
  }
  Recipe Read(std::size_t index) const override { return recipes_[index]; }
  bool HasPaddleNames(std::size_t index) const override {
    return recipes_[index].paddle_names;
  }

 private:
  std::vector<Recipe> recipes_;
  std::vector<recipes::Summary> summaries_;
};

// A stack of layers (up, act, down, a residual, a norm) between an embedding
// and a head.
struct Stack {
  std::vector<std::string> lines;
  std::vector<std::string> modules;
  Tensors tensors;

  void Node(const std::string& line, const std::string& module) {
    lines.push_back(line);
    modules.push_back(module);
  }
  // The weight of a product has lost its name; a bias has one where `named`.
  std::string Linear(const std::string& from, const std::string& module,
                     bool named) {
    const std::string id = std::to_string(lines.size());
    const std::string bias = named ? module + ".bias" : "onnx::Add_" + id;
    tensors.emplace_back("onnx::MatMul_" + id, 2);
    tensors.emplace_back(bias, 1);
    Node("MatMul " + from + " onnx::MatMul_" + id + " -> m" + id, module);
    Node("Add m" + id + " " + bias + " -> l" + id, module);
    return "l" + id;
  }
};

// An embedding, layers and a pool; returns what it makes.
inline std::string AddTower(Stack& stack, const std::string& from, int layers,
                            const std::string& prefix, bool named = true,
                            const std::string& list = "layers") {
  std::string at = stack.Linear(from, prefix + "embed", named);
  for (int i = 0; i < layers; ++i) {
    const std::string layer = prefix + list + "." + std::to_string(i);
    const std::string up = stack.Linear(at, layer + ".mlp.up", named);
    stack.Node("Relu " + up + " -> r" + up, layer + ".mlp.act");
    const std::string down = stack.Linear("r" + up, layer + ".mlp.down", named);
    stack.Node("Add " + at + " " + down + " -> s" + down, layer);
    stack.tensors.emplace_back(layer + ".norm.weight", 1);
    stack.tensors.emplace_back(layer + ".norm.bias", 1);
    stack.Node("LayerNormalization s" + down + " " + layer + ".norm.weight " +
                   layer + ".norm.bias -> n" + down,
               layer + ".norm");
    at = "n" + down;
  }
  stack.Node("Tanh " + at + " -> t" + at, prefix + "pool");
  return "t" + at;
}

inline Stack MakeStack(int layers, bool named, const std::string& prefix = "",
                       const std::string& list = "layers") {
  Stack stack;
  stack.Linear(AddTower(stack, "x", layers, prefix, named, list), "head",
               named);
  return stack;
}

// By node, what the book says.
inline std::vector<std::string> Ask(const Stack& stack, const Book& book) {
  const SmallModel model(stack.lines, stack.tensors);
  std::vector<std::string> paths(stack.lines.size(), "-");
  for (const NodeAnswer& node :
       AskBook(TokenGraph(GraphFacts(model.model())), book).nodes) {
    paths[Index(node.node)] = node.path;
  }
  return paths;
}

inline ListBook BookOf(const Stack& stack) {
  ListBook book;
  book.Add(SmallModel(stack.lines, stack.tensors).Record(stack.modules));
  return book;
}

}  // namespace onnx_tag::recipes::test
