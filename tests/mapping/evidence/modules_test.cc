// The steps of evidence that find modules.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "clues/recipes/book/packed_book.h"
#include "mapping/evidence/claims.h"
#include "onnx_tag/error.h"
#include "onnx_tag/recording.h"
#include "support/truth.h"

namespace onnx_tag::test {
namespace {

std::shared_ptr<const ModuleMap> Map(const std::string& modules) {
  ModuleMap map = ReadModuleMap("{\"modules\": " + modules + "}");
  return std::make_shared<const ModuleMap>(std::move(map));
}

// The module of each scope, with "!" if it is proven.
std::string ModuleOf(const ScopeFacts& facts, const ModuleTree& modules,
                     std::string_view scope) {
  const ScopeId id = facts.scopes.Find(scope);
  if (id == kNo<ScopeId>) return "no such scope";
  return modules.Path(facts.scopes[id].module) +
         (facts.scopes[id].proven ? "!" : "");
}

TEST(AlignScopes, AParameterSpellsTheContainersThatAreNotCalled) {
  SmallFile file;
  AddParameters(file.proto(), {"net.blocks.0.fc.weight"});
  file.Node("MatMul", {"x", "net.blocks.0.fc.weight"}, "a", "/net/0/fc/MatMul");
  file.Node("Relu", {"a"}, "b", "/net/0/act/Relu");
  const Model& model = file.Read();
  ModuleTree modules;
  const ParameterFacts parameters = file.parameters(modules);
  KnownModules known;
  const ScopeFacts facts =
      AlignScopes(file.graph(), parameters, file.scopes(), known, modules);
  EXPECT_EQ(ModuleOf(facts, modules, "net/0/fc"), "net.blocks.0.fc!");
  EXPECT_EQ(ModuleOf(facts, modules, "net/0"), "net.blocks.0!");
  // Below its parent, because no parameter speaks for it.
  EXPECT_EQ(ModuleOf(facts, modules, "net/0/act"), "net.blocks.0.act");
}

TEST(AlignScopes, ASuffixIsASecondCallUnlessAParameterHasThatName) {
  SmallFile file;
  AddParameters(file.proto(), {"fc.weight", "fc_1.weight"});
  file.Node("MatMul", {"x", "fc.weight"}, "a", "/fc/MatMul");
  file.Node("MatMul", {"a", "fc_1.weight"}, "b", "/fc_1/MatMul");
  file.Node("Relu", {"b"}, "c", "/act/Relu");
  file.Node("Relu", {"c"}, "d", "/act_1/Relu");
  const Model& model = file.Read();
  ModuleTree modules;
  const ParameterFacts parameters = file.parameters(modules);
  KnownModules known;
  const ScopeFacts facts =
      AlignScopes(file.graph(), parameters, file.scopes(), known, modules);
  EXPECT_EQ(ModuleOf(facts, modules, "fc_1"), "fc_1!");
  EXPECT_EQ(ModuleOf(facts, modules, "act_1"), "act");
}

// The modules of the scopes of a file, from its names and parameters alone.
class Aligned {
 public:
  explicit Aligned(SmallFile& file) {
    const Model& model = file.Read();
    const ParameterFacts parameters = file.parameters(modules_);
    KnownModules known;
    facts_ =
        AlignScopes(file.graph(), parameters, file.scopes(), known, modules_);
  }

  std::string operator[](std::string_view scope) const {
    return ModuleOf(facts_, modules_, scope);
  }
  bool IsByOrder(std::string_view scope) const {
    return facts_.scopes[facts_.scopes.Find(scope)].by_order;
  }

