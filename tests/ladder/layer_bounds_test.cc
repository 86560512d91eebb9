// What is known of nodes without names from the layers around them.
#include "ladder/rungs/layer_bounds.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "onnx_tag/mapping.h"
#include "recipes/small_model.h"

namespace onnx_tag {
namespace {

using recipes::test::SmallModel;
using recipes::test::Tensors;

// A graph, written down line by line.
class Graph {
 public:
  void Node(const std::string& line) { lines_.push_back(line); }

  // A product whose bias has a name, with the result `to`.
  void Linear(const std::string& module, const std::string& from,
              const std::string& to) {
    const std::string weight = "onnx::MatMul_" + std::to_string(lines_.size());
    tensors_.emplace_back(weight, 2);
    tensors_.emplace_back(module + ".bias", 1);
    Node("MatMul " + from + " " + weight + " -> m" + to);
    Node("Add m" + to + " " + module + ".bias -> " + to);
  }

  void Parameter(const std::string& name, int rank) {
    tensors_.emplace_back(name, rank);
  }

  // The module of the node that makes `value`; "-": none.
  std::string ModuleOf(const std::string& value) const {
    const SmallModel model(lines_, tensors_);
    MappingOptions options;
    options.recipes = false;
    const Tagging tagging = MapNodes(model.model(), options);
    for (std::size_t i = 0; i < lines_.size(); ++i) {
      if (!lines_[i].ends_with("-> " + value)) continue;
      const Tag& tag = tagging.tags[MakeId<NodeId>(i)];
      return tag.tagged() ? tagging.modules.Path(tag.module) : "-";
    }
    return "no such value";
  }

