// Roles against tests/mapping/roles/*.tsv, which was written from the models'
// source code, and the rules that tell like names apart.
#include "mapping/roles/roles.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <map>
#include <string>
#include <vector>

#include "base/text.h"
#include "file/model/model_file.h"
#include "onnx_tag/mapping.h"
#include "support/wire_builder.h"

namespace onnx_tag {
namespace {

struct GoldenLine {
  std::string graph;
  std::uint32_t index = 0;
  std::string op;
  std::string module;
  std::string class_name;
  std::array<std::string, 4> role;  // type, component, kind, layer
};

std::vector<GoldenLine> ReadGolden(const std::filesystem::path& path) {
  std::ifstream file(path);
  std::vector<GoldenLine> lines;
  std::string text;
  std::getline(file, text);
  while (std::getline(file, text)) {
    const auto parts = Split(text, '\t');
    EXPECT_GE(parts.size(), 10u) << path << ": " << text;
    if (parts.size() < 10) continue;
    GoldenLine line;
    line.graph = parts[0];
    line.index = static_cast<std::uint32_t>(std::stoul(std::string(parts[1])));
    line.op = parts[2];
    line.module = parts[3];
    line.class_name = parts[4];
    for (std::size_t i = 0; i < 4; ++i) line.role[i] = parts[5 + i];
    lines.push_back(std::move(line));
  }
  return lines;
}

std::array<std::string, 4> Fields(const Role& role) {
  return {
      std::string(kRoleTypeNames[static_cast<std::size_t>(role.type)]),
      role.component,
      std::string(
          kAttentionKindNames[static_cast<std::size_t>(role.attention_kind)]),
      role.layer < 0 ? "" : std::to_string(role.layer)};
}

struct Score {
  int lines = 0;
  int untagged = 0;
  std::array<int, 4> right = {};
  int all = 0;

  void Add(const Score& other) {
    lines += other.lines;
    untagged += other.untagged;
    for (std::size_t i = 0; i < 4; ++i) right[i] += other.right[i];
    all += other.all;
  }
};

std::ostream& operator<<(std::ostream& out, const Score& score) {
  out << score.lines << " lines: type " << score.right[0] << ", component "
      << score.right[1] << ", kind " << score.right[2] << ", layer "
      << score.right[3] << ", all " << score.all;
  if (score.untagged > 0) out << ", untagged " << score.untagged;
  return out;
}

Score Compare(const std::string& name, const Model& model,
              const Tagging& tagging, const std::vector<GoldenLine>& golden) {
  std::map<std::string, GraphId> graphs;
  for (const GraphId graph : model.Graphs()) {
    graphs[model.GraphPath(graph)] = graph;
  }
  Score score;
  for (const GoldenLine& line : golden) {
    const NodeId node = model[graphs.at(line.graph)].nodes.at(line.index);
    EXPECT_EQ(model.OpType(node), line.op) << name << " #" << line.index;
    const Tag& tag = tagging.tags[node];
    if (!tag.tagged()) {
      ++score.untagged;
      continue;
    }
    ++score.lines;
    const auto fields = Fields(tagging.roles[tag.role]);
    for (std::size_t i = 0; i < 4; ++i) {
      score.right[i] += fields[i] == line.role[i];
    }
    if (fields == line.role) {
      ++score.all;
      continue;
    }
    const std::string module = tagging.modules.Path(tag.module);
    std::cout << name << " #" << line.index << " " << line.op << " " << module;
    if (module != line.module) std::cout << " (not " << line.module << ")";
    std::cout << ":";
    for (const std::string& field : fields) std::cout << " '" << field << "'";
    std::cout << ", expected";
    for (const std::string& field : line.role) {
      std::cout << " '" << field << "'";
    }
    std::cout << "\n";
  }
  return score;
}

void ExpectGoldenRoles(bool with_classes) {
  std::vector<std::filesystem::path> paths;
  for (const auto& entry : std::filesystem::directory_iterator(
           ONNX_TAG_TEST_FOLDER "/mapping/roles")) {
    if (entry.path().extension() == ".tsv") paths.push_back(entry.path());
  }
  std::sort(paths.begin(), paths.end());
  ASSERT_GE(paths.size(), 20u);
  Score total;
  for (std::filesystem::path path : paths) {
    const std::vector<GoldenLine> golden = ReadGolden(path);
    const ModelFile file =
        ModelFile::Open(path.replace_extension(".onnx").string());
    Tagging tagging = MapNodes(file.model(), MappingOptions());
    if (with_classes) {
      for (const GoldenLine& line : golden) {
        const ModuleId module = tagging.modules.Find(line.module);
        if (module != kNo<ModuleId>) {
          tagging.modules.SetClass(module, line.class_name);
        }
      }
      AssignRoles(GraphFacts(file.model()), tagging);
    }
    const std::string name = path.stem().string();
    const Score score = Compare(name, file.model(), tagging, golden);
    std::cout << name << ": " << score << "\n";
    total.Add(score);
  }
  std::cout << "total: " << total << "\n";
  EXPECT_GE(total.lines, 700);
  EXPECT_GE(total.right[0], total.lines * 0.99);
  EXPECT_GE(total.all, total.lines * 0.99);
}

TEST(RolesTest, FollowTheSourceCodeFromNamesAlone) { ExpectGoldenRoles(false); }

TEST(RolesTest, FollowTheSourceCodeWithClasses) { ExpectGoldenRoles(true); }

// A graph of nodes with their modules, tagged as if a rung had done it.
class Sketch {
 public:
  // `inputs` that nobody makes: of the graph, or weights where they end in
  // ".weight".
  void Add(std::string op, std::vector<std::string> inputs, std::string output,
           std::string module) {
    nodes_.push_back({std::move(op), std::move(inputs), std::move(output),
                      std::move(module)});
  }