 private:
  ModuleTree modules_;
  ScopeFacts facts_;
};

TEST(AlignScopes, AnIndexOfACalledListStandsRightBelowIt) {
  SmallFile file;
  // A tool folded the norms: most convolutions have lost their names.
  AddParameters(file.proto(), {"blocks.8.1.fc.weight"});
  file.Node("Relu", {"x"}, "a", "/blocks/blocks.1/blocks.1.0/act/Relu");
  file.Node("MatMul", {"a", "blocks.8.1.fc.weight"}, "b",
            "/blocks/blocks.8/blocks.8.1/fc/MatMul");
  const Aligned modules(file);
  EXPECT_EQ(modules["blocks/blocks.1/blocks.1.0"], "blocks.1.0");
  EXPECT_EQ(modules["blocks/blocks.1/blocks.1.0/act"], "blocks.1.0.act");
  EXPECT_EQ(modules["blocks/blocks.8/blocks.8.1"], "blocks.8.1!");
}

TEST(AlignScopes, WhatIsCalledAsOftenAsTwinsBesideItHasTheirHolders) {
  SmallFile file;
  AddParameters(file.proto(), {"stages.0.down.weight", "stages.1.down.weight"});
  file.Node("MatMul", {"x", "stages.0.down.weight"}, "a", "/down/MatMul");
  file.Node("Relu", {"a"}, "b", "/body/body.0/act/Relu");
  file.Node("Relu", {"b"}, "c", "/once/Relu");
  file.Node("MatMul", {"c", "stages.1.down.weight"}, "d", "/down_1/MatMul");
  file.Node("Relu", {"d"}, "e", "/body/body.0/act_1/Relu");
  const Aligned modules(file);
  EXPECT_EQ(modules["down_1"], "stages.1.down!");
  EXPECT_EQ(modules["body/body.0/act"], "stages.0.body.0.act");
  EXPECT_EQ(modules["body/body.0/act_1"], "stages.1.body.0.act");
  // One activation that is called twice prints the same.
  EXPECT_TRUE(modules.IsByOrder("body/body.0/act_1"));
  EXPECT_EQ(modules["once"], "once");
}

TEST(AlignScopes, DoraCallsTheMatricesOfItsLayerInTurn) {
  SmallFile file;
  AddParameters(file.proto(), {"q.base_layer.weight",
                               "q.lora_magnitude_vector.default.weight"});
  file.Node("MatMul", {"x", "q.base_layer.weight"}, "a",
            "/q/base_layer/MatMul");
  file.Node("MatMul", {"x", "u"}, "b", "/q/default/default/MatMul");
  file.Node("MatMul", {"b", "v"}, "c", "/q/default/default_1/MatMul");
  file.Node("Mul", {"c", "q.lora_magnitude_vector.default.weight"}, "d",
            "/q/default/Mul");
  file.Node("MatMul", {"x", "u"}, "e", "/q/default/default_2/MatMul");
  file.Node("MatMul", {"e", "v"}, "f", "/q/default/default_3/MatMul");
  const Aligned modules(file);
  EXPECT_EQ(modules["q/default"], "q.lora_magnitude_vector.default!");
  EXPECT_EQ(modules["q/default/default"], "q.lora_A.default");
  EXPECT_EQ(modules["q/default/default_1"], "q.lora_B.default");
  EXPECT_EQ(modules["q/default/default_2"], "q.lora_A.default");
  EXPECT_EQ(modules["q/default/default_3"], "q.lora_B.default");
}

TEST(FitHierarchy, FindsTheModelInsideAWrapper) {
  SmallFile file;
  AddParameters(file.proto(), {"model.enc.fc.weight", "model.dec.fc.weight"});
  file.Node("MatMul", {"x", "model.enc.fc.weight"}, "a");
  file.Node("MatMul", {"a", "model.dec.fc.weight"}, "b");
  const Model& model = file.Read();
  ModuleTree modules;
  const ParameterFacts parameters = file.parameters(modules);
  const KnownModules known = FitHierarchy(
      {file.graph(), file.scopes(), parameters, {}},
      Map(R"({"": "Net", "enc": "Enc", "enc.fc": "Linear", "dec": "Dec",
              "dec.fc": "Linear"})"),
      modules);
  EXPECT_EQ(modules.Path(known.top), "model");
  EXPECT_EQ(modules.Class(modules.Find("model.enc.fc")), "Linear");
}

TEST(FitHierarchy, RefusesAnotherModels) {
  SmallFile file;
  AddParameters(file.proto(), {"a.weight", "b.weight"});
  file.Node("MatMul", {"x", "a.weight"}, "y");
  file.Node("MatMul", {"y", "b.weight"}, "z");
  const Model& model = file.Read();
  ModuleTree modules;
  const ParameterFacts parameters = file.parameters(modules);
  EXPECT_THROW(FitHierarchy({file.graph(), file.scopes(), parameters, {}},
                            Map(R"({"": "Net", "c": "Linear"})"), modules),
               Error);
}

// Four linear layers without a name, of these widths.
std::string ErrorOfShapes(const std::vector<std::int64_t>& widths) {
  SmallFile file;
  std::string x = "x";
  for (std::size_t i = 0; i + 1 < widths.size(); ++i) {
    schema::TensorProto* const tensor =
        file.proto().mutable_graph()->add_initializer();
    tensor->set_name("w" + std::to_string(i));
    tensor->set_data_type(1);
    tensor->add_dims(widths[i]);
    tensor->add_dims(widths[i + 1]);
    const std::string y = "y" + std::to_string(i);
    file.Node("MatMul", {x, tensor->name()}, y);
    x = y;
  }
  const Model& model = file.Read();
  ModuleTree modules;
  const ParameterFacts parameters = file.parameters(modules);
  try {
    FitHierarchy({file.graph(), file.scopes(), parameters, {}}, Map(R"({
        "": "Net",
        "a": {"class": "Linear", "parameters": {"weight": [8, 4]}},
        "b": {"class": "Linear", "parameters": {"weight": [16, 8]}},
        "c": {"class": "Linear", "parameters": {"weight": [32, 16]}},
        "d": {"class": "Linear", "parameters": {"weight": [2, 32]}}})"),
                 modules);
  } catch (const Error& error) {
    return error.what();
  }
  return "";
}

