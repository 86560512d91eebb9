#include "mapping/placing/placing.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "support/one_rung.h"

namespace onnx_tag::placing {
namespace {

using test::OneRung;

IdVector<NodeId, ModuleId> NoAnchors(const Evidence& evidence) {
  return IdVector<NodeId, ModuleId>(evidence.model.node_count(), kNo<ModuleId>);
}

// Three layers of a projection, an activation and a sum.
class Layers : public ::testing::Test {
 protected:
  void Make(int layers) {
    std::vector<std::string> names;
    std::string from = "x";
    for (int i = 0; i < layers; ++i) {
      const std::string layer = "layers." + std::to_string(i);
      const std::string at = std::to_string(i);
      names.push_back(layer + ".fc.weight");
      graph_.Node("MatMul", {from, names.back()}, "p" + at);
      graph_.Node("Relu", {"p" + at}, "r" + at);
      graph_.Node("Add", {from, "r" + at}, "s" + at);
      from = "s" + at;
    }
    graph_.Parameters(names);
    graph_.Make();
    for (int i = 0; i < layers; ++i) {
      graph_.Place("p" + std::to_string(i),
                   "layers." + std::to_string(i) + ".fc");
    }
  }
  Claims PlaceAll() { return Place(graph_.evidence(), graph_.placed()); }

  OneRung graph_;
};

TEST_F(Layers, GetAClaimForEachOpenNode) {
  Make(4);
  const Claims claims = PlaceAll();
  EXPECT_EQ(claims.size(), 8u);
  for (const Claim& claim : claims) {
    EXPECT_EQ(claim.source, Source::kPlacement);
    EXPECT_TRUE(claim.because.ends_with(" by placement")) << claim.because;
  }
}

TEST_F(Layers, FewModulesGiveLowClaims) {
  Make(2);
  for (const Claim& claim : PlaceAll()) {
    EXPECT_EQ(claim.confidence, Confidence::kLow);
  }
}

TEST_F(Layers, EqualPlacesOfEqualLayersAreAskedOnce) {
  Make(60);
  IdVector<NodeId, ModuleId> anchors = NoAnchors(graph_.evidence());
  for (std::size_t i = 0; i < anchors.size(); ++i) {
    anchors[MakeId<NodeId>(i)] = graph_.placed()[MakeId<NodeId>(i)].module;
  }
  const Scene scene(graph_.evidence(), anchors);
  const Reading reading(Network::BuiltIn(), scene);
  // Those at both ends see fewer layers beside them.
  EXPECT_LT(reading.unlike(), 30u);
}

TEST_F(Layers, SayWhatIsAroundANode) {
  Make(4);
  const Answer answer =
      Ask(graph_.evidence(), graph_.placed(), MakeId<NodeId>(1));
  ASSERT_FALSE(answer.best.empty());
  EXPECT_LE(answer.best.size(), 3u);
  const std::string text = TextOf(answer, graph_.evidence().modules);
  EXPECT_NE(text.find("producers in layers.0.fc"), std::string::npos) << text;
  EXPECT_NE(text.find("readers in layers.1.fc"), std::string::npos) << text;
}

TEST(Placing, NeedsAnAnchor) {
  OneRung graph;
  graph.Node("Relu", {"x"}, "a");
  graph.Make();
  EXPECT_TRUE(Place(graph.evidence(), graph.placed()).empty());
}

TEST(Placing, ConstantsFollowTheirReader) {
  OneRung graph;
  graph.Parameters({"fc.weight"});
  graph.Node("Constant", {}, "c");
  graph.Node("MatMul", {"x", "fc.weight"}, "p");
  graph.Node("Mul", {"p", "c"}, "y");
  graph.Make();
  graph.Place("p", "fc");
  const Claims claims = Place(graph.evidence(), graph.placed());
  ASSERT_EQ(claims.size(), 2u);
  EXPECT_EQ(claims[0].node, MakeId<NodeId>(0));
  EXPECT_EQ(claims[0].module, claims[1].module);
  EXPECT_EQ(claims[0].confidence, claims[1].confidence);
}

// A node with very many readers, and a circle: no valid file has one.
TEST(Placing, HostileGraphsEnd) {
  OneRung graph;
  graph.Parameters({"a.fc.weight"});
  graph.Node("MatMul", {"x", "a.fc.weight"}, "p");
  graph.Node("Add", {"p", "later"}, "early");
  graph.Node("Relu", {"early"}, "later");
  for (int i = 0; i < 20000; ++i) {
    graph.Node("Relu", {"later"}, "r" + std::to_string(i));
  }
  graph.Make();
  graph.Place("p", "a.fc");
  EXPECT_EQ(Place(graph.evidence(), graph.placed()).size(), 20002u);
}

}  // namespace
}  // namespace onnx_tag::placing
