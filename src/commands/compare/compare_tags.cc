#include "commands/compare/compare_tags.h"

#include <fmt/core.h>

#include <algorithm>
#include <map>
#include <optional>
#include <unordered_map>

#include "base/text.h"
#include "commands/read/modules.h"
#include "model/attributes.h"
#include "model/field_kinds.h"
#include "model/onnx_fields.h"
#include "onnx_tag/transfer.h"
#include "sizes/element_types.h"
#include "wire/field_reader.h"

namespace onnx_tag {
namespace {

using model::Is;

constexpr std::size_t kMostDims = 8;

std::string ListText(std::span<const std::int64_t> numbers) {
  std::string text = "[";
  for (std::size_t i = 0; i < std::min(numbers.size(), kMostDims); ++i) {
    text += fmt::format("{}{}", i == 0 ? "" : ", ", numbers[i]);
  }
  if (numbers.size() > kMostDims) text += ", ...";
  return text + "]";
}

std::string TypeText(std::int32_t data_type) {
  const std::string_view name = sizes::TypeName(data_type);
  return name.empty() ? fmt::format("type {}", data_type) : std::string(name);
}

struct Encoded {
  Bytes bytes;
  bool has_graph = false;
};

// The attributes of an encoded NodeProto, by name.
std::map<std::string_view, Encoded> AttributesOf(Bytes node) {
  std::map<std::string_view, Encoded> attributes;
  wire::FieldReader fields(node);
  for (wire::Field field; fields.Next(field);) {
    if (!Is(field, onnx::NodeProto::kAttribute)) continue;
    Encoded encoded{field.bytes};
    std::string_view name;
    wire::FieldReader inner(field.bytes);
    for (wire::Field part; inner.Next(part);) {
      if (Is(part, onnx::AttributeProto::kName)) name = part.bytes;
      encoded.has_graph |= Is(part, onnx::AttributeProto::kG) ||
                           Is(part, onnx::AttributeProto::kGraphs);
    }
    attributes.try_emplace(name, encoded);
  }
  return attributes;
}

// The value as people read it; "" if only its presence can be shown.
std::string ValueText(const Attribute& attribute) {
  if (!attribute.numbers.empty()) return ListText(attribute.numbers);
  if (!attribute.text.empty()) {
    return Message("{}", Short{attribute.text, 40});
  }
  return attribute.number ? std::to_string(*attribute.number) : "";
}

// Whether leaving the attribute out means the same, for the attributes that
// tools write or omit.
bool IsDefault(std::string_view name, const Attribute& attribute) {
  const auto all = [&](std::int64_t wanted) {
    return std::all_of(attribute.numbers.begin(), attribute.numbers.end(),
                       [&](std::int64_t number) { return number == wanted; });
  };
  if (name == "pads") return all(0);
  if (name == "strides" || name == "dilations") return all(1);
  if (!attribute.text.empty()) {
    return attribute.text == "NOTSET" || attribute.text == "forward";
  }
  if (attribute.number) {
    const bool one = name == "keepdims" || name == "group" ||
                     name == "stash_type" || name == "saturate" ||
                     name == "largest" || name == "sorted";
    return *attribute.number == (one ? 1 : 0);
  }
  return attribute.is_float;
}

// One attribute of both nodes; either may be missing.
std::optional<std::string> CompareAttribute(std::string_view name,
                                            const std::optional<Attribute>& a,
                                            const std::optional<Attribute>& b) {
  if ((!a && b && IsDefault(name, *b)) || (!b && a && IsDefault(name, *a))) {
    return std::nullopt;
  }
  // A tensor may be encoded in several ways, and values are not compared.
  if (a && b && (!a->tensor.empty() || !b->tensor.empty())) {
    return std::nullopt;
  }
  const std::string old = a ? ValueText(*a) : "";
  const std::string now = b ? ValueText(*b) : "";
  // Numbers may be packed or not.
  if (a && b && !old.empty() && old == now) return std::nullopt;
  if (old.empty() && now.empty()) return Message("{}", name);
  return Message("{} {} -> {}", name, old.empty() ? "none" : old,
                 now.empty() ? "none" : now);
}

void CompareAttributes(Bytes a, Bytes b,
                       std::vector<std::string>& differences) {
  const std::map<std::string_view, Encoded> old = AttributesOf(a);
  const std::map<std::string_view, Encoded> now = AttributesOf(b);
  const auto read = [](const auto& attributes, std::string_view name) {
    const auto at = attributes.find(name);
    return at == attributes.end()
               ? std::nullopt
               : std::optional(ReadAttribute(at->second.bytes));
  };
  const auto compare = [&](std::string_view name) {
    if (std::optional<std::string> difference =
            CompareAttribute(name, read(old, name), read(now, name))) {
      differences.push_back(*std::move(difference));
    }
  };
  for (const auto& [name, encoded] : old) {
    const auto at = now.find(name);
    // The nodes of graphs are compared on their own.
    if (encoded.has_graph || (at != now.end() && at->second.has_graph)) {
      continue;
    }
    if (at == now.end() || at->second.bytes != encoded.bytes) compare(name);
  }
  for (const auto& [name, encoded] : now) {
    if (!encoded.has_graph && !old.contains(name)) compare(name);
  }
}

void CompareWeights(const Model& a, NodeId node_a, const Model& b,
                    NodeId node_b, std::vector<std::string>& differences) {
  const auto old = a.Inputs(node_a);
  const auto now = b.Inputs(node_b);
  for (std::size_t i = 0; i < std::min(old.size(), now.size()); ++i) {
    if (old[i] == kNo<ValueId> || now[i] == kNo<ValueId>) continue;
    const Initializer* const x = a.InitializerOf(old[i]);
    const Initializer* const y = b.InitializerOf(now[i]);
    if (x == nullptr || y == nullptr) continue;
    const auto dims_x = a.Dims(*x);
    const auto dims_y = b.Dims(*y);
    if (!std::equal(dims_x.begin(), dims_x.end(), dims_y.begin(),
                    dims_y.end())) {
      differences.push_back(
          fmt::format("weight {} -> {}", ListText(dims_x), ListText(dims_y)));
    }
    if (x->data_type != y->data_type) {
      differences.push_back(fmt::format(
          "weight {} -> {}", TypeText(x->data_type), TypeText(y->data_type)));
    }
  }
}

// Types of results, where both files have them.
void CompareTypes(const Model& a, NodeId node_a, const Model& b, NodeId node_b,
                  std::vector<std::string>& differences) {
  const auto old = a.Outputs(node_a);
  const auto now = b.Outputs(node_b);
  for (std::size_t i = 0; i < std::min(old.size(), now.size()); ++i) {
    if (old[i] == kNo<ValueId> || now[i] == kNo<ValueId>) continue;
    const ValueInfo* const x = a.InfoOf(old[i]);
    const ValueInfo* const y = b.InfoOf(now[i]);
    if (x == nullptr || y == nullptr || x->data_type == 0 ||
        y->data_type == 0 || x->data_type == y->data_type) {
      continue;
    }
    differences.push_back(fmt::format("output {} -> {}", TypeText(x->data_type),
                                      TypeText(y->data_type)));
  }
}

// What differs between two nodes with the same operator: "strides [1, 1] ->
// [2, 2]", "weight [64, 64] -> [64, 128]", "output float32 -> float16". The
// values of weights are not compared.
std::vector<std::string> CompareNodes(const Model& a, NodeId node_a,
                                      const Model& b, NodeId node_b) {
  std::vector<std::string> differences;
  CompareAttributes(a.NodeBytes(node_a), b.NodeBytes(node_b), differences);
  CompareWeights(a, node_a, b, node_b, differences);
  CompareTypes(a, node_a, b, node_b, differences);
  return differences;
}

// "ai.onnx 17 -> 18"
std::vector<std::string> CompareOpsets(const Model& a, const Model& b) {
  const auto versions = [](const Model& model) {
    std::map<std::string, std::int64_t> result;
    for (const OpsetImport& opset : model.opset_imports()) {
      const bool standard = opset.domain.empty() || opset.domain == "ai.onnx";
      result[standard ? "ai.onnx" : Message("{}", opset.domain)] =
          opset.version;
    }
    return result;
  };
  const std::map<std::string, std::int64_t> old = versions(a);
  const std::map<std::string, std::int64_t> now = versions(b);
  std::vector<std::string> differences;
  for (const auto& [domain, version] : old) {
    const auto at = now.find(domain);
    if (at == now.end()) {
      differences.push_back(fmt::format("{} {} -> none", domain, version));
    } else if (at->second != version) {
      differences.push_back(
          fmt::format("{} {} -> {}", domain, version, at->second));
    }
  }
  for (const auto& [domain, version] : now) {
    if (!old.contains(domain)) {
      differences.push_back(fmt::format("{} none -> {}", domain, version));
    }
  }
  return differences;
}

// The modules of both versions, by path; the first stands for untagged nodes.
class Comparison {
 public:
  Comparison(const TaggedModel& a, const TaggedModel& b) : a_(a), b_(b) {
    rows_.emplace_back().untagged = true;
    AddModules(a.tagging(), rows_a_, true);
    AddModules(b.tagging(), rows_b_, false);
  }