TEST(FitHierarchy, TakesItsOwnModelsWithoutNames) {
  EXPECT_EQ(ErrorOfShapes({4, 8, 16, 32, 2}), "");
}

TEST(FitHierarchy, RefusesAnotherModelsByTheShapesOfWeights) {
  EXPECT_THAT(ErrorOfShapes({4, 8, 24, 48, 3}),
              ::testing::HasSubstr("belongs to another model: of 4 weights"));
}

// What the calls of a hierarchy say about the nodes of a file.
Clues CallsOf(SmallFile& file, const char* hierarchy, ModuleTree& modules) {
  const Model& model = file.Read();
  const ParameterFacts parameters = file.parameters(modules);
  const ScopeFacts scopes = file.scopes();
  const KnownModules known = FitHierarchy(
      {file.graph(), scopes, parameters, {}}, Map(hierarchy), modules);
  Clues said;
  GatherCalls(file.graph(), file.exporter().dialect,
              FileModules(file.graph(), scopes, parameters, {}, modules), known,
              modules, said);
  return said;
}

// Two branches of equal modules, which a tool has put in another order.
TEST(GatherCalls, FollowsTheValuesThroughASequential) {
  SmallFile file;
  AddParameters(file.proto(), {"left.0.weight", "right.0.weight"});
  file.Node("Conv", {"x", "right.0.weight"}, "r");
  file.Node("GroupNormalization", {"r"}, "r_act");
  file.Node("Conv", {"x", "left.0.weight"}, "l");
  file.Node("GroupNormalization", {"l"}, "l_act");
  file.Node("Add", {"l_act", "r_act"}, "sum");
  ModuleTree modules;
  const Clues claims = CallsOf(file,
                               R"({"": {"class": "Net", "order": 0},
              "left": {"class": "Sequential", "order": 1},
              "left.0": {"class": "Conv2d", "order": 2,
                         "parameters": {"weight": [2, 2]}},
              "left.1": {"class": "GroupNorm", "order": 4},
              "right": {"class": "Sequential", "order": 5},
              "right.0": {"class": "Conv2d", "order": 6,
                          "parameters": {"weight": [2, 2]}},
              "right.1": {"class": "GroupNorm", "order": 8}})",
                               modules);
  EXPECT_EQ(Says(claims, modules, file.NodeOf("l_act")), "left.1 high");
  EXPECT_EQ(Says(claims, modules, file.NodeOf("r_act")), "right.1 high");
}

