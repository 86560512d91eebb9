#include <fmt/core.h>

#include <algorithm>
#include <map>
#include <optional>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

#include "app/commands/compare/compare.h"
#include "app/commands/read/modules.h"
#include "app/commands/read/nodes.h"
#include "base/text.h"
#include "core/graph/graph_facts.h"
#include "core/graph/neighbours.h"
#include "file/io/mapped_file.h"
#include "file/model/field_kinds.h"
#include "file/model/model_file.h"
#include "file/model/onnx_fields.h"
#include "file/model/tensor_data.h"
#include "file/model/weight_files.h"
#include "file/wire/field_reader.h"
#include "onnx_tag/error.h"
#include "onnx_tag/transfer.h"
#include "uses/transfer/names.h"

namespace onnx_tag {
namespace {

// ---------------------------------------------------------------- weights
// The weights of a file and of its external data. Nothing is held in memory but
// the pages that are compared.
class WeightFile {
 public:
  // `file` must outlive it.
  explicit WeightFile(const ModelFile& file)
      : model_(file.model()), files_(file.file()) {
    const auto add = [&](const wire::Field& tensor) {
      tensors_.try_emplace(
          model::LastOf(tensor.bytes, onnx::TensorProto::kName), tensor.bytes);
    };
    model::ForEach(file.model().bytes(), onnx::ModelProto::kGraph,
                   [&](const wire::Field& graph) {
                     model::ForEach(graph.bytes, onnx::GraphProto::kInitializer,
                                    add);
                   });
  }

  // The elements of `value`, an initializer, which may be in `tensor`.
  WeightFiles::Piece Read(ValueId value, TensorData& tensor) {
    const auto at = tensors_.find(model_.ValueName(value));
    if (at == tensors_.end()) return {};
    try {
      tensor = ReadTensorData(at->second);
    } catch (const wire::WireError&) {
      return {};  // a warning named it when the model was read
    }
    return files_.Read(tensor);
  }

 private:
  const Model& model_;
  WeightFiles files_;
  std::unordered_map<std::string_view, Bytes> tensors_;  // of the main graph
};

class WeightComparison {
 public:
  // Counts pairs of weights in `counts`, which must outlive it.
  WeightComparison(const ModelFile& a, const ModelFile& b,
                   TagDifference& counts)
      : a_(a), b_(b), weights_a_(a), weights_b_(b), counts_(counts) {}

  // Whether two nodes read weights of equal types and shapes at the same place
  // whose values differ. Each pair of weights is compared once.
  bool Differ(NodeId a, NodeId b) {
    bool differ = false;
    ForEachPair(
        a_.model().Inputs(a), b_.model().Inputs(b),
        [&](std::size_t, ValueId old, ValueId now) {
          const Initializer* const x = a_.model().InitializerOf(old);
          const Initializer* const y = b_.model().InitializerOf(now);
          if (x == nullptr || y == nullptr || x->data_type != y->data_type) {
            return;
          }
          // Another shape is told without the values.
          const auto dims_x = a_.model().Dims(*x);
          const auto dims_y = b_.model().Dims(*y);
          if (std::equal(dims_x.begin(), dims_x.end(), dims_y.begin(),
                         dims_y.end())) {
            differ |= Compare(old, now);
          }
        });
    return differ;
  }

 private:
  bool Compare(ValueId a, ValueId b) {
    const auto [at, fresh] = compared_.try_emplace({a, b}, false);
    if (!fresh) return at->second;
    TensorData x;
    TensorData y;
    const WeightFiles::Piece piece_x = weights_a_.Read(a, x);
    const WeightFiles::Piece piece_y = weights_b_.Read(b, y);
    if (piece_x.bytes.empty() || piece_y.bytes.empty()) {
      ++counts_.unread_weights;
      return false;
    }
    at->second = !WeightFiles::HaveSameBytes(piece_x, piece_y);
    ++(at->second ? counts_.changed_weights : counts_.equal_weights);
    return at->second;
  }

