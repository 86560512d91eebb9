// The laws of src/mapping/mapping/laws.h, over every model in tests/ and in the
// folder that the environment variable ONNX_TAG_SHARED_MODELS names, in every
// strategy that needs no recording. Nodes that read a shared parameter are
// exempt: the test lists their number, and known truth decides about them.
#include "mapping/mapping/laws.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <iostream>
#include <map>

#include "onnx_tag/error.h"
#include "onnx_tag/mapping.h"
#include "support/model_builder.h"
#include "support/truth.h"

namespace onnx_tag::test {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

// Those of tests/truth, and others without truth.
std::vector<TruthFile> AllModels() {
  std::vector<TruthFile> models = FindTruth(ONNX_TAG_TRUTH);
  std::vector<std::filesystem::path> paths;
  std::vector<std::filesystem::path> folders = {ONNX_TAG_TEST_FOLDER "/models"};
  if (const char* const more = std::getenv("ONNX_TAG_SHARED_MODELS")) {
    folders.emplace_back(more);
  }
  for (const std::filesystem::path& folder : folders) {
    for (const auto& entry :
         std::filesystem::recursive_directory_iterator(folder)) {
      if (entry.path().extension() == ".onnx") paths.push_back(entry.path());
    }
  }
  std::sort(paths.begin(), paths.end());
  for (std::filesystem::path& path : paths) {
    TruthFile& file = models.emplace_back();
    file.model = path.string();
    file.onnx = path;
    file.truth = path.replace_extension(".truth.tsv");
  }
  return models;
}

struct Counts {
  std::map<std::string, int> exempt;  // by reason
  int right = 0;                      // of the exempt nodes with truth
  int wrong = 0;
};

void CheckModel(const TruthFile& file, const std::string& strategy,
                Counts& counts) {
  SCOPED_TRACE(file.Name() + " " + strategy);
  const std::string bytes = file.Bytes();
  const Model model = ReadModel(bytes);
  MappingOptions options;
  options.strategy = strategy;
  if (strategy == "fx_graph" && !HasFxMetadata(model)) return;
  Tagging tagging = MapNodes(model, options);
  std::map<NodeId, TruthRow> truth;
  for (TruthRow& row : ReadTruth(file, model)) {
    truth.emplace(row.node, std::move(row));
  }
  for (const LawFinding& finding : CheckLaws(model, tagging)) {
    const Tag& tag = tagging.tags[finding.node];
    const Node& node = model[finding.node];
    EXPECT_FALSE(finding.is_breach())
        << model.GraphPath(node.graph) << '#' << node.index << ' '
        << LawText(finding, tagging.modules, tag);
    ++counts.exempt[std::string(
        kExemptionNames[static_cast<std::size_t>(finding.exemption)])];
    const auto known = truth.find(finding.node);
    if (known == truth.end()) continue;
    const std::string module = tagging.modules.Path(tag.module);
    const bool right = IsExact(module, known->second);
    ++(right ? counts.right : counts.wrong);
  }
}

TEST(Laws, HoldForEveryModelInEveryStrategy) {
  Counts counts;
  const std::vector<TruthFile> models = AllModels();
  ASSERT_GE(models.size(), 100u);
  for (const TruthFile& file : models) {
    for (const StrategyInfo& strategy : Strategies()) {
      if (strategy.need == Need::kTrace) continue;
      try {
        CheckModel(file, std::string(strategy.name), counts);
      } catch (const Error& error) {
        // A folder of wild files has files that are no models.
        EXPECT_EQ(error.kind(), ErrorKind::kInput)
            << file.Name() << error.what();
      }
    }
  }
  for (const auto& [why, count] : counts.exempt) {
    std::cout << count << " nodes exempt: " << why << '\n';
  }
  // What a shared parameter does not prove, other evidence must.
  EXPECT_GT(counts.right, 50);
  EXPECT_GE(counts.right, 30 * counts.wrong)
      << counts.right << " right, " << counts.wrong << " wrong";
}

// A tagging written by hand.
class LawsByHand : public ::testing::Test {
 protected:
  LawsByHand() {
    AddParameters(proto_, {"layers.0.fc.weight", "layers.1.fc.weight",
                           "attention.out_proj.weight", "tied.weight"});
    schema::GraphProto* const graph = proto_.mutable_graph();
    AddNode(graph, "MatMul", {"x", "layers.0.fc.weight"}, {"a"});
    AddNode(graph, "MatMul", {"a", "layers.1.fc.weight"}, {"b"});
    AddNode(graph, "MatMul", {"b", "attention.out_proj.weight"}, {"c"});
    AddNode(graph, "Relu", {"c"}, {"d"});
    AddNode(graph, "Gather", {"tied.weight", "y"}, {"e"});
    AddNode(graph, "MatMul", {"d", "tied.weight"}, {"f"});
    bytes_ = proto_.SerializeAsString();
    model_ = ReadModel(bytes_);
    tagging_.tags.resize(model_.node_count());
    tagging_.roles.Add(Role());
    Give(0, "layers.0.fc", Confidence::kCertain);
    Give(1, "layers.1.fc", Confidence::kCertain);
    Give(2, "attention.out_proj", Confidence::kCertain);
    Give(4, "tied", Confidence::kCertain);
    Give(5, "tied", Confidence::kCertain);
  }

