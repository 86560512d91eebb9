// The table of all rungs: name, help, function, the strategies that use it,
// what it reads, its highest level, and the kind of evidence behind its claims.
//
// A strategy runs its rungs in the order of their kinds, and rungs of one kind
// in the order of this table. So no tag rests on a weaker kind than another
// claim on the same node.
// tests/bench/ablation.cc measures what the mapping loses without each rung.

#include "base/lists.h"
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
constexpr unsigned kMatching = kHtp | kFxGraph;
constexpr unsigned kAll = kDirect | kMatching;

constexpr unsigned kNothingElse = 0;

using enum Confidence;
using enum EvidenceKind;

constexpr Rung kRungs[] = {
    {"rule", "a rule of the user", &Propose<&Evidence::ruled>, kAll,
     kReadsRules, kCertain, kRule},
    {"metadata", "the exporter's metadata", &Propose<&Evidence::metadata>,
     kDirect | kFxGraph, kReadsMetadata, kCertain, kMetadata, kMerged},
    {"function", "the local function that it calls or is part of",
     &ProposeFromFunctions, kDirect, kReadsFunctions, kCertain, kScope},
    {"dialect", "names of producers other than PyTorch",
     &Propose<&Evidence::named>, kDirect, kReadsNames, kCertain, kScope, kName},
    {"scope", "the scope in its name or an output's name", &ProposeFromScope,
     kDirect, kReadsNames | kReadsParameters | kReadsHierarchy, kCertain,
     kScope, kName},
    {"returned", "the module in the name of its result",
     &Propose<&Evidence::returned>, kInference, kReadsNames, kMedium, kName},
    {"helper_body", "the call of the function that it is part of",
     &ProposeForHelperBodies, kInference, kReadsFunctions, kCertain, kName},
    {"parameter", "the parameters it uses", &ProposeFromParameters, kDirect,
     kReadsParameters | kReadsHierarchy | kReadsRecipes, kHigh, kParameter},
    {"recorded", "the operation that was recorded",
     &Propose<&Evidence::recorded>, kAll, kReadsRecordings, kCertain,
     kRecording},
    {"called", "the order in which the modules of the hierarchy are called",
     &Propose<&Evidence::called>, kInference, kReadsHierarchy, kHigh, kCalls},
    {"quantized_product", "the nodes that a quantizer made of a product",
     &ProposeForQuantizedProducts, kInference | kMatching | kInserted,
     kNothingElse, kHigh, kPattern, kPattern, true},
    {"recipe", "the recipe book's recording of the architecture",
     &ProposeFromRecipes, kInference, kReadsParameters | kReadsRecipes,
     kCertain, kPattern},
    {"region", "between named nodes of a converter", &ProposeForUnnamedRegions,
     kInference, kReadsExporter, kHigh, kPattern},
    {"norm", "norms decomposed into arithmetic", &ProposeFromNormPatterns,
     kInference, kReadsParameters, kHigh, kPattern},
    {"carrier", "nodes that only pass a parameter on", &ProposeForCarriers,
     kInference, kReadsParameters, kMedium, kPattern},
    {"gemm_reshape", "Reshapes around a Gemm", &ProposeForGemmReshapes,
     kInference | kMatching | kInserted, kReadsParameters, kHigh, kPattern,
     kPattern, true},
    {"recorded_part", "a part of a recorded operation",
     &Propose<&Evidence::recorded_parts>, kInference | kMatching,
     kReadsRecordings, kHigh, kPattern},
    {"conversion", "casts and quantizers of a tensor", &ProposeForConversions,
     kInference | kMatching | kInserted, kReadsNames | kReadsParameters, kHigh,
     kPattern, kPattern, true},
    {"consumers", "nodes whose consumers are all in one module",
     &ProposeFromConsumers, kInference | kMatching | kNearby, kReadsNames,
     kHigh, kNeighbours},
    {"attention", "decomposed attention", &ProposeFromAttention, kInference,
     kReadsParameters | kReadsHierarchy | kReadsExporter, kMedium, kPattern},
    {"layout", "Transposes and Reshapes for the module beside them",
     &ProposeForLayouts, kInference, kReadsParameters, kMedium, kPattern},
    {"codebook", "the search for the nearest row of a table",
     &ProposeForCodebooks, kInference, kReadsParameters, kMedium, kPattern},
    {"sequential", "the missing numbers of a Sequential",
     &ProposeForSequentialParts, kInference, kReadsParameters | kReadsExporter,
     kMedium, kNeighbours},
    {"loose_recipe", "its neighbours in a recording", &ProposeFromLooseRecipes,
     kInference, kReadsParameters | kReadsRecipes, kMedium, kNeighbours},
    {"control_flow", "the modules in the branches of an If or Loop",
     &ProposeForControlFlow, kInference | kNearby, kNothingElse, kMedium,
     kNeighbours},
    {"only_root", "files whose names contain only the root",
     &ProposeRootWhereOnlyItIsNamed, kInference, kReadsNames, kLow,
     kNeighbours},
    {"execution_order", "placed nodes before and after it in execution order",
     &ProposeFromExecutionOrder, kInference,
     kReadsParameters | kReadsRecipes | kReadsExporter, kLow, kNeighbours},
    {"function_body", "the function that it is part of",
     &ProposeForFunctionBodies, kInference, kReadsFunctions, kLow, kNeighbours},
    {"vote", "a vote of its neighbours", &ProposeByVote, kMatching | kNearby,
     kNothingElse, kMedium, kNeighbours},
    {"auxiliary", "auxiliary operations without a single module",
     &ProposeAuxiliary, kHtp, kNothingElse, kLow, kNeighbours},
};

}  // namespace

std::span<const Rung> AllRungs() { return kRungs; }

std::vector<Rung> RungsOf(StrategySet strategy) {
  std::vector<Rung> rungs;
  for (Rung rung : kRungs) {
    if ((rung.strategies & strategy) == 0) continue;
    if (rung.kind != rung.unconfirmed) {
      rung.part = Rung::Part::kCertain;
      rungs.push_back(rung);
      rung.part = Rung::Part::kUnconfirmed;
      rung.kind = rung.unconfirmed;
    }
    rungs.push_back(rung);
  }
  SortBy(rungs, &Rung::kind);
  return rungs;
}

}  // namespace onnx_tag
