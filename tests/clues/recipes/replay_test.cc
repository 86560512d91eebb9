// What an aligned recipe says of single nodes, and what fills its gaps.
#include "clues/recipes/align/replay.h"

#include <gtest/gtest.h>

#include "base/lists.h"
#include "clues/recipes/answer/match.h"
#include "clues/recipes/stack.h"

namespace onnx_tag::recipes::test {
namespace {

// An embedding before a stack; `table` is the name its matrix has.
Stack WithEmbedding(const std::string& table) {
  Stack stack = MakeStack(2, true);
  stack.lines.insert(stack.lines.begin(), "Gather " + table + " x -> e");
  stack.lines[1].replace(stack.lines[1].find(" x "), 3, " e ");
  stack.modules.insert(stack.modules.begin(), "tokens");
  stack.tensors.emplace_back(table, 2);
  return stack;
}

TEST(Replay, AnEmbeddingTiedToTheHeadIsNotTheHead) {
  const ListBook book = BookOf(WithEmbedding("tokens.weight"));
  EXPECT_EQ(Ask(WithEmbedding("head.weight"), book)[0], "tokens");
}

TEST(Replay, AnEmbeddingOfAnotherNameIsThatOne) {
  const ListBook book = BookOf(WithEmbedding("tokens.weight"));
  EXPECT_EQ(Ask(WithEmbedding("words.weight"), book)[0], "words");
}

TEST(Replay, AMergedParameterSaysNothingOfTheIndex) {
  // Untrained: every norm has the weights of the first.
  Stack stack = MakeStack(3, true);
  for (std::string& line : stack.lines) {
    for (const std::string index : {"1", "2"}) {
      const std::string from = "layers." + index + ".norm";
      for (std::size_t at = line.find(from); at != std::string::npos;
           at = line.find(from)) {
        line.replace(at, from.size(), "layers.0.norm");
      }
    }
  }
  EXPECT_EQ(Ask(stack, BookOf(MakeStack(2, true))), stack.modules);
}

// Blocks with one convolution each.
Stack Convolutions(int blocks) {
  Stack stack;
  std::string at = "x";
  for (int i = 0; i < blocks; ++i) {
    const std::string id = std::to_string(i);
    const std::string block = "convs." + id;
    stack.tensors.emplace_back(block + ".conv.weight", 4);
    stack.Node("Conv " + at + " " + block + ".conv.weight -> c" + id,
               block + ".conv");
    if (i == 0) {
      stack.Node("Sin c0 -> s0", block + ".norm");
      stack.Node("Cos s0 -> c00", block + ".norm");
    }
    stack.Node("Relu c" + id + (i == 0 ? "0" : "") + " -> r" + id,
               block + ".act");
    at = "r" + id;
  }
  for (const std::string name : {"a", "b", "c", "d"}) {
    at = stack.Linear(at, "project." + name, true);
  }
  return stack;
}

TEST(Replay, ListsOfBlocksWithOneConvolutionMayHaveAnotherLength) {
  const ListBook book = BookOf(Convolutions(7));
  const Stack few = Convolutions(3);
  EXPECT_EQ(Ask(few, book), few.modules);
}

// Blocks of two convolutions each, without a name, in `list`; then other
// things.
Stack Nameless(int blocks, const std::string& list,
               const std::vector<std::string>& others) {
  Stack stack;
  std::string at = "x";
  for (int i = 0; i < blocks; ++i) {
    const std::string id = std::to_string(i);
    const std::string block = list + "." + id;
    for (const std::string part : {"a", "b"}) {
      stack.tensors.emplace_back("9" + id + (part == "a" ? "1" : "2"), 4);
      stack.Node(
          "Conv " + at + " " + stack.tensors.back().first + " -> " + part + id,
          block + ".conv_" + part);
      stack.Node("Relu " + part + id + " -> r" + part + id, block);
      at = "r" + part + id;
    }
  }
  for (const std::string& op : others) {
    stack.Node(op + " " + at + " -> " + at + op, "after");
    at += op;
  }
  return stack;
}

TEST(Match, WithoutNamesItIsTheRecipeThatDoesNothingElse) {
  ListBook book =
      BookOf(Nameless(3, "right", {"GlobalAveragePool", "Flatten"}));
  const Stack deep =
      Nameless(30, "wrong", {"Resize", "Sigmoid", "Resize", "Sigmoid", "Tanh"});
  book.Add(SmallModel(deep.lines, deep.tensors).Record(deep.modules));
  const Stack file = Nameless(30, "right", {"GlobalAveragePool", "Flatten"});
  EXPECT_EQ(Ask(file, book), file.modules);
}

// Every second layer is told the shape that something else asked for.
Stack WithShapes(bool computed, bool longer) {
  Stack stack;
  const std::string pooled = AddTower(stack, "x", 2, "");
  if (computed) {
    stack.Node("Shape x -> shape", "mask");
  } else {
    stack.tensors.emplace_back("shape", 1);
  }
  stack.Node("Reshape " + pooled + " shape -> z", "pool");
  std::string at = stack.Linear("z", "last", true);
  if (longer) {
    for (const std::string op : {"Sin", "Cos", "Exp", "Log"}) {
      stack.Node(op + " " + at + " -> " + at + op, "tail");
      at += op;
    }
  }
  return stack;
}

TEST(Replay, ShapesAreAskedOfOtherRecipesOfTheFamily) {
  const Stack file = WithShapes(true, false);
  ListBook book = BookOf(WithShapes(false, false));
  const std::size_t shape = file.lines.size() - 4;
  ASSERT_EQ(file.modules[shape], "mask");
  // With what reads it, where no recipe has it.
  EXPECT_EQ(Ask(file, book)[shape], "pool");
  const Stack other = WithShapes(true, true);
  book.Add(SmallModel(other.lines, other.tensors).Record(other.modules));
  EXPECT_EQ(Ask(file, book)[shape], "mask");
}

// An embedding, then one layer that runs several times, then a head.
Stack CalledAgain(int calls) {
  Stack stack;
  std::string at = stack.Linear("x", "embed", false);
  for (int i = 0; i < calls; ++i) {
    const std::string up = stack.Linear(at, "layer.up", false);
    stack.Node("Relu " + up + " -> r" + up, "layer");
    const std::string down = stack.Linear("r" + up, "layer.down", false);
    stack.Node("Add " + at + " " + down + " -> s" + down, "layer");
    stack.Node("Softmax s" + down + " -> n" + down, "layer");
    at = "n" + down;
  }
  stack.Linear(at, "head", false);
  return stack;
}

TEST(Replay, AModuleMayRunAnyNumberOfTimes) {
  const Stack stack = CalledAgain(8);
  EXPECT_EQ(Ask(stack, BookOf(CalledAgain(5))), stack.modules);
}

// Layers whose items run several times, such as those of an ALBERT with groups.
Stack Groups(const std::vector<std::string>& items) {
  Stack stack;
  std::string at = stack.Linear("x", "embed", true);
  const auto once = [&](const std::string& name, int rank) {
    const std::pair<std::string, int> tensor(name, rank);
    if (!IsAmong(tensor, stack.tensors)) stack.tensors.push_back(tensor);
  };
  int count = 0;
  for (const std::string& item : items) {
    const std::string group = "groups." + item;
    const std::string id = std::to_string(count++);
    for (const std::string part : {"up", "down"}) {
      const std::string module = group + "." + part;
      const std::string weight = "onnx::MatMul_" + id + part;
      once(weight, 2);
      once(module + ".bias", 1);
      stack.Node("MatMul " + at + " " + weight + " -> m" + id + part, module);
      stack.Node("Add m" + id + part + " " + module + ".bias -> " + part + id,
                 module);
      stack.Node("Relu " + part + id + " -> r" + part + id, group);
      stack.Node("Softmax r" + part + id + " -> s" + part + id, group);
      at = "s" + part + id;
    }
  }
  stack.Linear(at, "head", true);
  return stack;
}

TEST(Replay, AnItemThatRanAgainMayStandForSeveral) {
  const ListBook book = BookOf(Groups({"0", "0"}));
  const Stack file = Groups({"0", "0", "1", "1"});
  EXPECT_EQ(Ask(file, book), file.modules);
  const SmallModel model(file.lines, file.tensors);
  const BookAnswer answer =
      AskBook(TokenGraph(GraphFacts(model.model())), book);
  for (const NodeAnswer& node : answer.nodes) {
    if (node.path != "groups.1") continue;
    EXPECT_LT(node.confidence, Confidence::kCertain);
  }
}

TEST(Match, WithoutNamesItIsTheRecipeWithTheOutputsOfTheFile) {
  // A model with a pooler, and one with a head of the same operations before
  // its logits.
  const auto with = [](const std::string& module, bool logits) {
    Stack stack;
    std::string at = AddTower(stack, "x", 3, "", false);
    at = stack.Linear(at, module, false);
    stack.Node("Tanh " + at + " -> p", module);
    if (logits) stack.Linear("p", "decoder", false);
    for (auto& [name, rank] : stack.tensors) {
      for (std::string& line : stack.lines) {
        const std::size_t at_name = line.find(name + " ");
        if (name.starts_with("layers") && at_name != std::string::npos) {
          line.replace(at_name, name.size(),
                       "w" + name.substr(7, 1) + name.substr(name.size() - 4));
        }
      }
      if (name.starts_with("layers")) {
        name = "w" + name.substr(7, 1) + name.substr(name.size() - 4);
      }
    }
    return stack;
  };
  const Stack file = with("pooler", false);
  const Stack other = with("transform", true);
  ListBook book = BookOf(other);
  book.Add(SmallModel(file.lines, file.tensors).Record(file.modules));
  EXPECT_EQ(Ask(file, book), file.modules);
}

TEST(Fill, AGapIsOfTheModuleAroundIt) {
  const SmallModel model(
      {"Softmax x -> a", "Exp a -> b", "Log b -> c", "Tanh c -> z"}, {});
  const GraphFacts facts(model.model());
  const TokenGraph graph(facts);
  AtomTable atoms;
  const File file{graph, std::vector<Path>(4), {}, {}, false, {}};
  const auto placed = [&](std::string_view path) {
    return Answer{atoms.Read(path), Confidence::kCertain, kRunsIt};
  };
  std::vector<Answer> answers = {placed("left"), {}, {}, placed("left")};
  const PathSet owners = {Generic(*answers[0].path)};
  FillTokens(file, owners, answers);
  ASSERT_TRUE(answers[1].path && answers[2].path);
  EXPECT_EQ(atoms.Text(*answers[1].path), "left");
  EXPECT_EQ(atoms.Text(*answers[2].path), "left");
  EXPECT_EQ(answers[1].confidence, Confidence::kLow);
}

bool OldActivations(const std::string& producer, int opset) {
  schema::ModelProto proto;
  proto.set_ir_version(7);
  proto.set_producer_name("pytorch");
  proto.set_producer_version(producer);
  proto.add_opset_import()->set_version(opset);
  proto.mutable_graph();
  const std::string bytes = proto.SerializeAsString();
  return ActivationsAreFunctions(ReadModel(bytes));
}

TEST(OldCode, ActivationsWereFunctions) {
  EXPECT_TRUE(OldActivations("1.8", 12));
  EXPECT_FALSE(OldActivations("1.11.0", 12));
  EXPECT_FALSE(OldActivations("2.1.0", 12));
  // torch 1.10 was used before and after.
  EXPECT_TRUE(OldActivations("1.10", 13));
  EXPECT_FALSE(OldActivations("1.10", 14));
}

}  // namespace
}  // namespace onnx_tag::recipes::test
