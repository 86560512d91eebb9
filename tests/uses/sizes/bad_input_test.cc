// Files that no exporter writes: shapes that refer to themselves, sizes that
// no memory holds.
#include <gmock/gmock.h>

#include "maker.h"
#include "uses/sizes/main_run.h"
#include "uses/sizes/module_sizes.h"

namespace onnx_tag::test {
namespace {

// What the first node costs and what the whole run holds, for the defaults.
struct Costs {
  explicit Costs(Maker& maker)
      : known(maker),
        assumed(known.model, known.shapes),
        run(known.model, known.shapes, assumed.numbers(), {},
            std::vector<bool>(known.model[GraphId{0}].nodes.size())) {}

  std::uint64_t Peak() const {
    const std::vector<std::uint64_t> live = run.Live();
    return *std::max_element(live.begin(), live.end());
  }
  sizes::Dim Flops() const {
    return assumed.numbers()(known.shapes.Flops(NodeId{0}));
  }

  Known known;
  sizes::Assumptions assumed;
  sizes::MainRun run;
};

TEST(BadInputTest, AShapeThatIsMadeOfItselfIsUnknown) {
  Maker maker;
  maker.Input("x", "batch 4");
  maker.Node("Reshape", {"x", "s"}, {"a"});
  maker.Node("Shape", {"a"}, {"s"});
  maker.Node("Relu", {"a"}, {"y"});
  const Costs costs(maker);
  EXPECT_EQ(costs.known.ShapeOf("s"), "[?]");
  EXPECT_EQ(costs.run.steps().size(), 3u);
}

TEST(BadInputTest, SizesInACircleOfThreeAreUnknown) {
  Maker maker;
  maker.Input("x", "batch 4");
  maker.Node("Shape", {"c"}, {"s"});
  maker.Node("Add", {"s", "s"}, {"t"});
  maker.Node("ConstantOfShape", {"t"}, {"c"});
  maker.Node("Expand", {"x", "t"}, {"y"});
  const Costs costs(maker);
  EXPECT_EQ(costs.run.steps().size(), 4u);
  EXPECT_FALSE(costs.Flops().IsOver());
}

TEST(BadInputTest, APowerOfANameIsExactOrOver) {
  Maker maker;
  maker.Input("x", "n n").Node("MatMul", {"x", "x"}, {"y"});
  const Known known(maker);
  const auto flops = [&](std::int64_t n) {
    const sizes::Assumptions assumed(
        known.model, known.shapes, std::vector<sizes::GivenShape>{{"n", {n}}});
    return assumed.numbers()(known.shapes.Flops(NodeId{0}));
  };
  EXPECT_TRUE(flops(1 << 20).Is(std::int64_t{1} << 61)) << "2·n³";
  EXPECT_TRUE(flops((1 << 20) + 1).Is(2305849606289752066));
  EXPECT_TRUE(flops(1 << 21).IsOver());
  EXPECT_TRUE(flops(std::int64_t{1} << 62).IsOver());
}

TEST(BadInputTest, ProductsOfLargeSizesAreOver) {
  Maker maker;
  maker.Input("x", "4611686018427387904 4611686018427387904");
  maker.Node("Relu", {"x"}, {"y"});
  const Costs costs(maker);
  EXPECT_TRUE(costs.Flops().IsOver());
  EXPECT_EQ(costs.Peak(), sizes::kOver);
}

TEST(BadInputTest, SumsOfLargeSizesAreOver) {
  Maker maker;
  maker.Input("x", "2305843009213693951").Input("z", "2305843009213693951");
  maker.Node("Relu", {"x"}, {"y"}).Node("Relu", {"z"}, {"w"});
  const Costs costs(maker);
  EXPECT_TRUE(costs.Flops().Is(2305843009213693951));
  EXPECT_EQ(costs.Peak(), sizes::kOver);
}

TEST(BadInputTest, ANegativeSizeIsADimensionWithoutAName) {
  Maker maker;
  maker.Input("x", "-7 -9223372036854775808");
  maker.Node("Relu", {"x"}, {"y"});
  const Costs costs(maker);
  EXPECT_EQ(costs.known.ShapeOf("y"), "[x[0], x[1]]");
  EXPECT_EQ(costs.Peak(), 2u * 128 * 4);
}

TEST(BadInputTest, ASumOfFortyDimensionsIsASymbolOfItsOwn) {
  Maker maker;
  for (int i = 0; i < 40; ++i) {
    maker.Input("x" + std::to_string(i), "n" + std::to_string(i));
  }
  maker.Node("Concat", {"x0", "x1"}, {"c1"}).Attribute("axis", 0);
  for (int i = 2; i < 40; ++i) {
    maker
        .Node("Concat", {"c" + std::to_string(i - 1), "x" + std::to_string(i)},
              {"c" + std::to_string(i)})
        .Attribute("axis", 0);
  }
  const Costs costs(maker);
  const auto& shape = costs.known.shapes.Of(costs.known.Value("c39"));
  ASSERT_TRUE(shape);
  sizes::Term room;
  EXPECT_LE(costs.known.shapes.formulas().Terms((*shape)[0], room).size(),
            sizes::Formulas::kMostTerms);
  EXPECT_TRUE(costs.assumed.numbers()((*shape)[0]).Is(40 * 128));
}

}  // namespace
}  // namespace onnx_tag::test