// No name tells which of two equal modules is which, and they run side by side.
TEST(GatherCalls, DoubtsEqualModulesThatRunSideBySide) {
  SmallFile file;
  AddParameters(file.proto(), {"w1", "w2", "w3"});
  file.Node("Conv", {"x", "w1"}, "a");
  file.Node("Conv", {"x", "w2"}, "b");
  file.Node("Add", {"a", "b"}, "sum");
  file.Node("Conv", {"sum", "w3"}, "c");
  ModuleTree modules;
  const Clues claims = CallsOf(file,
                               R"({"": {"class": "Net", "order": 0},
              "left": {"class": "Conv2d", "order": 1},
              "right": {"class": "Conv2d", "order": 2},
              "last": {"class": "Conv2d", "order": 3}})",
                               modules);
  EXPECT_EQ(Says(claims, modules, file.NodeOf("a")), "left medium");
  EXPECT_EQ(Says(claims, modules, file.NodeOf("b")), "right medium");
  EXPECT_EQ(Says(claims, modules, file.NodeOf("c")), "last high");
}

TEST(GatherCalls, FindsAnActivationBetweenTwoCalls) {
  SmallFile file;
  AddParameters(file.proto(), {"up.weight", "down.weight"});
  file.Node("MatMul", {"x", "up.weight"}, "a");
  file.Node("Relu", {"a"}, "b");
  file.Node("MatMul", {"b", "down.weight"}, "c");
  ModuleTree modules;
  const Clues claims = CallsOf(file,
                               R"({"": {"class": "Net", "order": 0},
              "up": {"class": "Linear", "order": 1,
                     "parameters": {"weight": [2, 2]}},
              "act": {"class": "ReLU", "order": 2},
              "down": {"class": "Linear", "order": 3,
                       "parameters": {"weight": [2, 2]}}})",
                               modules);
  EXPECT_EQ(Says(claims, modules, file.NodeOf("b")), "act high");
}

// The branch beside it stands first in the file.
TEST(GatherCalls, RunsAnActivationBeforeTheBranchBesideIt) {
  SmallFile file;
  AddParameters(file.proto(), {"conv.weight", "side.weight", "next.weight"});
  file.Node("Conv", {"x", "side.weight"}, "s");
  file.Node("Conv", {"x", "conv.weight"}, "a");
  file.Node("Sigmoid", {"a"}, "b");
  file.Node("Mul", {"a", "b"}, "c");
  file.Node("Add", {"c", "s"}, "sum");
  file.Node("Conv", {"sum", "next.weight"}, "d");
  ModuleTree modules;
  const Clues claims = CallsOf(file,
                               R"({"": {"class": "Net", "order": 0},
              "conv": {"class": "Conv2d", "order": 1,
                       "parameters": {"weight": [2, 2]}},
              "act": {"class": "SiLU", "order": 2},
              "side": {"class": "Conv2d", "order": 3,
                       "parameters": {"weight": [2, 2]}},
              "next": {"class": "Conv2d", "order": 4,
                       "parameters": {"weight": [2, 2]}},
              "last_act": {"class": "SiLU", "order": 5}})",
                               modules);
  EXPECT_EQ(Says(claims, modules, file.NodeOf("b")), "act high");
  EXPECT_EQ(Says(claims, modules, file.NodeOf("c")), "act high");
}

// The caller moves, reduces and squeezes what a module reads and makes.
TEST(GatherCalls, LeavesTheCallersWorkToTheCaller) {
  SmallFile file;
  AddParameters(file.proto(), {"conv.weight", "norm.weight", "fc.weight"});
  file.Node("Unsqueeze", {"x"}, "wide");
  file.Node("Conv", {"wide", "conv.weight"}, "a");
  file.Node("LayerNormalization", {"a", "norm.weight"}, "b");
  file.Node("ReduceMean", {"b"}, "mean");
  file.Node("GlobalAveragePool", {"mean"}, "pooled");
  file.Node("Squeeze", {"pooled"}, "flat");
  file.Node("MatMul", {"flat", "fc.weight"}, "c");
  ModuleTree modules;
  const Clues claims = CallsOf(file,
                               R"({"": {"class": "Net", "order": 0},
              "conv": {"class": "Conv2d", "order": 1,
                       "parameters": {"weight": [2, 2]}},
              "norm": {"class": "LayerNorm", "order": 2,
                       "parameters": {"weight": [2]}},
              "pool": {"class": "AdaptiveAvgPool2d", "order": 3},
              "fc": {"class": "Linear", "order": 4,
                     "parameters": {"weight": [2, 2]}}})",
                               modules);
  EXPECT_EQ(Says(claims, modules, file.NodeOf("pooled")), "pool high");
  for (const char* const value : {"wide", "mean", "flat"}) {
    EXPECT_EQ(Says(claims, modules, file.NodeOf(value)), "-") << value;
  }
}

