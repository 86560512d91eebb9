// Finds the steps of a recorded run in the nodes of a file, by operator, order,
// shapes and dataflow.
//
// The steps' patterns, one after another, are a line of states; the tokens are
// laid along it so that the most is explained, whatever is missing on either
// side: a miss costs a little and shifts nothing behind it. A first pass knows
// operators and shapes; the next ones also ask that a token's data come from
// where its step's data came from.
#ifndef ONNX_TAG_PROJECTION_ALIGN_H_
#define ONNX_TAG_PROJECTION_ALIGN_H_

#include <string>

#include "projection/program.h"
#include "projection/tokens.h"

namespace onnx_tag {

struct Alignment {
  IdVector<TokenId, StepId> steps;  // kNo: none
  double matched = 0;               // weight of the tokens that were explained
  double total = 0;                 // weight of all tokens
  double steps_matched = 0;         // the same of the steps' heads
  double steps_total = 0;
  double score = 0;  // of all matches, for two orders of the same to compare
};

// Known before: a token that a step made, by a name that survived.
using Pins = IdVector<TokenId, StepId>;

// And a token's module, where the file says it; null: it does not.
using KnownModulesOf = IdVector<TokenId, const std::string*>;

Alignment Align(const Model& model, const TokenTable& tokens,
                const Program& program, const TorchOps& ops,
                const Pins& pins = {}, const KnownModulesOf& known = {});

}  // namespace onnx_tag

#endif  // ONNX_TAG_PROJECTION_ALIGN_H_
