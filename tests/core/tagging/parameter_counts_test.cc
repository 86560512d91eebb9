#include "core/tagging/parameter_counts.h"

#include <gtest/gtest.h>

#include "file/model/element_types.h"
#include "support/onnx_models.h"

namespace onnx_tag::test {
namespace {

TEST(ParameterCountsTest, AWeightIsCountedOnceWhereItBelongs) {
  const std::string bytes = BytesFromText(R"pb(
    graph {
      node { op_type: "MatMul" input: "x" input: "onnx::MatMul_1" output: "a" }
      node { op_type: "Add" input: "a" input: "b.bias" output: "c" }
      node { op_type: "Add" input: "c" input: "onnx::MatMul_1" output: "d" }
      node { op_type: "Add" input: "d" input: "lost" output: "e" }
      initializer { name: "onnx::MatMul_1" dims: 3 dims: 4 }
      initializer { name: "b.bias" dims: 4 }
      initializer { name: "lost" dims: 5 }
      initializer { name: "empty" dims: 4611686018427387904 dims: 8 dims: 0 }
      initializer { name: "negative" dims: -1 }
      initializer { name: "scalar" }
    })pb");
  const Model model = ReadModel(bytes);
  Tagging tagging;
  tagging.roles.Add(Role());
  tagging.tags.resize(4);
  const ModuleId a = tagging.modules.Add("m.a");
  const ModuleId b = tagging.modules.Add("b");
  tagging.tags[NodeId{0}].module = a;
  tagging.tags[NodeId{1}].module = a;
  tagging.tags[NodeId{2}].module = b;
  const ParameterCounts counts = CountParameters(model, tagging);
  EXPECT_EQ(counts.own[a], 12u) << "of the first node that reads it";
  EXPECT_EQ(counts.own[b], 4u) << "its name says so";
  EXPECT_EQ(counts.unplaced, 6u) << "lost, and the scalar nobody reads";
  EXPECT_EQ(counts.all, 22u);
  EXPECT_EQ(counts.Totals(tagging.modules)[ModuleTree::kRoot], 16u);
}

// Numbers that no sum holds are the largest of all, not 0.
TEST(ParameterCountsTest, SumsStopAtTheLargestNumber) {
  const std::string bytes = BytesFromText(R"pb(
    graph {
      node { op_type: "Add" input: "x" input: "a.w" output: "y" }
      initializer { name: "a.w" dims: 4611686018427387904 dims: 8 }
      initializer { name: "b.w" dims: 4611686018427387904 }
      initializer { name: "b.v" dims: 4611686018427387904 }
    })pb");
  const Model model = ReadModel(bytes);
  Tagging tagging;
  tagging.roles.Add(Role());
  tagging.tags.resize(1);
  const ModuleId a = tagging.modules.Add("a");
  const ModuleId b = tagging.modules.Add("b");
  const ParameterCounts counts = CountParameters(model, tagging);
  EXPECT_EQ(counts.own[a], kOver);
  EXPECT_EQ(counts.own[b], kOver);
  EXPECT_EQ(counts.all, kOver);
  EXPECT_EQ(counts.Totals(tagging.modules)[ModuleTree::kRoot], kOver);
  EXPECT_EQ(CountBytes(kOver, kFloat), kOver);
  EXPECT_EQ(CountBytes(kOver, kString), 0u);
  constexpr std::int32_t kInt4 = 22;
  EXPECT_EQ(CountBytes(9, kInt4), 5u);
}

// Two layers call one function, inside a function of the encoder: the tags of
// the bodies name the first layer.
TEST(ParameterCountsTest, AWeightOfAFunctionIsOfTheCallThatHandsItOver) {
  const std::string bytes = BytesFromText(R"pb(
    graph {
      node {
        op_type: "Encoder"
        domain: "f"
        input: "x"
        input: "w0"
        input: "w1"
        output: "y"
      }
      initializer { name: "w0" dims: 3 }
      initializer { name: "w1" dims: 5 }
      input { name: "x" }
    }
    functions {
      name: "Encoder"
      domain: "f"
      input: "a"
      input: "p"
      input: "q"
      output: "c"
      node { op_type: "Layer" domain: "f" input: "a" input: "p" output: "b" }
      node { op_type: "Layer" domain: "f" input: "b" input: "q" output: "c" }
    }
    functions {
      name: "Layer"
      domain: "f"
      input: "d"
      input: "w"
      output: "e"
      node { op_type: "MatMul" input: "d" input: "w" output: "e" }
    })pb");
  const Model model = ReadModel(bytes);
  ASSERT_EQ(model.node_count(), 4u);
  Tagging tagging;
  tagging.roles.Add(Role());
  tagging.tags.resize(4);
  const auto tag = [&](std::uint32_t node, const std::string& path) {
    return tagging.tags[NodeId{node}].module = tagging.modules.Add(path);
  };
  const ModuleId encoder = tag(0, "encoder");
  tag(1, "encoder.0");
  const ModuleId second = tag(2, "encoder.1");
  const ModuleId fc = tag(3, "encoder.0.fc");
  const ParameterCounts counts = CountParameters(model, tagging);
  EXPECT_EQ(counts.own[encoder], 0u);
  EXPECT_EQ(counts.own[fc], 3u);
  EXPECT_EQ(counts.own[second], 5u) << "it has no fc of its own in the tree";
  // With it, the weight is there.
  const ModuleId other = tagging.modules.Add("encoder.1.fc");
  EXPECT_EQ(CountParameters(model, tagging).own[other], 5u);
}

}  // namespace
}  // namespace onnx_tag::test
