// What is known of nodes without names from the layers around them.
#include "mapping/ladder/rungs/layer_bounds.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "clues/recipes/small_model.h"
#include "onnx_tag/mapping.h"

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
  // A file without optimization still has it.
  EXPECT_EQ(Sequential(2, {"Relu", "Identity"}).ModuleOf("Identity"), "net.2");
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

// A GroupNorm that has lost its weights before each product.
void GroupNorm(const std::string& from, const std::string& to, Graph& graph) {
  for (const std::string op : {"Shape", "One", "Zero", "Mul", "Add"}) {
    graph.Parameter("onnx::" + op + "_" + to, 1);
  }
  graph.Node("Reshape " + from + " onnx::Shape_" + to + " -> r" + to);
  graph.Node("InstanceNormalization r" + to + " onnx::One_" + to +
             " onnx::Zero_" + to + " -> i" + to);
  graph.Node("Reshape i" + to + " onnx::Shape_" + to + " -> s" + to);
  graph.Node("Mul s" + to + " onnx::Mul_" + to + " -> n" + to);
  graph.Node("Add n" + to + " onnx::Add_" + to + " -> " + to);
}

TEST(LayerBounds, AQuantizerBelongsToWhoMadeTheTensor) {
  Graph graph;
  graph.Linear("embed", "x", "at0");
  for (const std::string id : {"0", "1", "2"}) {
    graph.Linear("h." + id + ".up", "at" + id, "up" + id);
    graph.Node("Relu up" + id + " -> relu" + id);
    graph.Linear("h." + id + ".down", "relu" + id, "down" + id);
    graph.Node("Sin down" + id + " -> sin" + id);
    graph.Node("DynamicQuantizeLinear sin" + id + " -> at" +
               std::to_string(std::stoi(id) + 1));
  }
  graph.Linear("head", "at3", "y");
  EXPECT_EQ(graph.ModuleOf("sin0"), "h.0");
  EXPECT_EQ(graph.ModuleOf("at1"), "h.0");
  EXPECT_EQ(graph.ModuleOf("at3"), "h.2");
}

TEST(LayerBounds, AQuantizerInASharedItemIsTheListOwners) {
  Graph graph;
  graph.Parameter("net.stack.1.fc.weight", 2);
  graph.Parameter("net.stack.1.fc.bias", 1);
  graph.Linear("net.first", "x", "f");
  graph.Node("Sin f -> s0");
  graph.Node("Gemm s0 net.stack.1.fc.weight net.stack.1.fc.bias -> a");
  graph.Node("Sin a -> s1");
  graph.Node("DynamicQuantizeLinear s1 -> q");
  graph.Node("Gemm q net.stack.1.fc.weight net.stack.1.fc.bias -> b");
  graph.Linear("net.last", "b", "y");
  EXPECT_EQ(graph.ModuleOf("q"), "net");
}

// Layers that begin with a norm without a name, and something else that does.
TEST(LayerBounds, ANormBehindTheSumBeginsWhatComesNext) {
  Graph graph;
  graph.Linear("embed", "x", "at0");
  for (const std::string id : {"0", "1", "2"}) {
    GroupNorm("at" + id, "g" + id, graph);
    if (id == "0") graph.Linear("h.0.side", "at0", "side");
    graph.Linear("h." + id + ".up", "g" + id, "up" + id);
    graph.Linear("h." + id + ".down", "up" + id, "down" + id);
    graph.Node("Add down" + id + " at" + id + " -> at" +
               std::to_string(std::stoi(id) + 1));
  }
  GroupNorm("at3", "g3", graph);
  graph.Linear("head", "g3", "y");
  EXPECT_EQ(graph.ModuleOf("at1"), "h.0");
  EXPECT_NE(graph.ModuleOf("rg1"), "h.0");
  EXPECT_NE(graph.ModuleOf("g2"), "h.1");
}

// Stages with a SiLU behind the sum, a pool between them, and a decoder that
// reads what comes out of each.
TEST(LayerBounds, WhatIsReadElsewhereIsTheEndOfItsLayer) {
  Graph graph;
  graph.Linear("stem.a", "x", "s");
  graph.Linear("stem.b", "s", "t");
  graph.Node("Add s t -> sum");
  graph.Node("Sigmoid sum -> gate");
  graph.Node("Mul sum gate -> out");
  std::string from = "out";
  for (const std::string id : {"0", "1", "2"}) {
    graph.Node("MaxPool " + from + " -> pool" + id);
    graph.Linear("down." + id + ".a", "pool" + id, "a" + id);
    graph.Linear("down." + id + ".b", "a" + id, "b" + id);
    graph.Node("Add a" + id + " b" + id + " -> sum" + id);
    graph.Node("Sigmoid sum" + id + " -> gate" + id);
    graph.Node("Mul sum" + id + " gate" + id + " -> out" + id);
    from = "out" + id;
  }
  graph.Linear("mid", "out2", "m");
  graph.Linear("up.0", "out1", "u0");
  graph.Linear("up.1", "out0", "u1");
  graph.Linear("up.2", "out", "u2");
  graph.Node("Sum m u0 u1 u2 -> y");
  EXPECT_EQ(graph.ModuleOf("out0"), "down.0");
  EXPECT_EQ(graph.ModuleOf("gate1"), "down.1");
  // It may be the model's or the next stage's.
  EXPECT_EQ(graph.ModuleOf("pool1"), "");
}