 private:
  std::vector<std::string> lines_;
  Tensors tensors_;
};

// Layers of two products, each followed by `ends`, between an embedding and a
// norm; all layers but the last are followed by `between`, too.
Graph Layers(const std::vector<std::string>& ends,
             const std::vector<std::string>& between) {
  Graph graph;
  graph.Linear("embed", "x", "at0");
  for (int i = 0; i < 3; ++i) {
    const std::string id = std::to_string(i);
    graph.Linear("h." + id + ".up", "at" + id, "up" + id);
    graph.Node("Relu up" + id + " -> relu" + id);
    graph.Linear("h." + id + ".down", "relu" + id, "down" + id);
    std::string from = "down" + id;
    for (const std::string& op : ends) {
      graph.Node(op + " " + from + " -> " + op + id);
      from = op + id;
    }
    if (i < 2) {
      for (const std::string& op : between) {
        graph.Node(op + " " + from + " -> " + op + id);
        from = op + id;
      }
    }
    graph.Node("Identity " + from + " -> at" + std::to_string(i + 1));
  }
  graph.Parameter("norm.weight", 1);
  graph.Parameter("norm.bias", 1);
  graph.Node("LayerNormalization at3 norm.weight norm.bias -> y");
  return graph;
}

TEST(LayerBounds, WhatFollowsEveryLayerIsTheLayers) {
  const Graph graph = Layers({"Sin", "Cos"}, {});
  EXPECT_EQ(graph.ModuleOf("Sin0"), "h.0");
  EXPECT_EQ(graph.ModuleOf("Cos1"), "h.1");
  EXPECT_EQ(graph.ModuleOf("Cos2"), "h.2");
}

TEST(LayerBounds, WhatFollowsAllButTheLastIsTheCallers) {
  const Graph graph = Layers({"Sin"}, {"Exp"});
  EXPECT_EQ(graph.ModuleOf("Sin0"), "h.0");
  EXPECT_EQ(graph.ModuleOf("Sin2"), "h.2");
  EXPECT_EQ(graph.ModuleOf("Exp0"), "");
}

TEST(LayerBounds, ALoopThatCollectsIsTheCallers) {
  Graph graph;
  graph.Linear("embed", "x", "e");
  std::string all;
  for (const std::string id : {"0", "1", "2"}) {
    graph.Linear("levels." + id + ".up", "e", "up" + id);
    graph.Linear("levels." + id + ".down", "up" + id, "down" + id);
    graph.Node("Sin down" + id + " -> sin" + id);
    all += " sin" + id;
  }
  graph.Node("Concat" + all + " -> c");
  graph.Linear("head", "c", "y");
  EXPECT_EQ(graph.ModuleOf("sin0"), "");
  EXPECT_EQ(graph.ModuleOf("sin2"), "");
}

TEST(LayerBounds, WhatLiesBetweenTwoNodesOfAModuleIsInIt) {
  Graph graph;
  graph.Linear("embed", "x", "e");
  graph.Parameter("rnn.bias_ih_l0", 1);
  graph.Parameter("rnn.bias_hh_l0", 1);
  graph.Parameter("onnx::Gemm_1", 2);
  graph.Parameter("onnx::Gemm_2", 2);
  graph.Node("Gemm e onnx::Gemm_1 rnn.bias_ih_l0 -> a");
  // An optimizer has moved another module's product in between.
  graph.Linear("other", "e", "o");
  graph.Node("Tanh a -> t");
  graph.Node("Gemm t onnx::Gemm_2 rnn.bias_hh_l0 -> b");
  graph.Node("Tanh b -> u");
  graph.Node("Gemm u onnx::Gemm_2 rnn.bias_hh_l0 -> c");
  graph.Node("Mul c o -> y");
  EXPECT_EQ(graph.ModuleOf("t"), "rnn");
  EXPECT_EQ(graph.ModuleOf("u"), "rnn");
}

TEST(LayerBounds, NotInAModuleThatRunsTwice) {
  Graph graph;
  graph.Linear("embed", "x", "e");
  graph.Parameter("fc.weight", 2);
  graph.Parameter("fc.bias", 1);
  graph.Node("Gemm e fc.weight fc.bias -> a");
  graph.Linear("other", "e", "o");
  graph.Node("Mul a o -> t");
  graph.Node("Gemm t fc.weight fc.bias -> b");
  graph.Linear("head", "b", "y");
  EXPECT_EQ(graph.ModuleOf("t"), "");
}

// Two parts of a Sequential with so many numbers between them, and what runs
// between them.
Graph Sequential(int missing, const std::vector<std::string>& ops) {
  Graph graph;
  graph.Linear("embed", "x", "e");
  graph.Linear("net.0", "e", "at");
  std::string from = "at";
  for (const std::string& op : ops) {
    graph.Node(op + " " + from + " -> " + op);
    from = op;
  }
  graph.Linear("net." + std::to_string(missing + 1), from, "to");
  graph.Linear("head", "to", "y");
  return graph;
}

TEST(SequentialParts, HaveTheMissingNumbers) {
  EXPECT_EQ(Sequential(1, {"Relu"}).ModuleOf("Relu"), "net.1");
  const Graph two = Sequential(2, {"Relu", "MaxPool"});
  EXPECT_EQ(two.ModuleOf("Relu"), "net.1");
  EXPECT_EQ(two.ModuleOf("MaxPool"), "net.2");
  // The other number is that of a Dropout.
  EXPECT_EQ(Sequential(2, {"Relu"}).ModuleOf("Relu"), "net.1");
}

TEST(SequentialParts, NotWhereThereIsNoRoom) {
  EXPECT_NE(Sequential(1, {"Relu", "MaxPool"}).ModuleOf("MaxPool"), "net.1");
  EXPECT_NE(Sequential(0, {"Relu"}).ModuleOf("Relu"), "net.0");
}

TEST(SequentialParts, NotWhatIsUsedElsewhere) {
  Graph graph;
  graph.Linear("net.0", "x", "at");
  graph.Node("Relu at -> r");
  graph.Linear("net.2", "r", "to");
  // A residual around one item: no Sequential.
  graph.Node("Add r to -> sum");
  graph.Linear("head", "sum", "y");
  EXPECT_NE(graph.ModuleOf("r"), "net.1");
}

// A head that multiplies two results, and so many nodes behind it.
std::string BehindTheHead(int nodes, bool weight) {
  Graph graph;
  graph.Linear("head.up", "x", "u");
  graph.Linear("head.down", "u", "d");
  graph.Node("Mul u d -> v0");
  for (int i = 0; i < nodes; ++i) {
    graph.Node("Sin v" + std::to_string(i) + " -> v" + std::to_string(i + 1));
  }
  if (weight) {
    graph.Parameter("onnx::MatMul_7", 2);
    graph.Node("MatMul v" + std::to_string(nodes) + " onnx::MatMul_7 -> y");
  }
  return graph.ModuleOf("v20");
}

TEST(LayerBounds, WhatAModelDoesWithItsResultsIsItsOwn) {
  EXPECT_EQ(BehindTheHead(60, false), "");
  EXPECT_EQ(BehindTheHead(25, false), "head");
  // A product without a name: a module may have lost it.
  EXPECT_EQ(BehindTheHead(60, true), "head");
}

}  // namespace
}  // namespace onnx_tag
