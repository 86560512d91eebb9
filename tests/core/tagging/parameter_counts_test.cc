#include "core/tagging/parameter_counts.h"

#include <gtest/gtest.h>

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
      initializer { name: "huge" dims: 4611686018427387904 dims: 8 }
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

}  // namespace
}  // namespace onnx_tag::test