TEST(LayerBounds, ItemsWithParametersOfTheirOwnHaveArithmetic) {
  Graph graph;
  graph.Linear("embed", "x", "e");
  std::string from = "e";
  for (const std::string id : {"0", "1"}) {
    graph.Parameter("cross." + id + ".kernel", 2);
    graph.Node("MatMul " + from + " cross." + id + ".kernel -> k" + id);
    graph.Node("Mul e k" + id + " -> p" + id);
    graph.Node("Add p" + id + " " + from + " -> c" + id);
    from = "c" + id;
  }
  graph.Linear("head", from, "y");
  EXPECT_EQ(graph.ModuleOf("p0"), "cross.0");
  EXPECT_EQ(graph.ModuleOf("c1"), "cross.1");
}

// Towers with a sum behind each that reads another module's result, too.
TEST(LayerBounds, WhatReadsAnotherModuleIsTheCallers) {
  Graph graph;
  for (const std::string id : {"a", "b"}) {
    graph.Linear("cats." + id + ".in", "x", "i" + id);
    graph.Linear("cats." + id + ".out", "i" + id, "o" + id);
    graph.Linear("id_" + id, "x", "n" + id);
    graph.Node("Concat o" + id + " n" + id + " -> c" + id);
    graph.Linear("tower_" + id, "c" + id, "t" + id);
  }
  graph.Node("Mul ta tb -> y");
  EXPECT_EQ(graph.ModuleOf("ca"), "");
  EXPECT_EQ(graph.ModuleOf("cb"), "");
}

TEST(LayerBounds, WhatGoesAlongWithModulesOfOneNameIsTheirs) {
  Graph graph;
  graph.Linear("embed", "x", "e");
  std::string from = "e";
  for (const std::string owner : {"enc.stage", "mid", "dec.stage"}) {
    const std::string id = owner.substr(0, 3);
    graph.Linear(owner + ".first", from, "f" + id);
    GroupNorm("f" + id, "g" + id, graph);
    graph.Linear(owner + ".attn.q", "g" + id, "q" + id);
    graph.Linear(owner + ".attn.o", "q" + id, "o" + id);
    graph.Linear(owner + ".last", "o" + id, "l" + id);
    from = "l" + id;
  }
  graph.Linear("head", from, "y");
  EXPECT_EQ(graph.ModuleOf("genc"), "enc.stage.attn");
  EXPECT_EQ(graph.ModuleOf("rgmid"), "mid.attn");
}

TEST(LayerBounds, ATiedTableIsNotInTheModuleThatReadsItsRows) {
  Graph graph;
  graph.Parameter("head.weight", 2);
  graph.Node("Gather head.weight x -> e");
  graph.Linear("net.0.a", "e", "a0");
  graph.Linear("net.0.b", "a0", "b0");
  graph.Linear("net.1.a", "b0", "a1");
  graph.Linear("net.1.b", "a1", "b1");
  graph.Parameter("onnx::MatMul_9", 2);
  graph.Parameter("head.bias", 1);
  graph.Node("MatMul b1 onnx::MatMul_9 -> m");
  graph.Node("Add m head.bias -> y");
  EXPECT_NE(graph.ModuleOf("e"), "net.0");
}

// A module makes its inputs ready, or a pooling reads a mask.
std::string MadeOfTheInput(bool meets) {
  Graph graph;
  graph.Linear("first", "x", "f");
  graph.Node("Sin x -> s");
  graph.Node(meets ? "Mul s f -> m" : "Cos s -> m");
  graph.Linear("time.up", "m", "u");
  graph.Linear("time.down", "u", "d");
  graph.Node("Add f d -> y");
  return graph.ModuleOf("s");
}

TEST(LayerBounds, WhatOnlyOneModuleReadsOfTheInputIsIts) {
  EXPECT_EQ(MadeOfTheInput(false), "time");
  EXPECT_EQ(MadeOfTheInput(true), "");
}

TEST(LayerBounds, TheModelScalesItsPixels) {
  Graph graph;
  graph.Parameter("onnx::Sub_1", 1);
  graph.Parameter("onnx::Div_2", 1);
  graph.Parameter("encoder.stem.conv.weight", 2);
  graph.Parameter("encoder.stem.bn.weight", 1);
  graph.Node("Sub x onnx::Sub_1 -> s");
  graph.Node("Div s onnx::Div_2 -> d");
  graph.Node("Conv d encoder.stem.conv.weight -> c");
  graph.Node("BatchNormalization c encoder.stem.bn.weight -> y");
  EXPECT_EQ(graph.ModuleOf("s"), "");
  EXPECT_EQ(graph.ModuleOf("d"), "");
}

