#include "support/lost_names.h"

#include <algorithm>
#include <array>
#include <functional>
#include <map>
#include <set>
#include <utility>
#include <vector>

#include "onnx_tag_schema.pb.h"

namespace onnx_tag::test {
namespace {

using schema::AttributeProto;
using schema::GraphProto;
using schema::ModelProto;
using schema::NodeProto;

void EachGraphOf(NodeProto& node, const std::function<void(GraphProto&)>& use) {
  for (AttributeProto& attribute : *node.mutable_attribute()) {
    if (attribute.has_g()) use(*attribute.mutable_g());
    for (GraphProto& graph : *attribute.mutable_graphs()) use(graph);
  }
}

// Every node of the file: subgraphs right after the node that holds them, then
// functions.
std::vector<NodeProto*> AllNodes(ModelProto& model) {
  std::vector<NodeProto*> nodes;
  const std::function<void(NodeProto&)> visit = [&](NodeProto& node) {
    nodes.push_back(&node);
    EachGraphOf(node, [&](GraphProto& graph) {
      for (NodeProto& inner : *graph.mutable_node()) visit(inner);
    });
  };
  for (NodeProto& node : *model.mutable_graph()->mutable_node()) visit(node);
  for (auto& function : *model.mutable_functions()) {
    for (NodeProto& node : *function.mutable_node()) visit(node);
  }
  return nodes;
}

std::vector<GraphProto*> AllGraphs(ModelProto& model) {
  std::vector<GraphProto*> graphs = {model.mutable_graph()};
  for (NodeProto* const node : AllNodes(model)) {
    EachGraphOf(*node, [&](GraphProto& graph) { graphs.push_back(&graph); });
  }
  return graphs;
}

enum class Role { kInput, kWeight, kValue };
using NewName = std::function<std::string(const std::string&, Role)>;

// Renames every value in order of appearance, each once.
class Renamer {
 public:
  Renamer(std::map<std::string, std::string> known, NewName new_name)
      : names_(std::move(known)), new_name_(std::move(new_name)) {
    names_.emplace("", "");
  }

  void Visit(GraphProto& graph) {
    for (auto& value : *graph.mutable_input()) {
      value.set_name(To(value.name(), Role::kInput));
    }
    for (auto& weight : *graph.mutable_initializer()) {
      weight.set_name(To(weight.name(), Role::kWeight));
    }
    for (NodeProto& node : *graph.mutable_node()) {
      for (std::string& input : *node.mutable_input()) input = To(input);
      EachGraphOf(node, [&](GraphProto& inner) { Visit(inner); });
      for (std::string& output : *node.mutable_output()) output = To(output);
    }
    for (auto& value : *graph.mutable_output())
      value.set_name(To(value.name()));
    for (auto& value : *graph.mutable_value_info()) {
      value.set_name(To(value.name()));
    }
  }

  const std::string& To(const std::string& name, Role role = Role::kValue) {
    const auto at = names_.find(name);
    if (at != names_.end()) return at->second;
    return names_.emplace(name, new_name_(name, role)).first->second;
  }

