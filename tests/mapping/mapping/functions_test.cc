#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "support/model_builder.h"

namespace onnx_tag {
namespace {

using test::AddFunction;
using test::AddNode;
using test::AddParameters;
using test::Mapped;
using testing::ElementsAre;

constexpr char kTorch[] = "pkg.torch.2.1.2";
constexpr char kLinear[] = "torch_nn_modules_linear_Linear_head_fc_1";
constexpr char kHead[] = "models_Head_head_1";

// dynamo_export: the root calls head, which calls head.fc and head.act.
schema::ModelProto PackageModel() {
  schema::ModelProto model;
  AddParameters(model, {"head.fc.weight", "head.fc.bias"});
  AddNode(model.mutable_graph(), "Relu", {"x"}, {"relu"}, "Relu_0");
  AddNode(model.mutable_graph(), kHead,
          {"relu", "head.fc.weight", "head.fc.bias"}, {"head_1"},
          "models_Head_head_1_1", "pkg.models");
  auto* helper = AddFunction(model, "pkg.onnxscript.torch_lib", "aten_relu",
                             {"self"}, {"result"});
  AddNode(helper, "Relu", {"self"}, {"result"}, "n0");
  auto* linear =
      AddFunction(model, kTorch, kLinear, {"a", "w", "b"}, {"addmm"});
  AddNode(linear, "Gemm", {"a", "w", "b"}, {"addmm"}, "Gemm_0");
  auto* act = AddFunction(model, kTorch,
                          "torch_nn_modules_activation_ReLU_head_act_fn_1",
                          {"a"}, {"relu"});
  AddNode(act, "aten_relu", {"a"}, {"relu"}, "aten_relu_0",
          "pkg.onnxscript.torch_lib");
  auto* head =
      AddFunction(model, "pkg.models", kHead, {"a", "w", "b"}, {"out"});
  AddNode(head, kLinear, {"a", "w", "b"}, {"fc"}, "", kTorch);
  AddNode(head, "torch_nn_modules_activation_ReLU_head_act_fn_1", {"fc"},
          {"act"}, "", kTorch);
  AddNode(head, "Neg", {"act"}, {"out"}, "Neg_2");
  return model;
}

TEST(FunctionsTest, PackageFunctionStandsForTheModuleItIsNamedAfter) {
  const Mapped mapped(PackageModel());
  EXPECT_EQ(mapped.Module("", 1), "head");
  const std::string head = std::string("fn:pkg.models::") + kHead;
  EXPECT_EQ(mapped.Module(head, 0), "head.fc");
  EXPECT_EQ(mapped.Module(head, 2), "head");
  EXPECT_EQ(mapped.Module(std::string("fn:") + kTorch + "::" + kLinear, 0),
            "head.fc");
}

TEST(FunctionsTest, PackageFunctionWithoutParametersIsNamedBelowItsCaller) {
  const Mapped mapped(PackageModel());
  EXPECT_EQ(mapped.Module(std::string("fn:pkg.models::") + kHead, 1),
            "head.act_fn");
}

TEST(FunctionsTest, NodesOutsidePackageFunctionsAreTheRoots) {
  EXPECT_EQ(Mapped(PackageModel()).Module("", 0), "");
}

TEST(FunctionsTest, HelperFunctionBelongsToItsCaller) {
  const Mapped mapped(PackageModel());
  EXPECT_EQ(mapped.Module("fn:pkg.onnxscript.torch_lib::aten_relu", 0),
            "head.act_fn");
}

TEST(FunctionsTest, FunctionNamesTheClass) {
  const Mapped mapped(PackageModel());
  EXPECT_EQ(mapped.Class("head"), "Head");
  EXPECT_EQ(mapped.Class("head.fc"), "Linear");
}

TEST(FunctionsTest, EveryCallIsACallSite) {
  const Mapped mapped(PackageModel());
  EXPECT_THAT(mapped.CallSites(0), ElementsAre("head.act_fn"));
  EXPECT_THAT(mapped.CallSites(1), ElementsAre("head.fc"));
  EXPECT_THAT(mapped.CallSites(3), ElementsAre("head"));
}

TEST(FunctionsTest, ListItemsOfDynamoAreReadThroughGetattr) {
  schema::ModelProto model;
  AddParameters(model, {"layer1.0.conv1.weight"});
  const std::string name =
      "torch_nn_modules_conv_Conv2d_getattr_L__self___layer1___0___conv1_1";
  AddNode(model.mutable_graph(), name, {"x", "layer1.0.conv1.weight"}, {"y"},
          "", kTorch);
  auto* conv = AddFunction(model, kTorch, name, {"a", "w"}, {"b"});
  AddNode(conv, "Conv", {"a", "w"}, {"b"}, "Conv_0");
  EXPECT_EQ(Mapped(model).Module("", 0), "layer1.0.conv1");
}

// `pooler` is called by itself, so its name does not begin another's.
TEST(FunctionsTest, ModuleThatTheRootCallsIsNotBelowOneThatItCallsToo) {
  schema::ModelProto model;
  AddParameters(model, {"pooler.weight"});
  const std::string pooler = "torch_nn_modules_linear_Linear_pooler_1";
  const std::string act = "torch_nn_modules_activation_Tanh_pooler_act_1";
  AddNode(model.mutable_graph(), pooler, {"x", "pooler.weight"}, {"y"}, "",
          kTorch);
  AddNode(model.mutable_graph(), act, {"y"}, {"z"}, "", kTorch);
  AddNode(AddFunction(model, kTorch, pooler, {"a", "w"}, {"b"}), "MatMul",
          {"a", "w"}, {"b"});
  AddNode(AddFunction(model, kTorch, act, {"a"}, {"b"}), "Tanh", {"a"}, {"b"});
  EXPECT_EQ(Mapped(model).Module("", 1), "pooler_act");
}

// export_modules_as_functions: two layers share a body, whose formal inputs
// have the second one's names.
schema::ModelProto ClassModel() {
  schema::ModelProto model;
  AddParameters(model, {"h.0.fc.weight", "h.0.proj.weight", "h.1.fc.weight",
                        "h.1.proj.weight"});
  AddNode(model.mutable_graph(), "Block",
          {"x", "h.0.fc.weight", "h.0.proj.weight"}, {"y"}, "/h.0/proj/Block",
          "models");
  AddNode(model.mutable_graph(), "Block",
          {"y", "h.1.fc.weight", "h.1.proj.weight"}, {"z"}, "/h.1/proj/Block",
          "models");
  auto* block = AddFunction(model, "models", "Block",
                            {"a", "h.1.fc.weight", "h.1.proj.weight"}, {"c"});
  AddNode(block, "MatMul", {"a", "h.1.fc.weight"}, {"b"}, "MatMul_0");
  AddNode(block, "MatMul", {"b", "h.1.proj.weight"}, {"c"}, "MatMul_1");
  return model;
}

TEST(FunctionsTest, ClassFunctionIsTheModuleAroundItsParameters) {
  const Mapped mapped(ClassModel());
  EXPECT_EQ(mapped.Module("", 0), "h.0");
  EXPECT_EQ(mapped.Module("", 1), "h.1");
  EXPECT_EQ(mapped.Class("h.1"), "Block");
  EXPECT_THAT(mapped.CallSites(0), ElementsAre("h.0", "h.1"));
}

TEST(FunctionsTest, BodyIsThatOfTheFirstCallWhateverItsOwnNamesSay) {
  const Mapped mapped(ClassModel());
  EXPECT_EQ(mapped.Module("fn:models::Block", 0), "h.0.fc");
  EXPECT_EQ(mapped.Module("fn:models::Block", 1), "h.0.proj");
}

TEST(FunctionsTest, OverloadIsPartOfAFunctionsIdentity) {
  schema::ModelProto model = ClassModel();
  model.mutable_functions(0)->set_overload("1");
  model.mutable_graph()->mutable_node(1)->set_overload("1");
  const Mapped mapped(model);
  EXPECT_THAT(mapped.CallSites(0), ElementsAre("h.1"));
  EXPECT_EQ(mapped.Module("fn:models::Block:1", 0), "h.1.fc");
}

TEST(FunctionsTest, FunctionInTheDefaultDomainShadowsTheOperator) {
  schema::ModelProto model;
  AddNode(model.mutable_graph(), "Relu", {"x"}, {"y"}, "/act/Relu");
  AddNode(AddFunction(model, "ai.onnx", "Relu", {"a"}, {"b"}), "Max",
          {"a", "a"}, {"b"});
  EXPECT_EQ(Mapped(model).Module("fn:ai.onnx::Relu", 0), "act");
}

TEST(FunctionsTest, FunctionThatCallsItselfEnds) {
  schema::ModelProto model;
  AddNode(model.mutable_graph(), "Again", {"x"}, {"y"}, "/act/Again", "own");
  auto* again = AddFunction(model, "own", "Again", {"a"}, {"c"});
  AddNode(again, "Relu", {"a"}, {"b"});
  AddNode(again, "Again", {"b"}, {"c"}, "", "own");
  const Mapped mapped(model);
  EXPECT_EQ(mapped.Module("fn:own::Again", 0), "act");
  EXPECT_EQ(mapped.CallSites(0).size(), 2);
}

// Inlined, this has 2^40 nodes.
TEST(FunctionsTest, CallsThatDoubleAtEachLevelAreFollowedOnce) {
  constexpr int kLevels = 40;
  schema::ModelProto model;
  AddNode(model.mutable_graph(), "f0", {"x"}, {"y"}, "/act/f0", "own");
  for (int i = 0; i < kLevels; ++i) {
    auto* function =
        AddFunction(model, "own", "f" + std::to_string(i), {"a"}, {"c"});
    const std::string next = "f" + std::to_string(i + 1);
    AddNode(function, next, {"a"}, {"b"}, "", "own");
    AddNode(function, next, {"b"}, {"c"}, "", "own");
  }
  AddNode(AddFunction(model, "own", "f40", {"a"}, {"b"}), "Relu", {"a"}, {"b"});
  EXPECT_EQ(Mapped(model).Module("fn:own::f40", 0), "act");
}

TEST(FunctionsTest, BranchesOfAScriptedModuleTellWhoseTheIfIs) {
  schema::ModelProto model;
  AddParameters(model, {"gate.up.weight", "gate.down.weight"});
  auto* graph = model.mutable_graph();
  AddNode(graph, "Greater", {"x", "zero"}, {"more"});
  auto* node = AddNode(graph, "If", {"more"}, {"y"});
  for (const char* branch : {"up", "down"}) {
    auto* attribute = node->add_attribute();
    attribute->set_name(branch[0] == 'u' ? "then_branch" : "else_branch");
    auto* body = attribute->mutable_g();
    AddNode(body, "MatMul", {"x", std::string("gate.") + branch + ".weight"},
            {"m"});
    AddNode(body, "Relu", {"m"}, {"r"});
  }
  const Mapped mapped(model);
  EXPECT_EQ(mapped.Module("", 0), "gate");
  EXPECT_EQ(mapped.Module("", 1), "gate");
  EXPECT_EQ(mapped.Module("1:then_branch", 0), "gate.up");
  EXPECT_EQ(mapped.Module("1:else_branch", 1), "gate");
}

}  // namespace
}  // namespace onnx_tag