TEST(SequentialParts, NotBehindTheItemsOfAList) {
  Graph graph;
  graph.Linear("words.emb", "x", "e");
  std::string all;
  for (const std::string id : {"0", "1", "2"}) {
    graph.Linear("words.convs." + id, "e", "c" + id);
    graph.Node("Tanh c" + id + " -> t" + id);
    all += " t" + id;
  }
  graph.Node("Concat" + all + " -> a");
  graph.Linear("words.last", "a", "y");
  EXPECT_EQ(graph.ModuleOf("t2"), "words");
}

TEST(SequentialParts, WhatMovesDataMayBeAModule) {
  // The third number is that of a Dropout.
  const Graph graph = Sequential(3, {"Slice", "Relu"});
  EXPECT_EQ(graph.ModuleOf("Slice"), "net.1");
  EXPECT_EQ(graph.ModuleOf("Relu"), "net.2");
}

TEST(SequentialParts, GoOnBehindTheLastAsBehindTheFirst) {
  Graph graph;
  graph.Linear("block.net.0", "x", "a");
  graph.Node("Slice a -> s");
  graph.Node("Relu s -> r");
  graph.Linear("block.net.4", "r", "b");
  graph.Node("Slice b -> t");
  graph.Node("Relu t -> u");
  graph.Node("Add u x -> sum");
  graph.Linear("head", "sum", "y");
  EXPECT_EQ(graph.ModuleOf("t"), "block.net.5");
  EXPECT_EQ(graph.ModuleOf("u"), "block.net.6");
  EXPECT_NE(graph.ModuleOf("sum"), "block.net.7");
}

TEST(SequentialParts, GoOnWithANormAndAnActivation) {
  Graph graph;
  graph.Linear("net.0", "x", "a");
  GroupNorm("a", "g", graph);
  graph.Node("LeakyRelu g -> l");
  graph.Linear("head", "l", "y");
  EXPECT_EQ(graph.ModuleOf("ig"), "net.1");
  EXPECT_EQ(graph.ModuleOf("l"), "net.2");
}

TEST(SequentialParts, EndWithTheActivationBeforeTheNextModule) {
  Graph graph;
  graph.Parameter("pose.trunk.0.weight", 1);
  graph.Parameter("pose.trunk.0.bias", 1);
  graph.Node("LayerNormalization x pose.trunk.0.weight pose.trunk.0.bias -> n");
  graph.Linear("pose.trunk.1", "n", "a");
  graph.Node("Relu a -> r");
  graph.Linear("pose.final", "r", "f");
  // The activation of a result may be its owner's.
  graph.Node("Sigmoid f -> y");
  EXPECT_EQ(graph.ModuleOf("r"), "pose.trunk.2");
  EXPECT_NE(graph.ModuleOf("y"), "pose.trunk.2");
}

TEST(SequentialParts, BeginWithTheActivationBeforeItemOne) {
  Graph graph;
  graph.Linear("embed", "x", "e");
  graph.Node("Relu e -> r");
  graph.Linear("net.1", "r", "a");
  graph.Node("Relu a -> s");
  graph.Linear("net.3", "s", "b");
  graph.Node("Add e b -> y");
  EXPECT_EQ(graph.ModuleOf("r"), "net.0");
  EXPECT_EQ(graph.ModuleOf("s"), "net.2");
}

// A codebook, or a table of words whose number a classifier has chosen.
std::string Searched(bool distances) {
  Graph graph;
  graph.Linear("encoder", "x", "e");
  graph.Parameter("vq.embedding.weight", 2);
  graph.Parameter("onnx::MatMul_1", 2);
  graph.Node("Reshape e -> rows");
  if (distances) {
    graph.Node("Pow rows -> p");
    graph.Node("MatMul rows onnx::MatMul_1 -> m");
    graph.Node("Sub p m -> d");
  } else {
    graph.Node("Sin rows -> d");
  }
  graph.Node("ArgMin d -> chosen");
  graph.Node("Gather vq.embedding.weight chosen -> g");
  graph.Linear("decoder", "g", "y");
  return graph.ModuleOf("d");
}

TEST(Codebook, IsSearchedByItsOwner) {
  EXPECT_EQ(Searched(true), "vq");
  EXPECT_NE(Searched(false), "vq");
}

// With batch_first both sides are turned around, by the module itself.
std::string TurnedBefore(bool back) {
  Graph graph;
  graph.Linear("embed", "x", "e");
  graph.Parameter("attn.in_proj_bias", 1);
  graph.Parameter("onnx::MatMul_1", 2);
  graph.Node("Transpose e -> t");
  graph.Node("MatMul t onnx::MatMul_1 -> p");
  graph.Node("Add p attn.in_proj_bias -> q");
  graph.Linear("attn.out_proj", "q", "o");
  graph.Node(std::string(back ? "Transpose" : "Sin") + " o -> b");
  graph.Linear("head", "b", "y");
  return graph.ModuleOf("t");
}

TEST(PackedAttention, TurnsItsInputAround) {
  EXPECT_EQ(TurnedBefore(true), "attn");
  EXPECT_NE(TurnedBefore(false), "attn");
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
