#include "clues/exporters/scopes.h"

#include <span>
#include <string_view>

#include "clues/exporters/dialect_names.h"
#include "clues/exporters/tools/original_name.h"
#include "core/graph/neighbours.h"
#include "core/hierarchy/name_parts.h"
#include "core/tagging/tag_format.h"

namespace onnx_tag {

ScopeTable::ScopeTable() {
  interner_.Intern("");
  scopes_.Add(Scope());
}

ScopeId ScopeTable::Intern(std::string_view text) {
  // A node and its output have the same scope, nodes of a scope follow each
  // other, and so do scopes in the same scope.
  if (scopes_[last_].text == text) return last_;
  if (const ScopeId around = scopes_[last_].parent;
      around != kNo<ScopeId> && scopes_[around].text == text) {
    return last_ = around;
  }
  ScopeId id = interner_.Find(text);
  if (id != kNo<ScopeId>) return last_ = id;
  // Adding every prefix of it would be quadratic.
  if (!hierarchy::IsCrediblePath(text)) return id;
  const std::size_t segment = text.rfind('/') + 1;  // 0 without a slash
  const ScopeId parent = Intern(text.substr(0, segment == 0 ? 0 : segment - 1));
  id = interner_.Intern(text);
  scopes_.Add({.text = text,
               .parent = parent,
               .segment = static_cast<std::uint32_t>(segment)});
  scopes_[parent].has_children = true;
  return last_ = id;
}

bool ScopeTable::IsFolded(ScopeId id) const {
  const ScopeId parent = scopes_[id].parent;
  if (parent == kNo<ScopeId> || parent == ScopeId{0}) return false;
  const std::string_view segment = Segment(id);
  const std::string_view outer = Segment(parent);
  return !outer.empty() && segment.size() > outer.size() + 1 &&
         segment.starts_with(outer) && segment[outer.size()] == '.' &&
         hierarchy::IsNumeric(segment.substr(outer.size() + 1));
}

void ScopeTable::ReadAtoms(ScopeId id,
                           std::vector<std::string_view>& atoms) const {
  std::string_view segment = Segment(id);
  atoms.clear();
  if (IsFolded(id)) segment.remove_prefix(segment.rfind('.') + 1);
  while (!segment.empty()) {
    const std::size_t dot = segment.find('.');
    if (dot != 0) atoms.push_back(segment.substr(0, dot));
    segment.remove_prefix(dot == std::string_view::npos ? segment.size()
                                                        : dot + 1);
  }
}

namespace {

// Quantizers and optimizers name a constant after the value that it belongs to:
// `/net/act/Relu_output_0_scale`. The name of the value itself may be gone.
class ConstantNames {
 public:
  ConstantNames(const GraphFacts& graph, ScopeFacts& facts)
      : graph_(graph), model_(graph.model), facts_(facts) {}

  void Read() {
    for (const Initializer& tensor : model_.initializers()) {
      const std::string_view name = model_.ValueName(tensor.value);
      if (!name.starts_with('/')) continue;
      const hierarchy::StrippedName value = hierarchy::UndoTensorName(name);
      if (value.name.size() == name.size()) continue;  // a constant's own name
      const auto split = hierarchy::SplitValueName(value.name);
      if (split.ok) Give(tensor.value, split);
    }
    if (!found_) return;
    // What is quantized is read through a dequantizer, or through several.
    for (const NodeId node : model_.Nodes()) {
      if (!graph_.ops.Is(node, OpKind::kDequantizer)) continue;
      const NodeId maker = MakerOfFirst(node);
      if (maker != kNo<NodeId> && facts_.named_by_constant[maker] &&
          graph_.ops.Is(maker, OpKind::kQuantizer)) {
        Set(node, facts_.value_scope[maker]);
      }
    }
  }

