// Small networks without names, as exporters write them.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "clues/structure/structure.h"
#include "onnx_tag_schema.pb.h"

namespace onnx_tag::test {

// Values are numbered, "x" is the input.
class Net {
 public:
  Net() {
    model_.set_ir_version(8);
    model_.mutable_graph()->add_input()->set_name("x");
  }

  std::string Node(const std::string& op, const std::vector<std::string>& ins) {
    schema::NodeProto* const node = graph()->add_node();
    node->set_op_type(op);
    for (const std::string& in : ins) node->add_input(in);
    node->add_output("v" + std::to_string(++values_));
    return node->output(0);
  }
  std::string Weight(const std::vector<std::int64_t>& dims) {
    schema::TensorProto* const tensor = graph()->add_initializer();
    tensor->set_name("w" + std::to_string(++values_));
    for (const std::int64_t dim : dims) tensor->add_dims(dim);
    return tensor->name();
  }

  std::string Linear(const std::string& x, std::int64_t in, std::int64_t out) {
    const std::string product = Node("MatMul", {x, Weight({in, out})});
    return Node("Add", {product, Weight({out})});
  }
  std::string Norm(const std::string& x, std::int64_t width) {
    return Node("LayerNormalization", {x, Weight({width}), Weight({width})});
  }
  std::string Conv(const std::string& x, std::int64_t in, std::int64_t out,
                   std::int64_t size, std::int64_t stride = 1) {
    const std::string y = Node("Conv", {x, Weight({out, in, size, size})});
    schema::AttributeProto* const attribute =
        graph()->mutable_node(graph()->node_size() - 1)->add_attribute();
    attribute->set_name("strides");
    attribute->add_ints(stride);
    attribute->add_ints(stride);
    return y;
  }

  // Pre-norm attention and feed-forward; `mask` is added to the scores.
  std::string Layer(std::string x, std::int64_t width,
                    const std::string& mask = "") {
    std::string h = Norm(x, width);
    const std::string query = Linear(h, width, width);
    const std::string key = Linear(h, width, width);
    const std::string value = Linear(h, width, width);
    std::string scores = Node("MatMul", {query, Node("Transpose", {key})});
    if (!mask.empty()) scores = Node("Add", {scores, mask});
    h = Node("MatMul", {Node("Softmax", {scores}), value});
    x = Node("Add", {x, Linear(h, width, width)});
    h = Node("Gelu", {Linear(Norm(x, width), width, 4 * width)});
    return Node("Add", {x, Linear(h, 4 * width, width)});
  }
  // Two convolutions with a residual sum.
  std::string Block(const std::string& x, std::int64_t in, std::int64_t out,
                    std::int64_t stride = 1) {
    std::string h = Node("Relu", {Conv(x, in, out, 3, stride)});
    h = Conv(h, out, out, 3);
    const std::string skip =
        in == out && stride == 1 ? x : Conv(x, in, out, 1, stride);
    return Node("Relu", {Node("Add", {h, skip})});
  }

  void Output(const std::string& value) {
    graph()->add_output()->set_name(value);
  }
  schema::GraphProto* graph() { return model_.mutable_graph(); }
  schema::ModelProto& model() { return model_; }

 private:
  schema::ModelProto model_;
  int values_ = 0;
};

// What is found in a model, by graph path and index.
class Found {
 public:
  explicit Found(const schema::ModelProto& model)
      : bytes_(model.SerializeAsString()),
        model_(ReadModel(bytes_)),
        structure_(FindStructure(GraphFacts(model_))) {}

  std::string Path(NodeId node) const {
    return structure_.Path(structure_.ModuleOf(node));
  }
  std::string Path(std::uint32_t node) const {
    return Path(MakeId<NodeId>(node));
  }
  // The nodes of each module, the modules below it included.
  std::map<std::string, std::vector<std::uint32_t>> Modules() const {
    std::map<std::string, std::vector<std::uint32_t>> modules;
    for (const NodeId node : model_.Nodes()) {
      FoundId id = structure_.ModuleOf(node);
      for (; id != kNo<FoundId>; id = structure_[id].parent) {
        modules[structure_.Path(id)].push_back(
            static_cast<std::uint32_t>(Index(node)));
      }
    }
    return modules;
  }
  FoundModule Module(const std::string& path) const {
    for (const FoundId id : structure_.Modules()) {
      if (structure_.Path(id) == path) return structure_[id];
    }
    return {};
  }
  const Model& model() const { return model_; }
  const Structure& structure() const { return structure_; }

 private:
  std::string bytes_;
  Model model_;
  Structure structure_;
};

}  // namespace onnx_tag::test
