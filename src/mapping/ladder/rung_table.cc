// The table of all rungs: name, help, function, and the strategies that use it.
//
// A strategy runs its rungs in the order of this table, the most certain first.
// bench/ablation.cc measures what the mapping loses without each rung.
#include "mapping/ladder/ladder.h"

namespace onnx_tag {

// Defined in the files of rungs/.
RungFunction ProposeFromFunctions;
RungFunction ProposeFromScope;
RungFunction ProposeForHelperBodies;
RungFunction ProposeFromParameters;
RungFunction ProposeForQuantizedProducts;
RungFunction ProposeForLayouts;
RungFunction ProposeFromRecipes;
RungFunction ProposeForUnnamedRegions;
RungFunction ProposeFromNormPatterns;
RungFunction ProposeForCarriers;
RungFunction ProposeForGemmReshapes;
RungFunction ProposeForConversions;
RungFunction ProposeFromConsumers;
RungFunction ProposeFromAttention;
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

// The claims of one kind of evidence, as they are.
template <auto kList>
std::vector<Claim> Propose(const Evidence& evidence, const Placed& placed) {
  std::vector<Claim> claims;
  for (const Claim& claim : evidence.*kList) {
    if (!placed[claim.node].tagged()) claims.push_back(claim);
  }
  return claims;
}

constexpr unsigned kInference = kEnhancedSemantic;
constexpr unsigned kDirect = kInference | kUsageBased;
constexpr unsigned kRecording = kHtp | kFxGraph;
constexpr unsigned kAll = kDirect | kRecording;

constexpr Rung kRungs[] = {
    {"rule", "a rule of the user", &Propose<&Evidence::ruled>, kAll},
    {"metadata", "the exporter's metadata", &Propose<&Evidence::metadata>,
     kDirect | kFxGraph},
    {"function", "the local function that it calls or is part of",
     &ProposeFromFunctions, kDirect},
    {"dialect", "names of producers other than PyTorch",
     &Propose<&Evidence::named>, kDirect},
    {"scope", "the scope in its name or an output's name", &ProposeFromScope,
     kDirect},
    {"inlined", "the call of an inlined function", &Propose<&Evidence::inlined>,
     kInference},
    {"helper_body", "the call of the function that it is part of",
     &ProposeForHelperBodies, kInference},
    {"parameter", "the parameters it uses", &ProposeFromParameters, kDirect},
    {"recorded", "the operation that was recorded",
     &Propose<&Evidence::recorded>, kAll},
    {"called", "the order in which the modules of the hierarchy are called",
     &Propose<&Evidence::called>, kInference},
    {"quantized_product", "what a quantizer made of one product",
     &ProposeForQuantizedProducts, kInference | kRecording | kInserted},
    {"recipe", "the recipe book's recording of the architecture",
     &ProposeFromRecipes, kInference},
    {"region", "between named nodes of a converter", &ProposeForUnnamedRegions,
     kInference},
    {"norm", "norms decomposed into arithmetic", &ProposeFromNormPatterns,
     kInference},
    {"carrier", "nodes that only pass a parameter on", &ProposeForCarriers,
     kInference},
    {"gemm_reshape", "Reshapes around a Gemm", &ProposeForGemmReshapes,
     kInference | kRecording | kInserted},
    {"recorded_part", "a part of what was recorded",
     &Propose<&Evidence::recorded_parts>, kInference | kRecording},
    {"conversion", "casts and quantizers of a tensor", &ProposeForConversions,
     kInference | kRecording | kInserted},
    {"consumers", "nodes whose consumers are all in one module",
     &ProposeFromConsumers, kInference | kRecording | kNearby},
    {"attention", "decomposed attention", &ProposeFromAttention, kInference},
    {"layout", "what turns tensors around for the module beside it",
     &ProposeForLayouts, kInference},
    {"codebook", "the search for the nearest row of a table",
     &ProposeForCodebooks, kInference},
    {"sequential", "the missing numbers of a Sequential",
     &ProposeForSequentialParts, kInference},
    {"loose_recipe", "its neighbours in a recording", &ProposeFromLooseRecipes,
     kInference},
    {"control_flow", "the modules in the branches of an If or Loop",
     &ProposeForControlFlow, kInference | kNearby},
    {"only_root", "files whose names contain only the root",
     &ProposeRootWhereOnlyItIsNamed, kInference},
    {"execution_order", "placed nodes before and after it in execution order",
     &ProposeFromExecutionOrder, kInference},
    {"function_body", "the function that it is part of",
     &ProposeForFunctionBodies, kInference},
    {"vote", "a vote of its neighbours", &ProposeByVote, kRecording | kNearby},
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
