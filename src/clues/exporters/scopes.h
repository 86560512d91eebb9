// The scopes that an exporter wrote into names, each once, with their modules.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "clues/exporters/dialect_names.h"
#include "core/graph/graph_facts.h"
#include "onnx_tag/hierarchy.h"
#include "onnx_tag/ids.h"
#include "onnx_tag/interner.h"

namespace onnx_tag {

enum class ScopeId : std::uint32_t {};

struct Scope {
  std::string_view text;                // "encoder/layer.0/attention"
  ScopeId parent = kNo<ScopeId>;        // "encoder/layer.0"
  ModuleId module = ModuleTree::kRoot;  // its module
  bool proven = false;    // a trusted parameter confirms the module
  bool settled = false;   // the user's hierarchy gave the module
  bool by_order = false;  // only the order of calls gave the module
  bool doubtful = false;  // nothing confirms where the module stands
  // One module without weights may serve all that call one of that name.
  bool shareable = false;
  bool has_children = false;
  std::uint32_t segment = 0;  // where the last segment begins: "attention"
  // `act_1` as the second call of `act`: the scope of the first.
  ScopeId first_call = kNo<ScopeId>;
  // A parameter shows that `act_1` exists, but a call of `act` may have the
  // same scope.
  ScopeId perhaps_call_of = kNo<ScopeId>;
};

class ScopeTable {
 public:
  ScopeTable();

  // Adds the scope and its enclosing scopes, outermost first, so that the id of
  // a parent is smaller than the ids of its children. kNo if the nesting is too
  // deep. `text` must outlive the table.
  ScopeId Intern(std::string_view text);
  ScopeId Find(std::string_view text) const { return interner_.Find(text); }

  Scope& operator[](ScopeId id) { return scopes_[id]; }
  const Scope& operator[](ScopeId id) const { return scopes_[id]; }
  std::size_t size() const { return scopes_.size(); }

  // The last segment: "layer.0".
  std::string_view Segment(ScopeId id) const {
    return scopes_[id].text.substr(scopes_[id].segment);
  }

  // Whether the last segment repeats the one around it, with an index:
  // `layer/layer.0`, because the list itself was called.
  bool IsFolded(ScopeId id) const;

  // The atoms that the last segment adds to the path of the scope around it:
  // "layer", "0". Into `atoms`, whose memory is used again.
  void ReadAtoms(ScopeId id, std::vector<std::string_view>& atoms) const;

 private:
  Interner<ScopeId> interner_;
  IdVector<ScopeId, Scope> scopes_;
  ScopeId last_ = ScopeId{0};  // that was asked for
};

// The scopes in the names of a file.
struct ScopeFacts {
  ScopeTable scopes;
  IdVector<NodeId, ScopeId> node_scope;   // kNo: no scope in its name
  IdVector<NodeId, ScopeId> value_scope;  // from its outputs' names
  // The value scope is from the name of a constant: the names of nodes and
  // values are lost, so that a node without a scope is nothing special.
  IdVector<NodeId, bool> named_by_constant;
  IdVector<NodeId, bool> converter_name;  // from a converter or quantizer
  IdVector<NodeId, bool> fused_name;      // from a tool that fused nodes

  // Whether a converter or quantizer named the node.
  bool IsConverterName(NodeId node) const { return converter_name[node]; }
  bool IsFusedName(NodeId node) const { return fused_name[node]; }

  // From the node's own name, else from its outputs'.
  ScopeId ScopeOf(NodeId node) const {
    return node_scope[node] != kNo<ScopeId> ? node_scope[node]
                                            : value_scope[node];
  }
};

// Reads scopes from the names of nodes and of their outputs. Where these are
// lost, tools have left them in the names of their constants.
ScopeFacts GatherScopes(const GraphFacts& graph, const ExporterFacts& exporter);

}  // namespace onnx_tag
