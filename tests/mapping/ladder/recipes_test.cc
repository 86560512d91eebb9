// When the recipe book is asked, and how much is made of its answers.
#include <gtest/gtest.h>

#include <unordered_map>

#include "support/model_builder.h"
#include "support/truth.h"

namespace onnx_tag {
namespace {

using test::Mapped;

schema::ModelProto Read(const std::string& name) {
  schema::ModelProto model;
  EXPECT_TRUE(model.ParseFromString(test::OneTruth(name).Bytes())) << name;
  return model;
}

// A number for every value but the model's own inputs and outputs.
void Unname(schema::ModelProto& model) {
  schema::GraphProto& graph = *model.mutable_graph();
  std::unordered_map<std::string, std::string> names = {{"", ""}};
  for (const auto* values : {&graph.input(), &graph.output()}) {
    for (const auto& value : *values) names[value.name()] = value.name();
  }
  const auto rename = [&](std::string& name) {
    name = names.try_emplace(name, std::to_string(names.size())).first->second;
  };
  for (auto& tensor : *graph.mutable_initializer()) {
    rename(*tensor.mutable_name());
  }
  for (auto& node : *graph.mutable_node()) {
    for (auto& input : *node.mutable_input()) rename(input);
    for (auto& output : *node.mutable_output()) rename(output);
    node.clear_name();
  }
  graph.clear_value_info();
}

std::uint64_t Count(const Mapped& mapped, Confidence level) {
  return CountTags(mapped.tagging())
      .by_confidence[static_cast<std::size_t>(level)];
}

TEST(Recipes, NameAFileThatKeptItsParameters) {
  const Mapped bert(Read("bert/ts-noscope"));
  EXPECT_GT(Count(bert, Confidence::kCertain), 0u);
  EXPECT_EQ(CountTags(bert.tagging()).untagged(), 0u);
}

TEST(Recipes, AreInDoubtWhereNothingHasAName) {
  schema::ModelProto model = Read("bert/ts-noscope");
  Unname(model);
  const Mapped bare(model);
  EXPECT_GT(Count(bare, Confidence::kLow), 0u);
  for (const Confidence level :
       {Confidence::kMedium, Confidence::kHigh, Confidence::kCertain}) {
    EXPECT_EQ(Count(bare, level), 0u) << static_cast<int>(level);
  }
}

TEST(Recipes, AreNotAskedForAnotherFrameworksModels) {
  schema::ModelProto model = Read("bert/ts-noscope");
  Unname(model);
  model.set_producer_name("onnx-caffe2");
  const Coverage coverage = CountTags(Mapped(model).tagging());
  EXPECT_EQ(coverage.tagged, coverage.found());
}

TEST(Recipes, KnowMoreThanANameWithoutDots) {
  schema::ModelProto model = Read("llama/ts-noscope");
  for (auto& tensor : *model.mutable_graph()->mutable_initializer()) {
    const std::string old = tensor.name();
    if (old.find('.') != std::string::npos) continue;
    tensor.set_name("v" + old);
    for (auto& node : *model.mutable_graph()->mutable_node()) {
      for (auto& input : *node.mutable_input()) {
        if (input == old) input = tensor.name();
      }
    }
  }
  const Mapped mapped(model);
  int products = 0;
  for (int i = 0; i < model.graph().node_size(); ++i) {
    const schema::NodeProto& node = model.graph().node(i);
    if (node.op_type() != "MatMul" ||
        node.input(1).find('.') != std::string::npos) {
      continue;
    }
    ++products;
    EXPECT_NE(mapped.Module("", static_cast<std::uint32_t>(i)), "") << i;
  }
  EXPECT_GT(products, 0);
}

// Dynamic quantization drops the metadata of products and the names of their
// weights. All other nodes keep their metadata.
TEST(Recipes, NameQuantizedProductsAmongNodesWithMetadata) {
  schema::ModelProto model = Read("llama/dyn");
  schema::GraphProto& graph = *model.mutable_graph();
  std::unordered_map<std::string, std::string> weights;
  for (auto& tensor : *graph.mutable_initializer()) {
    if (tensor.dims_size() != 2) continue;
    const std::string name =
        "val_" + std::to_string(weights.size()) + "_quantized";
    weights.emplace(tensor.name(), name);
  }
  std::vector<std::uint32_t> products;
  for (int i = 0; i < graph.node_size(); ++i) {
    schema::NodeProto& node = *graph.mutable_node(i);
    if (node.op_type() != "MatMul" || !weights.contains(node.input(1))) {
      continue;
    }
    node.set_op_type("MatMulInteger");
    node.set_name("node_linear_quant");
    node.clear_metadata_props();
    node.set_input(1, weights[node.input(1)]);
    products.push_back(static_cast<std::uint32_t>(i));
  }
  for (auto& tensor : *graph.mutable_initializer()) {
    if (tensor.dims_size() == 2) tensor.set_name(weights[tensor.name()]);
  }
  ASSERT_GE(products.size(), 14u);
  const Mapped mapped(model);
  int projections = 0;
  for (const std::uint32_t product : products) {
    projections += mapped.Module("", product).ends_with("_proj");
  }
  EXPECT_EQ(projections, 14) << "seven in each of two layers";
}

}  // namespace
}  // namespace onnx_tag
