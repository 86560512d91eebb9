// Files on which a version was wrong (tests/cases/README.md).
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

#include "clues/recording/module_map.h"
#include "file/model/model_file.h"
#include "onnx_tag/mapping.h"
#include "support/temporary_folder.h"
#include "support/truth.h"

namespace onnx_tag {
namespace {

using ::testing::ElementsAre;

class Case {
 public:
  explicit Case(const std::string& name)
      : file_(ModelFile::Open(ONNX_TAG_TEST_FOLDER "/cases/" + name + ".onnx")),
        tagging_(MapNodes(file_.model(), {})) {}

  const Tag& TagOf(std::string_view node) const {
    for (const NodeId id : file_.model().Nodes()) {
      if (file_.model()[id].name == node) return tagging_.tags[id];
    }
    throw std::logic_error("no such node");
  }
  std::string ModuleOf(std::string_view node) const {
    return tagging_.modules.Path(TagOf(node).module);
  }
  std::vector<std::string> ChildrenOf(std::string_view module) const {
    const ModuleTree& tree = tagging_.modules;
    std::vector<std::string> atoms;
    for (const ModuleId child : tree.Children(tree.Find(module))) {
      atoms.emplace_back(tree.Atom(child));
    }
    return atoms;
  }
  // How many nodes have each module of this operator, by module.
  std::map<std::string, int> ModulesOf(std::string_view op) const {
    std::map<std::string, int> modules;
    for (const NodeId id : file_.model().Nodes()) {
      if (file_.model().OpType(id) == op && tagging_.tags[id].tagged()) {
        ++modules[tagging_.modules.Path(tagging_.tags[id].module)];
      }
    }
    return modules;
  }
  const Tagging& tagging() const { return tagging_; }

 private:
  ModelFile file_;
  Tagging tagging_;
};

TEST(Cases, ARecordedItemThatRanAgainStandsForTwoGroups) {
  const Case albert("albert");
  const std::map<std::string, int> softmaxes = albert.ModulesOf("Softmax");
  EXPECT_EQ(
      softmaxes,
      (std::map<std::string, int>{
          {"encoder.albert_layer_groups.0.albert_layers.0.attention", 2},
          {"encoder.albert_layer_groups.1.albert_layers.0.attention", 2}}));
  EXPECT_LT(albert.TagOf("node_Softmax_223").confidence, Confidence::kCertain);
}

TEST(Cases, AModelWithoutLogitsHasNoHead) {
  const Case bert("bert_dyn_anon");
  EXPECT_EQ(bert.tagging().root.name, "BertModel");
  EXPECT_THAT(bert.ChildrenOf(""),
              ElementsAre("embeddings", "encoder", "pooler"));
}

TEST(Cases, LayersThatShareTheirWeightsAreNotAnElectra) {
  EXPECT_EQ(Case("albert_anon").tagging().root.name, "AlbertModel");
}

TEST(Cases, ModulesAreInTheOrderInWhichTheyCompute) {
  EXPECT_THAT(Case("bert_ts").ChildrenOf(""),
              ElementsAre("embeddings", "encoder", "pooler"));
  EXPECT_THAT(Case("defects_ts").ChildrenOf(""),
              ElementsAre("stem", "stages", "mixers", "head"));
  const Case deep("deep_untrained");
  EXPECT_THAT(deep.ChildrenOf(""), ElementsAre("emb", "blocks", "head"));
  EXPECT_EQ(deep.ChildrenOf("blocks.0"), deep.ChildrenOf("blocks.11"));
}

TEST(Cases, NamesOfParametersCountAsInputsOfTheGraph) {
  const Case qwen("qwen_inputs");
  const std::string layer = "model.layers.";
  for (const auto& [node, module] : std::map<std::string, std::string>{
           {"node_linear_2", "0.self_attn.v_proj"},
           {"node_mul_10", "0.post_attention_layernorm"},
           {"node_linear_9", "1.self_attn.v_proj"},
           {"node_mul_22", "2.input_layernorm"}}) {
    EXPECT_EQ(qwen.ModuleOf(node), layer + module) << node;
  }
  EXPECT_EQ(qwen.ModuleOf("node_mul_31"), "model.norm");
}

// The rows that a strategy has right with a recording.
int CountExact(const test::TruthFile& file, const std::string& strategy) {
  const std::string bytes = file.Bytes();
  const Model model = ReadModel(bytes);
  const std::string json = test::ReadFile(file.hierarchy);
  MappingFacts facts;
  auto map = std::make_shared<ModuleMap>(ReadModuleMap(json));
  map->name = "recording.json";
  facts.hierarchy = map;
  auto recording = std::make_shared<Recording>(ReadRecording(json));
  recording->file = "recording.json";
  facts.trace = recording;
  facts.fx = recording->fx.empty() ? nullptr : recording;
  MappingOptions options;
  options.strategy = strategy;
  const Tagging tagging = MapNodes(model, options, facts);
  int exact = 0;
  for (const test::TruthRow& row : test::ReadTruth(file, model)) {
    const Tag& tag = tagging.tags[row.node];
    exact +=
        tag.tagged() && test::IsExact(tagging.modules.Path(tag.module), row);
  }
  return exact;
}

TEST(Cases, TheDefaultIsNeverBelowHtpWithTheSameRecording) {
  int files = 0;
  for (const test::TruthFile& file : test::FindTruth(ONNX_TAG_TRUTH)) {
    if (file.hierarchy.filename() != "recording.json") continue;
    ++files;
    EXPECT_GE(CountExact(file, "enhanced_semantic"), CountExact(file, "htp"))
        << file.Name();
  }
  EXPECT_GT(files, 10);
}

}  // namespace
}  // namespace onnx_tag