 private:
  void Give(ValueId constant, const hierarchy::ScopedName& value) {
    const std::span<const NodeId> readers = model_.Consumers(constant);
    const ScopeId scope = facts_.scopes.Intern(value.scope);
    NodeId first = kNo<NodeId>;  // of the quantizers
    for (const NodeId reader : readers) {
      if (!graph_.ops.Is(reader, OpKind::kQuantizer)) continue;
      const NodeId maker = MakerOfFirst(reader);
      if (Makes(maker, value)) {
        Set(maker, scope);
        Set(reader, scope);
        return;
      }
      if (first == kNo<NodeId>) first = reader;
    }
    // The quantizer's range replaces the activation that made the value.
    // Operators that only move numbers share the scale of their input: theirs
    // are the other quantizers.
    if (first != kNo<NodeId>) {
      Set(first, scope);
    } else if (readers.size() == 1 &&
               model_.ValueName(constant).ends_with("_bias_reshape_shape")) {
      // The bias of a convolution of integers.
      Set(readers[0], scope);
      for (const NodeId sum : model_.Consumers(model_.Outputs(readers[0])[0])) {
        Set(sum, scope);
      }
    } else if (readers.size() == 1 && Makes(readers[0], value)) {
      Set(readers[0], scope);
    }
  }

  bool Makes(NodeId node, const hierarchy::ScopedName& value) const {
    return node != kNo<NodeId> && model_.OpType(node) == value.op;
  }

  NodeId MakerOfFirst(NodeId node) const {
    return ProducerOf(model_, FirstInput(model_, node));
  }

  void Set(NodeId node, ScopeId scope) {
    if (facts_.ScopeOf(node) != kNo<ScopeId>) return;
    facts_.value_scope[node] = scope;
    facts_.named_by_constant[node] = true;
    found_ = true;
  }

  const GraphFacts& graph_;
  const Model& model_;
  ScopeFacts& facts_;
  bool found_ = false;
};

}  // namespace

ScopeFacts GatherScopes(const GraphFacts& graph,
                        const ExporterFacts& exporter) {
  const Model& model = graph.model;
  ScopeFacts facts;
  facts.node_scope.resize(model.node_count(), kNo<ScopeId>);
  facts.value_scope.resize(model.node_count(), kNo<ScopeId>);
  facts.named_by_constant.resize(model.node_count(), false);
  facts.converter_name.resize(model.node_count(), false);
  facts.fused_name.resize(model.node_count(), false);
  for (const NodeId node : model.Nodes()) {
    const bool plain = exporter.IsPlain(node);
    const std::string_view given = ExporterName(model, node);
    const hierarchy::StrippedName name =
        plain ? hierarchy::StrippedName{.name = given}
              : hierarchy::UndoNodeName(given);
    facts.fused_name[node] = name.fused;
    if (exporter.names != nullptr) continue;  // they are not TorchScript scopes
    facts.converter_name[node] = name.cast || name.quantizer;
    // If two Reshapes were merged, the name of the result is correct, not the
    // name of the first.
    const bool merged = given.ends_with("_new_reshape");
    auto scoped = hierarchy::SplitScopedName(name.name);
    if (!scoped.ok && exporter.module_names) {
      scoped = hierarchy::SplitModuleName(name.name);
    }
    if (scoped.ok && !merged) {
      facts.node_scope[node] = facts.scopes.Intern(scoped.scope);
    }
    for (const ValueId value : model.Outputs(node)) {
      if (value == kNo<ValueId>) continue;
      const std::string_view made = model.ValueName(value);
      if (plain && scoped.ok && hierarchy::IsOutputOf(made, name.name)) {
        facts.value_scope[node] = facts.scopes.Intern(scoped.scope);
        break;
      }
      const hierarchy::StrippedName output = hierarchy::UndoTensorName(made);
      const auto split = hierarchy::SplitValueName(output.name);
      if (!split.ok) continue;
      facts.value_scope[node] = facts.scopes.Intern(split.scope);
      break;
    }
  }
  if (exporter.names == nullptr) ConstantNames(graph, facts).Read();
  return facts;
}

}  // namespace onnx_tag
