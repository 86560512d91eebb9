// Every strategy on recordings made by the companion from real models.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "clues/recording/module_map.h"
#include "core/tagging/module_format.h"
#include "onnx_tag/error.h"
#include "onnx_tag/recording.h"
#include "support/model_builder.h"
#include "support/temporary_folder.h"
#include "support/truth.h"

namespace onnx_tag {
namespace {

using test::AddNode;
using test::AddParameters;
using test::Mapped;
using ::testing::HasSubstr;

// "bert/ts-bare".
std::string ReadAll(const std::string& form) {
  return test::OneTruth(form).Bytes();
}

MappingOptions By(const std::string& strategy) {
  MappingOptions options;
  options.strategy = strategy;
  return options;
}

// The facts of a recorded model that the strategy needs.
MappingFacts FactsFor(const std::string& strategy, const std::string& model) {
  const std::string text =
      test::ReadFile(ONNX_TAG_TRUTH "/" + model + "/recording.json");
  auto recording = std::make_shared<Recording>(ReadRecording(text));
  recording->file = model + "/recording.json";
  MappingFacts facts;
  facts.hierarchy = std::make_shared<ModuleMap>(ReadModuleMap(text));
  if (strategy == "htp") facts.trace = recording;
  if (strategy == "fx_graph") facts.fx = recording;
  return facts;
}

std::string ErrorOf(const std::string& bytes, const MappingOptions& options,
                    const MappingFacts& facts = {}) {
  try {
    MapNodes(ReadModel(bytes), options, facts);
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::kUsage);
    return error.what();
  }
  return "";
}

std::uint64_t Auxiliary(const Coverage& coverage) {
  return coverage.by_source[static_cast<std::size_t>(Source::kAuxiliary)];
}

TEST(Strategies, AreFive) {
  std::vector<std::string_view> names;
  for (const StrategyInfo& info : Strategies()) names.push_back(info.name);
  EXPECT_THAT(names, ::testing::ElementsAre("enhanced_semantic", "usage_based",
                                            "htp", "universal", "fx_graph"));
}

TEST(Strategies, HtpCoversFilesWithoutASingleName) {
  for (const char* file : {"bert/ts-bare", "bert/dyn-bare", "resnet/ts-bare",
                           "nn_parts/dyn-bare"}) {
    const std::string bytes = ReadAll(file);
    const Model model = ReadModel(bytes);
    const std::string name(file);
    const Tagging tagging = MapNodes(
        model, By("htp"), FactsFor("htp", name.substr(0, name.find('/'))));
    const Coverage coverage = CountTags(tagging);
    EXPECT_EQ(coverage.untagged(), 0u) << file;
    EXPECT_LT(10 * Auxiliary(coverage), coverage.nodes) << file;
    EXPECT_FALSE(tagging.root.name.empty()) << file;
  }
}

TEST(Strategies, HtpSaysTheSameWithAndWithoutNames) {
  const MappingFacts facts = FactsFor("htp", "bert");
  const std::string named = ReadAll("bert/ts");
  const std::string bare = ReadAll("bert/ts-bare");
  const Tagging a = MapNodes(ReadModel(named), By("htp"), facts);
  const Tagging b = MapNodes(ReadModel(bare), By("htp"), facts);
  ASSERT_EQ(a.tags.size(), b.tags.size());
  for (const NodeId node : AllIds<NodeId>(a.tags.size())) {
    EXPECT_EQ(a.modules.Path(a.tags[node].module),
              b.modules.Path(b.tags[node].module))
        << Index(node);
  }
}

TEST(Strategies, HtpNeedsATrace) {
  const std::string error = ErrorOf(ReadAll("bert/ts"), By("htp"));
  EXPECT_THAT(error, HasSubstr("--trace"));
  EXPECT_THAT(error, HasSubstr("python -m onnx_tag record"));
}

TEST(Strategies, HtpRefusesTheTraceOfAnotherModel) {
  const std::string error =
      ErrorOf(ReadAll("bert/ts-bare"), By("htp"), FactsFor("htp", "resnet"));
  EXPECT_THAT(error, HasSubstr("another model"));
  EXPECT_THAT(error, HasSubstr("%"));
  EXPECT_THAT(error, HasSubstr("python -m onnx_tag record"));
}

// Two layers that multiply with one constant: nobody's, so everybody's.
TEST(Strategies, HtpKeepsWhatLayersShareApart) {
  const std::string text = R"({
    "modules": {"": "Net", "layers": "ModuleList", "layers.0": "Block",
                "layers.1": "Block"},
    "values": [{"dtype": "float32", "shape": [1, 2], "kind": "input"},
               {"dtype": "float32", "shape": [1, 2]},
               {"dtype": "float32", "shape": [1, 2]},
               {"dtype": "float32", "shape": [1, 2]},
               {"dtype": "float32", "shape": [1, 2]}],
    "events": [
      {"op": "aten.relu.default", "module": "layers.0", "call": 0,
       "inputs": [0], "outputs": [1]},
      {"op": "aten.mul.Tensor", "module": "layers.0", "call": 0,
       "inputs": [1, {"const": 2}], "outputs": [2]},
      {"op": "aten.relu.default", "module": "layers.1", "call": 1,
       "inputs": [2], "outputs": [3]},
      {"op": "aten.mul.Tensor", "module": "layers.1", "call": 1,
       "inputs": [3, {"const": 2}], "outputs": [4]}]})";
  MappingFacts facts;
  facts.trace = std::make_shared<Recording>(ReadRecording(text));
  facts.hierarchy = std::make_shared<ModuleMap>(ReadModuleMap(text));
  schema::ModelProto model;
  auto* graph = model.mutable_graph();
  graph->add_input()->set_name("x");
  AddNode(graph, "Constant", {}, {"c"});
  AddNode(graph, "Relu", {"x"}, {"1"});
  AddNode(graph, "Mul", {"1", "c"}, {"2"});
  AddNode(graph, "Relu", {"2"}, {"3"});
  AddNode(graph, "Mul", {"3", "c"}, {"4"});
  const Mapped mapped(model, By("htp"), facts);
  const Tagging& tagging = mapped.tagging();
  const Tag& shared = tagging.tags[NodeId{0}];
  EXPECT_EQ(shared.source, Source::kAuxiliary);
  EXPECT_EQ(shared.confidence, Confidence::kLow);
  EXPECT_EQ(shared.module, ModuleTree::kRoot);
  const ModuleFormat format(tagging);
  EXPECT_EQ(format.HierarchyTag(shared), "/Net/AuxiliaryOperations");
  EXPECT_EQ(format.HierarchyTag(tagging.tags[NodeId{1}]), "/Net/Block.0");
  EXPECT_EQ(format.HierarchyTag(tagging.tags[NodeId{4}]), "/Net/Block.1");
  EXPECT_EQ(Auxiliary(CountTags(tagging)), 1u);
}

