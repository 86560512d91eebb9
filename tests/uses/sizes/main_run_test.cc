#include "uses/sizes/main_run.h"

#include <gmock/gmock.h>

#include "maker.h"

namespace onnx_tag::test {
namespace {

using sizes::MainRun;
using sizes::PartSweep;
using ::testing::ElementsAre;

// A run of a small model with batch=1 and 128 of the rest.
struct SmallRun {
  explicit SmallRun(Maker& maker, const std::vector<bool>& constant = {})
      : known(maker),
        assumed(known.model, known.shapes),
        sizes(sizes::CountSizes(known.model, NoTags(known.model), known.shapes,
                                assumed)),
        run(known.model, known.shapes, assumed.numbers(), sizes.weights,
            constant.empty()
                ? std::vector<bool>(known.model[GraphId{0}].nodes.size())
                : constant) {}

  static Tagging NoTags(const Model& model) {
    Tagging tagging;
    tagging.tags.resize(model.node_count());
    return tagging;
  }

  Known known;
  sizes::Assumptions assumed;
  sizes::ModelSizes sizes;
  MainRun run;
};

// x -> a -> b -> y, and a is added at the end again.
Maker Chain() {
  Maker maker;
  maker.Input("x", "10").Output("y", "10");
  maker.Node("Relu", {"x"}, {"a"});
  maker.Node("Relu", {"a"}, {"b"});
  maker.Node("Relu", {"b"}, {"c"});
  maker.Node("Add", {"a", "c"}, {"y"});
  return maker;
}

TEST(MainRunTest, AResultIsHeldUntilItsLastReader) {
  Maker maker = Chain();
  const SmallRun run(maker);
  // x a; x a b; x a b c; x a c y
  EXPECT_THAT(run.run.Live(), ElementsAre(80, 120, 160, 160));
}

// The oracle is ONNX Runtime 1.31: what it allocates beside operands and
// result, measured in front of malloc, rounded to whole operands.
TEST(MainRunTest, AnEinsumHoldsTheCopiesThatItMakes) {
  struct Case {
    std::string equation, a, b, y;
    std::uint64_t ends;    // operands and result, in KiB
    std::uint64_t copies;  // likewise
  };
  const std::vector<Case> cases = {
      // The result and the second operand once more.
      {"bhij,bhjd->bhid", "2 4 64 48", "2 4 48 32", "2 4 64 32", 208, 112},
      {"...ij,...jk->...ik", "2 4 64 48", "2 4 48 32", "2 4 64 32", 208, 112},
      // Also the second operand in another order,
      {"bhid,bhjd->bhij", "2 4 64 32", "2 4 48 32", "2 4 64 48", 208, 192},
      // the result,
      {"bhij,bhjd->bihd", "2 4 64 48", "2 4 48 32", "2 64 4 32", 208, 176},
      // and both operands.
      {"bihd, bjhd -> bhij", "2 64 4 32", "2 48 4 32", "2 4 64 48", 208, 256}};
  for (const Case& one : cases) {
    Maker maker;
    maker.Input("a", one.a).Input("b", one.b).Output("y", one.y);
    maker.Node("Einsum", {"a", "b"}, {"y"})
        .TextAttribute("equation", one.equation);
    const SmallRun run(maker);
    EXPECT_THAT(run.run.Live(), ElementsAre(1024 * (one.ends + one.copies)))
        << one.equation;
    EXPECT_EQ(run.run.unknown_values(), 0u);
  }
}

TEST(MainRunTest, WhatIsMadeBeforeAndReadLaterCrosses) {
  Maker maker = Chain();
  const SmallRun run(maker);
  EXPECT_THAT(run.run.Crossing(), ElementsAre(0, 40, 80, 80, 0));
}

TEST(MainRunTest, AnInputIsHeldByThePartThatReadsIt) {
  Maker maker = Chain();
  const SmallRun run(maker);
  PartSweep sweep(run.run, PartSweep::Measure::kMemory);
  const std::vector<std::size_t> lasts = {2, 3, 4};
  // b: a b; c: a b c; all: a b c, then a c y
  EXPECT_THAT(sweep.From(1, lasts), ElementsAre(80, 120, 120));
  EXPECT_THAT(sweep.From(1, lasts), ElementsAre(80, 120, 120));
}

TEST(MainRunTest, AWeightThatTwoPartsReadIsInBoth) {
  Maker maker;
  maker.Input("x", "4 4").Weight("w", {4, 4}).Output("y", "4 4");
  maker.Node("MatMul", {"x", "w"}, {"a"});
  maker.Node("MatMul", {"a", "w"}, {"y"});
  const SmallRun run(maker);
  PartSweep weights(run.run, PartSweep::Measure::kWeights);
  const std::vector<std::size_t> lasts = {1, 2};
  EXPECT_THAT(weights.From(0, lasts), ElementsAre(64, 64));
  EXPECT_THAT(weights.From(1, std::vector<std::size_t>{2}), ElementsAre(64));
  PartSweep flops(run.run, PartSweep::Measure::kFlops);
  EXPECT_THAT(flops.From(0, lasts), ElementsAre(128, 256));
}

TEST(MainRunTest, AConstantComesAlongWithTheWeightsItIsMadeOf) {
  Maker maker;
  maker.Input("x", "4 4").Weight("w", {4, 4}).Output("y", "4 4");
  maker.Node("Transpose", {"w"}, {"t"});
  maker.Node("MatMul", {"x", "t"}, {"a"});
  maker.Node("MatMul", {"a", "t"}, {"y"});
  const SmallRun run(maker, {true, false, false});
  PartSweep weights(run.run, PartSweep::Measure::kWeights);
  EXPECT_THAT(weights.From(2, std::vector<std::size_t>{3}), ElementsAre(64));
  EXPECT_THAT(run.run.Crossing(), ElementsAre(0, 0, 64, 0));
}

TEST(MainRunTest, WhatASubgraphCapturesIsReadByItsNode) {
  Maker maker;
  maker.Input("x", "10").Input("c", "", 9).Output("y", "10");
  maker.Node("Relu", {"x"}, {"a"});
  maker.Node("Relu", {"x"}, {"b"});
  maker.Node("If", {"c"}, {"y"});
  for (const char* const branch : {"then_branch", "else_branch"}) {
    schema::GraphProto& body = maker.Body(branch);
    AddNode(body, "Relu", "Relu", {"a"}, {"r"});
    AddNode(body, "Relu", "Relu", {"r"}, {"z"});
    body.add_output()->set_name("z");
  }
  const SmallRun run(maker);
  ASSERT_EQ(run.run.steps().size(), 3);
  // The branch holds r and z, the node y.
  EXPECT_EQ(run.run.steps()[2].inside, 80);
  EXPECT_THAT(run.run.Crossing(), ElementsAre(0, 40, 40, 0));
}

}  // namespace
}  // namespace onnx_tag::test
