#include "mapping/apply_rules.h"

namespace onnx_tag {

Evidence GatherEvidence(const Model& model, const WantedFacts& wanted) {
  Evidence evidence(model);
  evidence.dialect = DetectDialect(model);
  evidence.names = ReadDialect(model, evidence.dialect);
  GatherScopes(evidence);
  evidence.functions = FunctionTable(model);
  GatherParameters(evidence);
  GatherFunctions(evidence);
  GatherInlined(evidence);
  if (evidence.inlined.empty()) GatherInlinedOrder(evidence);
  GatherMetadata(evidence);
  GatherDialectNames(evidence);
  GatherKerasOnTorch(evidence);
  // What was recorded is known to the hierarchy, too.
  if (!wanted.anchored) {
    if (wanted.trace != nullptr) GatherTrace(evidence, *wanted.trace);
    if (wanted.fx != nullptr) GatherFx(evidence, *wanted.fx);
  }
  FitHierarchy(evidence, wanted.hierarchy);
  AlignScopes(evidence);
  if (wanted.anchored) GatherAnchored(evidence, wanted.trace, wanted.fx);
  GatherRules(evidence, wanted.rules);
  GuessAttentionNames(evidence);
  AddMissingParts(evidence);
  if (wanted.book != nullptr) GatherRecipes(evidence, *wanted.book);
  DescribeModules(evidence);
  return evidence;
}

}  // namespace onnx_tag
