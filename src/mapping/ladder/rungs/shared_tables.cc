#include "mapping/ladder/rungs/shared_tables.h"

#include <algorithm>
#include <map>
#include <set>

#include "mapping/ladder/rungs/graph_patterns.h"

namespace onnx_tag {
namespace {

class SharedTables {
 public:
  SharedTables(const Evidence& evidence, const Placed& placed,
               const DataValues& data)
      : evidence_(evidence),
        model_(evidence.model),
        placed_(placed),
        data_(data),
        call_(model_.node_count(), kNone),
        group_(model_.node_count(), kNone) {}

  std::vector<SharedCalls> Run() {
    FindReaders();
    std::vector<SharedCalls> found;
    for (SharedCalls& calls : JoinReaders()) {
      if (calls.size() < 2 || calls.size() > kMostCalls) continue;
      Number(calls);
      GrowBehind(calls);
      GrowBefore(calls);
      found.push_back(std::move(calls));
    }
    return found;
  }

 private:
  static constexpr std::size_t kNone = static_cast<std::size_t>(-1);
  static constexpr std::size_t kMostCalls = 4096;
  static constexpr std::size_t kMostNodes = 200;  // of a call

  bool IsOpen(NodeId node) const {
    return !placed_[node].tagged() && data_.IsMadeBy(node) &&
           !HasHiddenWeight(evidence_, node);
  }

  // A table that is looked up: not a size, and nobody's parameter.
  bool IsTable(ValueId value) const {
    if (value == kNo<ValueId> || data_.Contains(value) ||
        evidence_.ParameterOf(value) != kNo<ParameterId>) {
      return false;
    }
    const NodeId producer = model_.Producer(value);
    return producer == kNo<NodeId> ? model_.InitializerOf(value) != nullptr
                                   : model_.OpType(producer) == "Constant";
  }

  // By value: the table that it is cut from, or kNo.
  void FindReaders() {
    table_of_.resize(model_.value_count(), kNo<ValueId>);
    for (const NodeId node : model_[GraphId{0}].nodes) {
      if (data_.IsMadeBy(node)) continue;
      const std::string_view op = model_.OpType(node);
      const ValueId first = FirstInput(model_, node);
      if (first == kNo<ValueId>) continue;
      ValueId table = table_of_[first];
      if ((op == "Slice" || op == "Gather") && IsTable(first)) table = first;
      if (table == kNo<ValueId> || op == "Shape") continue;
      for (const ValueId output : model_.Outputs(node)) {
        if (output != kNo<ValueId>) table_of_[output] = table;
      }
    }
  }

  NodeId Find(NodeId node) {
    while (joined_.at(node) != node)
      node = joined_[node] = joined_[joined_[node]];
    return node;
  }

  void Join(NodeId a, NodeId b) {
    a = Find(a);
    b = Find(b);
    joined_[std::max(a, b)] = std::min(a, b);
  }

  // A piece that a tool has cut already: a constant of floats for several
  // positions.
  bool IsPiece(ValueId value) const {
    if (!IsTable(value)) return false;
    const Initializer* tensor = model_.InitializerOf(value);
    const auto readers = model_.Consumers(value);
    return tensor != nullptr && tensor->rank >= 2 && tensor->data_type == 1 &&
           std::all_of(readers.begin(), readers.end(), [&](NodeId reader) {
             return model_.OpType(reader) == "Mul";
           });
  }

  // The open nodes that read what is cut from a table. Those that read the same
  // piece, or feed the same node, are of one call; calls with the same tables
  // are calls of one module. A piece that is a constant is read by all calls;
  // then those that read the same data are of one call.
  std::vector<SharedCalls> JoinReaders() {
    std::map<ValueId, NodeId> by_piece;
    std::map<NodeId, std::set<ValueId>> tables;
    for (const NodeId node : model_[GraphId{0}].nodes) {
      if (!IsOpen(node)) continue;
      bool direct = false;
      for (const ValueId input : model_.Inputs(node)) {
        if (input == kNo<ValueId>) continue;
        const bool cut = table_of_[input] != kNo<ValueId>;
        if (!cut && !IsPiece(input)) continue;
        joined_.emplace(node, node);
        tables[node].insert(cut ? table_of_[input] : input);
        direct = direct || !cut;
        if (!cut) continue;
        const auto [piece, added] = by_piece.emplace(input, node);
        if (!added) Join(piece->second, node);
      }
      for (const ValueId input : model_.Inputs(node)) {
        if (!direct || !data_.Contains(input)) continue;
        const auto [piece, added] = by_piece.emplace(input, node);
        if (!added) Join(piece->second, node);
      }
    }
    std::map<NodeId, NodeId> by_reader;
    for (const auto& [node, unused] : tables) {
      for (const ValueId output : model_.Outputs(node)) {
        if (output == kNo<ValueId>) continue;
        for (const NodeId reader : model_.Consumers(output)) {
          const auto [other, added] = by_reader.emplace(reader, node);
          if (!added) Join(other->second, node);
        }
      }
    }
    std::map<NodeId, std::vector<NodeId>> calls;
    std::map<NodeId, std::set<ValueId>> tables_of_call;
    for (const auto& [node, read] : tables) {
      calls[Find(node)].push_back(node);
      tables_of_call[Find(node)].insert(read.begin(), read.end());
    }
    std::map<std::pair<std::set<ValueId>, std::vector<std::string_view>>,
             SharedCalls>
        groups;
    for (auto& [first, nodes] : calls) {
      // A lone product with a constant is a scale.
      if (nodes.size() == 1 && !IsCut(nodes[0])) continue;
      groups[{tables_of_call[first], OpsOf(nodes)}].push_back(std::move(nodes));
    }
    std::vector<SharedCalls> found;
    for (auto& [kind, group] : groups) found.push_back(std::move(group));
    return found;
  }

