// The table of all rungs: name, help, function, and the strategies that use it.
//
// A strategy runs its rungs in the order of this table, the most certain first.
// bench/ablation.cc measures what the mapping loses without each rung.
#include "ladder/ladder.h"

namespace onnx_tag {

// Defined in the files of rungs/.
RungFunction ProposeFromRules;
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
RungFunction ProposeRecordedHeads;
RungFunction ProposeRecordedParts;
RungFunction ProposeBetweenRecorded;
RungFunction ProposeForRecordedGemms;
RungFunction ProposeFromCalls;
RungFunction ProposeForQuantizedProducts;
RungFunction ProposeForRecurrentLayout;
RungFunction ProposeFromRecipes;
RungFunction ProposeForUnnamedRegions;
RungFunction ProposeForRecurrentSteps;
RungFunction ProposeFromNormPatterns;
RungFunction ProposeForCarriers;
RungFunction ProposeForGemmReshapes;
RungFunction ProposeForConversions;
RungFunction ProposeFromConsumers;
RungFunction ProposeFromAttention;
RungFunction ProposeForPackedAttention;
RungFunction ProposeForCodebooks;
RungFunction ProposeFromLooseRecipes;
RungFunction ProposeForControlFlow;
RungFunction ProposeRootWhereOnlyItIsNamed;
RungFunction ProposeForSequentialParts;
RungFunction ProposeFromExecutionOrder;
RungFunction ProposeForFunctionBodies;
RungFunction ProposeByVote;
RungFunction ProposeAuxiliary;

namespace {

// universal differs from enhanced_semantic only in the classes of its tags.
constexpr unsigned kInference = kEnhancedSemantic | kUniversal;
constexpr unsigned kDirect = kInference | kUsageBased;

constexpr unsigned kAll = kDirect | kHtp | kFxGraph;

constexpr Rung kRungs[] = {
    {"rule", "a rule of the user", &ProposeFromRules, kAll},
    {"metadata", "the exporter's metadata", &ProposeFromMetadata,
     kDirect | kFxGraph},
    {"fx", "its FX node", &ProposeFromFx, kFxGraph},
    {"trace", "the recorded operation", &ProposeFromTrace, kHtp},
    {"operands", "constants and sizes for one module's operations",
     &ProposeForTracedOperands, kHtp},
    {"operands", "constants and sizes for one module's operations",
     &ProposeForFxOperands, kFxGraph},
    {"function", "the local function that it calls or is part of",
     &ProposeFromFunctions, kDirect},
    {"dialect", "names of producers other than PyTorch", &ProposeFromDialect,
     kDirect},
    {"scope", "the scope in the node's name", &ProposeFromScope, kDirect},
    {"value_name", "the scope in an output's name", &ProposeFromValueName,
     kDirect},
    {"inlined", "the call of an inlined function", &ProposeFromInlined,
     kInference},
    {"helper_body", "the call of the function that it is part of",
     &ProposeForHelperBodies, kInference},
    {"parameter", "the parameters it uses", &ProposeFromParameters, kDirect},
    {"recorded", "the operation that was recorded", &ProposeRecordedHeads,
     kDirect},
    {"quantized_product", "what a quantizer made of one product",
     &ProposeForQuantizedProducts, kInference},
    {"recorded_gemm", "Reshapes around a recorded product",
     &ProposeForRecordedGemms, kInference},
    {"recorded_part", "a part of what was recorded", &ProposeRecordedParts,
     kInference},
    {"recorded_operands", "constants and sizes of what was recorded",
     &ProposeForTracedOperands, kInference},
    {"recorded_fx_operands", "constants and sizes of recorded FX nodes",
     &ProposeForFxOperands, kInference},
    {"between_recorded", "between what was recorded", &ProposeBetweenRecorded,
     kInference},
    {"called", "the order in which the modules of the hierarchy are called",
     &ProposeFromCalls, kInference},
    {"called_product", "what a quantizer made of a product that is called",
     &ProposeForQuantizedProducts, kInference},
    {"recipe", "the recipe book's recording of the architecture",
     &ProposeFromRecipes, kInference},
    {"recurrent_layout", "what turns a recurrent layer's tensors around",
     &ProposeForRecurrentLayout, kInference},
    {"region", "between named nodes of a converter", &ProposeForUnnamedRegions,
     kInference},
    {"recurrent", "recurrent layers decomposed into steps",
     &ProposeForRecurrentSteps, kInference},
    {"norm", "norms decomposed into arithmetic", &ProposeFromNormPatterns,
     kInference},
    {"carrier", "nodes that only pass a parameter on", &ProposeForCarriers,
     kInference},
    {"gemm_reshape", "Reshapes around a Gemm", &ProposeForGemmReshapes,
     kInference},
    {"conversion", "casts and quantizers of a tensor", &ProposeForConversions,
     kInference},
    {"consumers", "nodes without a scope whose consumers have one",
     &ProposeFromConsumers, kInference},
    {"attention", "decomposed attention", &ProposeFromAttention, kInference},
    {"packed_attention", "what a MultiheadAttention turns around",
     &ProposeForPackedAttention, kInference},
    {"codebook", "the search for the nearest row of a table",
     &ProposeForCodebooks, kInference},
    {"sequential", "the missing numbers of a Sequential",
     &ProposeForSequentialParts, kInference},
    {"loose_recipe", "its neighbours in a recording", &ProposeFromLooseRecipes,
     kInference},
    {"control_flow", "the modules in the branches of an If or Loop",
     &ProposeForControlFlow, kInference},
    {"only_root", "files whose names contain only the root",
     &ProposeRootWhereOnlyItIsNamed, kInference},
    {"execution_order", "placed nodes before and after it in execution order",
     &ProposeFromExecutionOrder, kInference},
    {"function_body", "the function that it is part of",
     &ProposeForFunctionBodies, kInference},
    {"vote", "a vote of its neighbours", &ProposeByVote, kHtp | kFxGraph},
    {"auxiliary", "auxiliary operations without a single module",
     &ProposeAuxiliary, kHtp},
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
