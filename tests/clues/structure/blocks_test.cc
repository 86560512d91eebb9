// Blocks of networks whose structure is plain to see.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "clues/structure/small_nets.h"

namespace onnx_tag::test {
namespace {

using ::testing::Contains;
using ::testing::Each;
using ::testing::ElementsAreArray;
using ::testing::IsEmpty;
using ::testing::Key;
using ::testing::Not;
using ::testing::SizeIs;
using ::testing::StartsWith;

std::vector<std::uint32_t> From(std::uint32_t first, std::uint32_t end) {
  std::vector<std::uint32_t> nodes;
  for (std::uint32_t i = first; i < end; ++i) nodes.push_back(i);
  return nodes;
}

// Layers of 8, a linear layer before and behind them.
class Transformer {
 public:
  explicit Transformer(int layers, bool masked = false) {
    std::string x = net.Linear("x", 4, 8);
    std::string mask;
    if (masked) {
      net.graph()->add_input()->set_name("m");
      mask = net.Node("Mul", {net.Node("Cast", {"m"}), net.Weight({1})});
    }
    for (int i = 0; i < layers; ++i) {
      first.push_back(static_cast<std::uint32_t>(net.graph()->node_size()));
      x = net.Layer(x, 8, mask);
    }
    first.push_back(static_cast<std::uint32_t>(net.graph()->node_size()));
    net.Output(net.Linear(x, 8, 2));
  }