  bool IsCut(NodeId node) const {
    const auto inputs = model_.Inputs(node);
    return std::any_of(inputs.begin(), inputs.end(), [&](ValueId input) {
      return input != kNo<ValueId> && table_of_[input] != kNo<ValueId>;
    });
  }

  std::vector<std::string_view> OpsOf(const std::vector<NodeId>& nodes) const {
    std::vector<std::string_view> ops;
    for (const NodeId node : nodes) ops.push_back(model_.OpType(node));
    return ops;
  }

  void Number(const SharedCalls& calls) {
    ++groups_;
    for (std::size_t i = 0; i < calls.size(); ++i) {
      for (const NodeId node : calls[i]) Take(node, i);
    }
  }

  void Take(NodeId node, std::size_t call) {
    group_[node] = groups_;
    call_[node] = call;
  }

  bool IsIn(NodeId node, std::size_t call) const {
    return group_[node] == groups_ && call_[node] == call;
  }

  // Adds what each call does next, as long as all do the same.
  bool AddAlike(SharedCalls& calls, std::vector<std::vector<NodeId>> next) {
    for (std::vector<NodeId>& nodes : next) {
      std::sort(nodes.begin(), nodes.end());
      nodes.erase(std::unique(nodes.begin(), nodes.end()), nodes.end());
      if (nodes.empty() || OpsOf(nodes) != OpsOf(next[0])) return false;
    }
    for (std::size_t i = 0; i < calls.size(); ++i) {
      for (const NodeId node : next[i]) {
        Take(node, i);
        calls[i].push_back(node);
      }
    }
    return calls[0].size() < kMostNodes;
  }

  // What reads nothing but what the call made.
  void GrowBehind(SharedCalls& calls) {
    std::vector<std::vector<NodeId>> last = calls;
    do {
      std::vector<std::vector<NodeId>> next(calls.size());
      for (std::size_t i = 0; i < calls.size(); ++i) {
        for (const NodeId node : last[i]) {
          for (const ValueId output : model_.Outputs(node)) {
            if (output == kNo<ValueId>) continue;
            for (const NodeId reader : model_.Consumers(output)) {
              if (IsOpen(reader) && !IsIn(reader, i) && ReadsOnly(reader, i)) {
                next[i].push_back(reader);
              }
            }
          }
        }
      }
      last = next;
      if (!AddAlike(calls, std::move(next))) return;
    } while (true);
  }

  bool ReadsOnly(NodeId node, std::size_t call) const {
    for (const ValueId input : model_.Inputs(node)) {
      if (data_.Contains(input) && (model_.Producer(input) == kNo<NodeId> ||
                                    !IsIn(model_.Producer(input), call))) {
        return false;
      }
    }
    return true;
  }

  // What makes the inputs of the call, and nothing else.
  void GrowBefore(SharedCalls& calls) {
    std::vector<std::vector<NodeId>> next(calls.size());
    for (std::size_t i = 0; i < calls.size(); ++i) {
      for (const NodeId node : calls[i]) {
        for (const ValueId input : model_.Inputs(node)) {
          if (!data_.Contains(input)) continue;
          const NodeId producer = ProducerOf(model_, input);
          if (producer != kNo<NodeId> && IsOpen(producer) &&
              !IsIn(producer, i) && Serves(producer, i)) {
            next[i].push_back(producer);
          }
        }
      }
    }
    AddAlike(calls, std::move(next));
  }

  bool Serves(NodeId node, std::size_t call) const {
    for (const ValueId output : model_.Outputs(node)) {
      if (output == kNo<ValueId>) continue;
      for (const NodeId reader : model_.Consumers(output)) {
        if (data_.IsMadeBy(reader) && !IsIn(reader, call)) return false;
      }
    }
    return true;
  }

  const Evidence& evidence_;
  const Model& model_;
  const Placed& placed_;
  const DataValues& data_;
  IdVector<ValueId, ValueId> table_of_;
  std::map<NodeId, NodeId> joined_;
  IdVector<NodeId, std::size_t> call_;   // which call of its group
  IdVector<NodeId, std::size_t> group_;  // the last group that took it
  std::size_t groups_ = 0;
};

}  // namespace

std::vector<SharedCalls> FindSharedCalls(const Evidence& evidence,
                                         const Placed& placed,
                                         const DataValues& data) {
  using hierarchy::Dialect;
  // dynamo names a shared object after its caller.
  if (evidence.dialect == Dialect::kDynamo ||
      evidence.dialect == Dialect::kDynamoStripped) {
    return {};
  }
  return SharedTables(evidence, placed, data).Run();
}

}  // namespace onnx_tag
