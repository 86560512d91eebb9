// Which list indices are said, and which are cut.
#include <gtest/gtest.h>

#include <algorithm>

#include "clues/recipes/align/align.h"
#include "clues/recipes/align/candidates.h"
#include "clues/recipes/align/replay.h"
#include "clues/recipes/answer/match.h"
#include "clues/recipes/stack.h"

namespace onnx_tag::recipes::test {
namespace {

// Tokens with their paths as decoded, and the parameters that name some.
class Decoded {
 public:
  void Add(const std::string& op, const std::string& path,
           const std::string& anchor = "") {
    const std::string id = std::to_string(lines_.size());
    const std::string from = lines_.empty() ? "x" : "v" + last_;
    if (op == "LIN") {
      tensors_.emplace_back("w" + id, 2);
      lines_.push_back("MatMul " + from + " w" + id + " -> v" + id);
    } else {
      lines_.push_back(op + " " + from + " -> v" + id);
    }
    last_ = id;
    paths_.emplace_back(atoms_.Read(path));
    anchors_.push_back(atoms_.Read(anchor));
  }

  bool Trusts(const std::string& item, const std::string& open = "") {
    const SmallModel model(lines_, tensors_);
    const GraphFacts facts(model.model());
    const TokenGraph graph(facts);
    EXPECT_EQ(graph.tokens().size(), lines_.size());
    const File file{graph, anchors_, {}, {}, false, {}};
    PathSet lists;
    if (!open.empty()) lists.insert(Generic(atoms_.Read(open)));
    return FindTrustedItems(file, MakeSteps(SequenceOf(graph), Order::kFile),
                            paths_, lists)
        .contains(atoms_.Read(item));
  }