// The value goes past the attention to a gate, so the attention did not make
// it.
TEST(GatherCalls, LeavesWhatPassesByToTheCaller) {
  SmallFile file;
  AddParameters(file.proto(),
                {"conv.weight", "attn.in_proj_weight", "fc.weight"});
  file.Node("Conv", {"x", "conv.weight"}, "a");
  file.Node("Reshape", {"a"}, "tokens");
  file.Node("Transpose", {"tokens"}, "turned");
  file.Node("MatMul", {"turned", "attn.in_proj_weight"}, "q");
  file.Node("MatMul", {"q", "turned"}, "scores");
  file.Node("Softmax", {"scores"}, "p");
  file.Node("MatMul", {"p", "q"}, "context");
  file.Node("MatMul", {"context", "fc.weight"}, "y");
  file.Node("Mul", {"y", "tokens"}, "gated");
  ModuleTree modules;
  const Clues claims = CallsOf(file,
                               R"({"": {"class": "Net", "order": 0},
              "conv": {"class": "Conv2d", "order": 1,
                       "parameters": {"weight": [2, 2]}},
              "attn": {"class": "MultiheadAttention", "order": 2,
                       "parameters": {"in_proj_weight": [2, 2]}},
              "fc": {"class": "Linear", "order": 3,
                     "parameters": {"weight": [2, 2]}}})",
                               modules);
  EXPECT_EQ(Says(claims, modules, file.NodeOf("p")), "attn high");
  EXPECT_EQ(Says(claims, modules, file.NodeOf("turned")), "attn high");
  EXPECT_EQ(Says(claims, modules, file.NodeOf("tokens")), "-");
}

// The weights have no names, the bias has one: it says whose the product is.
TEST(GatherCalls, TakesTheOwnerOfABiasForItsProduct) {
  SmallFile file;
  AddParameters(file.proto(), {"val_1", "val_2"});
  AddParameters(file.proto(), {"k.bias"}, 1);
  file.Node("MatMul", {"x", "val_1"}, "q");
  file.Node("MatMul", {"x", "val_2"}, "k");
  file.Node("Add", {"k", "k.bias"}, "with_bias");
  file.Node("MatMul", {"q", "with_bias"}, "scores");
  ModuleTree modules;
  const Clues claims = CallsOf(file,
                               R"({"": {"class": "Net", "order": 0},
              "q": {"class": "Linear", "order": 1,
                    "parameters": {"weight": [2, 2]}},
              "k": {"class": "Linear", "order": 2,
                    "parameters": {"weight": [2, 2], "bias": [2]}}})",
                               modules);
  EXPECT_THAT(Says(claims, modules, file.NodeOf("q")),
              ::testing::StartsWith("q "));
  EXPECT_THAT(Says(claims, modules, file.NodeOf("k")),
              ::testing::StartsWith("k "));
}

// An item without any parameter is another name for the same object.
TEST(GatherParameters, TrustsALayerThatIsCalledByAnotherName) {
  SmallFile file;
  AddParameters(file.proto(), {"layers.1.fc.weight"});
  file.Node("MatMul", {"x", "layers.1.fc.weight"}, "a");
  file.Node("MatMul", {"a", "layers.1.fc.weight"}, "b");
  file.Read();
  ModuleTree modules;
  modules.Add("layers.0.fc");
  const ParameterFacts facts = file.parameters(modules);
  ASSERT_EQ(facts.parameters.size(), 1U);
  EXPECT_TRUE(facts.parameters.begin()->trusted);
}

