// What a file says about where its nodes come from: gathered once, never
// changed after, shared by every strategy.
#ifndef ONNX_TAG_MAPPING_EVIDENCE_H_
#define ONNX_TAG_MAPPING_EVIDENCE_H_

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "base/ids.h"
#include "mapping/scope_table.h"
#include "onnx_tag/hierarchy.h"
#include "onnx_tag/model.h"

namespace onnx_tag {

enum class ParameterId : std::uint32_t {};

// A tensor that carries a name from the source model's state_dict.
struct Parameter {
  std::string_view name;  // what tools added to it undone
  ModuleId module = ModuleId{0};
  std::uint32_t rank = 0;
  std::uint32_t uses = 0;  // nodes that read it, carriers not counted
  // Read from one place only: not shared, tied or merged with an equal tensor.
  bool trusted = false;
};

// What a node's metadata says.
struct MetadataFact {
  NodeId node;
  ModuleId module;
  bool merged = false;  // a rewriter made the node out of several
};

// How a node came by its scope.
enum class NameTrace : std::uint8_t {
  kNone,    // its name says nothing
  kNode,    // its own name
  kHelper,  // its own name, as a quantizer's or converter's helper
};

struct Evidence {
  explicit Evidence(const Model& m) : model(m) {}

  const Model& model;
  ModuleTree modules;

  ScopeTable scopes;
  IdVector<NodeId, ScopeId> node_scope;   // kNo: none in its name
  IdVector<NodeId, ScopeId> value_scope;  // from its outputs' names
  IdVector<NodeId, NameTrace> name_trace;
  IdVector<NodeId, bool> converter_name;  // a converter's or quantizer's

  IdVector<ParameterId, Parameter> parameters;
  IdVector<ValueId, ParameterId> value_parameter;  // through carriers
  std::vector<bool> module_has_parameter;          // by module
  std::vector<bool> called_modules;                // by module: has a scope
  IdVector<ModuleId, ModuleId> callable;           // by module
  std::vector<bool> constant_value;                // by value: feeds on no input

  // What an attention beside this norm is usually called: by the norm's
  // module, the module that would be; see data/attention_names.txt.
  std::unordered_map<std::uint32_t, ModuleId> usual_attention;

  std::vector<MetadataFact> metadata;             // by node
  std::vector<std::string> notes;                 // set aside, and why

  // Nodes that feed on nothing but weights and constants, and pass one on.
  IdVector<NodeId, bool> is_carrier;

  // `module`, or the nearest module around it that can be called: lists hold
  // modules and run nothing, their owner does.
  ModuleId Callable(ModuleId module) const { return callable[module]; }
  ModuleId CommonCaller(ModuleId a, ModuleId b) const {
    return callable[modules.CommonAncestor(a, b)];
  }

  bool HasParameterAt(ModuleId id) const {
    return Index(id) < module_has_parameter.size() &&
           module_has_parameter[Index(id)];
  }
  // Whether some scope stands for the module.
  bool IsCalled(ModuleId id) const {
    return Index(id) < called_modules.size() && called_modules[Index(id)];
  }
  // Whether a converter or quantizer named the node.
  bool IsConverterName(NodeId node) const {
    return converter_name[node];
  }
  ParameterId ParameterOf(ValueId value) const {
    return value == kNo<ValueId> ? kNo<ParameterId> : value_parameter[value];
  }
};

Evidence GatherEvidence(const Model& model);

// The steps of it, in order.
void GatherScopes(Evidence& evidence);
void GatherParameters(Evidence& evidence);
void GatherMetadata(Evidence& evidence);
void AlignScopes(Evidence& evidence);
void GuessAttentionNames(Evidence& evidence);
void DescribeModules(Evidence& evidence);

}  // namespace onnx_tag

#endif  // ONNX_TAG_MAPPING_EVIDENCE_H_
