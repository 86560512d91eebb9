// The book's answers: how depth is counted, and when nothing is said.
#include "recipes/match.h"

#include <gtest/gtest.h>

#include <map>

#include "recipes/small_model.h"
#include "recipes/summary.h"

namespace onnx_tag::recipes::test {
namespace {

class ListBook : public Book {
 public:
  void Add(Recording recording) {
    summaries_.push_back(Summarize(recording));
    recordings_.push_back(std::move(recording));
  }
  std::size_t size() const override { return recordings_.size(); }
  SummaryView Summary(std::size_t index) const override {
    return summaries_[index].view();
  }
  Recording Read(std::size_t index) const override {
    return recordings_[index];
  }

 private:
  std::vector<Recording> recordings_;
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

Stack MakeStack(int layers, bool named, const std::string& prefix = "",
                const std::string& list = "layers") {
  Stack stack;
  std::string at = stack.Linear("x", prefix + "embed", named);
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
  stack.Node("Tanh " + at + " -> t", prefix + "pool");
  stack.Linear("t", "head", named);
  return stack;
}

// By node, what the book says.
std::vector<std::string> Ask(const Stack& stack, const Book& book) {
  const SmallModel model(stack.lines, stack.tensors);
  std::vector<std::string> paths(stack.lines.size(), "-");
  for (const NodeAnswer& node :
       AskBook(TokenGraph(model.model()), book).nodes) {
    paths[Index(node.node)] = node.path;
  }
  return paths;
}

ListBook BookOf(const Stack& stack) {
  ListBook book;
  book.Add(SmallModel(stack.lines, stack.tensors).Record(stack.modules));
  return book;
}

TEST(Match, TheRecordingItself) {
  const Stack stack = MakeStack(2, true);
  EXPECT_EQ(Ask(stack, BookOf(stack)), stack.modules);
}

TEST(Match, AnotherDepth) {
  const ListBook book = BookOf(MakeStack(2, true));
  const Stack deep = MakeStack(7, true);
  EXPECT_EQ(Ask(deep, book), deep.modules);
  const Stack flat = MakeStack(1, true);
  EXPECT_EQ(Ask(flat, book), flat.modules);
}

TEST(Match, LinearLayersWithoutNames) {
  const ListBook book = BookOf(MakeStack(2, false));
  const Stack deep = MakeStack(5, false);
  EXPECT_EQ(Ask(deep, book), deep.modules);
}

TEST(Match, IndicesOfParametersBeatCounting) {
  // Layers 0 to 2 of 8 were cut away.
  const ListBook book = BookOf(MakeStack(2, true));
  Stack stack = MakeStack(4, true);
  const auto shift = [](std::string& text) {
    for (int i = 3; i >= 0; --i) {
      const std::string from = "layers." + std::to_string(i) + ".";
      const std::string to = "layers." + std::to_string(i + 3) + ".";
      for (std::size_t at = text.find(from); at != std::string::npos;
           at = text.find(from, at + to.size())) {
        text.replace(at, from.size(), to);
      }
    }
  };
  for (std::string& line : stack.lines) shift(line);
  for (auto& [name, rank] : stack.tensors) shift(name);
  const std::vector<std::string> paths = Ask(stack, book);
  EXPECT_EQ(paths[2], "layers.3.mlp.up");
  EXPECT_EQ(paths[4], "layers.3.mlp.act");
}

TEST(Match, AnotherPrefix) {
  const Stack inner = MakeStack(3, true, "model.");
  EXPECT_EQ(Ask(inner, BookOf(MakeStack(2, true)))[4],
            "model.layers.0.mlp.act");
}

TEST(Match, NothingWhereNothingFits) {
  const SmallModel other(
      {"Sin x -> a", "Cos a -> b", "Mul a b -> c", "Exp c -> d", "Log d -> z"},
      {});
  const ListBook book = BookOf(MakeStack(2, true));
  EXPECT_TRUE(AskBook(TokenGraph(other.model()), book).nodes.empty());
}

TEST(Match, NothingFromAnEmptyBook) {
  const Stack stack = MakeStack(2, true);
  EXPECT_EQ(Ask(stack, ListBook()),
            std::vector<std::string>(stack.lines.size(), "-"));
}

}  // namespace
}  // namespace onnx_tag::recipes::test