// The map knows the block by its first name, the file by its last.
TEST(GatherCalls, UsesTheNameOfTheFile) {
  SmallFile file;
  AddParameters(file.proto(), {"last.fc.weight"});
  file.Node("MatMul", {"x", "last.fc.weight"}, "a");
  file.Node("Relu", {"a"}, "b");
  ModuleTree modules;
  const Clues claims = CallsOf(file,
                               R"({"": {"class": "Net", "order": 0},
              "first": {"class": "Block", "order": 1},
              "first.fc": {"class": "Linear", "order": 2,
                           "parameters": {"weight": [2, 2]}},
              "first.act": {"class": "ReLU", "order": 3},
              "last": {"class": "Block", "shared_with": "first"},
              "last.fc": {"class": "Linear", "shared_with": "first.fc",
                          "parameters": {"weight": [2, 2]}},
              "last.act": {"class": "ReLU", "shared_with": "first.act"}})",
                               modules);
  EXPECT_EQ(Says(claims, modules, file.NodeOf("b")), "last.act high");
}

// Two layers with a norm of its own making and a Linear, and a scale at the end
// of each. The file has no names.
class NamelessLayers {
 public:
  // `scales`: how many of the two layers' scales are in the file.
  explicit NamelessLayers(int scales) {
    std::string data = "x";
    for (int layer = 0; layer < 2; ++layer) {
      const std::string at = std::to_string(layer);
      AddParameters(file_.proto(), {"val_1" + at}, 1);
      AddParameters(file_.proto(), {"val_2" + at});
      file_.Node("Mul", {data, "val_1" + at}, "normed" + at);
      file_.Node("MatMul", {"normed" + at, "val_2" + at}, "product" + at);
      data = "product" + at;
      if (layer >= scales) continue;
      AddParameters(file_.proto(), {"val_3" + at}, 1);
      file_.Node("Mul", {data, "val_3" + at}, "scaled" + at);
      data = "scaled" + at;
    }
    for (schema::TensorProto& tensor : *file_.Main()->mutable_initializer()) {
      tensor.set_data_type(1);  // float
    }
    const Model& model = file_.Read();
    const ParameterFacts parameters = file_.parameters(modules_);
    const ScopeFacts scopes = file_.scopes();
    const KnownModules known =
        FitHierarchy({file_.graph(), scopes, parameters, {}}, Map(R"({
            "": {"class": "Net", "order": 0},
            "layers": {"class": "ModuleList", "container": true},
            "layers.0": {"class": "Layer", "order": 1,
                         "parameters": {"scale": [2]}},
            "layers.0.norm": {"class": "Rms", "order": 2,
                              "parameters": {"g": [2]}},
            "layers.0.fc": {"class": "Linear", "order": 3,
                            "parameters": {"weight": [2, 2]}},
            "layers.1": {"class": "Layer", "order": 4,
                         "parameters": {"scale": [2]}},
            "layers.1.norm": {"class": "Rms", "order": 5,
                              "parameters": {"g": [2]}},
            "layers.1.fc": {"class": "Linear", "order": 6,
                            "parameters": {"weight": [2, 2]}}})"),
                     modules_);
    const FileModules anchors(file_.graph(), scopes, parameters, {}, modules_);
    Clues said;
    GatherCalls(file_.graph(), file_.exporter().dialect, anchors, known,
                modules_, said);
    names_ =
        NameWeights(file_.graph(), parameters, known, said, anchors, modules_);
  }

  std::string NameOf(const std::string& value) const {
    for (const auto& [id, name] : names_) {
      if (id == file_.Value(value)) return name;
    }
    return "-";
  }

 private:
  SmallFile file_;
  ModuleTree modules_;
  WeightNames names_;
};

TEST(NameWeights, GivesAWeightToTheModuleThatRunsThere) {
  const NamelessLayers layers(2);
  EXPECT_EQ(layers.NameOf("val_20"), "layers.0.fc.weight");
  EXPECT_EQ(layers.NameOf("val_21"), "layers.1.fc.weight");
  EXPECT_EQ(layers.NameOf("val_10"), "layers.0.norm.g");
  // The scale of a layer precedes the norm of the next.
  EXPECT_EQ(layers.NameOf("val_30"), "layers.0.scale");
  EXPECT_EQ(layers.NameOf("val_11"), "layers.1.norm.g");
  EXPECT_EQ(layers.NameOf("val_31"), "layers.1.scale");
}

TEST(NameWeights, GivesNothingWhereAWeightIsMissing) {
  const NamelessLayers layers(1);
  EXPECT_EQ(layers.NameOf("val_21"), "layers.1.fc.weight");
  // A tool has merged one scale into a product: which one is not known.
  EXPECT_EQ(layers.NameOf("val_30"), "-");
  EXPECT_EQ(layers.NameOf("val_11"), "-");
}

