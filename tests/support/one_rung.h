// One rung of the ladder on a small graph, with the nodes placed before it
// given by the test.
//
//   OneRung graph;
//   graph.Node("Conv", {"x", "w"}, "a");
//   graph.Node("Cast", {"a"}, "b");
//   graph.Read();
//   graph.Place("a", "net.0");
//   EXPECT_EQ(graph.Says("conversion", "b"), "net.0 high");
#ifndef ONNX_TAG_TESTS_SUPPORT_ONE_RUNG_H_
#define ONNX_TAG_TESTS_SUPPORT_ONE_RUNG_H_

#include <memory>
#include <optional>
#include <stdexcept>
#include <string>

#include "ladder/ladder.h"
#include "support/model_builder.h"

namespace onnx_tag::test {

class OneRung {
 public:
  OneRung() { Main()->add_input()->set_name("x"); }

  schema::ModelProto& proto() { return proto_; }
  schema::GraphProto* Main() { return proto_.mutable_graph(); }
  schema::NodeProto* Node(const std::string& op, const Names& inputs,
                          const std::string& output,
                          const std::string& name = "") {
    return AddNode(Main(), op, inputs, {output}, name);
  }

  // After the last node.
  void Read() {
    bytes_ = proto_.SerializeAsString();
    model_ = std::make_unique<Model>(ReadModel(bytes_));
    evidence_.emplace(GatherEvidence(*model_));
    placed_ = Placed(model_->node_count());
  }

  // For facts that the test makes up.
  Evidence& evidence() { return *evidence_; }
  ModuleId Module(const std::string& path) {
    const ModuleId id = evidence_->modules.Add(path);
    static_cast<ModuleUses&>(*evidence_) = DescribeModules(
        evidence_->modules, evidence_->scopes, *evidence_, evidence_->known);
    return id;
  }

  // The node that makes the value.
  NodeId NodeOf(const std::string& value) const {
    for (const NodeId node : model_->Nodes()) {
      for (const ValueId output : model_->Outputs(node)) {
        if (output != kNo<ValueId> && model_->ValueName(output) == value) {
          return node;
        }
      }
    }
    throw std::logic_error("no node makes " + value);
  }

  void Place(const std::string& value, const std::string& module,
             Source source = Source::kScope,
             Confidence confidence = Confidence::kCertain) {
    Accept({NodeOf(value), Module(module), confidence, source, ""}, placed_);
  }

  // "encoder.fc high": the rung's first claim on the node; "-": none.
  std::string Says(std::string_view rung, const std::string& value) const {
    for (const Rung& known : AllRungs()) {
      if (known.name != rung) continue;
      for (const Claim& claim : known.propose(*evidence_, placed_)) {
        if (claim.node != NodeOf(value)) continue;
        return evidence_->modules.Path(claim.module) + " " +
               std::string(kConfidenceNames[static_cast<std::size_t>(
                   claim.confidence)]);
      }
      return "-";
    }
    throw std::logic_error("no rung " + std::string(rung));
  }

 private:
  schema::ModelProto proto_;
  std::string bytes_;
  std::unique_ptr<Model> model_;
  std::optional<Evidence> evidence_;
  Placed placed_;
};

}  // namespace onnx_tag::test

#endif  // ONNX_TAG_TESTS_SUPPORT_ONE_RUNG_H_
