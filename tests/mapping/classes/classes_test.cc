// Classes of a real file, from its names alone.
#include <fmt/core.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <set>
#include <string>

#include "core/tagging/module_format.h"
#include "onnx_tag/mapping.h"
#include "onnx_tag_schema.pb.h"
#include "support/temporary_folder.h"

namespace onnx_tag {
namespace {

using testing::Contains;

std::string BertTiny() {
  return test::ReadFile(ONNX_TAG_TEST_FOLDER "/models/bert_tiny/model.onnx");
}

TEST(ClassesTest, BertTinyHasItsThirteenTags) {
  const std::string bytes = BertTiny();
  MappingOptions options;
  options.format.exceptions.clear();
  const Model model = ReadModel(bytes);
  const Tagging tagging = MapNodes(model, options);
  const ModuleFormat format(tagging);
  std::set<std::string> tags;
  for (const Tag& tag : tagging.tags) {
    ASSERT_TRUE(tag.tagged());
    tags.insert(format.HierarchyTag(tag.module));
  }
  std::set<std::string> wanted = {"/BertModel", "/BertModel/BertEmbeddings",
                                  "/BertModel/BertPooler"};
  for (const std::string layer : {"0", "1"}) {
    const std::string at = "/BertModel/BertEncoder/BertLayer." + layer;
    wanted.insert(
        {at + "/BertAttention/BertSelfAttention",
         at + "/BertAttention/BertSelfOutput", at + "/BertIntermediate",
         at + "/BertIntermediate/GELUActivation", at + "/BertOutput"});
  }
  EXPECT_EQ(tags, wanted);
}

TEST(ClassesTest, WithoutTheCatalogueOnlyOperatorsShowClasses) {
  const std::string bytes = BertTiny();
  const Model model = ReadModel(bytes);
  MappingOptions options;
  options.catalogue = false;
  const Tagging tagging = MapNodes(model, options);
  EXPECT_EQ(tagging.root.name, "");
  const ModuleId self = tagging.modules.Find("encoder.layer.0.attention.self");
  ASSERT_NE(self, kNo<ModuleId>);
  EXPECT_EQ(tagging.modules.Class(self), "");
  const ModuleId norm = tagging.modules.Find("embeddings.LayerNorm");
  ASSERT_NE(norm, kNo<ModuleId>);
  EXPECT_EQ(tagging.modules.Class(norm), "LayerNorm");
}

TEST(ClassesTest, CopiesOfBertAreNotRuledOut) {
  const std::string bytes = BertTiny();
  const Model model = ReadModel(bytes);
  const Tagging tagging = MapNodes(model, {});
  EXPECT_EQ(tagging.root.name, "BertModel");
  EXPECT_NE(tagging.root.confidence, Confidence::kCertain);
  EXPECT_THAT(tagging.root.alternatives, Contains("RobertaModel"));
  const ModuleId query =
      tagging.modules.Find("encoder.layer.0.attention.self.query");
  ASSERT_NE(query, kNo<ModuleId>);
  EXPECT_EQ(tagging.modules.Class(query), "Linear");
  EXPECT_EQ(tagging.facts[query].class_confidence, Confidence::kCertain);
}

TEST(ClassesTest, RolePathsLeaveTheFamilyOut) {
  const std::string bytes = BertTiny();
  const Model model = ReadModel(bytes);
  const Tagging tagging = MapNodes(model, {});
  const ModuleFormat format(tagging);
  EXPECT_EQ(
      format.RolePath(tagging.modules.Find("encoder.layer.0.attention.self")),
      "/Model/Encoder/Layer.0/Attention/SelfAttention");
  EXPECT_THAT(tagging.family_words, testing::ElementsAre("Bert"));
}

// BERT with the hierarchy tags as names of its nodes, and no other names but
// one parameter's.
std::string BertNamedByClasses() {
  const std::string bytes = BertTiny();
  const Model read = ReadModel(bytes);
  const Tagging tagging = MapNodes(read, {});
  const ModuleFormat format(tagging);
  schema::ModelProto model;
  model.ParseFromString(bytes);
  schema::GraphProto& graph = *model.mutable_graph();
  std::map<std::string, std::string> names;
  for (schema::TensorProto& tensor : *graph.mutable_initializer()) {
    if (tensor.name() == "embeddings.word_embeddings.weight") continue;
    const std::string name = fmt::format("val_{}", names.size());
    tensor.set_name(names.emplace(tensor.name(), name).first->second);
  }
  for (const NodeId id : read.Nodes()) {
    schema::NodeProto& node = *graph.mutable_node(static_cast<int>(Index(id)));
    node.set_name(fmt::format("{}/{}_{}",
                              format.HierarchyTag(tagging.tags[id].module),
                              node.op_type(), Index(id)));
    node.clear_metadata_props();
    for (std::string& output : *node.mutable_output()) {
      const std::string name = fmt::format("val_{}", names.size());
      if (output.starts_with("/")) {
        output = names.emplace(output, name).first->second;
      }
    }
    for (std::string& input : *node.mutable_input()) {
      if (names.contains(input)) input = names.at(input);
    }
  }
  return model.SerializeAsString();
}

TEST(ClassesTest, TheCatalogueKnowsTheAttributesOfClassesInNames) {
  const std::string bytes = BertNamedByClasses();
  const Model model = ReadModel(bytes);
  MappingOptions options;
  options.recipes = false;
  const std::string self = "encoder.layer.1.attention.self";
  const std::string unknown = "BertEncoder.BertLayer.1";
  const Tagging tagging = MapNodes(model, options);
  EXPECT_NE(tagging.modules.Find(self), kNo<ModuleId>);
  EXPECT_EQ(tagging.modules.Find(unknown), kNo<ModuleId>);
  for (const Tag& tag : tagging.tags) {
    const bool inside = tagging.modules.Path(tag.module).starts_with("encoder");
    if (inside) EXPECT_EQ(tag.confidence, Confidence::kLow);
  }
  options.catalogue = false;
  const Tagging without = MapNodes(model, options);
  EXPECT_EQ(without.modules.Find(self), kNo<ModuleId>);
  EXPECT_NE(without.modules.Find(unknown), kNo<ModuleId>);
}

std::string Replaced(std::string text, const std::string& what,
                     const std::string& with) {
  const std::size_t at = text.find(what);
  return at == std::string::npos ? text : text.replace(at, what.size(), with);
}

// BERT, its queries adapted as PEFT does it.
std::string BertWithLora() {
  schema::ModelProto model;
  model.ParseFromString(BertTiny());
  schema::GraphProto& graph = *model.mutable_graph();
  for (schema::TensorProto& tensor : *graph.mutable_initializer()) {
    if (!tensor.name().starts_with("e") && !tensor.name().starts_with("p")) {
      continue;  // onnx::MatMul_7
    }
    const std::string name =
        "base_model.model." +
        Replaced(tensor.name(), "self.query.", "self.query.base_layer.");
    for (schema::NodeProto& node : *graph.mutable_node()) {
      for (std::string& input : *node.mutable_input()) {
        if (input == tensor.name()) input = name;
      }
    }
    tensor.set_name(name);
  }
  for (schema::NodeProto& node : *graph.mutable_node()) {
    node.set_name("/model" + Replaced(node.name(), "self/query/",
                                      "self/query/base_layer/"));
  }
  for (const std::string layer : {"0", "1"}) {
    const std::string at = "encoder.layer." + layer + ".attention.self.query.";
    schema::TensorProto* const weight = graph.add_initializer();
    weight->set_name("base_model.model." + at + "lora_A.default.weight");
    weight->set_data_type(1);
    weight->add_dims(8);
    weight->add_dims(128);
    schema::NodeProto* const node = graph.add_node();
    node->set_op_type("MatMul");
    node->set_name("/model/encoder/layer." + layer +
                   "/attention/self/query/lora_A.default/MatMul");
    node->add_input("input_ids");
    node->add_input(weight->name());
    node->add_output("lora" + layer);
  }
  return model.SerializeAsString();
}

// BERT without scopes; its products and biases fused into Gemm, as optimizers
// do it. The weights have no names, the biases do.
std::string BertOfGemms() {
  schema::ModelProto model;
  model.ParseFromString(BertTiny());
  auto& nodes = *model.mutable_graph()->mutable_node();
  std::map<std::string, std::string> values;
  const auto rename = [&](std::string& name) {
    if (!name.starts_with("/")) return;
    name = values.try_emplace(name, fmt::format("val_{}", values.size()))
               .first->second;
  };
  for (schema::NodeProto& node : nodes) {
    node.clear_name();
    for (std::string& name : *node.mutable_input()) rename(name);
    for (std::string& name : *node.mutable_output()) rename(name);
  }
  for (schema::NodeProto& node : nodes) {
    if (node.op_type() != "MatMul" || !node.input(1).starts_with("onnx::")) {
      continue;
    }
    for (schema::NodeProto& add : nodes) {
      if (add.op_type() != "Add" || add.input(1) != node.output(0)) continue;
      node.set_op_type("Gemm");
      node.add_input(add.input(0));
      add.set_op_type("Identity");
      add.mutable_input()->DeleteSubrange(0, 1);
    }
  }
  return model.SerializeAsString();
}

TEST(ClassesTest, LostWeightsOfGemmsAreNotHeldAgainstAClass) {
  const std::string bytes = BertOfGemms();
  EXPECT_THAT(bytes, testing::HasSubstr("Gemm"));
  const Model model = ReadModel(bytes);
  const Tagging tagging = MapNodes(model, {});
  EXPECT_EQ(tagging.root.name, "BertModel") << "not IBertModel";
  EXPECT_THAT(tagging.root.alternatives, Contains("RobertaModel"));
}

// BERT as optimizers leave it: constants are tensors, also the rows of the
// embeddings that are looked up with constants.
std::string BertWithConstantsFolded() {
  schema::ModelProto model;
  model.ParseFromString(BertTiny());
  schema::GraphProto& graph = *model.mutable_graph();
  const auto is_folded = [](const schema::NodeProto& node) {
    return node.op_type() == "Constant" ||
           (node.op_type() == "Gather" &&
            (node.input(0).find("position_emb") != std::string::npos ||
             node.input(0).find("token_type") != std::string::npos));
  };
  for (const schema::NodeProto& node : graph.node()) {
    if (!is_folded(node)) continue;
    schema::TensorProto* const tensor = graph.add_initializer();
    tensor->set_name(node.output(0));
    tensor->set_data_type(1);
  }
  auto& nodes = *graph.mutable_node();
  nodes.erase(std::remove_if(nodes.begin(), nodes.end(), is_folded),
              nodes.end());
  return model.SerializeAsString();
}

TEST(ClassesTest, FoldedEmbeddingsAreNotHeldAgainstAClass) {
  const std::string bytes = BertWithConstantsFolded();
  const Model model = ReadModel(bytes);
  const Tagging tagging = MapNodes(model, {});
  EXPECT_EQ(tagging.root.name, "BertModel");
  EXPECT_THAT(tagging.root.alternatives, Contains("BlipTextModel"));
}

TEST(ClassesTest, AnAdaptedModelIsTheOneWithoutAdapters) {
  const std::string bytes = BertWithLora();
  const Model model = ReadModel(bytes);
  const Tagging tagging = MapNodes(model, {});
  const auto name = [&](const std::string& path) {
    const ModuleId id = tagging.modules.Find(path);
    return id == kNo<ModuleId> ? "no module" : tagging.modules.Class(id);
  };
  EXPECT_EQ(name(""), "PeftModel");
  EXPECT_EQ(name("base_model"), "LoraModel");
  EXPECT_EQ(name("base_model.model"), "BertModel");
  const std::string self = "base_model.model.encoder.layer.1.attention.self";
  EXPECT_EQ(name(self), "BertSelfAttention");
  EXPECT_EQ(name(self + ".query"), "Linear");
  EXPECT_EQ(name(self + ".query.base_layer"), "Linear");
  EXPECT_EQ(name(self + ".query.lora_A"), "ModuleDict");
  // What PEFT has under such names other libraries may have, too.
  EXPECT_LT(
      tagging.facts[tagging.modules.Find(self + ".query")].class_confidence,
      Confidence::kCertain);
  EXPECT_NE(tagging.root.confidence, Confidence::kCertain);
  EXPECT_THAT(tagging.root.alternatives, Contains("PeftModelForCausalLM"));
}

}  // namespace
}  // namespace onnx_tag