  // A Linear, without bias.
  void Linear(const std::string& input, const std::string& module) {
    Add("MatMul", {input, module + ".weight"}, module, module);
  }

  void SetClass(const std::string& module, const std::string& class_name) {
    classes_.emplace_back(module, class_name);
  }

  // By output "type/component/kind".
  std::map<std::string, std::string> Roles() const {
    const std::string bytes = Encode();
    const Model model = ReadModel(bytes);
    Tagging tagging;
    for (const SketchNode& node : nodes_) {
      tagging.tags.Add(Tag{.module = tagging.modules.Add(node.module)});
    }
    for (const auto& [module, class_name] : classes_) {
      tagging.modules.SetClass(tagging.modules.Add(module), class_name);
    }
    AssignRoles(GraphFacts(model), tagging);
    std::map<std::string, std::string> roles;
    for (const NodeId id : model.Nodes()) {
      const auto fields = Fields(tagging.roles[tagging.tags[id].role]);
      roles[nodes_[Index(id)].output] =
          fields[0] + "/" + fields[1] + (fields[2] == "cross" ? "/cross" : "");
    }
    return roles;
  }

 private:
  struct SketchNode {
    std::string op;
    std::vector<std::string> inputs;
    std::string output;
    std::string module;
  };

  std::string Encode() const {
    using test::BytesField;
    std::string graph;
    std::vector<std::string> made;
    for (const SketchNode& node : nodes_) {
      std::string encoded;
      for (const std::string& input : node.inputs) {
        encoded += BytesField(1, input);
        if (input.ends_with(".weight")) {
          graph +=
              BytesField(5, test::VarintField(1, 8) + test::VarintField(1, 8) +
                                BytesField(8, input));
        } else if (std::find(made.begin(), made.end(), input) == made.end()) {
          graph += BytesField(11, BytesField(1, input));
        }
      }
      encoded += BytesField(2, node.output) + BytesField(4, node.op);
      graph += BytesField(1, encoded);
      made.push_back(node.output);
    }
    return test::VarintField(1, 10) + BytesField(7, graph);
  }

