// Small models, built through protobuf and read as files are.
#pragma once

#include <string>
#include <vector>

#include "onnx_tag/mapping.h"
#include "onnx_tag_schema.pb.h"

namespace onnx_tag::test {

using Names = std::vector<std::string>;

// Adds a node to a graph or to a function's body.
template <typename Body>
schema::NodeProto* AddNode(Body* body, const std::string& op_type,
                           const Names& inputs, const Names& outputs,
                           const std::string& name = "",
                           const std::string& domain = "") {
  schema::NodeProto* node = body->add_node();
  node->set_op_type(op_type);
  if (!name.empty()) node->set_name(name);
  if (!domain.empty()) node->set_domain(domain);
  for (const std::string& input : inputs) node->add_input(input);
  for (const std::string& output : outputs) node->add_output(output);
  return node;
}

inline schema::FunctionProto* AddFunction(schema::ModelProto& model,
                                          const std::string& domain,
                                          const std::string& name,
                                          const Names& inputs,
                                          const Names& outputs) {
  schema::FunctionProto* function = model.add_functions();
  function->set_domain(domain);
  function->set_name(name);
  for (const std::string& input : inputs) function->add_input(input);
  for (const std::string& output : outputs) function->add_output(output);
  return function;
}

inline void AddParameters(schema::ModelProto& model, const Names& names,
                          int rank = 2) {
  for (const std::string& name : names) {
    schema::TensorProto* tensor = model.mutable_graph()->add_initializer();
    tensor->set_name(name);
    for (int i = 0; i < rank; ++i) tensor->add_dims(2);
  }
}

// Maps without the recipe book.
inline MappingOptions NoBook() {
  MappingOptions options;
  options.recipes = false;
  return options;
}

// A model's tags, asked for by graph path and index.
class Mapped {
 public:
  explicit Mapped(const schema::ModelProto& model,
                  const MappingOptions& options = MappingOptions(),
                  const MappingFacts& facts = MappingFacts())
      : bytes_(model.SerializeAsString()),
        model_(ReadModel(bytes_)),
        tagging_(MapNodes(model_, options, facts)) {}
  Mapped(const schema::ModelProto& model, const MappingFacts& facts)
      : Mapped(model, MappingOptions(), facts) {}

  // "-" where the node is untagged.
  std::string Module(const std::string& graph, std::uint32_t index) const {
    for (const NodeId node : model_.Nodes()) {
      if (model_[node].index != index ||
          model_.GraphPath(model_[node].graph) != graph) {
        continue;
      }
      const Tag& tag = tagging_.tags[node];
      return tag.tagged() ? tagging_.modules.Path(tag.module) : "-";
    }
    return "no such node";
  }

  std::string Class(const std::string& module) const {
    const ModuleId id = tagging_.modules.Find(module);
    return id == kNo<ModuleId> ? "no such module"
                               : std::string(tagging_.modules.Class(id));
  }

  // The modules of the calls of a function, in file order.
  Names CallSites(std::uint32_t function) const {
    Names modules;
    for (const CallSite& site : tagging_.call_sites) {
      if (site.function != function) continue;
      modules.push_back(site.module == kNo<ModuleId>
                            ? "-"
                            : tagging_.modules.Path(site.module));
    }
    return modules;
  }

  const Tagging& tagging() const { return tagging_; }

 private:
  std::string bytes_;
  Model model_;
  Tagging tagging_;
};

}  // namespace onnx_tag::test
