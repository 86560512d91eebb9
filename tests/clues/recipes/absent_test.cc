#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "clues/recipes/stack.h"

namespace onnx_tag::recipes::test {
namespace {

using testing::Contains;
using testing::Each;
using testing::Not;
using testing::StartsWith;

// A recording of an encoder and a decoder.
ListBook BookOfTwo() {
  Stack two;
  const std::string memory = AddTower(two, "x", 3, "encoder.");
  two.Linear(AddTower(two, memory, 1, "decoder."), "head", true);
  return BookOf(two);
}

TEST(AbsentModules, AModuleWhoseNormsTheFileDoesNotNameIsNotThere) {
  Stack classifier;
  const std::string memory = AddTower(classifier, "x", 3, "encoder.");
  classifier.Node("Relu " + memory + " -> a", "");
  classifier.Node("Tanh a -> b", "");
  classifier.Linear("b", "head", true);
  const std::vector<std::string> paths = Ask(classifier, BookOfTwo());
  EXPECT_THAT(paths, Contains("encoder.layers.2.norm"));
  EXPECT_THAT(paths, Each(Not(StartsWith("decoder"))));
}

TEST(AbsentModules, AModuleWithNamedNormsIsThere) {
  Stack both;
  const std::string memory = AddTower(both, "x", 2, "encoder.");
  both.Linear(AddTower(both, memory, 1, "decoder."), "head", true);
  EXPECT_EQ(Ask(both, BookOfTwo()), both.modules);
}

}  // namespace
}  // namespace onnx_tag::recipes::test