  TagDifference Compare() {
    const IdVector<NodeId, NodeId> counterparts = Counterparts();
    IdVector<NodeId, bool> paired(a_.nodes().size(), false);
    for (const NodeId node : b_.nodes().All()) {
      const NodeId counterpart = counterparts[node];
      ++RowB(node).nodes_b;
      if (counterpart == kNo<NodeId>) {
        ++RowB(node).added[std::string(b_.nodes().Op(node))];
      } else {
        paired[counterpart] = true;
        ComparePair(counterpart, node);
      }
    }
    for (const NodeId node : a_.nodes().All()) {
      ++RowA(node).nodes_a;
      if (!paired[node]) ++RowA(node).removed[std::string(a_.nodes().Op(node))];
    }
    for (ModuleDifference& row : rows_) Finish(row);
    // Sidecars have no opsets, attributes and types.
    if (a_.model() != nullptr && b_.model() != nullptr) {
      result_.opsets = CompareOpsets(*a_.model(), *b_.model());
    }
    return std::move(result_);
  }

 private:
  void AddModules(const Tagging& tagging, std::vector<std::size_t>& index,
                  bool is_a) {
    const ModuleTree& tree = tagging.modules;
    const ModuleCounts counts(tagging);
    index.assign(tree.size(), 0);
    for (const ModuleId id : tree.All()) {
      if (counts.Total(id) == 0) continue;
      const auto [at, added] =
          by_path_.try_emplace(tree.Path(id), rows_.size());
      if (added) rows_.emplace_back().path = at->first;
      index[Index(id)] = at->second;
      ModuleDifference& row = rows_[at->second];
      (is_a ? row.in_a : row.in_b) = true;
      (is_a ? row.class_a : row.class_b) = ClassOf(tagging, id);
      ++(is_a ? result_.modules_a : result_.modules_b);
    }
  }

