#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>

#include "mapping/ladder/ladder.h"
#include "mapping/mapping/observed_mapping.h"
#include "mapping/rules/rules.h"
#include "support/model_builder.h"
#include "support/truth.h"

namespace onnx_tag::test {
namespace {

using ::testing::HasSubstr;
using ::testing::SizeIs;

schema::ModelProto TwoLayers() {
  schema::ModelProto proto;
  AddParameters(proto, {"layers.0.fc.weight", "layers.1.fc.weight"});
  schema::GraphProto* const graph = proto.mutable_graph();
  AddNode(graph, "MatMul", {"x", "layers.0.fc.weight"}, {"a"});
  AddNode(graph, "MatMul", {"a", "layers.1.fc.weight"}, {"b"});
  return proto;
}

// Every tag has the claim that made it.
void ExpectAClaimForEachTag(const Model& model, const MappingFacts& facts) {
  ClaimGatherer gatherer;
  const Tagging tagging = MapNodes(model, {}, facts, &gatherer);
  const GatheredClaims gathered = gatherer.Take();
  std::map<NodeId, const GatheredClaim*> winners;
  for (const GatheredClaim& claim : gathered.winners) {
    EXPECT_TRUE(winners.emplace(claim.node, &claim).second) << "a node twice";
  }
  for (const NodeId node : model.Nodes()) {
    const Tag& tag = tagging.tags[node];
    ASSERT_EQ(winners.contains(node), tag.tagged()) << Index(node);
    if (!tag.tagged()) continue;
    const GatheredClaim& claim = *winners[node];
    EXPECT_EQ(claim.module, tag.module) << claim.because;
    EXPECT_EQ(claim.confidence, tag.confidence) << claim.because;
    EXPECT_EQ(claim.source, tag.source) << claim.because;
  }
  std::map<NodeId, std::vector<ModuleId>> others;
  for (const GatheredClaim& claim : gathered.others) {
    others[claim.node].push_back(claim.module);
    EXPECT_LE(others[claim.node].size(), 3u);
    if (winners.contains(claim.node)) {
      EXPECT_NE(claim.module, winners[claim.node]->module);
    }
  }
}

TEST(ClaimGatherer, HasTheClaimOfEachTag) {
  int models = 0;
  for (const TruthFile& file : FindTruth(ONNX_TAG_TRUTH)) {
    SCOPED_TRACE(file.Name());
    const std::string bytes = file.Bytes();
    ExpectAClaimForEachTag(ReadModel(bytes), {});
    ++models;
  }
  EXPECT_GT(models, 20);
}

TEST(ClaimGatherer, HasTheRuleThatMovesANode) {
  const std::string bytes = TwoLayers().SerializeAsString();
  MappingFacts facts;
  facts.rules = std::make_shared<const Rules>(ReadRules(
      R"({"rules": [{"match": {"module": "layers.1.fc"},
                     "module": "elsewhere.fc"}]})",
      "r.json"));
  ExpectAClaimForEachTag(ReadModel(bytes), facts);
}

// A breach is rare in the mapping of a sound file, so this test makes one.
TEST(ClaimGatherer, TellsTheLawAndWhatItOverruled) {
  const std::string bytes = TwoLayers().SerializeAsString();
  const Model model = ReadModel(bytes);
  const GraphFacts graph = GatherGraph(model);
  Evidence evidence = GatherEvidence(graph);
  const Claim wrong{NodeId{1}, evidence.modules.Add("layers.0.act"),
                    Confidence::kLow, Source::kLocality, "its neighbours"};
  const RuleApplication rules(nullptr);
  ClaimGatherer gatherer;
  gatherer.Begin(evidence, rules);
  Placed placed(model.node_count());
  Accept(wrong, EvidenceKind::kPattern, placed);
  Clues clues(model.node_count());
  clues.Add(WriterId::kFirstRung, EvidenceKind::kPattern, wrong);
  gatherer.BeforeLaws(clues,
                      CheckLaws(evidence.graph, evidence.modules, evidence,
                                evidence, placed, {}),
                      placed);
  const GatheredClaims gathered = gatherer.Take();
  ASSERT_THAT(gathered.winners, SizeIs(1));
  EXPECT_EQ(evidence.modules.Path(gathered.winners[0].module), "layers.1.fc");
  EXPECT_EQ(gathered.winners[0].source, Source::kParameter);
  EXPECT_THAT(gathered.winners[0].because,
              HasSubstr("reads layers.1.fc.weight, a parameter of"));
  ASSERT_THAT(gathered.others, SizeIs(1));
  EXPECT_EQ(evidence.modules.Path(gathered.others[0].module), "layers.0.act");
  EXPECT_EQ(gathered.others[0].because, "its neighbours");
}

}  // namespace
}  // namespace onnx_tag::test
