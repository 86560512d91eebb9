// The table of the rungs of inference: name, help, function, the strategies
// that use it, what it reads, its highest level, and the kind of evidence
// behind its claims.
//
// They see the nodes that no source has placed (sources.h). A strategy runs
// them in the order of their kinds, and rungs of one kind in the order of this
// table. So no tag rests on a weaker kind than another claim on the same node.
// tests/bench/ablation.cc measures what the mapping loses without each rung.

#include "base/lists.h"
#include "mapping/ladder/ladder.h"

namespace onnx_tag {

// Defined in the files of rungs/.
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
RungFunction ProposeFromPlacement;
RungFunction ProposeForFunctionBodies;
RungFunction ProposeByVote;
RungFunction ProposeAuxiliary;

namespace {

std::vector<Claim> ProposeRecordedParts(const Evidence& evidence,
                                        const Placed& placed) {
  std::vector<Claim> claims;
  for (const Clue& clue : evidence.said.From(WriterId::kRecordedPart)) {
    if (!placed[clue.node].tagged()) {
      claims.push_back(evidence.said.AsClaim(clue));
    }
  }
  return claims;
}

constexpr unsigned kNothingElse = 0;

using enum Confidence;
using enum EvidenceKind;

constexpr auto kRungs = [] {
  auto rungs = std::to_array<Rung>({
      {"quantized_product", "the nodes that a quantizer made of a product",
       &ProposeForQuantizedProducts, kInference | kMatching | kInserted,
       kNothingElse, kHigh, kPattern, true},
      {"recipe", "the recipe book's recording of the architecture",
       &ProposeFromRecipes, kInference, kReadsParameters | kReadsRecipes,
       kCertain, kPattern},
      {"region", "between named nodes of a converter",
       &ProposeForUnnamedRegions, kInference, kReadsExporter, kHigh, kPattern},
      {"norm", "norms decomposed into arithmetic", &ProposeFromNormPatterns,
       kInference, kReadsParameters, kHigh, kPattern},
      {"carrier", "nodes that only pass a parameter on", &ProposeForCarriers,
       kInference, kReadsParameters, kMedium, kPattern},
      {"gemm_reshape", "Reshapes around a Gemm", &ProposeForGemmReshapes,
       kInference | kMatching | kInserted, kReadsParameters, kHigh, kPattern,
       true},
      {"recorded_part", "a part of a recorded operation", &ProposeRecordedParts,
       kInference | kMatching, kReadsRecordings, kHigh, kPattern},
      {"conversion", "casts and quantizers of a tensor", &ProposeForConversions,
       kInference | kMatching | kInserted, kReadsNames | kReadsParameters,
       kHigh, kPattern, true},
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
       &ProposeForSequentialParts, kInference,
       kReadsParameters | kReadsExporter, kMedium, kNeighbours},
      {"loose_recipe", "its neighbours in a recording",
       &ProposeFromLooseRecipes, kInference, kReadsParameters | kReadsRecipes,
       kMedium, kNeighbours},
      {"control_flow", "the modules in the branches of an If or Loop",
       &ProposeForControlFlow, kInference | kNearby, kNothingElse, kMedium,
       kNeighbours},
      {"only_root", "files whose names contain only the root",
       &ProposeRootWhereOnlyItIsNamed, kInference, kReadsNames, kLow,
       kNeighbours},
      {"placement", "a trained network, by its surroundings",
       &ProposeFromPlacement, kInference, kReadsParameters | kReadsHierarchy,
       kHigh, kNeighbours},
      {"execution_order", "placed nodes before and after it in execution order",
       &ProposeFromExecutionOrder, kInference,
       kReadsParameters | kReadsRecipes | kReadsExporter, kLow, kNeighbours},
      {"function_body", "the function that it is part of",
       &ProposeForFunctionBodies, kInference, kReadsFunctions, kLow,
       kNeighbours},
      {"vote", "a vote of its neighbours", &ProposeByVote, kMatching | kNearby,
       kNothingElse, kMedium, kNeighbours},
      {"auxiliary", "auxiliary operations without a single module",
       &ProposeAuxiliary, kHtp, kNothingElse, kLow, kNeighbours},
  });
  for (std::size_t i = 0; i < rungs.size(); ++i) {
    rungs[i].id = static_cast<WriterId>(
        static_cast<std::size_t>(WriterId::kFirstRung) + i);
  }
  return rungs;
}();

}  // namespace

bool IsReplaced(std::string_view rung) {
  constexpr std::string_view kReplaced[] = {
      "norm",     "carrier",      "gemm_reshape",   "layout",
      "codebook", "loose_recipe", "execution_order"};
  return IsAmong(rung, kReplaced);
}

std::span<const Rung> AllRungs() { return kRungs; }

std::vector<Rung> RungsOf(StrategySet strategy) {
  std::vector<Rung> rungs;
  for (const Rung& rung : kRungs) {
    if ((rung.strategies & strategy) != 0) rungs.push_back(rung);
  }
  SortBy(rungs, &Rung::kind);
  return rungs;
}

}  // namespace onnx_tag
