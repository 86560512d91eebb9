#include "clues/parameters/parameters.h"

#include <gtest/gtest.h>

#include "support/small_file.h"

namespace onnx_tag::test {
namespace {

TEST(GatherParameters, FollowsAWeightThroughItsCarriers) {
  SmallFile file;
  AddParameters(file.proto(), {"net.fc.weight"});
  file.Node("Transpose", {"net.fc.weight"}, "t");
  file.Node("Cast", {"t"}, "c");
  file.Node("MatMul", {"x", "c"}, "y");
  file.Read();
  ModuleTree modules;
  const ParameterFacts facts = file.parameters(modules);
  const ParameterId id = facts.ParameterOf(file.Value("c"));
  ASSERT_NE(id, kNo<ParameterId>);
  EXPECT_EQ(modules.Path(facts.parameters[id].module), "net.fc");
  EXPECT_EQ(facts.parameters[id].uses, 1u);  // carriers are no uses
  EXPECT_TRUE(facts.parameters[id].trusted);
  EXPECT_TRUE(facts.is_carrier[file.NodeOf("t")]);
  EXPECT_FALSE(facts.is_carrier[file.NodeOf("y")]);
  EXPECT_TRUE(file.graph().data.IsConstant(file.Value("c")));
  EXPECT_FALSE(file.graph().data.IsConstant(file.Value("y")));
}

// Whether `name`, read by the nodes of the file, is trusted.
bool IsTrusted(SmallFile& file, const std::string& name) {
  file.Read();
  ModuleTree modules;
  const ParameterFacts facts = file.parameters(modules);
  return facts.parameters[facts.ParameterOf(file.Value(name))].trusted;
}

TEST(GatherParameters, DoesNotTrustATensorThatTwoScopesRead) {
  SmallFile file;
  AddParameters(file.proto(), {"a.weight"});
  file.Node("MatMul", {"x", "a.weight"}, "y", "/a/MatMul");
  file.Node("MatMul", {"y", "a.weight"}, "z", "/b/MatMul");
  EXPECT_FALSE(IsTrusted(file, "a.weight"));
}

TEST(GatherParameters, TrustsAWeightThatItsModuleUsesTwice) {
  SmallFile file;
  AddParameters(file.proto(), {"rgb.b4.conv.weight"});
  file.Node("Conv", {"x", "rgb.b4.conv.weight"}, "y", "/b4/conv/Conv");
  file.Node("Pow", {"rgb.b4.conv.weight", "two"}, "z", "/b4/Pow");
  EXPECT_TRUE(IsTrusted(file, "rgb.b4.conv.weight"));
  SmallFile nameless;
  AddParameters(nameless.proto(), {"crf.transitions"});
  nameless.Node("Add", {"x", "crf.transitions"}, "y");
  nameless.Node("Sub", {"y", "crf.transitions"}, "z");
  EXPECT_TRUE(IsTrusted(nameless, "crf.transitions"));
  SmallFile tied;
  AddParameters(tied.proto(), {"embed.weight"});
  tied.Node("Gather", {"embed.weight", "ids"}, "y");
  tied.Node("MatMul", {"y", "embed.weight"}, "z");
  EXPECT_FALSE(IsTrusted(tied, "embed.weight"));
}

TEST(GatherParameters, TrustsAWeightOfAModuleThatIsCalledFromManyPlaces) {
  SmallFile file;
  AddParameters(file.proto(), {"up.1.kernel"});
  file.Node("Conv", {"x", "up.1.kernel"}, "a", "/up/up.1/Conv");
  file.Node("Conv", {"a", "up.1.kernel"}, "b", "/b8/up/up.1/Conv");
  file.Node("Conv", {"b", "up.1.kernel"}, "c", "/up/up.1_1/Conv");
  EXPECT_TRUE(IsTrusted(file, "up.1.kernel"));
  // Equal tensors of two layers were merged.
  SmallFile merged;
  AddParameters(merged.proto(), {"layers.0.attn.mask"});
  merged.Node("Add", {"x", "layers.0.attn.mask"}, "a", "/layers.0/attn/Add");
  merged.Node("Add", {"a", "layers.0.attn.mask"}, "b", "/layers.1/attn/Add");
  EXPECT_FALSE(IsTrusted(merged, "layers.0.attn.mask"));
}

TEST(GatherParameters, IntegersWithoutADotAreNoParameter) {
  SmallFile file;
  AddParameters(file.proto(), {"axes"}, 1);
  file.Main()->mutable_initializer(0)->set_data_type(7);
  file.Node("Reshape", {"x", "axes"}, "y");
  file.Read();
  ModuleTree modules;
  EXPECT_TRUE(file.parameters(modules).parameters.empty());
}

// The owner of the node that makes `value`, and how surely.
std::string OwnerOf(SmallFile& file, const std::string& value) {
  file.Read();
  ModuleTree modules;
  const ParameterFacts facts = file.parameters(modules);
  const Owner owner = facts.OwnerOf(file.graph(), modules, file.NodeOf(value));
  if (owner.module == kNo<ModuleId>) return "-";
  return modules.Path(owner.module) + " " + std::to_string(owner.strength);
}

TEST(OwnerOf, AMatrixSaysMoreThanABiasAndABiasMoreThanANameWithoutDots) {
  SmallFile file;
  AddParameters(file.proto(), {"conv.weight"}, 4);
  AddParameters(file.proto(), {"norm.bias"}, 1);
  AddParameters(file.proto(), {"table"}, 2);
  file.Node("Conv", {"x", "conv.weight", "norm.bias"}, "a");
  file.Node("Add", {"table", "norm.bias"}, "b");
  file.Node("Relu", {"x"}, "c");
  EXPECT_EQ(OwnerOf(file, "a"), "conv 6");
  EXPECT_EQ(OwnerOf(file, "b"), "norm 3");
  EXPECT_EQ(OwnerOf(file, "c"), "-");
}

TEST(OwnerOf, TwoOfOneRankAreOfTheModuleAround) {
  SmallFile file;
  AddParameters(file.proto(), {"attn.q.weight", "attn.k.weight"});
  file.Node("Concat", {"attn.q.weight", "attn.k.weight", "x"}, "a");
  EXPECT_EQ(OwnerOf(file, "a"), "attn 4");
}

// A scale that was merged with the scale of data somewhere else.
TEST(OwnerOf, AScaleOfDataSaysNothing) {
  SmallFile file;
  AddParameters(file.proto(), {"fc.weight_scale"}, 0);
  AddParameters(file.proto(), {"fc.weight_quantized"});
  file.Node("QLinearMatMul",
            {"x", "fc.weight_scale", "", "y", "s", "z", "t", "u"}, "a");
  file.Node("MatMul", {"x", "fc.weight_quantized"}, "b");
  EXPECT_EQ(OwnerOf(file, "a"), "-");
  EXPECT_EQ(OwnerOf(file, "b"), "fc 4");
}

// The scale and the zero point of a weight are read by whoever reads the
// weight next; a tool may have renamed them since.
TEST(GatherParameters, WhatStandsBesideAWeightIsNoSecondUse) {
  for (const std::string scale :
       {"fc.weight_scale", "fc.weight_scale_merged_0", "fc.weight_absmax"}) {
    SCOPED_TRACE(scale);
    SmallFile file;
    AddParameters(file.proto(), {"fc.weight_quantized"});
    AddParameters(file.proto(), {scale}, 1);
    file.Node("MatMulInteger", {"x", "fc.weight_quantized"}, "a", "/fc/MatMul");
    file.Node("Mul", {"a", scale}, "b", "/other/Mul");
    EXPECT_TRUE(IsTrusted(file, "fc.weight_quantized"));
  }
}

// Without its numbers, a bias that several layers read may be that of equal
// ones.
TEST(GatherParameters, DoesNotTrustAVectorThatIsAnInputAndReadTwice) {
  SmallFile file;
  file.proto().mutable_graph()->add_input()->set_name("k.bias");
  file.Node("Add", {"x", "k.bias"}, "y");
  file.Node("Add", {"z", "k.bias"}, "w");
  EXPECT_FALSE(IsTrusted(file, "k.bias"));
  SmallFile once;
  once.proto().mutable_graph()->add_input()->set_name("k.bias");
  once.Node("Add", {"x", "k.bias"}, "y");
  EXPECT_TRUE(IsTrusted(once, "k.bias"));
}

TEST(GatherParameters, ReadsTheNameBehindACastAndADequantizer) {
  for (const std::string op : {"Cast", "DequantizeLinear"}) {
    SmallFile file;
    AddParameters(file.proto(), {"w7", "w7s"});
    file.Node(op, {"w7", "w7s"}, "net.fc.weight");
    file.Node("MatMul", {"x", "net.fc.weight"}, "y");
    file.Read();
    ModuleTree modules;
    const ParameterFacts facts = file.parameters(modules);
    EXPECT_EQ(
        modules.Path(
            facts.OwnerOf(file.graph(), modules, file.NodeOf("y")).module),
        "net.fc");
  }
}

}  // namespace
}  // namespace onnx_tag::test
