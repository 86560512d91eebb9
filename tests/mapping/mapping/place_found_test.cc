// Blocks found in the graph alone, as tags.
#include "mapping/mapping/place_found.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

#include "clues/structure/small_nets.h"
#include "mapping/mapping/observed_mapping.h"
#include "support/model_builder.h"

namespace onnx_tag::test {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

// Three layers without a name; 2 nodes before them, 2 behind.
schema::ModelProto Nameless() {
  Net net;
  std::string x = net.Linear("x", 4, 8);
  for (int i = 0; i < 3; ++i) x = net.Layer(x, 8);
  net.Output(net.Linear(x, 8, 2));
  return net.model();
}
constexpr std::uint32_t kFirstOfLayers = 2;

std::set<Source> SourcesOf(const Tagging& tagging) {
  std::set<Source> sources;
  for (const Tag& tag : tagging.tags) {
    if (tag.tagged()) sources.insert(tag.source);
  }
  return sources;
}

MappingOptions Using(const std::string& strategy) {
  MappingOptions options = NoBook();
  options.strategy = strategy;
  return options;
}

TEST(PlaceFoundTest, EveryNodeOfANamelessFileIsInAFoundModule) {
  const Mapped mapped(Nameless(), NoBook());
  const Coverage coverage = CountTags(mapped.tagging());
  EXPECT_EQ(coverage.found(), coverage.nodes);
  EXPECT_EQ(coverage.sure, 0u);
  EXPECT_EQ(coverage.guessed(), 0u);
  EXPECT_EQ(mapped.Module("", kFirstOfLayers), "layers.0.norm");
  EXPECT_EQ(mapped.Module("", 0), "stem.linear");
}

// TorchScript writes a copy of a weight that modules share before all else.
TEST(PlaceFoundTest, ModulesAreInTheOrderInWhichTheyRun) {
  schema::ModelProto model = Nameless();
  schema::GraphProto* const graph = model.mutable_graph();
  std::string* weight = nullptr;  // of the last layer's first norm
  for (schema::NodeProto& node : *graph->mutable_node()) {
    if (node.op_type() == "LayerNormalization") weight = node.mutable_input(1);
  }
  schema::NodeProto copy;
  copy.set_op_type("Identity");
  copy.add_input(*weight);
  copy.add_output("copied");
  *weight = "copied";
  graph->add_node();
  for (int i = graph->node_size(); --i > 0;) {
    *graph->mutable_node(i) = graph->node(i - 1);
  }
  *graph->mutable_node(0) = copy;
  const Mapped mapped(model, NoBook());
  const ModuleTree& tree = mapped.tagging().modules;
  std::vector<std::string> names;
  for (const ModuleId id : tree.Children(ModuleTree::kRoot)) {
    names.emplace_back(tree.Atom(id));
  }
  EXPECT_THAT(names, ElementsAre("stem", "layers", "head"));
  names.clear();
  for (const ModuleId id : tree.Children(tree.Find("layers"))) {
    names.emplace_back(tree.Atom(id));
  }
  EXPECT_THAT(names, ElementsAre("0", "1", "2"));
}

TEST(PlaceFoundTest, NoFoundTagIsBetterThanMedium) {
  const Mapped mapped(Nameless(), NoBook());
  for (const Tag& tag : mapped.tagging().tags) {
    EXPECT_LE(tag.confidence, Confidence::kMedium);
  }
}

TEST(PlaceFoundTest, ACopySaysWhichOneItIs) {
  const Mapped mapped(Nameless(), NoBook());
  const Tagging& tagging = mapped.tagging();
  const FoundBlock* const layer =
      tagging.FindFound(tagging.modules.Find("layers.1"));
  ASSERT_NE(layer, nullptr);
  EXPECT_THAT(layer->description, HasSubstr("layer 1 of 3 equal layers"));
  EXPECT_THAT(layer->description, HasSubstr("operators "));
}

TEST(PlaceFoundTest, WithoutStructureNoNodeHasTheSource) {
  MappingOptions options = NoBook();
  options.structure = false;
  const Mapped mapped(Nameless(), options);
  EXPECT_EQ(CountTags(mapped.tagging()).found(), 0u);
  EXPECT_TRUE(mapped.tagging().found.empty());
}

TEST(PlaceFoundTest, UsageBasedNeverUsesIt) {
  const Mapped mapped(Nameless(), Using("usage_based"));
  EXPECT_FALSE(SourcesOf(mapped.tagging()).contains(Source::kStructure));
  EXPECT_EQ(CountTags(Mapped(Nameless(), Using("universal")).tagging()).found(),
            CountTags(mapped.tagging()).nodes);
}

TEST(PlaceFoundTest, OnlyTheOperatorGivesAClass) {
  Net net;
  std::string x = net.Conv("x", 3, 8, 3);
  for (int i = 0; i < 3; ++i) x = net.Block(x, 8, 8);
  net.Output(x);
  const Mapped mapped(net.model(), NoBook());
  std::set<std::string_view> classes;
  for (const ModuleId id : mapped.tagging().modules.All()) {
    classes.insert(mapped.tagging().modules.Class(id));
  }
  EXPECT_EQ(classes, (std::set<std::string_view>{"", "Conv2d"}));
}

// The second of two parts has the scope "layers".
schema::ModelProto HalfNamed() {
  Net net;
  std::string x = "x";
  for (int i = 0; i < 3; ++i) x = net.Layer(x, 8);
  const int named = net.graph()->node_size();
  // What is computed from sizes alone belongs to nobody.
  x = net.Linear(x, 8, 8);
  net.Output(x);
  for (int i = named; i < net.graph()->node_size(); ++i) {
    net.graph()->mutable_node(i)->set_name("/layers/MatMul_" +
                                           std::to_string(i));
  }
  return net.model();
}

TEST(PlaceFoundTest, ModulesOfTheFileKeepTheirNames) {
  const Mapped mapped(HalfNamed(), NoBook());
  const Tagging& tagging = mapped.tagging();
  for (const FoundBlock& block : tagging.found) {
    EXPECT_NE(tagging.modules.Path(block.module), "layers");
  }
  EXPECT_EQ(tagging.FindFound(tagging.modules.Find("layers")), nullptr);
}

TEST(PlaceFoundTest, AnExplanationSaysThatNamesAreInvented) {
  const std::string bytes = Nameless().SerializeAsString();
  const Model model = ReadModel(bytes);
  const Explanation explanation =
      Explain(model, NoBook(), {}, MakeId<NodeId>(kFirstOfLayers));
  ASSERT_FALSE(explanation.claims.empty());
  const ExplainedClaim& last = explanation.claims.back();
  EXPECT_TRUE(last.wins);
  EXPECT_EQ(last.rung, "structure");
  EXPECT_THAT(last.because, AllOf(HasSubstr("layer 0 of 3 equal layers"),
                                  HasSubstr("invented")));
}

// A guess of the recipe book: the module of each node.
class Guess {
 public:
  explicit Guess(const schema::ModelProto& model)
      : bytes_(model.SerializeAsString()), model_(ReadModel(bytes_)) {
    tags_.resize(model_.node_count());
  }
  void Put(std::uint32_t first, std::uint32_t end, const std::string& module) {
    for (std::uint32_t i = first; i < end; ++i) {
      Tag& tag = tags_[MakeId<NodeId>(i)];
      tag.module = modules_.Add(module);
      tag.source = Source::kOperation;
      tag.confidence = Confidence::kLow;
    }
  }
  std::vector<NodeId> Open() const {
    return FindOpen(GraphFacts(model_), modules_, tags_).nodes;
  }
  std::uint32_t nodes() const {
    return static_cast<std::uint32_t>(model_.node_count());
  }

