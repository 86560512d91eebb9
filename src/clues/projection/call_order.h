// The order in which the modules of a hierarchy are called, and the nodes of a
// file in that order.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "clues/projection/node_tokens.h"
#include "clues/projection/project.h"

namespace onnx_tag {

// The calls, and how to find them. Made once for all orders of the tokens.
struct CallTable {
  explicit CallTable(const std::vector<CalledModule>& of);

  // The first call of a module; the number of calls if there is none.
  std::size_t FirstOf(std::string_view module) const {
    const auto at = first.find(module);
    return at == first.end() ? calls.size() : at->second;
  }
  // Whether the next item of a Sequential reads what the call returns.
  bool IsInTurn(std::size_t call) const {
    const std::size_t caller = calls[call].caller;
    return caller != CalledModule::kNobody && calls[caller].in_turn;
  }

  const std::vector<CalledModule>& calls;
  std::map<std::string_view, std::size_t> first;  // by module
  std::vector<std::size_t> next;  // by call: the next one of the same caller
  // By call: the next one that leaves nodes and calls no other.
  std::vector<std::size_t> next_leaf;
};

// The one token that a token reads; kNo if it reads several.
NodeTokenId OnlySource(const NodeToken& token);

// The tokens as they may have run if modules ran in the order of their calls.
// `modules`: by node, the module where the file says it, or null; nodes that
// the next call explains get its module.
NodeTokens SortByCalls(const NodeTokens& table, const CallTable& call_table,
                       std::vector<const std::string*>* modules);

}  // namespace onnx_tag
