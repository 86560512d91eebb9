#include <gtest/gtest.h>

#include "file/model/element_types.h"
#include "support/onnx_models.h"
#include "uses/sizes/shapes.h"

namespace onnx_tag::sizes {
namespace {

struct ValueType {
  std::int32_t element = kUndefined;
  int rank = -1;  // -1: unknown
};

ValueType TypeOf(const std::string& nodes, const std::string& value) {
  const std::string bytes = test::BytesFromText(
      R"pb(ir_version: 8
           graph { input {
             name: "x"
             type {
               tensor_type {
                 elem_type: 1
                 shape {
                   dim {}
                   dim {}
                   dim {}
                 }
               }
             }
           }
                   input {
                     name: "i"
                     type {
                       tensor_type {
                         elem_type: 7
                         shape {
                           dim {}
                           dim {}
                         }
                       }
                     }
                   }
                   initializer { name: "w" data_type: 1 dims: 4 dims: 8 }
                   initializer { name: "two" data_type: 7 dims: 2 }
                   initializer { name: "one" data_type: 7 dims: 1 }
                   initializer { name: "zp" data_type: 3 }
      )pb" +
      nodes + "}");
  const Model model = ReadModel(bytes);
  const Shapes shapes(model);
  for (const ValueId id : AllIds<ValueId>(model.value_count())) {
    if (model.ValueName(id) != value) continue;
    const auto& shape = shapes.Of(id);
    return {shapes.TypeOf(id), shape ? static_cast<int>(shape->size()) : -1};
  }
  return {};
}

#define EXPECT_TYPE(nodes, expected_element, expected_rank) \
  do {                                                      \
    const ValueType type = TypeOf(nodes, "y");              \
    EXPECT_EQ(type.element, expected_element);              \
    EXPECT_EQ(type.rank, expected_rank);                    \
  } while (false)

TEST(ValueTypesTest, FollowsOperators) {
  EXPECT_TYPE(R"(node { op_type: "MatMul" input: "x" input: "w" output: "y" })",
              kFloat, 3);
  EXPECT_TYPE(R"(node { op_type: "Gather" input: "w" input: "i" output: "y" })",
              kFloat, 3);
  EXPECT_TYPE(R"(node { op_type: "Equal" input: "x" input: "w" output: "y" })",
              kBool, 3);
  EXPECT_TYPE(
      R"(node { op_type: "Reshape" input: "x" input: "two" output: "y" })",
      kFloat, 2);
  EXPECT_TYPE(
      R"(node { op_type: "Unsqueeze" input: "x" input: "two" output: "y" })",
      kFloat, 5);
  EXPECT_TYPE(
      R"(node { op_type: "Squeeze" input: "x" input: "one" output: "y" })",
      kFloat, 2);
  EXPECT_TYPE(
      R"(node { op_type: "QuantizeLinear" input: "x" input: "w" input: "zp" output: "y" })",
      3, 3);
  EXPECT_TYPE(
      R"(node { op_type: "Cast" input: "x" output: "y" attribute { name: "to" type: 2 i: 10 } })",
      10, 3);
  EXPECT_TYPE(
      R"(node { op_type: "ReduceMean" input: "x" output: "y" attribute { name: "axes" type: 7 ints: 1 } attribute { name: "keepdims" type: 2 i: 0 } })",
      kFloat, 2);
  EXPECT_TYPE(
      R"(node { op_type: "Einsum" input: "x" input: "w" output: "y" attribute { name: "equation" type: 3 s: "abc,cd->abcd" } })",
      kFloat, 4);
}

// The shape of a Reshape is put together from pieces, as exporters do.
TEST(ValueTypesTest, CountsTheNumbersOfAShape) {
  EXPECT_TYPE(R"(
    node { op_type: "Shape" input: "x" output: "s" }
    node { op_type: "Gather" input: "s" input: "one" output: "a" }
    node { op_type: "Concat" input: "a" input: "two" input: "one" output: "b" }
    node { op_type: "Reshape" input: "x" input: "b" output: "y" })",
              kFloat, 4);
}

TEST(ValueTypesTest, SaysNothingOfWhatItDoesNotKnow) {
  EXPECT_TYPE(R"(node { op_type: "Mystery" input: "x" output: "y" })",
              kUndefined, -1);
  EXPECT_TYPE(
      R"(node { op_type: "Relu" domain: "other" input: "x" output: "y" })",
      kUndefined, -1);
  // A rank that the operator would make of nonsense.
  EXPECT_TYPE(
      R"(node { op_type: "Squeeze" input: "one" input: "two" output: "y" })",
      kInt64, -1);
}

TEST(ValueTypesTest, BranchesAndLoopsGiveWhatTheirBodiesGive) {
  EXPECT_TYPE(R"(
    node { op_type: "If" input: "c" output: "y"
      attribute { name: "then_branch" type: 5 g {
        node { op_type: "Shape" input: "x" output: "t" } output { name: "t" } } } })",
              kInt64, 1);
  // One branch gives a matrix, the other a list.
  EXPECT_TYPE(R"(
    node { op_type: "If" input: "c" output: "y"
      attribute { name: "then_branch" type: 5 g { output { name: "w" } } }
      attribute { name: "else_branch" type: 5 g {
        node { op_type: "Flatten" input: "w" output: "f" }
        node { op_type: "ReduceMax" input: "f" output: "m"
               attribute { name: "keepdims" type: 2 i: 0 } }
        output { name: "m" } } } })",
              kFloat, -1);
  // The second result of the body is stacked over the rounds.
  EXPECT_TYPE(R"(
    node { op_type: "Loop" input: "" input: "c" input: "x" output: "z" output: "y"
      attribute { name: "body" type: 5 g {
        input { name: "n" } input { name: "d" } input { name: "v" }
        node { op_type: "Relu" input: "v" output: "r" }
        output { name: "d" } output { name: "r" } output { name: "r" } } } })",
              kFloat, 4);
}

// A function that calls itself is not ONNX, and no reason to hang.
TEST(ValueTypesTest, EndsWhereAFunctionCallsItself) {
  const std::string bytes = test::BytesFromText(R"pb(
    graph { node { op_type: "F" domain: "d" input: "x" output: "y" } }
    functions {
      name: "F"
      domain: "d"
      input: "i"
      output: "o"
      node { op_type: "F" domain: "d" input: "i" output: "o" }
    })pb");
  const Model model = ReadModel(bytes);
  const NodeId call = model[GraphId{0}].nodes.at(0);
  EXPECT_EQ(Shapes(model, {}).TypeOf(model.Outputs(call)[0]), kUndefined);
}

}  // namespace
}  // namespace onnx_tag::sizes
