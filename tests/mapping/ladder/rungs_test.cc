// The table of rungs; cases_test.cc has what each rung says.
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <set>
#include <tuple>

#include "clues/recipes/book/packed_book.h"
#include "mapping/ladder/ladder.h"
#include "mapping/ladder/sources.h"
#include "support/hidden_parts.h"
#include "support/temporary_folder.h"
#include "support/truth.h"

namespace onnx_tag {
namespace {

namespace fs = std::filesystem;

// Names are shown to users and are what `explain` prints: within a strategy
// each is used once for each kind of evidence.
TEST(RungTable, NamesEachRungOfAStrategyOnce) {
  for (const Strategy& strategy : AllStrategies()) {
    std::set<std::pair<std::string_view, EvidenceKind>> names;
    for (const Rung& rung : strategy.rungs) {
      EXPECT_TRUE(names.insert({rung.name, rung.kind}).second) << rung.name;
      EXPECT_FALSE(rung.help.empty()) << rung.name;
    }
  }
}

// The law of facts: the first claim on a node wins, so no tag may rest on a
// weaker kind than a later claim.
TEST(RungTable, RunsStrongerKindsOfEvidenceFirst) {
  for (const Strategy& strategy : AllStrategies()) {
    EvidenceKind last = EvidenceKind::kRule;
    for (const Rung& rung : strategy.rungs) {
      EXPECT_LE(last, rung.kind) << strategy.info.name << " " << rung.name;
      last = rung.kind;
    }
  }
}

// Inference begins where sources end.
TEST(RungTable, IsWeakerThanAllSources) {
  for (std::size_t i = 0; i < AllSources().size(); ++i) {
    for (const Confidence level : {Confidence::kCertain, Confidence::kLow}) {
      EXPECT_LT(KindOf(static_cast<WriterId>(i), level),
                EvidenceKind::kPattern);
    }
  }
  for (const Rung& rung : AllRungs()) {
    EXPECT_GE(rung.kind, EvidenceKind::kPattern) << rung.name;
    EXPECT_EQ(WriterName(rung.id), rung.name);
  }
}

// Also on whole models: no claim is above the level of the table, and none
// changes when the parts that the rung does not read are hidden.
void ExpectColumnsHold(const std::string& name, const std::string& bytes) {
  SCOPED_TRACE(name);
  const Model model = ReadModel(bytes);
  const GraphFacts graph = GatherGraph(model);
  Evidence evidence = GatherEvidence(graph, {.book = &recipes::BuiltInBook()});
  const auto all = [](const std::vector<Claim>& claims) {
    std::vector<std::tuple<NodeId, ModuleId, Confidence, std::string_view>> all;
    for (const Claim& claim : claims) {
      all.emplace_back(claim.node, claim.module, claim.confidence,
                       claim.because);
    }
    return all;
  };
  Placed placed(model.node_count());
  const Clues clues = ReadSources(evidence, kEnhancedSemantic);
  for (std::size_t i = 0; i < AllSources().size(); ++i) {
    for (const Clue& clue : clues.From(static_cast<WriterId>(i))) {
      ASSERT_LE(clue.level, AllSources()[i].highest) << AllSources()[i].name;
    }
  }
  AcceptClues(clues, placed);
  for (const Rung& rung : RungsOf(kEnhancedSemantic)) {
    const std::vector<Claim> claims = rung.propose(evidence, placed);
    for (const Claim& claim : claims) {
      ASSERT_LE(claim.confidence, rung.highest) << rung.name;
    }
    {
      const test::HiddenParts hidden(evidence, rung.reads);
      ASSERT_EQ(all(rung.propose(evidence, placed)), all(claims)) << rung.name;
    }
    Climb(evidence, rung, placed);
  }
}

// The tag of a node is its first clue, and it has one if anybody says a module.
void ExpectTagsOfFirstClues(const std::string& name, const std::string& bytes) {
  SCOPED_TRACE(name);
  const Model model = ReadModel(bytes);
  const GraphFacts graph = GatherGraph(model);
  const Evidence evidence =
      GatherEvidence(graph, {.book = &recipes::BuiltInBook()});
  Placed placed(model.node_count());
  const Clues clues =
      PlaceAll(evidence, FindStrategy("enhanced_semantic"), placed);
  IdVector<NodeId, bool> seen(model.node_count(), false);
  for (const Clue& clue : clues.Sorted()) {
    if (seen[clue.node]) continue;
    seen[clue.node] = true;
    const Tag& tag = placed[clue.node];
    ASSERT_EQ(tag.module, clue.module) << Index(clue.node);
    ASSERT_EQ(tag.confidence, clue.level);
    ASSERT_EQ(tag.source, clue.source);
    ASSERT_EQ(tag.evidence, clue.kind);
  }
  for (const NodeId node : model.Nodes()) {
    ASSERT_EQ(placed[node].tagged(), seen[node]);
  }
}

TEST(RungTable, TheFirstClueIsTheTag) {
  for (const char* const name : {"bert/ts", "bert/dyn-nometa", "bert/ts-qdyn",
                                 "nn_parts/ts-noscope", "nn_control_flow/ts"}) {
    ExpectTagsOfFirstClues(name, test::OneTruth(name).Bytes());
  }
}

TEST(RungTable, HoldsOnModels) {
  for (const char* const name : {"bert/ts", "bert/dyn-nometa", "bert/ts-qdyn",
                                 "nn_parts/ts-noscope", "nn_control_flow/ts"}) {
    ExpectColumnsHold(name, test::OneTruth(name).Bytes());
  }
  const char* const more = std::getenv("ONNX_TAG_SHARED_MODELS");
  if (more == nullptr) return;
  for (const auto& entry : fs::recursive_directory_iterator(more)) {
    if (entry.path().extension() != ".onnx") continue;
    ExpectColumnsHold(entry.path().string(), test::ReadFile(entry.path()));
  }
}

}  // namespace
}  // namespace onnx_tag
