#include "clues/projection/call_order.h"

#include <algorithm>
#include <functional>
#include <queue>
#include <set>
#include <utility>

namespace onnx_tag {

CallTable::CallTable(const std::vector<CalledModule>& of)
    : calls(of), next(of.size(), of.size()), next_leaf(of.size(), of.size()) {
  std::map<std::size_t, std::size_t> last;  // by caller
  for (std::size_t i = 0; i < calls.size(); ++i) {
    first.emplace(calls[i].module, i);
    const auto [at, is_new] = last.try_emplace(calls[i].caller, i);
    if (!is_new) next[std::exchange(at->second, i)] = i;
  }
  for (std::size_t i = calls.size(); i-- > 1;) {
    const TorchPattern* const pattern = BuiltInTorchOps().Find(calls[i].kind);
    const bool leaves_nodes = pattern == nullptr || pattern->size > 0;
    next_leaf[i - 1] =
        !calls[i].calls_others && leaves_nodes ? i : next_leaf[i];
  }
}

NodeTokenId OnlySource(const NodeToken& token) {
  const auto& sources = token.sources;
  const bool one = !sources.empty() && AllIn(sources, [&](NodeTokenId source) {
    return source == sources.front();
  });
  return one ? sources.front() : kNo<NodeTokenId>;
}

namespace {

// A norm or an activation that is the next call runs at once, however late
// something reads it: a branch beside it may come first in the file.
void RunNextCallsAtOnce(const NodeTokens& table, const CallTable& call_table,
                        std::vector<const std::string*>* known,
                        IdVector<NodeTokenId, std::size_t>* keys) {
  const std::vector<CalledModule>& calls = call_table.calls;
  const TorchOps& ops = BuiltInTorchOps();
  const auto pattern_of = [&](std::size_t call) -> const TorchPattern* {
    return call >= calls.size() || HasMatrix(calls[call].weights)
               ? nullptr
               : ops.Find(calls[call].kind);
  };
  IdVector<NodeTokenId, std::size_t> runs_in(keys->size(), calls.size());
  for (const NodeTokenId id : AllIds<NodeTokenId>(keys->size())) {
    const NodeToken& token = table.tokens[id];
    if (const std::string* const module = (*known)[Index(token.node)]) {
      if (call_table.FirstOf(*module) == (*keys)[id]) runs_in[id] = (*keys)[id];
      continue;
    }
    std::size_t last = 0;
    bool is_known = !token.sources.empty();
    for (const NodeTokenId source : token.sources) {
      is_known = is_known && runs_in[source] < calls.size();
      last = std::max(last, runs_in[source]);
    }
    if (!is_known) continue;
    std::size_t next = call_table.next_leaf[last];
    const TorchPattern* const begun = pattern_of(last);
    const TorchPattern* begins = pattern_of(next);
    const auto takes = [&](const TorchPattern* pattern) {
      return pattern != nullptr && ops.Accepts(*pattern, token.op) &&
             (token.whole == Op::kNone || ops.Accepts(*pattern, token.whole));
    };
    if (begins != nullptr && !takes(begins) && begins->folds) {
      next = call_table.next_leaf[next];
      begins = pattern_of(next);
    }
    if (begins != nullptr && ops.IsHead(*begins, token.op)) {
      runs_in[id] = next;
    } else if (takes(begun)) {
      runs_in[id] = last;
    } else if (takes(begins)) {
      runs_in[id] = next;
    } else {
      continue;
    }
    (*keys)[id] = runs_in[id];
    (*known)[Index(token.node)] = &calls[runs_in[id]].module;
  }
}

// The call of the module that the file names for each token, or the first call
// that needs it. In a Sequential, what reads a module's result runs at once.
IdVector<NodeTokenId, std::size_t> CallKeys(
    const NodeTokens& table, const CallTable& call_table,
    const std::vector<const std::string*>& known) {
  const std::vector<CalledModule>& calls = call_table.calls;
  std::set<std::string_view> again;
  for (std::size_t i = 0; i < calls.size(); ++i) {
    if (call_table.FirstOf(calls[i].module) != i) {
      again.insert(calls[i].module);
    }
  }
  IdVector<NodeTokenId, std::size_t> keys(table.tokens.size(), calls.size());
  for (std::size_t i = keys.size(); i-- > 0;) {
    const NodeTokenId id = MakeId<NodeTokenId>(i);
    const std::string* const module = known[Index(table.tokens[id].node)];
    if (module != nullptr && !again.contains(*module)) {
      const std::size_t call = call_table.FirstOf(*module);
      if (call < calls.size()) keys[id] = call;
    }
    for (const NodeTokenId source : table.tokens[id].sources) {
      keys[source] = std::min(keys[source], keys[id]);
    }
  }
  IdVector<NodeTokenId, bool> in_sequence(keys.size(), false);
  for (const NodeTokenId id : AllIds<NodeTokenId>(keys.size())) {
    const std::string* const module = known[Index(table.tokens[id].node)];
    if (module != nullptr) {
      const std::size_t call = call_table.FirstOf(*module);
      in_sequence[id] =
          call < calls.size() && call_table.IsInTurn(call) && keys[id] == call;
      continue;
    }
    const NodeTokenId source = OnlySource(table.tokens[id]);
    if (source == kNo<NodeTokenId> || !in_sequence[source]) continue;
    keys[id] = keys[source];
    in_sequence[id] = true;
  }
  return keys;
}

}  // namespace

NodeTokens SortByCalls(const NodeTokens& table, const CallTable& call_table,
                       std::vector<const std::string*>* modules) {
  IdVector<NodeTokenId, std::size_t> keys =
      CallKeys(table, call_table, *modules);
  RunNextCallsAtOnce(table, call_table, modules, &keys);
  const std::size_t count = table.tokens.size();
  const auto readers = ReadersOf(table.tokens);
  IdVector<NodeTokenId, std::size_t> waits(count, 0);
  using Item = std::pair<std::size_t, NodeTokenId>;
  std::priority_queue<Item, std::vector<Item>, std::greater<>> ready;
  for (const NodeTokenId id : AllIds<NodeTokenId>(count)) {
    waits[id] = table.tokens[id].sources.size();
    if (waits[id] == 0) ready.emplace(keys[id], id);
  }
  std::vector<NodeTokenId> order;
  while (!ready.empty()) {
    const NodeTokenId id = ready.top().second;
    ready.pop();
    order.push_back(id);
    for (const NodeTokenId reader : readers[id]) {
      if (--waits[reader] == 0) ready.emplace(keys[reader], reader);
    }
  }
  return InOrder(table, order);
}

}  // namespace onnx_tag
