// The program knows no architecture: where scopes name the modules, the words
// of the names do not matter. Each attribute of a model gets a name of random
// letters, in the names of nodes, values and tensors; what was exact before
// stays exact.
#include <gtest/gtest.h>

#include <iostream>
#include <map>
#include <random>
#include <set>
#include <string>
#include <vector>

#include "base/text.h"
#include "core/hierarchy/name_parts.h"
#include "onnx_tag/mapping.h"
#include "onnx_tag_schema.pb.h"
#include "support/truth.h"

namespace onnx_tag {
namespace {

namespace fs = std::filesystem;

// What every PyTorch model calls its parameters, and no attribute of a model.
const std::set<std::string, std::less<>> kOfTorch = {
    "weight", "bias", "running_mean", "running_var", "num_batches_tracked"};

// Replaces attributes in names, each by the same letters everywhere.
class Renamer {
 public:
  explicit Renamer(unsigned seed) : random_(seed) {}

  void Add(std::string_view path) {
    for (const std::string_view atom : Split(path, '.')) {
      if (atom.empty() || hierarchy::IsNumeric(atom) || kOfTorch.contains(atom))
        continue;
      std::string& letters = letters_[std::string(atom)];
      while (letters.empty() || !used_.insert(letters).second) {
        letters.clear();
        for (int i = 0; i < 7; ++i) {
          letters += static_cast<char>('a' + random_() % 26);
        }
      }
    }
  }

  // "/encoder/layer.0/Add_output_0" has its attributes between slashes and
  // dots.
  std::string operator()(std::string_view name) const {
    std::string renamed;
    while (!name.empty()) {
      const std::size_t end = std::min(name.find_first_of("/."), name.size());
      renamed += Part(name.substr(0, end));
      if (end < name.size()) renamed += name[end];
      name.remove_prefix(std::min(end + 1, name.size()));
    }
    return renamed;
  }

  void Rename(schema::GraphProto& graph) const {
    for (schema::NodeProto& node : *graph.mutable_node()) {
      node.set_name((*this)(node.name()));
      for (std::string& input : *node.mutable_input()) input = (*this)(input);
      for (std::string& out : *node.mutable_output()) out = (*this)(out);
      for (schema::AttributeProto& attribute : *node.mutable_attribute()) {
        if (attribute.has_g()) Rename(*attribute.mutable_g());
      }
    }
    for (schema::TensorProto& tensor : *graph.mutable_initializer()) {
      tensor.set_name((*this)(tensor.name()));
    }
    for (auto* values : {graph.mutable_input(), graph.mutable_output(),
                         graph.mutable_value_info()}) {
      for (schema::ValueInfoProto& value : *values) {
        value.set_name((*this)(value.name()));
      }
    }
  }

 private:
  // The second call of `twice` is in the scope `twice_1`.
  std::string Part(std::string_view part) const {
    const auto attribute = hierarchy::WithoutNumbered(part, "_");
    auto known = letters_.find(part);
    if (known != letters_.end()) return known->second;
    known = letters_.find(attribute.value_or(""));
    if (known == letters_.end()) return std::string(part);
    return known->second + std::string(part.substr(attribute->size()));
  }

  std::mt19937 random_;
  std::map<std::string, std::string, std::less<>> letters_;
  std::set<std::string> used_;
};

// By node, in the order of the file; "-": untagged.
std::vector<std::string> ModulesOf(const Model& model) {
  const Tagging tagging = MapNodes(model, {});
  std::vector<std::string> modules;
  for (const Tag& tag : tagging.tags) {
    modules.push_back(tag.tagged() ? tagging.modules.Path(tag.module) : "-");
  }
  return modules;
}

void Check(const test::TruthFile& file) {
  schema::ModelProto proto;
  const std::string bytes = file.Bytes();
  ASSERT_TRUE(proto.ParseFromString(bytes));
  const Model model = ReadModel(bytes);
  std::map<NodeId, std::string> truth;
  for (const test::TruthRow& row : ReadTruth(file, model)) {
    truth.emplace(row.node, row.module);
  }
  Renamer renamer(41);
  for (const auto& [node, module] : truth) renamer.Add(module);
  for (const schema::TensorProto& tensor : proto.graph().initializer()) {
    if (tensor.name().find("::") == std::string::npos) {
      renamer.Add(tensor.name());
    }
  }
  renamer.Rename(*proto.mutable_graph());
  const std::string renamed_bytes = proto.SerializeAsString();
  const Model renamed = ReadModel(renamed_bytes);
  const std::vector<std::string> before = ModulesOf(model);
  const std::vector<std::string> after = ModulesOf(renamed);
  ASSERT_EQ(before.size(), after.size());
  std::size_t exact = 0;
  std::size_t lost = 0;
  for (const NodeId node : model.Nodes()) {
    const auto known = truth.find(node);
    if (known == truth.end() || before[Index(node)] != known->second) continue;
    ++exact;
    if (after[Index(node)] == renamer(known->second)) continue;
    ++lost;
    ADD_FAILURE() << file.model << ": " << known->second << " ("
                  << model.Name(model[node].op_type) << " " << Index(node)
                  << ") is " << after[Index(node)] << ", expected "
                  << renamer(known->second);
  }
  EXPECT_GT(exact, 10u) << file.model;
  std::cout << file.model << ": " << exact - lost << " of " << exact
            << " exact nodes stay exact\n";
}

TEST(RandomWordsTest, WhatScopesShowNeedsNoWord) {
  std::size_t models = 0;
  for (const test::TruthFile& file :
       test::FindTruth(ONNX_TAG_TRUTH, "*", "ts")) {
    if (test::GroupOf(file.model) != "known") continue;
    ++models;
    Check(file);
  }
  EXPECT_GE(models, 10u);
}

}  // namespace
}  // namespace onnx_tag