 private:
  AtomTable atoms_;
  std::vector<std::string> lines_;
  Tensors tensors_;
  std::string last_;
  std::vector<std::optional<Path>> paths_;
  std::vector<Path> anchors_;
};

void AddLayer(const std::string& layer, int products, Decoded& decoded) {
  for (int i = 0; i < products; ++i) decoded.Add("LIN", layer + ".fc");
  decoded.Add("Softmax", layer);
  decoded.Add("LayerNormalization", layer + ".norm");
}

TEST(TrustedItems, LayersThatTheFileRepeats) {
  Decoded decoded;
  for (const std::string layer : {"h.0", "h.1", "h.2"}) {
    AddLayer(layer, 5, decoded);
  }
  EXPECT_TRUE(decoded.Trusts("h.0", "h"));
  EXPECT_TRUE(decoded.Trusts("h.2", "h"));
}

TEST(TrustedItems, NotLayersOfOtherLength) {
  Decoded decoded;
  AddLayer("h.0", 5, decoded);
  AddLayer("h.1", 6, decoded);
  EXPECT_FALSE(decoded.Trusts("h.0", "h"));
  EXPECT_FALSE(decoded.Trusts("h.1", "h"));
}

TEST(TrustedItems, NotTwoLayersTakenForOne) {
  Decoded decoded;
  for (const std::string layer : {"h.0", "h.1"}) {
    AddLayer(layer, 3, decoded);
    AddLayer(layer, 3, decoded);
  }
  EXPECT_FALSE(decoded.Trusts("h.0", "h"));
}

TEST(TrustedItems, ALayerThatAParameterNames) {
  Decoded decoded;
  AddLayer("h.0", 5, decoded);
  AddLayer("h.1", 6, decoded);
  decoded.Add("LIN", "h.1.out", "h.1.out");
  EXPECT_FALSE(decoded.Trusts("h.0", "h"));
  EXPECT_TRUE(decoded.Trusts("h.1", "h"));
}

TEST(TrustedItems, PartsOfASequentialWithANamedPart) {
  Decoded decoded;
  decoded.Add("LIN", "mlp.0", "mlp.0");
  decoded.Add("Relu", "mlp.1");
  EXPECT_TRUE(decoded.Trusts("mlp.1"));
  // But not where items were counted.
  EXPECT_FALSE(decoded.Trusts("mlp.1", "mlp"));
}

// A stack without a name in its layers, the last of which runs so many norms.
Stack NamelessNorms(int layers, int norms) {
  Stack stack;
  std::string at = "x";
  for (const std::string name : {"embed", "type", "place", "project"}) {
    at = stack.Linear(at, name, true);
  }
  for (int i = 0; i < layers; ++i) {
    const std::string layer = "h." + std::to_string(i);
    const std::string in = at;
    for (int k = 0; k < 4; ++k) at = stack.Linear(at, layer + ".fc", false);
    for (int k = 0; i + 1 == layers && k < norms; ++k) {
      stack.Node("LayerNormalization " + at + " -> s" + at, layer + ".norm");
      at = "s" + at;
    }
    stack.Node("Shape " + in + " -> shape" + at, layer);
    stack.Node("Reshape " + at + " shape" + at + " -> r" + at, layer);
    at = "r" + at;
    stack.Node("Add " + in + " " + at + " -> a" + at, layer);
    at = "a" + at;
  }
  stack.Linear(at, "head", true);
  return stack;
}

TEST(TrustedItems, WhatATokenReadsIsCutWithIt) {
  const ListBook book = BookOf(NamelessNorms(2, 0));
  const Stack other = NamelessNorms(2, 2);
  const std::vector<std::string> paths = Ask(other, book);
  ASSERT_TRUE(std::any_of(paths.begin(), paths.end(),
                          [](const std::string& path) { return path != "-"; }));
  // The recipe's own index would be a guess.
  for (std::size_t i = 0; i < paths.size(); ++i) {
    EXPECT_EQ(paths[i].find("h."), std::string::npos)
        << other.lines[i] << " " << paths[i];
  }
}

// By token, the roles of a recipe whose tokens are those of the file.
std::vector<std::string> Roles(const std::vector<std::string>& lines,
                               const Tensors& tensors,
                               const std::vector<std::string>& recorded,
                               const std::vector<std::string>& anchors) {
  const SmallModel model(lines, tensors);
  const GraphFacts facts(model.model());
  const TokenGraph graph(facts);
  AtomTable atoms;
  Candidate candidate(model.Record(recorded), atoms, false);
  File file{graph, {}, {}, {}, false, {}};
  for (const std::string& anchor : anchors) {
    file.anchors.push_back(atoms.Read(anchor));
  }
  file.steps[0] = MakeSteps(SequenceOf(graph), Order::kFile);
  const Query query{file.steps[0], std::vector<const Path*>(lines.size())};
  const Match match{&candidate, Order::kFile,
                    Align(query, candidate.ProgramIn(Order::kFile)), 1};
  std::vector<std::string> roles;
  for (const Answer& answer : TransferRoles(file, match)) {
    roles.push_back(answer.path ? atoms.Text(*answer.path) : "-");
  }
  return roles;
}

TEST(Roles, ParametersOfOnePartAreNotTheWhole) {
  // A block of an expansion and a gate, of which only the gate has names.
  const std::vector<std::string> roles =
      Roles({"Conv x w0 -> a", "Relu a -> b", "Conv b w1 -> c",
             "Sigmoid c -> d", "Conv d w2 -> e", "Tanh e -> y"},
            {{"w0", 4}, {"w1", 4}, {"w2", 4}},
            {"block.expand", "block.act", "block.gate.up", "block.gate.act",
             "block.gate.down", "block"},
            {"", "", "features.block.2.fc1", "", "features.block.2.fc2", ""});
  // Of the gate, and not of what is around it.
  EXPECT_EQ(roles[3], "features.block.2");
  EXPECT_EQ(roles[0], "features");
  EXPECT_EQ(roles[5], "features");
}

// Layers 2 and 3 of a stack under another name.
Stack DownAndUp() {
  Stack stack = MakeStack(4, true);
  const auto rename = [](std::string& text) {
    for (const int i : {2, 3}) {
      const std::string from = "layers." + std::to_string(i) + ".";
      const std::string to = "up." + std::to_string(i - 2) + ".";
      for (std::size_t at = text.find(from); at != std::string::npos;
           at = text.find(from)) {
        text.replace(at, from.size(), to);
      }
    }
  };
  for (std::string& line : stack.lines) rename(line);
  for (std::string& module : stack.modules) rename(module);
  for (auto& [name, rank] : stack.tensors) rename(name);
  return stack;
}

TEST(TrustedItems, ALayerUnderAnotherNameIsThatOne) {
  const Stack file = DownAndUp();
  const std::vector<std::string> paths = Ask(file, BookOf(MakeStack(2, true)));
  std::size_t activations = 0;
  for (std::size_t i = 0; i < paths.size(); ++i) {
    if (!file.lines[i].starts_with("Relu")) continue;
    ++activations;
    EXPECT_EQ(paths[i], file.modules[i]) << i;
  }
  EXPECT_EQ(activations, 4u);
}

}  // namespace
}  // namespace onnx_tag::recipes::test