  const ModelFile& a_;
  const ModelFile& b_;
  WeightFile weights_a_;
  WeightFile weights_b_;
  std::map<std::pair<ValueId, ValueId>, bool> compared_;
  TagDifference& counts_;
};

// ---------------------------------------------------------------- wiring
// Which values two paired nodes read. Values correspond if paired nodes make
// them; where one is made by a node that only one version has, nothing is said.
class Wiring {
 public:
  // `counterparts`: by node of B.
  Wiring(const TaggedModel& a, const TaggedModel& b,
         const IdVector<NodeId, NodeId>& counterparts)
      : a_(a), b_(b), counterparts_(counterparts) {
    for (const NodeId node : b_.model.Nodes()) {
      if (counterparts[node] == kNo<NodeId>) continue;
      b_.paired[node] = a_.paired[counterparts[node]] = true;
    }
    std::unordered_set<std::string_view> inputs;
    for (const ValueId value : a_.model[GraphId{0}].inputs) {
      if (a_.model.InitializerOf(value) != nullptr) continue;
      inputs.insert(a_.model.ValueName(value));
    }
    for (const ValueId value : b_.model[GraphId{0}].inputs) {
      const std::string_view name = b_.model.ValueName(value);
      if (inputs.contains(name)) shared_inputs_.insert(name);
    }
  }

  // "reads layers.0.norm instead of layers.1.norm"; empty if nothing differs.
  std::string Compare(NodeId node_a, NodeId node_b) const {
    const auto old = a_.model.Inputs(node_a);
    const auto now = b_.model.Inputs(node_b);
    const std::size_t count = std::min(old.size(), now.size());
    for (std::size_t i = 0; i < count; ++i) {
      if (!Differ(old[i], now[i])) continue;
      // Exporters choose the order of these inputs.
      const bool swapped = count == 2 &&
                           b_.facts.ops.Is(node_b, {OpKind::kCommutative}) &&
                           !Differ(old[0], now[1]) && !Differ(old[1], now[0]);
      if (swapped) return "";
      const std::string instead = Instead(old[i], now[i]);
      return instead.empty() ? "" : "reads " + instead;
    }
    return "";
  }

  // "output y is layers.0 instead of layers.1", for each output that both have.
  void CompareOutputs(std::vector<std::string>& differences) const {
    std::unordered_map<std::string_view, ValueId> in_a;
    for (const ValueId value : a_.model[GraphId{0}].outputs) {
      in_a.emplace(a_.model.ValueName(value), value);
    }
    for (const ValueId value : b_.model[GraphId{0}].outputs) {
      const auto at = in_a.find(b_.model.ValueName(value));
      if (at == in_a.end() || !Differ(at->second, value)) continue;
      const std::string instead = Instead(at->second, value);
      if (instead.empty()) continue;
      differences.push_back(
          Message("output {} is {}", Short{at->first, 100}, Ours{instead}));
    }
  }

 private:
  // One version.
  struct Side {
    explicit Side(const TaggedModel& tagged)
        : model(tagged.model()),
          tagging(tagged.tagging()),
          facts(model),
          roots(Roots(model, facts)),
          places(OutputPlaces(model)),
          paired(model.node_count(), false) {
      std::map<std::pair<ModuleId, std::string_view>, std::uint32_t> counts;
      for (const NodeId node : model.Nodes()) {
        numbers.Add(++counts[{tagging.tags[node].module, model.OpType(node)}]);
      }
    }

    const Model& model;
    const Tagging& tagging;
    const GraphFacts facts;
    const IdVector<ValueId, ValueId> roots;
    const IdVector<ValueId, std::uint32_t> places;
    IdVector<NodeId, bool> paired;
    // By node: the first of its operator in its module is 1.
    IdVector<NodeId, std::uint32_t> numbers;
  };

  // By value: where it comes from, before nodes that only move it.
  static IdVector<ValueId, ValueId> Roots(const Model& model,
                                          const GraphFacts& facts) {
    IdVector<ValueId, ValueId> roots;
    for (const ValueId value : AllIds<ValueId>(model.value_count())) {
      roots.Add(value);
    }
    for (const NodeId node : model.Nodes()) {
      const ValueId input = FirstInput(model, node);
      const ValueId output = FirstOutput(model, node);
      if (input == kNo<ValueId> || output == kNo<ValueId> ||
          !facts.ops.Is(
              node, {OpKind::kIdentity, OpKind::kDropout, OpKind::kCast,
                     OpKind::kQuantizer, OpKind::kDequantizer, OpKind::kReshape,
                     OpKind::kTranspose, OpKind::kExpand})) {
        continue;
      }
      roots[output] = roots[input];
    }
    return roots;
  }

  bool Differ(ValueId old, ValueId now) const {
    if (old == kNo<ValueId> || now == kNo<ValueId> ||
        !a_.facts.data.Contains(old) || !b_.facts.data.Contains(now)) {
      return false;
    }
    old = a_.roots[old];
    now = b_.roots[now];
    if (!HasCounterpart(a_, old) || !HasCounterpart(b_, now)) return false;
    const NodeId maker_a = a_.model.Producer(old);
    const NodeId maker_b = b_.model.Producer(now);
    if (maker_a == kNo<NodeId> || maker_b == kNo<NodeId>) {
      return maker_a != maker_b ||
             a_.model.ValueName(old) != b_.model.ValueName(now);
    }
    return counterparts_[maker_b] != maker_a ||
           (a_.model.OpType(maker_a) == b_.model.OpType(maker_b) &&
            a_.places[old] != b_.places[now]);
  }

