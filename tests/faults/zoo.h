// A folder of models, for the program to work on.
#pragma once

#include <gtest/gtest.h>

#include <filesystem>
#include <string>
#include <vector>

#include "support/onnx_models.h"
#include "support/temporary_folder.h"

namespace onnx_tag::test {

class Zoo : public testing::Test {
 protected:
  // In a folder of their own: what else a test needs stays beside it.
  Zoo() { std::filesystem::create_directory(folder_ / "zoo"); }

  static std::string Bytes(int nodes, std::size_t weight = 0) {
    schema::ModelProto model;
    model.set_ir_version(8);
    for (int i = 0; i < nodes; ++i) {
      AddNode(*model.mutable_graph(), "Relu", "/m/Relu_" + std::to_string(i),
              {"v" + std::to_string(i)}, {"v" + std::to_string(i + 1)});
    }
    if (weight > 0) {
      schema::TensorProto* const tensor =
          model.mutable_graph()->add_initializer();
      tensor->set_name("w");
      tensor->set_raw_data(std::string(weight, 'w'));
    }
    return model.SerializeAsString();
  }
  std::string Add(const std::string& name, int nodes = 3,
                  std::size_t weight = 0) {
    return folder_.Write("zoo/" + name, Bytes(nodes, weight));
  }
  std::vector<std::string> ZooNames() const {
    std::vector<std::string> names;
    for (const auto& entry : std::filesystem::directory_iterator(zoo())) {
      names.push_back(entry.path().filename().string());
    }
    std::sort(names.begin(), names.end());
    return names;
  }
  std::string zoo() const { return folder_ / "zoo"; }

  TemporaryFolder folder_;
};

}  // namespace onnx_tag::test