  Net net;
  std::vector<std::uint32_t> first;  // node of each layer, and of the head
};

TEST(BlocksTest, LayersInARowAreAListWithAStemAndAHead) {
  Transformer transformer(3);
  const auto modules = Found(transformer.net.model()).Modules();
  for (std::size_t i = 0; i < 3; ++i) {
    EXPECT_THAT(
        modules.at("layers." + std::to_string(i)),
        ElementsAreArray(From(transformer.first[i], transformer.first[i + 1])));
  }
  EXPECT_THAT(modules.at("stem"), SizeIs(2));
  EXPECT_THAT(modules.at("head"), SizeIs(2));
}

TEST(BlocksTest, ALayerHasNormsAttentionAndFeedForward) {
  const auto modules = Found(Transformer(2).net.model()).Modules();
  for (const char* part : {"norm", "attention", "norm2", "feed_forward"}) {
    EXPECT_THAT(modules, Contains(Key(std::string("layers.1.") + part)));
  }
  // Three projections and the output; two of the feed-forward.
  EXPECT_THAT(modules.at("layers.1.attention.linear4"), SizeIs(2));
  EXPECT_THAT(modules.at("layers.1.feed_forward.linear2"), SizeIs(2));
}

TEST(BlocksTest, AMaskThatAllLayersReadDoesNotJoinThem) {
  Transformer transformer(2, true);
  const auto modules = Found(transformer.net.model()).Modules();
  EXPECT_THAT(
      modules.at("layers.0"),
      ElementsAreArray(From(transformer.first[0], transformer.first[1])));
  EXPECT_THAT(
      modules.at("layers.1"),
      ElementsAreArray(From(transformer.first[1], transformer.first[2])));
}

TEST(BlocksTest, IdentitiesAndQuantizersChangeNothing) {
  Transformer transformer(3);
  const Found plain(transformer.net.model());
  // Behind every node: Identity, and a pair of quantizers.
  schema::ModelProto wrapped = transformer.net.model();
  wrapped.mutable_graph()->clear_node();
  std::vector<std::uint32_t> place;  // of the old nodes
  for (const schema::NodeProto& node : transformer.net.model().graph().node()) {
    place.push_back(static_cast<std::uint32_t>(wrapped.graph().node_size()));
    schema::NodeProto* const copy = wrapped.mutable_graph()->add_node();
    *copy = node;
    std::string value = node.output(0) + "_raw";
    copy->set_output(0, value);
    for (const char* op : {"Identity", "QuantizeLinear", "DequantizeLinear"}) {
      schema::NodeProto* const alias = wrapped.mutable_graph()->add_node();
      alias->set_op_type(op);
      alias->add_input(value);
      value =
          op == std::string("DequantizeLinear") ? node.output(0) : value + op;
      alias->add_output(value);
    }
  }
  const Found found(wrapped);
  for (std::uint32_t i = 0; i < place.size(); ++i) {
    EXPECT_EQ(found.Path(place[i]), plain.Path(i)) << i;
    EXPECT_EQ(found.Path(place[i] + 1), plain.Path(i)) << i;
  }
}

TEST(BlocksTest, StagesBeginWhereTheWidthChanges) {
  Net net;
  std::string x = net.Node("Relu", {net.Conv("x", 3, 8, 7, 2)});
  std::uint32_t second = 0;
  std::int64_t width = 8;
  for (const std::int64_t out : {8, 16, 32}) {
    if (out == 16) {
      second = static_cast<std::uint32_t>(net.graph()->node_size());
    }
    x = net.Block(x, width, out, out == width ? 1 : 2);
    x = net.Block(x, out, out);
    width = out;
  }
  net.Output(net.Linear(
      net.Node("Flatten", {net.Node("GlobalAveragePool", {x})}), 32, 10));
  const auto modules = Found(net.model()).Modules();
  EXPECT_THAT(modules, Contains(Key("blocks.2.block.1")));
  EXPECT_THAT(modules, Not(Contains(Key("blocks.3"))));
  // The projection of the skip is in its block.
  EXPECT_THAT(modules.at("blocks.1.block.0"),
              ElementsAreArray(From(second, second + 6)));
}

TEST(BlocksTest, AStageBeginsWhereBlocksExpandOtherwise) {
  Net net;
  std::string x = net.Node("Relu", {net.Conv("x", 3, 8, 3)});
  for (const std::int64_t inner : {48, 48, 24, 24}) {
    const std::string h = net.Node("Relu", {net.Conv(x, 8, inner, 1)});
    x = net.Node("Add", {x, net.Conv(h, inner, 8, 3)});
  }
  net.Output(x);
  const auto modules = Found(net.model()).Modules();
  EXPECT_THAT(modules, Contains(Key("blocks.1.block.1")));
  EXPECT_THAT(modules, Not(Contains(Key("blocks.0.block.2"))));
}

// Keys and values are made of `memory`; no queries: they are learned.
std::string Attend(Net& net, const std::string& memory,
                   const std::string& queries = "") {
  const std::string key = net.Linear(memory, 8, 8);
  const std::string value = net.Linear(memory, 8, 8);
  const std::string query =
      queries.empty() ? net.Weight({5, 8}) : net.Linear(queries, 8, 8);
  const std::string scores =
      net.Node("MatMul", {query, net.Node("Transpose", {key})});
  const std::string h =
      net.Node("MatMul", {net.Node("Softmax", {scores}), value});
  return net.Norm(
      net.Node("Add", {net.Linear(h, 8, 8),
                       queries.empty() ? net.Weight({5, 8}) : queries}),
      8);
}
std::string FeedForward(Net& net, const std::string& x) {
  const std::string h = net.Node("Relu", {net.Linear(x, 8, 32)});
  return net.Norm(net.Node("Add", {x, net.Linear(h, 32, 8)}), 8);
}

TEST(BlocksTest, TheFirstLayerOfADecoderMayHaveLearnedQueries) {
  Net net;
  std::string memory = net.Linear("x", 4, 8);
  for (int i = 0; i < 2; ++i) {
    memory = FeedForward(net, Attend(net, memory, memory));
  }
  std::vector<std::uint32_t> first;
  const auto begin = [&] {
    first.push_back(static_cast<std::uint32_t>(net.graph()->node_size()));
  };
  begin();
  std::string x = FeedForward(net, Attend(net, memory));
  for (int i = 0; i < 2; ++i) {
    begin();
    x = FeedForward(net, Attend(net, memory, Attend(net, x, x)));
  }
  begin();
  net.Output(net.Linear(x, 8, 2));
  const auto modules = Found(net.model()).Modules();
  EXPECT_THAT(modules, Contains(Key("layers.1")));
  EXPECT_THAT(modules, Not(Contains(Key("layers.2"))));
  for (std::size_t i = 0; i < 3; ++i) {
    EXPECT_THAT(modules.at("layers2." + std::to_string(i)),
                ElementsAreArray(From(first[i], first[i + 1])));
  }
}

// C2f: a convolution, half of its channels through a block, a convolution.
TEST(BlocksTest, ADetectorIsOneListOfModules) {
  Net net;
  std::vector<std::uint32_t> first;
  const auto begin = [&] {
    first.push_back(static_cast<std::uint32_t>(net.graph()->node_size()));
  };
  begin();
  std::string x = net.Node("Relu", {net.Conv("x", 3, 8, 3, 2)});
  for (int i = 0; i < 6; ++i) {
    begin();
    x = net.Node("Relu", {net.Conv(x, 8, 8, 3, 2)});
    begin();
    const std::string both = net.Node("Relu", {net.Conv(x, 8, 8, 1)});
    const std::string left = net.Node("Slice", {both});
    const std::string right = net.Node("Slice", {both});
    const std::string h = net.Node("Relu", {net.Conv(right, 4, 4, 3)});
    const std::string sum =
        net.Node("Add", {right, net.Node("Relu", {net.Conv(h, 4, 4, 3)})});
    x = net.Node("Relu",
                 {net.Conv(net.Node("Concat", {left, right, sum}), 12, 8, 1)});
  }
  begin();
  net.Output(net.Conv(x, 8, 2, 1));
  const auto modules = Found(net.model()).Modules();
  for (std::size_t i = 0; i + 1 < first.size(); ++i) {
    EXPECT_THAT(modules.at("blocks." + std::to_string(i)),
                ElementsAreArray(From(first[i], first[i + 1])));
  }
  // Two convolutions and their sum, in the branch.
  EXPECT_THAT(modules.at("blocks.2.branch.block.0"), SizeIs(5));
}

TEST(BlocksTest, ACopySaysHowItDiffersFromTheFirst) {
  Net net;
  std::string x = net.Linear("x", 4, 8);
  for (int i = 0; i < 2; ++i) x = net.Layer(x, 8);
  net.Output(x);
  const Found same(net.model());
  EXPECT_EQ(same.Module("layers.1").copies, 2u);
  EXPECT_EQ(same.Module("layers.1").like, CopyKind::kEqual);

  Net other;
  x = other.Node("Relu", {other.Conv("x", 3, 8, 3)});
  for (int i = 0; i < 3; ++i) {
    std::string h = other.Node("Relu", {other.Conv(x, 8, 8 + 8 * i, 3)});
    x = other.Node("Add", {x, other.Conv(h, 8 + 8 * i, 8, 3)});
  }
  other.Output(x);
  EXPECT_EQ(Found(other.model()).Module("blocks.2").like,
            CopyKind::kOtherWidth);
}

TEST(BlocksTest, ALayerThatIsCalledAgainIsOneModule) {
  Net net;
  const std::string up = net.Weight({8, 32});
  const std::string down = net.Weight({32, 8});
  std::string x = net.Linear("x", 4, 8);
  for (int i = 0; i < 3; ++i) {
    const std::string h = net.Node("Relu", {net.Node("MatMul", {x, up})});
    x = net.Node("Add", {x, net.Node("MatMul", {h, down})});
  }
  net.Output(x);
  const auto modules = Found(net.model()).Modules();
  EXPECT_THAT(modules.at("blocks.0"), SizeIs(12));
  EXPECT_THAT(modules, Not(Contains(Key("blocks.1"))));
}

TEST(BlocksTest, TheSkipsOfAUNetDoNotJoinItsBlocks) {
  Net net;
  std::string x = net.Node("Relu", {net.Conv("x", 3, 8, 3)});
  std::vector<std::string> skips;
  std::vector<std::uint32_t> first;
  for (int i = 0; i < 3; ++i) {
    first.push_back(static_cast<std::uint32_t>(net.graph()->node_size()));
    x = net.Block(x, 8, 8);
    skips.push_back(x);
    x = net.Node("MaxPool", {x});
    schema::AttributeProto* const strides =
        net.graph()
            ->mutable_node(net.graph()->node_size() - 1)
            ->add_attribute();
    strides->set_name("strides");
    strides->add_ints(2);
  }
  for (int i = 3; i-- > 0;) {
    x = net.Node("Resize", {x});
    x = net.Node("Concat", {x, skips[static_cast<std::size_t>(i)]});
    x = net.Node("Relu", {net.Conv(x, 16, 8, 1)});
    first.push_back(static_cast<std::uint32_t>(net.graph()->node_size()));
    x = net.Block(x, 8, 8);
  }
  net.Output(x);
  const Found found(net.model());
  std::vector<std::vector<std::uint32_t>> blocks;
  for (const auto& [path, nodes] : found.Modules()) blocks.push_back(nodes);
  for (const std::uint32_t node : first) {
    EXPECT_THAT(blocks, Contains(ElementsAreArray(From(node, node + 5))));
  }
}

TEST(BlocksTest, TheBodyOfALoopAndTheBranchesOfAnIfAreModules) {
  Net net;
  const std::string x = net.Linear("x", 4, 8);
  net.graph()->add_input()->set_name("c");
  const auto subgraph = [&](const char* op, const char* attribute,
                            const std::string& output) {
    schema::NodeProto* node = nullptr;
    for (schema::NodeProto& other : *net.graph()->mutable_node()) {
      if (other.op_type() == op) node = &other;
    }
    if (node == nullptr) {
      net.Node(op, {"c"});
      node = net.graph()->mutable_node(net.graph()->node_size() - 1);
    }
    schema::AttributeProto* const body = node->add_attribute();
    body->set_name(attribute);
    schema::NodeProto* const inner = body->mutable_g()->add_node();
    inner->set_op_type("MatMul");
    inner->add_input(x);
    inner->add_input(net.Weight({8, 8}));
    inner->add_output(output);
    body->mutable_g()->add_output()->set_name(output);
  };
  subgraph("If", "then_branch", "t");
  subgraph("If", "else_branch", "e");
  subgraph("Loop", "body", "l");
  const auto modules = Found(net.model()).Modules();
  EXPECT_THAT(modules, Contains(Key("body.call.branch.linear")));
  EXPECT_THAT(modules, Contains(Key("body.call.branch2.linear")));
  EXPECT_THAT(modules, Contains(Key("body.call2.linear")));
}

TEST(BlocksTest, AFunctionIsAModuleOfItsFirstCall) {
  Net net;
  schema::FunctionProto* const function = net.model().add_functions();
  function->set_name("F");
  function->set_domain("own");
  function->add_input("a");
  function->add_input("w");
  function->add_output("b");
  schema::NodeProto* const inner = function->add_node();
  inner->set_op_type("MatMul");
  inner->add_input("a");
  inner->add_input("w");
  inner->add_output("b");
  std::string x = net.Linear("x", 4, 8);
  for (int i = 0; i < 2; ++i) {
    x = net.Node("F", {x, net.Weight({8, 8})});
    net.graph()->mutable_node(net.graph()->node_size() - 1)->set_domain("own");
  }
  net.Output(x);
  const Found found(net.model());
  EXPECT_THAT(found.Path(4), StartsWith(found.Path(2)));
  EXPECT_THAT(found.Path(2), testing::HasSubstr("call"));
}

TEST(BlocksTest, FunctionsThatCallEachOtherAreNotNestedWithoutEnd) {
  constexpr int kFunctions = 300;
  Net net;
  schema::ModelProto& model = net.model();
  const auto name = [](int i) { return "F" + std::to_string(i); };
  for (int i = 0; i < kFunctions; ++i) {
    schema::FunctionProto* const function = model.add_functions();
    function->set_name(name(i));
    function->set_domain("pkg");
    function->add_input("a");
    function->add_output("b");
    schema::NodeProto* const node = function->add_node();
    const bool calls = i + 1 < kFunctions;
    node->set_op_type(calls ? name(i + 1) : "Relu");
    if (calls) node->set_domain("pkg");
    node->add_input("a");
    node->add_output("b");
  }
  net.Output(net.Node(name(0), {"x"}));
  net.graph()->mutable_node(0)->set_domain("pkg");
  const Found found(model);
  for (const NodeId node : found.model().Nodes()) {
    const std::string path = found.Path(node);
    EXPECT_THAT(path, Not(IsEmpty()));
    EXPECT_LT(std::count(path.begin(), path.end(), '.'), 70);
  }
}

TEST(BlocksTest, GraphsWithoutDataHaveNoModules) {
  Net net;
  net.Node("Constant", {});
  net.Node("Neg", {"v1"});
  const Found found(net.model());
  EXPECT_THAT(found.Path(0), IsEmpty());
  EXPECT_THAT(found.Path(1), IsEmpty());
  EXPECT_EQ(Found(Net().model()).structure().size(), 0u);
}

TEST(BlocksTest, NodesThatReadWhatComesLaterAreLeftOut) {
  Net net;
  net.Node("Add", {"x", "v2"});
  net.Node("Relu", {"v1"});
  const Found found(net.model());
  EXPECT_THAT(found.structure().size(), testing::Ge(1u));
}

TEST(BlocksTest, PartsThatAreNotConnectedHaveModulesOfTheirOwn) {
  Net net;
  net.graph()->add_input()->set_name("y");
  std::string a = net.Linear("x", 4, 8);
  for (int i = 0; i < 2; ++i) a = net.Layer(a, 8);
  net.Output(a);
  std::string b = net.Linear("y", 4, 8);
  for (int i = 0; i < 2; ++i) b = net.Layer(b, 8);
  net.Output(b);
  const Found found(net.model());
  for (const NodeId node : found.model().Nodes()) {
    EXPECT_THAT(found.Path(node), Not(IsEmpty()));
  }
}

TEST(BlocksTest, AllNodesOfAHundredThousandEqualBlocksHaveAModule) {
  Net net;
  std::string x = net.Linear("x", 8, 8);
  for (int i = 0; i < 100'000; ++i) {
    const std::string h =
        net.Node("Relu", {net.Node("MatMul", {x, net.Weight({8, 8})})});
    x = net.Node("Add", {x, net.Node("MatMul", {h, net.Weight({8, 8})})});
  }
  net.Output(x);
  const Found found(net.model());
  EXPECT_EQ(found.Module("blocks.99999").nodes, 4u);
}

TEST(BlocksTest, WeightsInConstantsAreWeights) {
  Net net;
  std::string x = net.Linear("x", 4, 8);
  for (int i = 0; i < 2; ++i) {
    const auto constant = [&](std::int64_t in, std::int64_t out) {
      const std::string value = net.Node("Constant", {});
      schema::AttributeProto* const attribute =
          net.graph()
              ->mutable_node(net.graph()->node_size() - 1)
              ->add_attribute();
      attribute->set_name("value");
      attribute->mutable_t()->add_dims(in);
      attribute->mutable_t()->add_dims(out);
      return value;
    };
    const std::string up = net.Node("MatMul", {x, constant(8, 32)});
    const std::string h = net.Node("Relu", {up});
    x = net.Node("Add", {x, net.Node("MatMul", {h, constant(32, 8)})});
  }
  net.Output(x);
  const auto modules = Found(net.model()).Modules();
  EXPECT_THAT(modules, Contains(Key("blocks.1.feed_forward.linear2")));
}

}  // namespace
}  // namespace onnx_tag::test