  bool HasCounterpart(const Side& side, ValueId value) const {
    const NodeId maker = side.model.Producer(value);
    return maker != kNo<NodeId>
               ? side.paired[maker]
               : shared_inputs_.contains(side.model.ValueName(value));
  }

  // "layers.0 instead of layers.1"; of one module, the nodes in it: "Mul 2
  // instead of Mul 1 of layers.0". Empty where both are said alike: the nodes
  // were not paired, but nothing shows that they differ.
  std::string Instead(ValueId old, ValueId now) const {
    const std::string from = ModuleText(a_, old);
    const std::string to = ModuleText(b_, now);
    if (from != to) return to + " instead of " + from;
    const std::string node_a = NodeInModule(a_, old);
    const std::string node_b = NodeInModule(b_, now);
    return node_a == node_b
               ? ""
               : fmt::format("{} instead of {} of {}", node_b, node_a, to);
  }

  static std::string ModuleText(const Side& side, ValueId value) {
    const ValueId root = side.roots[value];
    const NodeId maker = side.model.Producer(root);
    const std::string own =
        Message("{}", Short{side.model.ValueName(root), 100});
    return maker == kNo<NodeId> ? own : ModuleOf(side.tagging, maker, own);
  }

  // "Mul 2", "Split 1, output 3"
  static std::string NodeInModule(const Side& side, ValueId value) {
    const ValueId root = side.roots[value];
    const NodeId maker = side.model.Producer(root);
    if (maker == kNo<NodeId>) return "";
    std::string text = Message("{} {}", Short{side.model.OpType(maker), 60},
                               side.numbers[maker]);
    if (side.model.Outputs(maker).size() > 1) {
      text += fmt::format(", output {},", side.places[root] + 1);
    }
    return text;
  }

  Side a_, b_;
  const IdVector<NodeId, NodeId>& counterparts_;
  std::unordered_set<std::string_view> shared_inputs_;
};

// ---------------------------------------------------------------- modules
// The modules of both versions, by path; the first stands for untagged nodes.
class Comparison {
 public:
  Comparison(const TaggedModel& a, const TaggedModel& b, bool weights)
      : a_(a),
        b_(b),
        same_graph_(a.about().fingerprint == b.about().fingerprint &&
                    a.model().node_count() == b.model().node_count()) {
    if (weights) weights_.emplace(*a.file(), *b.file(), result_);
    rows_.emplace_back().untagged = true;
    AddModules(a.tagging(), rows_a_, true);
    AddModules(b.tagging(), rows_b_, false);
  }

  TagDifference Compare() {
    IdVector<NodeId, NodeId> counterparts = Counterparts();
    PairByModule(counterparts);
    const Wiring wiring(a_, b_, counterparts);
    IdVector<NodeId, bool> paired(a_.model().node_count(), false);
    for (const NodeId node : b_.model().Nodes()) {
      const NodeId counterpart = counterparts[node];
      ++RowB(node).nodes_b;
      if (counterpart == kNo<NodeId>) {
        ++RowB(node).added[std::string(b_.model().OpType(node))];
      } else {
        paired[counterpart] = true;
        ComparePair(counterpart, node, wiring);
      }
    }
    for (const NodeId node : a_.model().Nodes()) {
      ++RowA(node).nodes_a;
      if (!paired[node])
        ++RowA(node).removed[std::string(a_.model().OpType(node))];
    }
    for (ModuleDifference& row : rows_) Finish(row);
    // Sidecars have no opsets, attributes and types.
    if (a_.file() != nullptr && b_.file() != nullptr) {
      result_.opsets = CompareOpsets(a_.model(), b_.model());
      result_.interface = CompareInterfaces(a_.model(), b_.model());
    }
    wiring.CompareOutputs(result_.interface);
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
    if (same_graph_) {
      IdVector<NodeId, NodeId> same;
      for (const NodeId node : b_.model().Nodes()) same.Add(node);
      return same;
    }
    return FindCounterparts(a_.model(), b_.model());
  }

