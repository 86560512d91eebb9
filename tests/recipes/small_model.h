// Small graphs, written down as lines and read as files are.
//
//   SmallModel model({"MatMul x w -> y", "Add y b -> z"}, {{"w", 2}, {"b",
//   1}});
#ifndef ONNX_TAG_TESTS_RECIPES_SMALL_MODEL_H_
#define ONNX_TAG_TESTS_RECIPES_SMALL_MODEL_H_

#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "onnx_tag/model.h"
#include "onnx_tag_schema.pb.h"
#include "recipes/make_recording.h"
#include "recipes/tokens.h"

namespace onnx_tag::recipes::test {

// A tensor of the file and its rank.
using Tensors = std::vector<std::pair<std::string, int>>;

class SmallModel {
 public:
  // Each line: an operator, what it reads, "->", what it makes. `x` is fed;
  // the last value is the output.
  SmallModel(const std::vector<std::string>& lines, const Tensors& tensors)
      : bytes_(Write(lines, tensors)), model_(ReadModel(bytes_)) {}

  const Model& model() const { return model_; }

  // The labels of its tokens, in order.
  std::string Labels() const {
    const TokenGraph graph(model_);
    std::string labels;
    for (const Token& token : graph.tokens()) {
      labels += (labels.empty() ? "" : " ") + token.label;
    }
    return labels;
  }

  // A recording: `modules` has the path of each node's module.
  Recording Record(const std::vector<std::string>& modules) const {
    std::vector<KnownModule> known;
    for (std::size_t i = 0; i < modules.size(); ++i) {
      known.push_back({MakeId<NodeId>(i), modules[i], ""});
    }
    Recording recording = MakeRecording(model_, known);
    recording.family = "small";
    return recording;
  }

 private:
  static std::string Write(const std::vector<std::string>& lines,
                           const Tensors& tensors) {
    schema::ModelProto proto;
    proto.set_ir_version(8);
    schema::GraphProto* const graph = proto.mutable_graph();
    graph->add_input()->set_name("x");
    for (const auto& [name, rank] : tensors) {
      schema::TensorProto* const tensor = graph->add_initializer();
      tensor->set_name(name);
      for (int i = 0; i < rank; ++i) tensor->add_dims(2 + i);
    }
    std::string last;
    for (const std::string& line : lines) {
      std::istringstream words(line);
      schema::NodeProto* const node = graph->add_node();
      std::string word;
      words >> word;
      node->set_op_type(word);
      bool makes = false;
      while (words >> word) {
        if (word == "->") {
          makes = true;
        } else if (makes) {
          node->add_output(word);
          last = word;
        } else {
          node->add_input(word);
        }
      }
    }
    graph->add_output()->set_name(last);
    return proto.SerializeAsString();
  }

  std::string bytes_;
  Model model_;
};

}  // namespace onnx_tag::recipes::test

#endif  // ONNX_TAG_TESTS_RECIPES_SMALL_MODEL_H_
