#include "mapping/placing/network.h"

#include <gtest/gtest.h>

#include <cmath>
#include <string>

#include "onnx_tag/error.h"

namespace onnx_tag::placing {
namespace {

TEST(Network, ProductAddsInOrder) {
  // 1e8 + 1 - 1e8 in this order is 0 for floats; in another it is 1.
  Matrix w;
  w.rows = 3;
  w.columns = 17;
  w.numbers.assign(w.rows * w.columns, 1.0F);
  const float x[] = {1e8F, 1.0F, -1e8F};
  std::vector<float> y(w.columns, 0.0F);
  AddProduct(x, w, y.data());
  for (const float number : y) EXPECT_EQ(number, 0.0F);
}

TEST(Network, ProductWithSomeRows) {
  Matrix w;
  w.rows = 3;
  w.columns = 2;
  w.numbers = {1, 2, 3, 4, 5, 6};
  const float x[] = {10, 100};
  float y[] = {0.5F, 0.25F};
  AddProduct(x, w, y, 1, 2);
  EXPECT_EQ(y[0], 530.5F);
  EXPECT_EQ(y[1], 640.25F);
}

TEST(Network, Activation) {
  float x[] = {-4, -3, 0, 3, 5};
  Activate(x, 5);
  EXPECT_EQ(x[0], 0);
  EXPECT_EQ(x[1], 0);
  EXPECT_EQ(x[2], 0);
  EXPECT_EQ(x[3], 3);
  EXPECT_EQ(x[4], 5);
}

TEST(Network, ExpIsThatOfTheLibrary) {
  EXPECT_EQ(ExpOf(0), kOne);
  EXPECT_EQ(ExpOf(-100), 0u);
  EXPECT_EQ(ExpOf(std::nanf("")), 0u);
  for (float x = -12; x < 0; x += 0.01F) {
    EXPECT_NEAR(ExpOf(x), std::exp(double{x}) * kOne, 1.5) << x;
  }
}

TEST(Network, NormalizesARow) {
  Matrix weight{1, 4, {1, 1, 2, 1}};
  Matrix bias{1, 4, {0, 0, 0, 3}};
  const float x[] = {1, 2, 3, 4};
  float y[4];
  Normalize(x, weight, bias, y);
  EXPECT_NEAR(y[0], -1.3416, 1e-3);
  EXPECT_NEAR(y[2], 2 * 0.4472, 1e-3);
  EXPECT_NEAR(y[3], 3 + 1.3416, 1e-3);
}

TEST(Network, OfTheProgramIsWhole) {
  const Network& network = Network::BuiltIn();
  EXPECT_FALSE(network.version().empty());
  ASSERT_FALSE(network.levels().empty());
  // Each answer has a level.
  EXPECT_EQ(network.levels().back().least, 0u);
  for (std::size_t i = 1; i < network.levels().size(); ++i) {
    EXPECT_LT(network.levels()[i].least, network.levels()[i - 1].least);
    EXPECT_LE(network.levels()[i].level, network.levels()[i - 1].level);
  }
}

TEST(Network, RefusesOtherFiles) {
  EXPECT_THROW(Network{Bytes()}, Error);
  EXPECT_THROW(Network{Bytes("\x08\x09")}, Error);
}

}  // namespace
}  // namespace onnx_tag::placing
