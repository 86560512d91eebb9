// A small file for the tests of scopes, parameters and the steps of evidence.
#pragma once

#include <memory>
#include <stdexcept>
#include <string>

#include "clues/parameters/parameters.h"
#include "support/model_builder.h"

namespace onnx_tag::test {

class SmallFile {
 public:
  SmallFile() { Main()->add_input()->set_name("x"); }

  schema::ModelProto& proto() { return proto_; }
  schema::GraphProto* Main() { return proto_.mutable_graph(); }
  schema::NodeProto* Node(const std::string& op, const Names& inputs,
                          const std::string& output,
                          const std::string& name = "") {
    return AddNode(Main(), op, inputs, {output}, name);
  }
  static void Metadata(schema::NodeProto* node, const std::string& key,
                       const std::string& value) {
    auto* const entry = node->add_metadata_props();
    entry->set_key(key);
    entry->set_value(value);
  }

  // After the last node.
  const Model& Read() {
    bytes_ = proto_.SerializeAsString();
    model_ = std::make_unique<Model>(ReadModel(bytes_));
    // Made in place: it cannot move.
    graph_.reset(new GraphFacts(GatherGraph(*model_)));
    return *model_;
  }
  const Model& model() const { return *model_; }
  const GraphFacts& graph() const { return *graph_; }

  ValueId Value(const std::string& name) const {
    for (const ValueId value : AllIds<ValueId>(model_->value_count())) {
      if (model_->ValueName(value) == name) return value;
    }
    throw std::logic_error("no value " + name);
  }
  NodeId NodeOf(const std::string& value) const {
    return model_->Producer(Value(value));
  }

  // The facts that most steps need.
  ExporterFacts exporter() const { return RecognizeExporter(*model_); }
  ScopeFacts scopes() const { return GatherScopes(*graph_, exporter()); }
  ParameterFacts parameters(ModuleTree& modules) const {
    return GatherParameters(*graph_, exporter(), scopes(),
                            FunctionTable(*model_, graph_->calls), modules);
  }

 private:
  schema::ModelProto proto_;
  std::string bytes_;
  std::unique_ptr<Model> model_;
  std::unique_ptr<const GraphFacts> graph_;
};

}  // namespace onnx_tag::test