 private:
  std::map<std::string, std::string> names_;
  NewName new_name_;
};

void LoseMetadata(ModelProto& model) {
  model.clear_metadata_props();
  for (NodeProto* const node : AllNodes(model)) node->clear_metadata_props();
  for (GraphProto* const graph : AllGraphs(model)) {
    graph->clear_metadata_props();
    for (auto& value : *graph->mutable_input()) value.clear_metadata_props();
    for (auto& value : *graph->mutable_output()) value.clear_metadata_props();
    for (auto& value : *graph->mutable_value_info()) {
      value.clear_metadata_props();
    }
    for (auto& weight : *graph->mutable_initializer()) {
      weight.clear_metadata_props();
    }
  }
  for (auto& function : *model.mutable_functions()) {
    function.clear_metadata_props();
  }
}

// "onnx::MatMul_123" is a folded weight: "123" without a scope.
std::string WithoutOperator(const std::string& name) {
  const std::size_t number = name.rfind('_');
  const bool folded =
      name.starts_with("onnx::") && number != std::string::npos &&
      number + 1 < name.size() &&
      name.find_first_not_of("0123456789", number + 1) == std::string::npos;
  return folded ? name.substr(number + 1) : name;
}

// Values get numbers; inputs, outputs and weights keep their names.
void NumberValues(ModelProto& model, bool scopes_only) {
  std::map<std::string, std::string> known;
  std::set<std::string> taken;
  for (GraphProto* const graph : AllGraphs(model)) {
    for (const auto& weight : graph->initializer()) {
      const std::string kept =
          scopes_only ? WithoutOperator(weight.name()) : weight.name();
      known[weight.name()] = kept;
      taken.insert(kept);
    }
  }
  const GraphProto& main = model.graph();
  for (const auto& value : main.input()) known[value.name()] = value.name();
  for (const auto& value : main.output()) known[value.name()] = value.name();
  int next = main.input_size() + main.initializer_size();
  Renamer renamer(std::move(known), [&](const std::string&, Role) {
    while (taken.contains(std::to_string(next))) ++next;
    return std::to_string(next++);
  });
  renamer.Visit(*model.mutable_graph());
}

void LoseScopes(ModelProto& model) {
  NumberValues(model, true);
  std::size_t count = 0;
  for (NodeProto* const node : AllNodes(model)) {
    node->set_name(node->op_type() + "_" + std::to_string(count++));
  }
  count = 0;
  for (GraphProto* const graph : AllGraphs(model)) {
    graph->set_name("torch-jit-export" +
                    (count == 0 ? "" : std::to_string(count)));
    ++count;
  }
  model.set_producer_version("1.10");
}

void LoseNames(ModelProto& model) {
  NumberValues(model, false);
  for (NodeProto* const node : AllNodes(model)) node->set_name("");
}

template <typename Values>
void RenameAxes(Values& values, Renamer& renamer) {
  for (auto& value : values) {
    if (!value.type().has_tensor_type()) continue;
    auto& shape = *value.mutable_type()->mutable_tensor_type()->mutable_shape();
    for (auto& dimension : *shape.mutable_dim()) {
      if (dimension.has_dim_param()) {
        dimension.set_dim_param(renamer.To(dimension.dim_param()));
      }
    }
  }
}

void LoseAll(ModelProto& model) {
  LoseMetadata(model);
  std::size_t count = 0;
  Renamer renamer({}, [&](const std::string&, Role role) {
    const char* const prefix = role == Role::kInput    ? "i_"
                               : role == Role::kWeight ? "w_"
                                                       : "v_";
    return prefix + std::to_string(++count);
  });
  renamer.Visit(*model.mutable_graph());
  for (GraphProto* const graph : AllGraphs(model)) {
    RenameAxes(*graph->mutable_input(), renamer);
    RenameAxes(*graph->mutable_output(), renamer);
    RenameAxes(*graph->mutable_value_info(), renamer);
  }
  for (auto& function : *model.mutable_functions()) {
    for (NodeProto& node : *function.mutable_node()) {
      for (std::string& input : *node.mutable_input()) {
        input = renamer.To(input);
      }
      for (std::string& output : *node.mutable_output()) {
        output = renamer.To(output);
      }
    }
    for (std::string& input : *function.mutable_input()) {
      input = renamer.To(input);
    }
    for (std::string& output : *function.mutable_output()) {
      output = renamer.To(output);
    }
  }
  count = 0;
  for (GraphProto* const graph : AllGraphs(model)) {
    graph->set_name("g_" + std::to_string(count++));
    graph->clear_doc_string();
  }
  count = 0;
  for (NodeProto* const node : AllNodes(model)) {
    node->set_name("n_" + std::to_string(count++));
    node->clear_doc_string();
  }
}

}  // namespace

LostNames LostNames::Of(std::string_view form) {
  static constexpr std::array<std::pair<std::string_view, What>, 4> kEnds = {{
      {"-nometa", What::kMetadata},
      {"-noscope", What::kScopes},
      {"-anon", What::kNames},
      {"-bare", What::kAll},
  }};
  for (const auto& [end, what] : kEnds) {
    if (form.ends_with(end)) {
      return {form.substr(0, form.size() - end.size()), what};
    }
  }
  return {form, What::kNothing};
}

std::string WithLostNames(std::string_view onnx, LostNames::What what) {
  if (what == LostNames::What::kNothing) return std::string(onnx);
  ModelProto model;
  if (!model.ParseFromArray(onnx.data(), static_cast<int>(onnx.size()))) {
    return {};
  }
  switch (what) {
    case LostNames::What::kNothing:
      break;
    case LostNames::What::kMetadata:
      LoseMetadata(model);
      break;
    case LostNames::What::kScopes:
      LoseScopes(model);
      break;
    case LostNames::What::kNames:
      LoseNames(model);
      break;
    case LostNames::What::kAll:
      LoseAll(model);
      break;
  }
  return model.SerializeAsString();
}

}  // namespace onnx_tag::test
