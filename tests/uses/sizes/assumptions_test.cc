#include <gmock/gmock.h>

#include "maker.h"

namespace onnx_tag::test {
namespace {

using sizes::Assumptions;
using sizes::GivenShape;
using ::testing::HasSubstr;

std::string Assumed(Maker& maker, const std::vector<GivenShape>& given = {}) {
  const Known known(maker, given);
  return Assumptions(known.model, known.shapes, given).Text();
}

Maker Decoder() {
  Maker maker;
  maker.Input("ids", "batch sequence", 7).Input("mask", "batch total", 7);
  maker.Input("k", "batch past 8").Input("x", "batch sequence 8");
  maker.Node("Concat", {"k", "x"}, {"all"}).Attribute("axis", 1);
  maker.Ints("last", {2}).Node("Unsqueeze", {"mask", "last"}, {"m"});
  maker.Node("Add", {"all", "m"}, {"y"});
  return maker;
}

TEST(AssumptionsTest, ABatchIsOneAndOtherSizesAre128) {
  Maker maker;
  maker.Input("x", "N 3 height width").Node("Relu", {"x"}, {"y"});
  EXPECT_EQ(Assumed(maker), "assumed N=1, height=128, width=128");
  Maker unnamed;
  unnamed.Input("x", "? 3 ?").Node("Relu", {"x"}, {"y"});
  EXPECT_EQ(Assumed(unnamed), "assumed x[0]=1, x[2]=128");
  Maker numbered;
  numbered.Input("x", "s0 s1").Input("y", "s0 7").Node("Relu", {"x"}, {"z"});
  EXPECT_EQ(Assumed(numbered), "assumed s0=1, s1=128")
      << "s0 is the first axis only";
}

TEST(AssumptionsTest, ASizeThatFollowsFromOthersFits) {
  Maker maker = Decoder();
  EXPECT_EQ(Assumed(maker),
            "assumed batch=1, sequence=128, past=128, total=256");
  EXPECT_EQ(Assumed(maker, {{"past", {7}}, {"sequence", {3}}}),
            "past=7, sequence=3, total=10 and assumed batch=1");
}

TEST(AssumptionsTest, InputsAndDimensionsMayBeGiven) {
  Maker maker = Decoder();
  EXPECT_THAT(Assumed(maker, {{"ids", {4, 9}}}),
              HasSubstr("batch=4, sequence=9"));
  Maker both;
  both.Input("n", "n 3").Node("Relu", {"n"}, {"y"});
  EXPECT_EQ(Assumed(both, {{"n", {5}}}), "n=5") << "the dimension is meant";
}

TEST(AssumptionsTest, AShapeThatFitsNothingIsRefused) {
  Maker maker;
  maker.Input("x", "batch sequence 3").Node("Relu", {"x"}, {"y"});
  const auto refusal = [&](const GivenShape& given) -> std::string {
    try {
      Assumed(maker, {given});
    } catch (const Error& error) {
      EXPECT_EQ(error.kind(), ErrorKind::kUsage);
      return error.what();
    }
    return "";
  };
  EXPECT_THAT(refusal({"sequnce", {1}}), HasSubstr("did you mean 'sequence'?"));
  EXPECT_THAT(refusal({"z", {1}}), HasSubstr("its inputs: x"));
  EXPECT_THAT(refusal({"x", {1}}),
              HasSubstr("1 dimension given, but the input has 3"));
  EXPECT_THAT(refusal({"x", {1, 2, 4}}),
              HasSubstr("dimension 2 is 3 in the model, not 4"));
  EXPECT_THAT(refusal({"sequence", {1, 2}}),
              HasSubstr("a dimension has one size, not 2"));
  EXPECT_THAT(refusal({"sequence", {}}),
              HasSubstr("a dimension has one size, not 0"));
}

TEST(AssumptionsTest, OneDimensionCannotHaveTwoSizes) {
  Maker maker;
  maker.Input("x", "batch 3").Node("Relu", {"x"}, {"y"});
  EXPECT_EQ(Assumed(maker, {{"batch", {2}}, {"batch", {2}}}), "batch=2");
  EXPECT_THROW(Assumed(maker, {{"batch", {2}}, {"batch", {3}}}), Error);
  EXPECT_THROW(Assumed(maker, {{"batch", {2}}, {"x", {4, 3}}}), Error);
}

TEST(AssumptionsTest, OnlyDimensionsOfInputsAreListed) {
  Maker maker;
  maker.Input("x", "batch 3").Node("Opaque", {"x"}, {"y"});
  maker.Info("y", "unk__17 3");
  try {
    Assumed(maker, {{"z", {1}}});
    FAIL() << "z is unknown";
  } catch (const Error& error) {
    EXPECT_THAT(error.what(), HasSubstr("its dimensions: batch\n"));
  }
}

TEST(AssumptionsTest, AnInputOfTheNameOfADimensionTakesAWholeShape) {
  Maker both;
  both.Input("n", "n m").Node("Relu", {"n"}, {"y"});
  EXPECT_EQ(Assumed(both, {{"n", {5}}}), "n=5 and assumed m=128");
  EXPECT_EQ(Assumed(both, {{"n", {5, 6}}}), "n=5, m=6");
}

TEST(AssumptionsTest, SizesThatMustBeEqualAreFoundInAnyOrder) {
  Maker maker;
  maker.Input("x0", "n0");
  for (int i = 1; i < 20; ++i) {
    maker.Input("x" + std::to_string(i), "n" + std::to_string(i));
  }
  for (int i = 19; i > 0; --i) {
    maker.Node("Add", {"x" + std::to_string(i - 1), "x" + std::to_string(i)},
               {"y" + std::to_string(i)});
  }
  const std::string text = Assumed(maker, {{"n7", {5}}});
  EXPECT_THAT(text, HasSubstr("n0=5"));
  EXPECT_THAT(text, HasSubstr("n19=5"));
  EXPECT_THAT(text, testing::Not(HasSubstr("128")));
}

TEST(AssumptionsTest, WhatDependsOnDataHasNoNumberUntilGiven) {
  Maker maker;
  maker.Input("x", "batch 3").Node("NonZero", {"x"}, {"y"});
  maker.Node("Neg", {"y"}, {"z"});
  const Known known(maker);
  const Assumptions none(known.model, known.shapes);
  EXPECT_FALSE(none.numbers()(known.shapes.Flops(NodeId{1})).known());
  const Assumptions given(known.model, known.shapes,
                          std::vector<GivenShape>{{"nonzero_1", {10}}});
  EXPECT_EQ(given.numbers()(known.shapes.Flops(NodeId{1})), sizes::Dim(20));
}

}  // namespace
}  // namespace onnx_tag::test