TEST(UsualAttention, IsTheAttentionBesideANorm) {
  SmallFile file;
  AddParameters(file.proto(), {"layers.0.input_layernorm.weight"}, 1);
  file.Node("Mul", {"x", "layers.0.input_layernorm.weight"}, "a");
  file.Read();
  ModuleTree modules;
  const ParameterFacts parameters = file.parameters(modules);
  const ModuleId norm = modules.Find("layers.0.input_layernorm");
  EXPECT_EQ(UsualAttention(parameters, modules, norm), kNo<ModuleId>);
  AddUsualAttention(parameters, modules);
  const ModuleId attention = UsualAttention(parameters, modules, norm);
  ASSERT_NE(attention, kNo<ModuleId>);
  EXPECT_EQ(modules.Path(attention), "layers.0.self_attn");
  EXPECT_EQ(UsualAttention(parameters, modules, attention), kNo<ModuleId>);
}

TEST(AddMissingNumbers, FillsTheGapsOfAListOfLeaves) {
  ModuleTree modules;
  modules.Add("net.1");
  modules.Add("net.3");
  modules.Add("layers.0.fc");
  AddMissingNumbers(modules);
  EXPECT_NE(modules.Find("net.0"), kNo<ModuleId>);
  EXPECT_NE(modules.Find("net.2"), kNo<ModuleId>);
  EXPECT_NE(modules.Find("net.4"), kNo<ModuleId>);
  // Items with parts are layers, not the items of a Sequential.
  EXPECT_EQ(modules.Find("layers.1"), kNo<ModuleId>);
}

TEST(DescribeModules, AListIsNotCallableAndItsOwnerIs) {
  ModuleTree modules;
  const ModuleId layer = modules.Add("encoder.layers.0");
  modules.Add("encoder.layers.1");
  ParameterFacts parameters;
  parameters.module_has_parameter.assign(modules.size(), false);
  const ModuleUses uses = DescribeModules(modules, {}, parameters, {});
  EXPECT_EQ(uses.Callable(modules.Find("encoder.layers")),
            modules.Find("encoder"));
  EXPECT_EQ(uses.Callable(layer), layer);
}

TEST(FileModules, MetadataIsSurerThanAScopeAndAScopeThanAParameter) {
  SmallFile file;
  AddParameters(file.proto(), {"fc.weight"});
  file.Node("MatMul", {"x", "fc.weight"}, "a");
  file.Node("MatMul", {"a", "fc.weight"}, "b", "/fc/MatMul");
  file.Node("Relu", {"b"}, "c", "/act/Relu");
  file.Node("Neg", {"c"}, "d");
  const Model& model = file.Read();
  ModuleTree modules;
  ParameterFacts parameters = file.parameters(modules);
  for (Parameter& parameter : parameters.parameters) parameter.trusted = true;
  KnownModules known;
  const ScopeFacts scopes =
      AlignScopes(file.graph(), parameters, file.scopes(), known, modules);
  Clues said;
  said.Add(WriterId::kMetadata, {file.NodeOf("c"), modules.Add("other"),
                                 Confidence::kCertain, Source::kMetadata, ""});
  const FileModules facts(file.graph(), scopes, parameters, said, modules);
  const auto& of = facts.of_node();
  EXPECT_EQ(*of[Index(file.NodeOf("a"))], "fc");
  EXPECT_EQ(*of[Index(file.NodeOf("b"))], "fc");
  EXPECT_EQ(*of[Index(file.NodeOf("c"))], "other");
  EXPECT_EQ(of[Index(file.NodeOf("d"))], nullptr);
}

// Two operations, as they ran.
Recording TwoOperations() {
  Recording recording;
  recording.file = "recording.json";
  RecordedProgram& program = recording.trace;
  RecordedFlow input;
  input.kind = FlowKind::kInput;
  const FlowId x = program.flows.Add(input);
  const FlowId a = program.flows.Add({});
  const FlowId b = program.flows.Add({});
  program.operations.push_back({.op = "relu",
                                .module = "net.act",
                                .name = {},
                                .inputs = {x},
                                .outputs = {a}});
  program.operations.push_back({.op = "softmax",
                                .module = "net.out",
                                .name = {},
                                .inputs = {a},
                                .outputs = {b}});
  return recording;
}