  void Give(std::uint32_t node, const std::string& module, Confidence level,
            Source source = Source::kScope) {
    tagging_.tags[NodeId{node}] = {.module = tagging_.modules.Add(module),
                                   .confidence = level,
                                   .source = source};
  }

  std::vector<LawFinding> Check() { return CheckLaws(model_, tagging_); }

  schema::ModelProto proto_;
  std::string bytes_;
  Model model_;
  Tagging tagging_;
};

TEST_F(LawsByHand, NothingIsWrongWithTheOwners) {
  EXPECT_THAT(Check(), IsEmpty());
}

TEST_F(LawsByHand, AnotherModuleAboveMediumBreaksTheFirstLaw) {
  Give(2, "head", Confidence::kHigh);
  const std::vector<LawFinding> findings = Check();
  ASSERT_THAT(findings, SizeIs(1));
  EXPECT_EQ(findings[0].law, Law::kOwner);
  EXPECT_TRUE(findings[0].is_breach());
  EXPECT_THAT(LawText(findings[0], tagging_.modules, tagging_.tags[NodeId{2}]),
              HasSubstr("reads attention.out_proj.weight, a parameter of"));
  ObeyLaws(findings, tagging_.tags);
  EXPECT_EQ(tagging_.tags[NodeId{2}].confidence, Confidence::kMedium);
  EXPECT_EQ(tagging_.modules.Path(tagging_.tags[NodeId{2}].module), "head");
  EXPECT_THAT(Check(), IsEmpty());
}

// A node whose scope is `scope`, with a tag of `module`.
std::vector<LawFinding> CheckScope(const std::string& scope,
                                   const std::string& module,
                                   const std::string& op = "Relu",
                                   Source source = Source::kScope) {
  schema::ModelProto proto;
  AddParameters(proto, {"blocks.8.1.fc.weight", "fc.weight"});
  schema::GraphProto* const graph = proto.mutable_graph();
  AddNode(graph, "MatMul", {"x", "blocks.8.1.fc.weight"}, {"a"});
  AddNode(graph, "MatMul", {"a", "fc.weight"}, {"b"}, "/fc/MatMul");
  AddNode(graph, op, {"b"}, {"c"}, scope + op);
  const std::string bytes = proto.SerializeAsString();
  const Model model = ReadModel(bytes);
  Tagging tagging;
  tagging.tags.resize(model.node_count());
  tagging.roles.Add(Role());
  tagging.tags[NodeId{2}] = {.module = tagging.modules.Add(module),
                             .confidence = Confidence::kHigh,
                             .source = source};
  return CheckLaws(model, tagging);
}

TEST(ScopeLaw, ATagMayNotContradictACompleteScope) {
  // An index of a called list needs no parameter.
  EXPECT_THAT(CheckScope("/blocks/blocks.1/", "blocks.1"), IsEmpty());
  const std::vector<LawFinding> findings =
      CheckScope("/blocks/blocks.1/", "blocks.8.1");
  ASSERT_THAT(findings, SizeIs(1));
  EXPECT_EQ(findings[0].law, Law::kScope);
  EXPECT_TRUE(findings[0].is_breach());
  EXPECT_THAT(CheckScope("/blocks/blocks.8/blocks.8.1/", "blocks.8"),
              SizeIs(1));
}

TEST(ScopeLaw, WhatStandsInACompleteScopeHasATagInsideIt) {
  EXPECT_THAT(CheckScope("/blocks/blocks.1/act/", "blocks.1.act"), IsEmpty());
  // A container that is not called is not in the scope.
  EXPECT_THAT(CheckScope("/blocks/blocks.1/act/", "blocks.1.parts.act"),
              IsEmpty());
  // Registered first outside the list.
  EXPECT_THAT(CheckScope("/blocks/blocks.8/act/", "act"), IsEmpty());
  EXPECT_THAT(CheckScope("/blocks/blocks.1/act/", "blocks.8.1.act"), SizeIs(1));
}

TEST(ScopeLaw, AScopeThatParametersDoNotConfirmIsNotComplete) {
  EXPECT_THAT(CheckScope("/head/", "blocks.8.head"), IsEmpty());
  EXPECT_THAT(CheckScope("/head/head.0/", "blocks.8.head.0"), IsEmpty());
}

TEST(ScopeLaw, FusedNodesRulesAndRepeatedCallsAreExempt) {
  EXPECT_THAT(CheckScope("/fc/", "blocks.8", "Relu", Source::kRule), IsEmpty());
  EXPECT_THAT(CheckScope("/fc_1/", "blocks.8"), IsEmpty());
  EXPECT_THAT(CheckScope("/fc/", "blocks.8"), SizeIs(1));
}

TEST_F(LawsByHand, AFusedNodeMayHaveTheOwnerAmongItsOrigins) {
  Give(2, "head", Confidence::kHigh);
  tagging_.origins.push_back(
      {NodeId{2}, tagging_.modules.Add("attention.out_proj")});
  EXPECT_THAT(Check(), IsEmpty());
}

TEST_F(LawsByHand, AnotherLayerBreaksTheSecondLawAtEveryLevel) {
  Give(1, "layers.0.act", Confidence::kLow);
  const std::vector<LawFinding> findings = Check();
  ASSERT_THAT(findings, SizeIs(1));
  EXPECT_EQ(findings[0].law, Law::kLayer);
  EXPECT_TRUE(findings[0].is_breach());
  ObeyLaws(findings, tagging_.tags);
  EXPECT_EQ(tagging_.modules.Path(tagging_.tags[NodeId{1}].module),
            "layers.1.fc");
  EXPECT_EQ(tagging_.tags[NodeId{1}].confidence, Confidence::kLow);
}

TEST_F(LawsByHand, AnOriginInAnotherLayerIsNoExcuse) {
  Give(1, "layers.0.fc", Confidence::kCertain);
  tagging_.origins.push_back({NodeId{1}, tagging_.modules.Add("layers.1.fc")});
  const std::vector<LawFinding> findings = Check();
  ASSERT_THAT(findings, SizeIs(1));
  EXPECT_EQ(findings[0].law, Law::kLayer);
}

TEST_F(LawsByHand, AModuleThatTheParametersSpellOtherwiseIsNotAboveMedium) {
  Give(3, "fc", Confidence::kHigh);
  const std::vector<LawFinding> findings = Check();
  ASSERT_THAT(findings, SizeIs(1));
  EXPECT_EQ(findings[0].law, Law::kPath);
  EXPECT_TRUE(findings[0].is_breach());
  Give(3, "fc", Confidence::kHigh, Source::kMetadata);
  EXPECT_THAT(Check(), IsEmpty());
}

TEST_F(LawsByHand, AParentMayUseTheWeightOfAPartThatItNeverCalls) {
  Give(2, "attention", Confidence::kCertain);
  const std::vector<LawFinding> findings = Check();
  ASSERT_THAT(findings, SizeIs(1));
  EXPECT_EQ(findings[0].exemption, Exemption::kFunction);
}

TEST_F(LawsByHand, ATiedWeightProvesNothing) {
  Give(5, "head", Confidence::kCertain);
  const std::vector<LawFinding> findings = Check();
  ASSERT_THAT(findings, SizeIs(1));
  EXPECT_EQ(findings[0].exemption, Exemption::kShared);
}

TEST_F(LawsByHand, TheUsersRulesAreAboveTheLaws) {
  Give(1, "layers.0.act", Confidence::kCertain, Source::kRule);
  EXPECT_THAT(Check(), IsEmpty());
}

// Nodes that their author, or a tool, named after a Linear.
TEST(ClassLaw, ANameIsNotCertainWhereTheClassMakesNoSuchOperator) {
  schema::ModelProto proto;
  proto.set_producer_name("pytorch");
  schema::GraphProto* const graph = proto.mutable_graph();
  graph->add_input()->set_name("x");
  AddParameters(proto, {"head.weight"});
  AddParameters(proto, {"head.bias"}, 1);
  AddNode(graph, "Gemm", {"x", "head.weight", "head.bias"}, {"a"},
          "/head/Gemm");
  AddNode(graph, "Abs", {"a"}, {"b"}, "/head/Abs");
  AddNode(graph, "Less", {"a", "b"}, {"c"}, "/head/Less");
  AddNode(graph, "Where", {"c", "a", "b"}, {"d"}, "/head/Where");
  AddNode(graph, "Reshape", {"d", "shape"}, {"y"}, "/head/Reshape");
  graph->add_output()->set_name("y");
  const Mapped mapped(proto, NoBook());
  const auto level = [&](std::uint32_t node) {
    return mapped.tagging().tags[NodeId{node}].confidence;
  };
  ASSERT_EQ(mapped.Class("head"), "Linear");
  EXPECT_EQ(mapped.Module("", 3), "head");
  EXPECT_GE(level(0), Confidence::kHigh);
  for (const std::uint32_t node : {1u, 2u, 3u}) {
    EXPECT_LE(level(node), Confidence::kMedium) << node;
  }
  EXPECT_GE(level(4), Confidence::kHigh);
}

}  // namespace
}  // namespace onnx_tag::test