TEST(Strategies, AllTakeATrace) {
  const MappingFacts facts = FactsFor("htp", "bert");
  const std::string bytes = ReadAll("bert/dyn-bare");
  for (const std::string strategy : {"enhanced_semantic", "universal", "htp"}) {
    EXPECT_GT(
        CountTags(MapNodes(ReadModel(bytes), By(strategy), facts)).share(),
        0.95)
        << strategy;
  }
}

TEST(Strategies, FxGraphReadsMetadataOrARecording) {
  const MappingOptions options = By("fx_graph");
  const std::string dyn = ReadAll("bert/dyn");
  EXPECT_GT(CountTags(MapNodes(ReadModel(dyn), options)).share(), 0.99);
  const std::string bare = ReadAll("bert/dyn-bare");
  const std::string error = ErrorOf(bare, options);
  EXPECT_THAT(error, HasSubstr("--fx"));
  EXPECT_THAT(error, HasSubstr("python -m onnx_tag record"));
  EXPECT_GT(CountTags(MapNodes(ReadModel(bare), options,
                               FactsFor("fx_graph", "bert")))
                .share(),
            0.99);
}

TEST(Strategies, UniversalNamesEveryClass) {
  const std::string bytes = ReadAll("bert/ts");
  const Model model = ReadModel(bytes);
  const Tagging tagging =
      MapNodes(model, By("universal"), FactsFor("universal", "bert"));
  EXPECT_TRUE(tagging.format.torch_nn);
  bool linear = false;
  for (const ModuleId id : tagging.modules.All()) {
    linear = linear || ModuleFormat(tagging).HierarchyTag(id).ends_with(
                           "BertSelfAttention/Linear");
  }
  EXPECT_TRUE(linear);
}

// Named as TorchScript does, with classes that only a hierarchy knows.
MappingFacts Classes(std::string_view modules) {
  MappingFacts facts;
  facts.hierarchy = std::make_shared<ModuleMap>(
      ReadModuleMap("{\"modules\": " + std::string(modules) + "}"));
  return facts;
}

schema::ModelProto TwoLinears() {
  schema::ModelProto model;
  model.set_producer_name("pytorch");
  auto* graph = model.mutable_graph();
  AddParameters(model, {"a.weight", "b.weight"});
  AddNode(graph, "MatMul", {"x", "a.weight"}, {"1"}, "/a/MatMul");
  AddNode(graph, "MatMul", {"1", "b.weight"}, {"2"}, "/b/MatMul");
  return model;
}

TEST(Strategies, UsageBasedWantsMoreThanTorchNn) {
  const Mapped mapped(TwoLinears(), By("usage_based"),
                      Classes(R"({"": "Net", "a": "MyLinear",
                                     "b": "Linear"})"));
  EXPECT_TRUE(mapped.tagging().tags[NodeId{0}].tagged());
  EXPECT_FALSE(mapped.tagging().tags[NodeId{1}].tagged());
}

TEST(Strategies, UsageBasedLeavesPlainTorchNnAlone) {
  const Mapped mapped(TwoLinears(), By("usage_based"),
                      Classes(R"({"": "Net", "a": "Linear",
                                     "b": "Linear"})"));
  EXPECT_EQ(CountTags(mapped.tagging()).tagged, 0u);
}

TEST(Strategies, UsageBasedKeepsTheExceptions) {
  const MappingFacts facts =
      Classes(R"({"": "Net", "a": "Linear", "b": "Linear"})");
  MappingOptions options = By("usage_based");
  options.format.exceptions = {"Linear"};
  EXPECT_EQ(CountTags(Mapped(TwoLinears(), options, facts).tagging()).tagged,
            2u);
}

}  // namespace
}  // namespace onnx_tag
