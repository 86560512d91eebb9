#include "mapping/ladder/rungs/shared_tables.h"

#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include "base/union_find.h"
#include "mapping/ladder/rungs/rung_base.h"

namespace onnx_tag {
namespace {

class SharedTables : RungBase {
 public:
  SharedTables(const Evidence& evidence, const Placed& placed)
      : RungBase(evidence, placed),
        table_of_(model_.value_count(), kNo<ValueId>),
        call_of_(model_.node_count()),
        call_(model_.node_count(), kNone),
        group_(model_.node_count(), kNone),
        seen_(model_.node_count(), 0) {}

  std::vector<SharedCalls> Run() {
    FindTables();
    std::vector<SharedCalls> found;
    for (SharedCalls& calls : JoinReaders()) {
      if (calls.size() < 2 || calls.size() > kMostCalls) continue;
      ++groups_;
      for (std::size_t i = 0; i < calls.size(); ++i) {
        for (const NodeId node : calls[i]) Take(node, i);
      }
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

  bool MayTake(NodeId node) const {
    return IsOpen(node) && IsData(node) && !ReadsConstantWeight(node);
  }

  // A table that is looked up: not a size, and nobody's parameter.
  bool IsTable(ValueId value) const {
    if (value == kNo<ValueId> || data_.Contains(value) ||
        evidence_.ParameterOf(value) != kNo<ParameterId>) {
      return false;
    }
    const NodeId producer = model_.Producer(value);
    return producer == kNo<NodeId> ? model_.InitializerOf(value) != nullptr
                                   : ops_.Is(producer, OpKind::kConstant);
  }

  void FindTables() {
    for (const NodeId node : model_[GraphId{0}].nodes) {
      const ValueId first = FirstInput(model_, node);
      if (IsData(node) || first == kNo<ValueId>) continue;
      ValueId table = table_of_[first];
      if (ops_.Is(node, {Op::kSlice, Op::kGather}) && IsTable(first)) {
        table = first;
      }
      if (ops_.Is(node, OpKind::kShapeOf)) continue;
      for (const ValueId output : model_.Outputs(node)) {
        if (output != kNo<ValueId>) table_of_[output] = table;
      }
    }
  }

  // A piece that a tool has cut already: a constant of floats for several
  // positions.
  bool IsPiece(ValueId value) {
    if (!IsTable(value)) return false;
    // Found once: it may have as many readers as the file has nodes.
    const auto [at, is_new] = pieces_.try_emplace(value);
    if (is_new) at->second = OnlyMulsRead(value);
    return at->second;
  }

  bool OnlyMulsRead(ValueId value) const {
    const Initializer* tensor = model_.InitializerOf(value);
    return tensor != nullptr && tensor->rank >= 2 && tensor->data_type == 1 &&
           AllIn(model_.Consumers(value),
                 [&](NodeId reader) { return ops_[reader] == Op::kMul; });
  }

  // The open nodes that read what is cut from a table. Those that read the same
  // piece, or feed the same node, are of one call; calls with the same tables
  // are calls of one module. A piece that is a constant is read by all calls;
  // then those that read the same data are of one call.
  std::vector<SharedCalls> JoinReaders() {
    std::map<ValueId, NodeId> by_piece;
    std::map<NodeId, NodeId> by_reader;
    std::map<NodeId, std::set<ValueId>> tables;
    const auto join = [&](auto& by, auto key, NodeId node) {
      const auto [other, added] = by.emplace(key, node);
      if (!added) call_of_.Join(other->second, node);
    };
    for (const NodeId node : model_[GraphId{0}].nodes) {
      if (!MayTake(node)) continue;
      bool direct = false;
      for (const ValueId input : model_.Inputs(node)) {
        if (IsCut(input)) {
          tables[node].insert(table_of_[input]);
          join(by_piece, input, node);
        } else if (IsPiece(input)) {
          tables[node].insert(input);
          direct = true;
        }
      }
      for (const ValueId input : model_.Inputs(node)) {
        if (direct && data_.Contains(input)) join(by_piece, input, node);
      }
    }
    for (const auto& [node, unused] : tables) {
      for (const NodeId reader : ReadersOf(node)) join(by_reader, reader, node);
    }
    std::map<NodeId, std::vector<NodeId>> calls;
    std::map<NodeId, std::set<ValueId>> tables_of_call;
    for (const auto& [node, read] : tables) {
      calls[call_of_.Find(node)].push_back(node);
      tables_of_call[call_of_.Find(node)].insert(read.begin(), read.end());
    }
    std::map<std::pair<std::set<ValueId>, std::vector<NameId>>, SharedCalls>
        groups;
    for (auto& [first, nodes] : calls) {
      // A lone product with a constant is a scale.
      if (nodes.size() == 1 &&
          !AnyIn(model_.Inputs(nodes[0]),
                 [&](ValueId input) { return IsCut(input); })) {
        continue;
      }
      groups[{tables_of_call[first], OpsOf(nodes)}].push_back(std::move(nodes));
    }
    std::vector<SharedCalls> found;
    for (auto& [kind, group] : groups) found.push_back(std::move(group));
    return found;
  }

  bool IsCut(ValueId value) const {
    return value != kNo<ValueId> && table_of_[value] != kNo<ValueId>;
  }

  void Take(NodeId node, std::size_t call) {
    group_[node] = groups_;
    call_[node] = call;
  }

  bool IsIn(NodeId node, std::size_t call) const {
    return group_[node] == groups_ && call_[node] == call;
  }

  // Whether it is the first time in this round: a node with many inputs is
  // beside as many nodes of the call.
  bool See(NodeId node) { return std::exchange(seen_[node], round_) != round_; }

  // Adds what each call does next, as long as all do the same.
  bool AddAlike(SharedCalls& calls, std::vector<std::vector<NodeId>> next) {
    for (std::vector<NodeId>& nodes : next) {
      std::sort(nodes.begin(), nodes.end());
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
        ++round_;
        for (const NodeId node : last[i]) {
          for (const NodeId reader : ReadersOf(node)) {
            if (See(reader) && MayTake(reader) && !IsIn(reader, i) &&
                ReadsOnly(reader, i)) {
              next[i].push_back(reader);
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
      ++round_;
      for (const NodeId node : calls[i]) {
        for (const NodeId maker : MakersOf(node)) {
          if (See(maker) && MayTake(maker) && !IsIn(maker, i) &&
              Serves(maker, i)) {
            next[i].push_back(maker);
          }
        }
      }
    }
    AddAlike(calls, std::move(next));
  }

  bool Serves(NodeId node, std::size_t call) const {
    for (const NodeId reader : ReadersOf(node)) {
      if (IsData(reader) && !IsIn(reader, call)) return false;
    }
    return true;
  }

  IdVector<ValueId, ValueId> table_of_;  // that a value is cut from, or kNo
  UnionFind<NodeId> call_of_;
  IdVector<NodeId, std::size_t> call_;   // which call of its group
  IdVector<NodeId, std::size_t> group_;  // the last group that took it
  IdVector<NodeId, std::size_t> seen_;   // in which round
  std::size_t round_ = 0;
  std::map<ValueId, bool> pieces_;
  std::size_t groups_ = 0;
};

}  // namespace

std::vector<SharedCalls> FindSharedCalls(const Evidence& evidence,
                                         const Placed& placed) {
  // dynamo names a shared object after its caller.
  if (hierarchy::IsDynamo(evidence.dialect)) return {};
  return SharedTables(evidence, placed).Run();
}

}  // namespace onnx_tag