TEST(GatherRecordings, EachOperationIsAClaim) {
  SmallFile file;
  file.Node("Relu", {"x"}, "a");
  file.Node("Softmax", {"a"}, "b");
  const Model& model = file.Read();
  const Recording recording = TwoOperations();
  ModuleTree modules;
  Clues said;
  GatherRecordings(file.graph(), &recording, nullptr, {}, modules, said);
  EXPECT_EQ(Says(said, modules, file.NodeOf("a")), "net.act certain");
  EXPECT_EQ(Says(said, modules, file.NodeOf("b")), "net.out certain");
  EXPECT_TRUE(said.From(WriterId::kRecordedPart).empty());
}

TEST(GatherRecordings, RefusesARunOfAnotherModel) {
  SmallFile file;
  file.Node("LSTM", {"x"}, "a");
  const Model& model = file.Read();
  const Recording recording = TwoOperations();
  ModuleTree modules;
  Clues said;
  EXPECT_THROW(
      GatherRecordings(file.graph(), &recording, nullptr, {}, modules, said),
      Error);
}

// Five linear layers, one behind the other.
Recording FiveLayers(std::int64_t width) {
  Recording recording;
  RecordedProgram& program = recording.trace;
  RecordedFlow input;
  input.kind = FlowKind::kInput;
  FlowId value = program.flows.Add(input);
  for (int i = 0; i < 5; ++i) {
    RecordedFlow weight;
    weight.kind = FlowKind::kParameter;
    weight.has_shape = true;
    weight.shape = {width, width};
    RecordedOperation operation;
    operation.op = "linear";
    operation.module = "net." + std::to_string(i);
    operation.inputs = {value, program.flows.Add(weight)};
    value = program.flows.Add(RecordedFlow());
    operation.outputs = {value};
    program.operations.push_back(std::move(operation));
  }
  return recording;
}

TEST(GatherRecordings, RefusesARunOfTheSameOperationsWithOtherWeights) {
  SmallFile file;
  std::string value = "x";
  for (int i = 0; i < 5; ++i) {
    const std::string weight = "w" + std::to_string(i);
    auto* const tensor = file.Main()->add_initializer();
    tensor->set_name(weight);
    tensor->set_data_type(1);
    tensor->add_dims(8);
    tensor->add_dims(8);
    const std::string output = "y" + std::to_string(i);
    file.Node("MatMul", {value, weight}, output);
    value = output;
  }
  const Model& model = file.Read();
  ModuleTree modules;
  const Recording same = FiveLayers(8);
  Clues said;
  GatherRecordings(file.graph(), &same, nullptr, {}, modules, said);
  EXPECT_EQ(Says(said, modules, file.NodeOf("y3")), "net.3 certain");
  const Recording other = FiveLayers(16);
  EXPECT_THROW(
      GatherRecordings(file.graph(), &other, nullptr, {}, modules, said),
      Error);
}

TEST(GatherRecipes, DoesNotConsultTheBookForAFileWithNames) {
  for (const bool named : {true, false}) {
    const std::string bytes =
        OneTruth(named ? "bert/ts" : "bert/ts-noscope").Bytes();
    const Model model = ReadModel(bytes);
    const GraphFacts graph = GatherGraph(model);
    const Evidence evidence =
        GatherEvidence(graph, {.hierarchy = {},
                               .book = &recipes::BuiltInBook(),
                               .paths_to_part = {}});
    EXPECT_EQ(evidence.said.From(WriterId::kRecipe).empty(), named);
  }
}

TEST(ModuleEvidence, KeepsWhatClassesNeed) {
  SmallFile file;
  AddParameters(file.proto(), {"fc.weight"});
  file.Node("MatMul", {"x", "fc.weight"}, "a", "/fc/MatMul");
  file.Read();
  Evidence evidence = GatherEvidence(file.graph());
  const ModuleId fc = evidence.modules.Find("fc");
  const ModuleEvidence kept(std::move(evidence));
  EXPECT_EQ(kept.parameters.parameters.size(), 1u);
  EXPECT_TRUE(kept.called_modules[Index(fc)]);
}

}  // namespace
}  // namespace onnx_tag::test