 private:
  std::string bytes_;
  Model model_;
  ModuleTree modules_;
  IdVector<NodeId, Tag> tags_;
};
// Of the layers of Nameless().
constexpr std::uint32_t kLayer = 21;

TEST(PlaceFoundTest, AGuessThatTheBlocksConfirmStays) {
  Guess guess(Nameless());
  ASSERT_EQ(guess.nodes(), 2 + 3 * kLayer + 2);
  guess.Put(0, 2, "embed");
  for (std::uint32_t i = 0; i < 3; ++i) {
    const std::uint32_t first = kFirstOfLayers + i * kLayer;
    const std::string layer = "h." + std::to_string(i);
    guess.Put(first, first + 13, layer + ".attn");
    guess.Put(first + 13, first + kLayer, layer + ".mlp");
  }
  guess.Put(2 + 3 * kLayer, guess.nodes(), "head");
  EXPECT_THAT(guess.Open(), IsEmpty());
  // The first node of the head is not in the last layer.
  guess.Put(2 + 3 * kLayer, 3 + 3 * kLayer, "h.2.mlp");
  EXPECT_THAT(guess.Open(), ElementsAre(MakeId<NodeId>(2 + 3 * kLayer)));
}

// The book knows a model with one layer more.
TEST(PlaceFoundTest, ALayerThatNoBlockIsLikeIsDropped) {
  Guess guess(Nameless());
  guess.Put(0, 2, "embed");
  for (std::uint32_t i = 0; i < 3; ++i) {
    const std::uint32_t first = kFirstOfLayers + i * kLayer;
    const std::string layer = "h." + std::to_string(i);
    guess.Put(first, first + 1, layer + ".norm");
    guess.Put(first + 1, first + 13, layer + ".attn");
    guess.Put(first + 13, first + kLayer, layer + ".mlp");
  }
  guess.Put(2 + 3 * kLayer, guess.nodes(), "h.3.norm");
  EXPECT_THAT(guess.Open(), ElementsAre(MakeId<NodeId>(2 + 3 * kLayer),
                                        MakeId<NodeId>(3 + 3 * kLayer)));
}

TEST(PlaceFoundTest, AGuessThatTearsBlocksApartIsDropped) {
  Guess guess(Nameless());
  guess.Put(0, 2, "embed");
  for (std::uint32_t i = 0; i < 3; ++i) {
    const std::uint32_t first = kFirstOfLayers + i * kLayer;
    const std::string layer = "h." + std::to_string(i);
    guess.Put(first, first + 10, layer + ".attn");
    guess.Put(first + 10, first + kLayer, "h." + std::to_string(i + 1));
  }
  guess.Put(2 + 3 * kLayer, guess.nodes(), "head");
  EXPECT_THAT(guess.Open(), SizeIs(guess.nodes()));
}

TEST(PlaceFoundTest, AGuessWithOneModuleForAllBlocksIsDropped) {
  Guess guess(Nameless());
  guess.Put(0, guess.nodes() - 2, "model");
  guess.Put(guess.nodes() - 2, guess.nodes(), "head");
  EXPECT_THAT(guess.Open(), SizeIs(guess.nodes()));
}

TEST(PlaceFoundTest, GraphsWithoutDataAreMapped) {
  Net empty;
  EXPECT_EQ(CountTags(Mapped(empty.model(), NoBook()).tagging()).nodes, 0u);

  Net constants;
  for (int i = 0; i < 3; ++i) constants.Node("Constant", {});
  EXPECT_EQ(CountTags(Mapped(constants.model(), NoBook()).tagging()).nodes, 3u);
}

TEST(PlaceFoundTest, OneLayerAloneIsInModules) {
  Net net;
  net.Output(net.Layer("x", 8));
  const Coverage coverage = CountTags(Mapped(net.model(), NoBook()).tagging());
  EXPECT_EQ(coverage.found(), coverage.nodes);
}

TEST(PlaceFoundTest, PartsThatAreNotConnectedAreBothInModules) {
  Net net;
  net.graph()->add_input()->set_name("y");
  std::string x = "x";
  std::string y = "y";
  for (int i = 0; i < 3; ++i) x = net.Layer(x, 8);
  for (int i = 0; i < 3; ++i) y = net.Block(y, 8, 8);
  net.Output(x);
  net.Output(y);
  const Mapped mapped(net.model(), NoBook());
  const Coverage coverage = CountTags(mapped.tagging());
  EXPECT_EQ(coverage.found(), coverage.nodes);
}

TEST(PlaceFoundTest, ManyEqualBlocksAreOneList) {
  Net net;
  std::string x = "x";
  for (int i = 0; i < 2000; ++i) x = net.Block(x, 8, 8);
  net.Output(x);
  const Mapped mapped(net.model(), NoBook());
  const Tagging& tagging = mapped.tagging();
  EXPECT_EQ(CountTags(tagging).found(), CountTags(tagging).nodes);
  std::size_t last = 0;
  for (const FoundBlock& block : tagging.found) {
    last += block.description.find(" 1999 of 2000 equal blocks") !=
            std::string::npos;
  }
  EXPECT_EQ(last, 1u);
}

}  // namespace
}  // namespace onnx_tag::test