  // Equal blocks without names may be paired with any of their kind, and names
  // that only count, as dynamo's, are equal for nodes of different modules. A
  // module that both versions have is paired with that of the same path; the
  // operators in it are paired in their order.
  void PairByModule(IdVector<NodeId, NodeId>& counterparts) {
    IdVector<NodeId, bool> paired(a_.model().node_count(), false);
    IdVector<NodeId, bool> free_a(a_.model().node_count(), false);
    IdVector<NodeId, bool> free_b(b_.model().node_count(), false);
    for (const NodeId node : b_.model().Nodes()) {
      NodeId& counterpart = counterparts[node];
      if (counterpart == kNo<NodeId>) continue;
      if (&RowA(counterpart) != &RowB(node) &&
          (RowA(counterpart).in_b || RowB(node).in_a) &&
          ProvesNothing(counterpart, node)) {
        free_a[counterpart] = free_b[node] = true;
        counterpart = kNo<NodeId>;
      } else {
        paired[counterpart] = true;
      }
    }
    // By module and operator: the nodes of A without a counterpart, last first.
    std::map<std::pair<const ModuleDifference*, std::string_view>,
             std::vector<NodeId>>
        open;
    for (std::size_t i = a_.model().node_count(); i-- > 0;) {
      const auto node = MakeId<NodeId>(i);
      if (paired[node] || !RowA(node).in_b) continue;
      if (!free_a[node] && !IsFound(a_, node)) continue;
      open[{&RowA(node), a_.model().OpType(node)}].push_back(node);
    }
    for (const NodeId node : b_.model().Nodes()) {
      if (counterparts[node] != kNo<NodeId>) continue;
      if (!free_b[node] && !IsFound(b_, node)) continue;
      const auto at = open.find({&RowB(node), b_.model().OpType(node)});
      if (at == open.end() || at->second.empty()) continue;
      counterparts[node] = at->second.back();
      at->second.pop_back();
    }
  }

  static bool IsFound(const TaggedModel& model, NodeId node) {
    return model.tagging().tags[node].source == Source::kStructure;
  }
  static bool IsHigh(const TaggedModel& model, NodeId node) {
    const Tag& tag = model.tagging().tags[node];
    return tag.tagged() && tag.confidence >= Confidence::kHigh;
  }

  // Whether a pair of nodes rests on a block's look, or on equal numbers in the
  // names of values where both tags are better evidence.
  bool ProvesNothing(NodeId a, NodeId b) const {
    if (IsFound(a_, a) && IsFound(b_, b)) return true;
    if (same_graph_ || !IsHigh(a_, a) || !IsHigh(b_, b)) return false;
    const ValueId old = FirstOutput(a_.model(), a);
    const ValueId now = FirstOutput(b_.model(), b);
    if (old == kNo<ValueId> || now == kNo<ValueId>) return false;
    const std::string_view name = b_.model().ValueName(now);
    return a_.model().ValueName(old) == name && transfer::IsCounted(name);
  }

  void ComparePair(NodeId a, NodeId b, const Wiring& wiring) {
    ModuleDifference& from = RowA(a);
    ModuleDifference& to = RowB(b);
    if (&from != &to) {
      ++from.moved_out;
      ++to.moved_in;
      result_.moved.push_back({a, b});
      return;
    }
    const std::string_view op_a = a_.model().OpType(a);
    const std::string_view op_b = b_.model().OpType(b);
    if (op_a != op_b) {
      ++to.changed[{std::string(op_a), std::string(op_b)}];
      return;
    }
    if (const std::string other = wiring.Compare(a, b); !other.empty()) {
      ++to.altered[Message("{} {}", op_b, Ours{other})];
    }
    if (a_.file() != nullptr && b_.file() != nullptr) {
      for (const std::string& difference :
           CompareNodes(a_.model(), a, b_.model(), b, settings_)) {
        ++to.altered[Message("{} {}", op_b, difference)];
      }
      if (weights_ && weights_->Differ(a, b)) {
        ++to.altered[Message("{} weight values", op_b)];
      }
    }
    if (!to.untagged && RoleOf(a_, a) != RoleOf(b_, b)) ++to.roles;
  }

  // Attention kinds are in sidecars and not in tagged models.
  static Role RoleOf(const TaggedModel& model, NodeId node) {
    const Tagging& tagging = model.tagging();
    Role role = tagging.roles[tagging.tags[node].role];
    role.attention_kind = AttentionKind::kNone;
    role.confidence = Confidence::kLow;
    return role;
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
  const bool same_graph_;
  std::optional<WeightComparison> weights_;
  ComparedSettings settings_;
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
         other_class() || only_in_one();
}

TagDifference CompareTags(const TaggedModel& a, const TaggedModel& b,
                          bool weights) {
  return Comparison(a, b, weights).Compare();
}

}  // namespace onnx_tag