  std::vector<SketchNode> nodes_;
  std::vector<std::pair<std::string, std::string>> classes_;
};

using ::testing::IsSupersetOf;
using ::testing::Pair;

TEST(RolesTest, OutputDenseIsOfWhatItStandsIn) {
  Sketch sketch;
  for (const std::string layer : {"layer.0.", "layer.1."}) {
    sketch.Linear("x", layer + "attention.self.query");
    sketch.Linear("x", layer + "attention.output.dense");
    sketch.Linear("x", layer + "intermediate.dense");
    sketch.Linear("x", layer + "output.dense");
  }
  EXPECT_THAT(sketch.Roles(),
              IsSupersetOf({
                  Pair("layer.0.attention.self.query", "attention/query"),
                  Pair("layer.0.attention.output.dense", "attention/output"),
                  Pair("layer.0.intermediate.dense", "feed_forward/up"),
                  Pair("layer.0.output.dense", "feed_forward/down"),
              }));
}

TEST(RolesTest, DecoderIsAStackOrTheLinearOverTheVocabulary) {
  Sketch sketch;
  sketch.Linear("x", "decoder.layers.0.fc1");
  sketch.Linear("x", "decoder.layers.0.encoder_attn.k_proj");
  sketch.Linear("x", "cls.predictions.transform.dense");
  sketch.Linear("x", "cls.predictions.decoder");
  EXPECT_THAT(
      sketch.Roles(),
      IsSupersetOf({
          Pair("decoder.layers.0.fc1", "feed_forward/up"),
          Pair("decoder.layers.0.encoder_attn.k_proj", "attention/key/cross"),
          Pair("cls.predictions.transform.dense", "head/transform"),
          Pair("cls.predictions.decoder", "head/lm"),
      }));
}

TEST(RolesTest, GateIsARouterBesideExpertsAndAProjectionElsewhere) {
  Sketch sketch;
  sketch.Linear("x", "layers.0.mlp.gate");
  sketch.Linear("x", "layers.0.mlp.experts.0.down_proj");
  sketch.Linear("x", "layers.1.mlp.gate");
  sketch.Linear("x", "layers.1.mlp.up_proj");
  sketch.Add("HardSigmoid", {"x"}, "se", "blocks.0.se.gate");
  EXPECT_THAT(sketch.Roles(),
              IsSupersetOf({
                  Pair("layers.0.mlp.gate", "routing/"),
                  Pair("layers.0.mlp.experts.0.down_proj", "feed_forward/down"),
                  Pair("layers.1.mlp.gate", "feed_forward/gate"),
                  Pair("layers.1.mlp.up_proj", "feed_forward/up"),
                  Pair("se", "activation/"),
              }));
}

TEST(RolesTest, ProjIsOfThePatchesTheAttentionOrTheHead) {
  Sketch sketch;
  sketch.Add("Conv", {"image", "patch_embed.proj.weight"}, "patch",
             "patch_embed.proj");
  sketch.Linear("x", "blocks.0.attn.proj");
  sketch.Linear("x", "blocks.0.mlp.c_proj");
  sketch.Linear("x", "blocks.0.attn.c_proj");
  sketch.Linear("x", "decode_head.linear_c.0.proj");
  EXPECT_THAT(sketch.Roles(),
              IsSupersetOf({
                  Pair("patch", "embedding/patch"),
                  Pair("blocks.0.attn.proj", "attention/output"),
                  Pair("blocks.0.mlp.c_proj", "feed_forward/down"),
                  Pair("blocks.0.attn.c_proj", "attention/output"),
                  Pair("decode_head.linear_c.0.proj", "head/projection"),
              }));
}

TEST(RolesTest, ClassesSayWhatNamesDoNot) {
  Sketch sketch;
  sketch.Linear("x", "a.b");
  sketch.Add("Mul", {"a.b", "s.weight"}, "scaled", "c");
  sketch.Linear("scaled", "d");
  EXPECT_THAT(sketch.Roles(), IsSupersetOf({Pair("a.b", "other/")}));
  sketch.SetClass("a", "LlamaMLP");
  sketch.SetClass("c", "LlamaRMSNorm");
  sketch.SetClass("d", "Qwen3MoeTopKRouter");
  EXPECT_THAT(sketch.Roles(), IsSupersetOf({
                                  Pair("a.b", "feed_forward/"),
                                  Pair("scaled", "normalization/"),
                                  Pair("d", "routing/"),
                              }));
}

// A layer whose Linears all stand in one block, without a module for attention
// or MLP.
TEST(RolesTest, AnMlpBesideTheAttentionIsFoundByItsDataFlow) {
  for (const std::string block : {"blocks.0", "layers.0.attention"}) {
    SCOPED_TRACE(block);
    Sketch sketch;
    for (const std::string name : {".wq", ".wk", ".wv"}) {
      sketch.Linear("x", block + name);
    }
    sketch.Add("MatMul", {block + ".wq", block + ".wk"}, "scores", block);
    sketch.Add("Softmax", {"scores"}, "weights", block);
    sketch.Add("MatMul", {"weights", block + ".wv"}, "context", block);
    sketch.Linear("context", block + ".wo");
    sketch.Add("Add", {"x", block + ".wo"}, "sum", block);
    sketch.Linear("sum", block + ".gate");
    sketch.Add("Relu", {block + ".gate"}, "active", block);
    sketch.Linear("sum", block + ".up");
    sketch.Add("Mul", {"active", block + ".up"}, "gated", block);
    sketch.Linear("gated", block + ".down");
    sketch.Add("Add", {"sum", block + ".down"}, "y", block);
    std::map<std::string, std::string> roles = sketch.Roles();
    EXPECT_EQ(roles[block + ".wo"], "attention/output");
    EXPECT_EQ(roles[block + ".gate"], "feed_forward/gate");
    EXPECT_EQ(roles["active"], "activation/");
    EXPECT_EQ(roles[block + ".up"], "feed_forward/up");
    EXPECT_EQ(roles["gated"], "feed_forward/");
    EXPECT_EQ(roles[block + ".down"], "feed_forward/down");
    EXPECT_EQ(roles["y"], "residual/");
  }
}

// Names of projections, on an MLP in the module of the attention.
TEST(RolesTest, AnMlpInAnAttentionIsNoProjectionWhateverItIsCalled) {
  Sketch sketch;
  const std::string block = "layers.0.attn";
  for (const std::string name : {".q", ".k", ".v"}) {
    sketch.Linear("x", block + name);
  }
  sketch.Add("MatMul", {block + ".q", block + ".k"}, "scores", block);
  sketch.Add("Softmax", {"scores"}, "weights", block);
  sketch.Add("MatMul", {"weights", block + ".v"}, "context", block);
  sketch.Linear("context", block + ".out_proj");
  sketch.Add("Add", {"x", block + ".out_proj"}, "sum", block);
  sketch.Linear("sum", block + ".wi");
  sketch.Add("Gelu", {block + ".wi"}, "active", block);
  sketch.Linear("active", block + ".wo");
  sketch.Add("Add", {"sum", block + ".wo"}, "y", block);
  std::map<std::string, std::string> roles = sketch.Roles();
  EXPECT_EQ(roles[block + ".out_proj"], "attention/output");
  EXPECT_EQ(roles[block + ".wi"], "feed_forward/up");
  EXPECT_EQ(roles[block + ".wo"], "feed_forward/down");
  EXPECT_EQ(roles["y"], "residual/");
}

// The gate of an attention's result is not the up projection of an MLP.
TEST(RolesTest, AGatedAttentionIsNoMlp) {
  Sketch sketch;
  const std::string block = "layers.0.attn";
  for (const std::string name : {".q", ".k", ".v"}) {
    sketch.Linear("x", block + name);
  }
  sketch.Add("MatMul", {block + ".q", block + ".k"}, "scores", block);
  sketch.Add("Softmax", {"scores"}, "weights", block);
  sketch.Add("MatMul", {"weights", block + ".v"}, "context", block);
  sketch.Linear("x", block + ".gate");
  sketch.Add("Sigmoid", {block + ".gate"}, "open", block);
  sketch.Add("Mul", {"context", "open"}, "gated", block);
  sketch.Linear("gated", block + ".o_proj");
  sketch.Add("Add", {"x", block + ".o_proj"}, "y", block);
  std::map<std::string, std::string> roles = sketch.Roles();
  EXPECT_EQ(roles[block + ".v"], "attention/value");
  EXPECT_EQ(roles[block + ".o_proj"], "attention/output");
}

TEST(RolesTest, AModulationIsNoProjection) {
  Sketch sketch;
  const std::string block = "layers.0.attn";
  sketch.Linear("time", block + ".to_scale");
  sketch.Add("Mul", {"x", block + ".to_scale"}, "scaled", block);
  for (const std::string name : {".q", ".k", ".v"}) {
    sketch.Linear("scaled", block + name);
  }
  sketch.Add("MatMul", {block + ".q", block + ".k"}, "scores", block);
  sketch.Add("Softmax", {"scores"}, "weights", block);
  sketch.Add("MatMul", {"weights", block + ".v"}, "context", block);
  sketch.Linear("context", block + ".out");
  std::map<std::string, std::string> roles = sketch.Roles();
  EXPECT_EQ(roles[block + ".to_scale"], "other/");
  EXPECT_EQ(roles[block + ".q"], "attention/query");
}

TEST(RolesTest, AnAttentionThatPoolsIsAnAttention) {
  Sketch sketch;
  const std::string block = "attn_pool";
  for (const std::string name : {".to_a", ".to_b", ".to_c"}) {
    sketch.Linear("x", block + name);
  }
  sketch.Add("MatMul", {block + ".to_a", block + ".to_b"}, "scores", block);
  sketch.Add("Softmax", {"scores"}, "weights", block);
  sketch.Add("MatMul", {"weights", block + ".to_c"}, "context", block);
  sketch.Linear("context", block + ".last");
  std::map<std::string, std::string> roles = sketch.Roles();
  EXPECT_EQ(roles[block + ".to_a"], "attention/query");
  EXPECT_EQ(roles["scores"], "attention/scores");
  EXPECT_EQ(roles[block + ".last"], "attention/output");
}

TEST(RolesTest, AProductWithTheTableOfAnEmbeddingIsTheHead) {
  for (const std::string module : {"", "wte"}) {
    Sketch sketch;
    sketch.Add("Gather", {"wte.weight", "ids"}, "x", "wte");
    sketch.Linear("x", "blocks.0.fc");
    sketch.Add("Transpose", {"wte.weight"}, "turned", module);
    sketch.Add("MatMul", {"blocks.0.fc", "turned"}, "y", module);
    EXPECT_EQ(sketch.Roles()["y"], "head/lm") << module;
  }
}

TEST(RolesTest, WhatHoldsAWeightIsNoActivation) {
  Sketch sketch;
  sketch.Linear("x", "a.act");
  sketch.Add("Relu", {"a.act"}, "relu", "a.relu");
  EXPECT_THAT(sketch.Roles(), IsSupersetOf({Pair("a.act", "other/"),
                                            Pair("relu", "activation/")}));
}

TEST(RolesTest, OnlyWhatNoWeightFollowsClassifies) {
  Sketch sketch;
  sketch.Linear("x", "stage.fc");
  sketch.Add("Relu", {"stage.fc"}, "relu", "stage");
  sketch.Linear("relu", "fc");
  EXPECT_THAT(sketch.Roles(), IsSupersetOf({Pair("stage.fc", "other/"),
                                            Pair("fc", "head/classifier")}));
}

TEST(RolesTest, ASumOfABranchInAHeadIsAResidual) {
  Sketch sketch;
  sketch.Add("Conv", {"x", "head.conv1.weight"}, "conv", "head.conv1");
  sketch.Add("Relu", {"conv"}, "relu", "head.act");
  sketch.Add("Conv", {"relu", "head.conv2.weight"}, "branch", "head.conv2");
  sketch.Add("Add", {"x", "branch"}, "sum", "head");
  // The other is no branch of the sum.
  sketch.Add("Conv", {"other", "head.side.weight"}, "side", "head.side");
  sketch.Add("Add", {"sum", "side"}, "joined", "head");
  EXPECT_THAT(sketch.Roles(), IsSupersetOf({Pair("sum", "residual/"),
                                            Pair("joined", "head/")}));
}

TEST(RolesTest, WhatStandardizesAWeightIsNoNormalization) {
  Sketch sketch;
  sketch.Add("ReduceMean", {"conv.weight"}, "mean", "conv");
  sketch.Add("Sub", {"conv.weight", "mean"}, "centred", "conv");
  sketch.Add("Mul", {"centred", "centred"}, "squares", "conv");
  sketch.Add("ReduceMean", {"squares"}, "variance", "conv");
  sketch.Add("Sqrt", {"variance"}, "deviation", "conv");
  sketch.Add("Div", {"centred", "deviation"}, "standard", "conv");
  sketch.Add("Conv", {"x", "standard"}, "y", "conv");
  EXPECT_THAT(sketch.Roles(), IsSupersetOf({Pair("y", "convolution/"),
                                            Pair("standard", "convolution/")}));
}

// No projection has a name that helps.
TEST(RolesTest, AWrapperNamedAfterItsNormIsNoNorm) {
  Sketch sketch;
  for (const std::string block : {"blocks.0.", "blocks.1."}) {
    sketch.Add("Conv", {"x", block + "conv_norm.conv.weight"}, block + "conv",
               block + "conv_norm.conv");
    sketch.Add("BatchNormalization",
               {block + "conv", block + "conv_norm.bn.weight"}, block + "bn",
               block + "conv_norm.bn");
    sketch.Linear(block + "bn", block + "ln.linear");
    sketch.Add("BatchNormalization",
               {block + "ln.linear", block + "ln.bn.weight"}, block + "lnbn",
               block + "ln.bn");
    sketch.SetClass(block + "conv_norm", "ConvNormAct");
  }
  EXPECT_THAT(sketch.Roles(), IsSupersetOf({
                                  Pair("blocks.0.conv", "convolution/"),
                                  Pair("blocks.0.bn", "normalization/"),
                                  Pair("blocks.0.ln.linear", "other/"),
                                  Pair("blocks.0.lnbn", "normalization/"),
                              }));
}

TEST(RolesTest, WhatANormHoldsIsNotANorm) {
  Sketch sketch;
  sketch.Add("LayerNormalization", {"x", "net.0.norm.norm.weight"}, "normed",
             "net.0.norm.norm");
  sketch.Linear("normed", "net.0.norm.fn.w1");
  sketch.Add("Relu", {"net.0.norm.fn.w1"}, "relu", "net.0.norm.fn");
  sketch.Linear("relu", "net.0.norm.fn.w2");
  sketch.SetClass("net.0.norm", "PreNorm");
  EXPECT_THAT(sketch.Roles(), IsSupersetOf({
                                  Pair("normed", "normalization/"),
                                  Pair("net.0.norm.fn.w1", "feed_forward/up"),
                                  Pair("relu", "activation/"),
                                  Pair("net.0.norm.fn.w2", "feed_forward/down"),
                              }));
}

TEST(RolesTest, SqueezeAndExcitationDoesNotAttend) {
  Sketch sketch;
  sketch.Add("GlobalAveragePool", {"x"}, "pooled", "blocks.0.attn");
  sketch.Add("Conv", {"pooled", "blocks.0.attn.fc.weight"}, "squeezed",
             "blocks.0.attn.fc");
  sketch.Add("Sigmoid", {"squeezed"}, "gate", "blocks.0.attn.gate");
  sketch.Add("Mul", {"x", "gate"}, "scaled", "blocks.0.attn");
  EXPECT_THAT(sketch.Roles(), IsSupersetOf({
                                  Pair("pooled", "pooling/"),
                                  Pair("squeezed", "convolution/"),
                                  Pair("gate", "activation/"),
                              }));
}

TEST(RolesTest, AttentionIsFollowedAlongItsData) {
  Sketch sketch;
  for (const std::string side : {"a", "b", "c"}) {
    sketch.Add("MatMul", {"x", side + ".weight"}, side, "attn");
  }
  sketch.Add("Transpose", {"b"}, "bt", "attn");
  sketch.Add("MatMul", {"a", "bt"}, "scores", "attn");
  sketch.Add("Cast", {"padding"}, "mask", "");
  sketch.Add("Add", {"scores", "mask"}, "masked", "attn");
  sketch.Add("Softmax", {"masked"}, "probabilities", "attn");
  sketch.Add("MatMul", {"probabilities", "c"}, "context", "attn");
  sketch.Add("MatMul", {"context", "d.weight"}, "out", "attn");
  sketch.Linear("out", "mlp.up_proj");
  sketch.Add("Add", {"x", "out"}, "sum", "");
  EXPECT_THAT(sketch.Roles(), IsSupersetOf({
                                  Pair("a", "attention/query"),
                                  Pair("b", "attention/key"),
                                  Pair("c", "attention/value"),
                                  Pair("bt", "attention/key"),
                                  Pair("scores", "attention/scores"),
                                  Pair("mask", "mask/"),
                                  Pair("masked", "attention/scores"),
                                  Pair("probabilities", "attention/softmax"),
                                  Pair("context", "attention/context"),
                                  Pair("out", "attention/output"),
                                  Pair("sum", "residual/"),
                              }));
}

// Neither the attention nor its projections have a name that helps.
Sketch Mixer(const std::string& memory) {
  Sketch sketch;
  sketch.Linear("x", "blocks.0.mix.to_a");
  sketch.Linear(memory, "blocks.0.mix.to_b");
  sketch.Add("Conv", {memory, "blocks.0.mix.to_c.weight"}, "c",
             "blocks.0.mix.to_c");
  sketch.Add("Transpose", {"blocks.0.mix.to_b"}, "bt", "blocks.0.mix");
  sketch.Add("MatMul", {"blocks.0.mix.to_a", "bt"}, "scores", "blocks.0.mix");
  sketch.Add("Softmax", {"scores"}, "probabilities", "blocks.0.mix");
  sketch.Add("MatMul", {"probabilities", "c"}, "context", "blocks.0.mix");
  sketch.Linear("context", "blocks.0.mix.to_d.0");
  sketch.Add("Add", {"blocks.0.mix.to_d.0", "blocks.0.mix.to_d.0.bias.weight"},
             "out", "blocks.0.mix.to_d.0");
  sketch.Linear("out", "blocks.0.other");
  return sketch;
}

TEST(RolesTest, ProjectionsAreToldByWhatTheyFeed) {
  EXPECT_THAT(Mixer("x").Roles(),
              IsSupersetOf({
                  Pair("blocks.0.mix.to_a", "attention/query"),
                  Pair("blocks.0.mix.to_b", "attention/key"),
                  Pair("c", "attention/value"),
                  Pair("blocks.0.mix.to_d.0", "attention/output"),
                  Pair("out", "attention/output"),
                  Pair("blocks.0.other", "other/"),
              }));
}

TEST(RolesTest, KeysFromElsewhereMakeACrossAttention) {
  const std::map<std::string, std::string> roles = Mixer("memory").Roles();
  EXPECT_EQ(roles.at("blocks.0.mix.to_a"), "attention/query/cross");
  EXPECT_EQ(roles.at("blocks.0.mix.to_b"), "attention/key/cross");
  EXPECT_EQ(roles.at("scores"), "attention/scores/cross");
}

}  // namespace
}  // namespace onnx_tag
