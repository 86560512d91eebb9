// Every rung, once: what it is called, what it does, which strategies use it.
//
// A strategy climbs its rungs in the order of this table: the most certain
// first. bench/ablation.cc measures what the mapping loses without each.
#include "ladder/ladder.h"

namespace onnx_tag {

// Each is defined in a file of rungs/.
RungFunction ProposeFromMetadata;
RungFunction ProposeFromFx;
RungFunction ProposeFromTrace;
RungFunction ProposeForTracedOperands;
RungFunction ProposeForFxOperands;
RungFunction ProposeFromFunctions;
RungFunction ProposeFromDialect;
RungFunction ProposeFromScope;
RungFunction ProposeFromValueName;
RungFunction ProposeFromInlined;
RungFunction ProposeForHelperBodies;
RungFunction ProposeFromParameters;
RungFunction ProposeFromRecipes;
RungFunction ProposeForUnnamedRegions;
RungFunction ProposeForRecurrentSteps;
RungFunction ProposeFromNormPatterns;
RungFunction ProposeForCarriers;
RungFunction ProposeForGemmReshapes;
RungFunction ProposeForConversions;
RungFunction ProposeFromConsumers;
RungFunction ProposeFromAttention;
RungFunction ProposeFromLooseRecipes;
RungFunction ProposeForControlFlow;
RungFunction ProposeRootWhereOnlyItIsNamed;
RungFunction ProposeForSequentialParts;
RungFunction ProposeFromExecutionOrder;
RungFunction ProposeForFunctionBodies;
RungFunction ProposeByVote;
RungFunction ProposeAuxiliary;

namespace {

// universal differs from enhanced_semantic in the classes of its tags alone.
constexpr unsigned kInference = kEnhancedSemantic | kUniversal;
constexpr unsigned kDirect = kInference | kUsageBased;

constexpr Rung kRungs[] = {
    {"metadata", "the exporter's metadata", &ProposeFromMetadata,
     kDirect | kFxGraph},
    {"fx", "the FX node it was made from", &ProposeFromFx, kFxGraph},
    {"trace", "the operation that was recorded", &ProposeFromTrace, kHtp},
    {"operands", "constants and sizes for one module's operations",
     &ProposeForTracedOperands, kHtp},
    {"operands", "constants and sizes for one module's operations",
     &ProposeForFxOperands, kFxGraph},
    {"function", "the local function it calls or stands in",
     &ProposeFromFunctions, kDirect},
    {"dialect", "names of producers other than PyTorch", &ProposeFromDialect,
     kDirect},
    {"scope", "the scope in the node's name", &ProposeFromScope, kDirect},
    {"value_name", "the scope in an output's name", &ProposeFromValueName,
     kDirect},
    {"inlined", "the call of an inlined function", &ProposeFromInlined,
     kInference},
    {"helper_body", "the call of the function it stands in",
     &ProposeForHelperBodies, kInference},
    {"parameter", "the parameters it uses", &ProposeFromParameters, kDirect},
    {"recipe", "the recipe book's recording of the architecture",
     &ProposeFromRecipes, kInference},
    {"region", "between named nodes of a converter", &ProposeForUnnamedRegions,
     kInference},
    {"recurrent", "recurrent layers written out step by step",
     &ProposeForRecurrentSteps, kInference},
    {"norm", "norms written out as arithmetic", &ProposeFromNormPatterns,
     kInference},
    {"carrier", "nodes that hand a parameter on", &ProposeForCarriers,
     kInference},
    {"gemm_reshape", "Reshapes around a Gemm", &ProposeForGemmReshapes,
     kInference},
    {"conversion", "casts and quantizers of a tensor", &ProposeForConversions,
     kInference},
    {"consumers", "scopeless nodes among scoped ones", &ProposeFromConsumers,
     kInference},
    {"attention", "attention written out", &ProposeFromAttention, kInference},
    {"loose_recipe", "what a recording has around it", &ProposeFromLooseRecipes,
     kInference},
    {"control_flow", "what the branches of an If or Loop use",
     &ProposeForControlFlow, kInference},
    {"only_root", "files whose names say nothing but the root",
     &ProposeRootWhereOnlyItIsNamed, kInference},
    {"sequential", "the missing numbers of a Sequential",
     &ProposeForSequentialParts, kInference},
    {"execution_order", "between placed nodes in the order of execution",
     &ProposeFromExecutionOrder, kInference},
    {"function_body", "the function it stands in", &ProposeForFunctionBodies,
     kInference},
    {"vote", "a vote of the nodes around it", &ProposeByVote, kHtp | kFxGraph},
    {"auxiliary", "auxiliary operations of no single module", &ProposeAuxiliary,
     kHtp},
};

}  // namespace

std::span<const Rung> AllRungs() { return kRungs; }

std::vector<Rung> RungsOf(StrategySet strategy) {
  std::vector<Rung> rungs;
  for (const Rung& rung : kRungs) {
    if ((rung.strategies & strategy) != 0) rungs.push_back(rung);
  }
  return rungs;
}

}  // namespace onnx_tag
