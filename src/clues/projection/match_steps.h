// Finds the steps of a recorded run in the nodes of a file, by operator, order,
// shapes and dataflow.
//
// The patterns of all steps form a line of states. The tokens are aligned with
// it so that the score is best. Either side may miss items: a miss has a small
// penalty and does not shift the following items. The first pass uses operators
// and shapes. The next passes also require that the sources of a token
// correspond to the sources of its step.
#pragma once

#include <string>
#include <vector>

#include "clues/projection/node_tokens.h"
#include "clues/projection/run_steps.h"

namespace onnx_tag {

struct StepMatch {
  IdVector<NodeTokenId, StepId> steps;  // kNo: none
  double matched = 0;                   // weight of the tokens with a step
  double total = 0;                     // weight of all tokens
  double steps_matched = 0;             // the same of the steps' heads
  double steps_total = 0;
  double score = 0;  // of all matches, for two orders of the same to compare
};

// Pairs of token and step that are known before, from surviving names.
using Pins = IdVector<NodeTokenId, StepId>;

// And a token's module, where the file says it; null: it does not.
using KnownModulesOf = IdVector<NodeTokenId, const std::string*>;

// By token, of `by_node`; modules that no step has are left out.
KnownModulesOf KnownTokens(const NodeTokens& table, const RunSteps& program,
                           const std::vector<const std::string*>& by_node);

StepMatch MatchSteps(const NodeTokens& tokens, const RunSteps& program,
                     const TorchOps& ops, const Pins& pins = {},
                     const KnownModulesOf& known = {});

}  // namespace onnx_tag
