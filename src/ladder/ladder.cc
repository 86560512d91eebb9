// The ladder: rungs in order, the first claim on a node wins.
#include "ladder/ladder.h"

#include <algorithm>

namespace onnx_tag {
namespace {

constexpr Rung kEnhancedSemanticRungs[] = {
    {"metadata", "the exporter's metadata", &ProposeFromMetadata},
    {"function", "the local function it calls or stands in",
     &ProposeFromFunctions},
    {"dialect", "names of producers other than PyTorch", &ProposeFromDialect},
    {"scope", "the scope in the node's name", &ProposeFromScope},
    {"value_name", "the scope in an output's name", &ProposeFromValueName},
    {"inlined", "the call of an inlined function", &ProposeFromInlined},
    {"helper_body", "the call of the function it stands in",
     &ProposeForHelperBodies},
    {"parameter", "the parameters it uses", &ProposeFromParameters},
    {"recorded", "the operation that was recorded", &ProposeRecordedHeads},
    {"quantized_product", "what a quantizer made of one product",
     &ProposeForQuantizedProducts},
    {"recorded_gemm", "Reshapes around a recorded product",
     &ProposeForRecordedGemms},
    {"recorded_part", "a part of what was recorded", &ProposeRecordedParts},
    {"operands", "constants and sizes for one module's operations",
     &ProposeForTracedOperands},
    {"fx_operands", "constants and sizes for one module's FX nodes",
     &ProposeForFxOperands},
    {"between_recorded", "between what was recorded", &ProposeBetweenRecorded},
    {"recipe", "the recipe book's recording of the architecture",
     &ProposeFromRecipes},
    {"recurrent_layout", "what turns a recurrent layer's tensors around",
     &ProposeForRecurrentLayout},
    {"region", "between named nodes of a converter", &ProposeForUnnamedRegions},
    {"recurrent", "recurrent layers written out step by step",
     &ProposeForRecurrentSteps},
    {"norm", "norms written out as arithmetic", &ProposeFromNormPatterns},
    {"carrier", "nodes that hand a parameter on", &ProposeForCarriers},
    {"gemm_reshape", "Reshapes around a Gemm", &ProposeForGemmReshapes},
    {"conversion", "casts and quantizers of a tensor", &ProposeForConversions},
    {"consumers", "scopeless nodes among scoped ones", &ProposeFromConsumers},
    {"attention", "attention written out", &ProposeFromAttention},
    {"constant", "constants of placed nodes", &ProposeForConstants},
    {"loose_recipe", "what a recording has around it",
     &ProposeFromLooseRecipes},
    {"control_flow", "what the branches of an If or Loop use",
     &ProposeForControlFlow},
    {"sanitized", "names with underscores for dots and slashes",
     &ProposeFromSanitizedNames},
    {"mute_root", "names that know nothing but the root", &ProposeMuteRoot},
    {"sequential", "the missing numbers of a Sequential",
     &ProposeForSequentialParts},
    {"execution_order", "between placed nodes in the order of execution",
     &ProposeFromExecutionOrder},
    {"neighbours", "the modules around it", &ProposeFromNeighbours},
    {"late_helper_body", "the call of the function it stands in",
     &ProposeForHelperBodies},
    {"function_body", "the function it stands in", &ProposeForFunctionBodies},
};

// The body of a module's function is the module's, and what it calls.
bool LeavesFunction(const Evidence& evidence, const Claim& claim) {
  if (claim.source != Source::kLocality) return false;
  const FunctionId owner =
      evidence.functions.OwnerOf(evidence.model[claim.node].graph);
  if (owner == kNo<FunctionId>) return false;
  const ModuleId module = evidence.functions[owner].module;
  return module != kNo<ModuleId> &&
         !evidence.modules.IsAncestor(module, claim.module);
}

}  // namespace

std::span<const Rung> EnhancedSemanticRungs() { return kEnhancedSemanticRungs; }

std::optional<Claim> Admit(const Evidence& evidence, Claim claim) {
  if (LeavesFunction(evidence, claim)) return std::nullopt;
  if (claim.source == Source::kRule || !evidence.IsImpossible(claim.module)) {
    return claim;
  }
  if (claim.source == Source::kOperation || claim.source == Source::kLocality) {
    return std::nullopt;
  }
  while (evidence.IsImpossible(claim.module)) {
    claim.module = evidence.modules.Parent(claim.module);
  }
  claim.confidence = std::min(claim.confidence, Confidence::kMedium);
  claim.source = Source::kHierarchy;
  claim.because =
      "the hierarchy has no such module as its name says, but this one around "
      "it";
  return claim;
}

void Climb(const Evidence& evidence, const Rung& rung, Placed& placed) {
  for (const Claim& proposed : rung.propose(evidence, placed)) {
    Tag& tag = placed[proposed.node];
    if (tag.tagged()) continue;
    const std::optional<Claim> claim = Admit(evidence, proposed);
    if (!claim) continue;
    tag.module = claim->module;
    tag.confidence = claim->confidence;
    tag.source = claim->source;
  }
}

}  // namespace onnx_tag
