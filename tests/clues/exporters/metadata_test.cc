#include "clues/exporters/dynamo/metadata.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

namespace onnx_tag::hierarchy {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::Optional;

TEST(PythonListTest, Pitfall31_ReprIsNotJson) {
  EXPECT_THAT(ParsePythonList("['', 'conv1', 'conv2d']"),
              Optional(ElementsAre("", "conv1", "conv2d")));
  EXPECT_THAT(ParsePythonList(R"py(["", "a", "slice(None, 2, None)"])py"),
              Optional(ElementsAre("", "a", "slice(None, 2, None)")));
  EXPECT_THAT(ParsePythonList(R"(['', "L['self'].h", 'a, b'])"),
              Optional(ElementsAre("", "L['self'].h", "a, b")));
  EXPECT_THAT(
      ParsePythonList("['a', slice(None, 2, None), <built-in eq>]"),
      Optional(ElementsAre("a", "slice(None, 2, None)", "<built-in eq>")));
  EXPECT_THAT(
      ParsePythonList(R"(['\\ \' \" \n \t \r \x41 \u00e9 \U0001f600'])"),
      Optional(ElementsAre("\\ ' \" \n \t \r A é 😀")));
  EXPECT_THAT(ParsePythonList(R"(["\ud83d\ude00\/", "\ud83d"])"),
              Optional(ElementsAre("😀/", "\xef\xbf\xbd")));
  EXPECT_THAT(ParsePythonList(" [ 'a' , 'b' , ] "),
              Optional(ElementsAre("a", "b")));
  EXPECT_THAT(ParsePythonList("[]"), Optional(IsEmpty()));
  EXPECT_THAT(ParsePythonList("[['a', ']'], None]"),
              Optional(ElementsAre("['a', ']']", "None")));
}

TEST(PythonListTest, RefusesWhatIsNoList) {
  for (const std::string_view text :
       {"", " ", "a", "[", "]", "['a'", "['a", "['a']x", "[,]", "['a' 'b']",
        "['\\x4']", "['\\", "[)]", "[(]", "['a',,]"}) {
    EXPECT_FALSE(ParsePythonList(text).has_value()) << text;
  }
}

TEST(PythonListTest, HostileTextsAreHarmless) {
  const std::string brackets(50000, '[');
  EXPECT_FALSE(ParsePythonList(brackets).has_value());
  EXPECT_TRUE(ParsePythonList(brackets + std::string(50000, ']')).has_value());
  const std::string quotes = "[" + std::string(1000001, '\'');
  EXPECT_FALSE(ParsePythonList(quotes).has_value());
  const std::string item = "['" + std::string(1000000, 'a') + "']";
  EXPECT_EQ(ParsePythonList(item)->at(0).size(), 1000000u);
  const std::string nul("['a\0b']", 7);
  EXPECT_EQ(ParsePythonList(nul)->at(0).size(), 3u);
  EXPECT_THAT(ParsePythonList("['\xff']"), Optional(ElementsAre("\xff")));
}

TEST(MetadataTest, TorchScopesAreCumulative) {
  const MetadataScope scope = ParseTorchScopes(
      "['', 'model', 'model.layers.0', 'model.layers.0.self_attn', "
      "'model.layers.0.self_attn.q_proj', 'linear_3']",
      "['A.Root', 'B', 'C', 'D', 'torch.nn.modules.linear.Linear', "
      "'aten.linear.default']");
  EXPECT_TRUE(scope.known);
  EXPECT_EQ(scope.module, "model.layers.0.self_attn.q_proj");
  EXPECT_EQ(scope.scopes.size(), 5u);
  EXPECT_THAT(scope.classes, ElementsAre("A.Root", "B", "C", "D",
                                         "torch.nn.modules.linear.Linear"));
}

TEST(MetadataTest, TheRootIsAModule) {
  const MetadataScope scope = ParseTorchScopes("['', 'einsum']", "");
  EXPECT_TRUE(scope.known);
  EXPECT_EQ(scope.module, "");
  EXPECT_THAT(scope.classes, ElementsAre(""));
}

TEST(MetadataTest, Pitfall32_OnnxscriptIsRelativeAndHasNoOp) {
  const MetadataScope scope =
      ParseOnnxscriptScopes("['', 'model', 'layers.0', 'input_layernorm']",
                            "['CausalLM', 'Decoder', 'DecoderLayer', "
                            "'RMSNorm']");
  EXPECT_EQ(scope.module, "model.layers.0.input_layernorm");
  EXPECT_THAT(scope.scopes, ElementsAre("", "model", "model.layers.0",
                                        "model.layers.0.input_layernorm"));
  EXPECT_THAT(scope.classes,
              ElementsAre("CausalLM", "Decoder", "DecoderLayer", "RMSNorm"));
  EXPECT_TRUE(ParseOnnxscriptScopes("['']", "['A']").known);
}

TEST(MetadataTest, Pitfall33_NoStackIsNoEvidence) {
  EXPECT_FALSE(ParseTorchScopes("['pad']", "['aten.pad']").known);
  EXPECT_FALSE(ParseTorchScopes("[]", "").known);
  EXPECT_FALSE(ParseTorchScopes("", "").known);
  EXPECT_FALSE(ParseTorchScopes("not a list", "").known);
  EXPECT_FALSE(
      ParseTorchScopes(
          "['_empty_nn_module_stack_from_metadata_hook', 'sym_size']", "")
          .known);
  EXPECT_FALSE(ParseTorchNamespace("").known);
  // Another program's: it says which group to draw the node in.
  EXPECT_FALSE(ParseTorchNamespace("/layer.0/attn/MatMul").known);
}

TEST(MetadataTest, ListsThatAreNotParallelGiveNoClasses) {
  const MetadataScope scope = ParseTorchScopes("['', 'a', 'mul']", "['A']");
  EXPECT_EQ(scope.module, "a");
  EXPECT_THAT(scope.classes, ElementsAre("", ""));
}

TEST(MetadataTest, TorchNamespaceSaysTheSame) {
  const MetadataScope scope = ParseTorchNamespace(
      ": __main__.Model/conv1: torch.nn.modules.conv.Conv2d/conv2d: "
      "aten.conv2d.default");
  EXPECT_EQ(scope.module, "conv1");
  EXPECT_THAT(scope.classes,
              ElementsAre("__main__.Model", "torch.nn.modules.conv.Conv2d"));
}

TEST(MetadataTest, ScopesAreNormalized) {
  const std::pair<std::string_view, std::string_view> vectors[] = {
      {"", ""},
      {"a.b.0", "a.b.0"},
      {"L['self']", ""},
      {"L['self'].h[1]", "h.1"},
      {"L['self'].experts['left'].fc", "experts.left.fc"},
      {"layers.slice(None, 4, None).0", "layers.0"},
      {"layers.slice(2, 6, None).0.attn", "layers.2.attn"},
      {"layers.slice(2, 10, 3).2", "layers.8"},
      {"layers.slice(4, None, None).slice(1, 3, None).0", "layers.5"},
      {"layers.slice(None, 4, None)", "layers"},
      {"layers.slice(-2, None, None).0", "layers.slice(-2, None, None).0"},
      {"L__self__", ""},
      {"L__self___h_1", "h_1"},
      {"getattr_L__self___layer1___0___conv1", "layer1.0.conv1"},
      {"getattr_getattr_L__self___layer1___0___m___1___conv",
       "layer1.0.m.1.conv"},
  };
  for (const auto& [scope, module] : vectors) {
    EXPECT_EQ(NormalizeScope(scope), module) << scope;
  }
}

TEST(MetadataTest, ShortClassIsTheLastWord) {
  EXPECT_EQ(ShortClass("torch.nn.modules.linear.Linear"), "Linear");
  EXPECT_EQ(ShortClass("f._aot_export_non_strict.<locals>.Wrapper"), "Wrapper");
  EXPECT_EQ(ShortClass("Linear"), "Linear");
  EXPECT_EQ(ShortClass(""), "");
}

TEST(MetadataTest, HostileScopesAreHarmless) {
  std::string slices;
  while (slices.size() < 1000000) slices += "slice(999999999, 1, 999999999).";
  EXPECT_EQ(NormalizeScope(slices), "");
  EXPECT_EQ(NormalizeScope("L['self']" + std::string(1000000, '[')), "");
  EXPECT_EQ(NormalizeScope("L__self__" + std::string(1000000, '_')), "");
  EXPECT_TRUE(ParseTorchNamespace(": A" + std::string(1000000, '/')).known);
}

}  // namespace
}  // namespace onnx_tag::hierarchy