  IdVector<NodeId, NodeId> Counterparts() const {
    // The same graph has the same nodes, whatever they are called.
    if (a_.about().fingerprint == b_.about().fingerprint &&
        a_.nodes().size() == b_.nodes().size()) {
      IdVector<NodeId, NodeId> same;
      for (const NodeId node : b_.nodes().All()) same.Add(node);
      return same;
    }
    return FindCounterparts({a_.nodes(), a_.model()}, {b_.nodes(), b_.model()});
  }

  void ComparePair(NodeId a, NodeId b) {
    ModuleDifference& from = RowA(a);
    ModuleDifference& to = RowB(b);
    if (&from != &to) {
      ++from.moved_out;
      ++to.moved_in;
      result_.moved.push_back({a, b});
      return;
    }
    const std::string_view op_a = a_.nodes().Op(a);
    const std::string_view op_b = b_.nodes().Op(b);
    if (op_a != op_b) {
      ++to.changed[{std::string(op_a), std::string(op_b)}];
      return;
    }
    if (a_.model() != nullptr && b_.model() != nullptr) {
      for (const std::string& difference :
           CompareNodes(*a_.model(), a, *b_.model(), b)) {
        ++to.altered[Message("{} {}", op_b, difference)];
      }
    }
    if (!to.untagged && RoleA(a) != RoleB(b)) {
      ++to.roles;
    }
  }

  // Attention kinds are in sidecars and not in tagged models.
  static Role Comparable(Role role) {
    role.attention_kind = AttentionKind::kNone;
    return role;
  }
  Role RoleA(NodeId node) const {
    return Comparable(a_.tagging().roles[a_.tagging().tags[node].role]);
  }
  Role RoleB(NodeId node) const {
    return Comparable(b_.tagging().roles[b_.tagging().tags[node].role]);
  }
  ModuleDifference& RowA(NodeId node) {
    const Tag& tag = a_.tagging().tags[node];
    return rows_[tag.tagged() ? rows_a_[Index(tag.module)] : 0];
  }
  ModuleDifference& RowB(NodeId node) {
    const Tag& tag = b_.tagging().tags[node];
    return rows_[tag.tagged() ? rows_b_[Index(tag.module)] : 0];
  }

  // An operator that left a module and one of its kind that came are the same
  // one, whose counterpart could not be told; across exporters most are such.
  void Finish(ModuleDifference& row) {
    for (auto& [op, count] : row.added) {
      const auto at = row.removed.find(op);
      if (at == row.removed.end()) continue;
      const std::uint64_t same = std::min(count, at->second);
      count -= same;
      at->second -= same;
    }
    const auto is_none = [](const auto& entry) { return entry.second == 0; };
    std::erase_if(row.added, is_none);
    std::erase_if(row.removed, is_none);
    for (const auto& [op, count] : row.added) result_.added += count;
    for (const auto& [op, count] : row.removed) result_.removed += count;
    for (const auto& [ops, count] : row.changed) result_.changed += count;
    for (const auto& [what, count] : row.altered) result_.altered += count;
    result_.roles += row.roles;
    if (row.differs()) result_.modules.push_back(std::move(row));
  }

  const TaggedModel& a_;
  const TaggedModel& b_;
  std::vector<ModuleDifference> rows_;
  std::unordered_map<std::string, std::size_t> by_path_;
  std::vector<std::size_t> rows_a_;  // by module
  std::vector<std::size_t> rows_b_;
  TagDifference result_;
};

}  // namespace

bool ModuleDifference::differs() const {
  return !added.empty() || !removed.empty() || !changed.empty() ||
         !altered.empty() || moved_in > 0 || moved_out > 0 || roles > 0 ||
         other_class() || (!untagged && in_a != in_b);
}

TagDifference CompareTags(const TaggedModel& a, const TaggedModel& b) {
  return Comparison(a, b).Compare();
}

}  // namespace onnx_tag
