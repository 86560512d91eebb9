// A rung's proposal for a node, and what has been accepted so far.
#ifndef ONNX_TAG_LADDER_CLAIM_H_
#define ONNX_TAG_LADDER_CLAIM_H_

#include <string_view>
#include <vector>

#include "evidence/evidence.h"
#include "onnx_tag/tagging.h"

namespace onnx_tag {

struct Claim {
  NodeId node;
  ModuleId module;
  Confidence confidence;
  Source source;
  std::string_view because;  // a sentence for people
};

// The tags accepted before a rung started.
using Placed = IdVector<NodeId, Tag>;

// Proposes modules for nodes that `placed` leaves open. Pure: the caller
// decides what to accept, and the first claim on a node wins.
using RungFunction = std::vector<Claim>(const Evidence& evidence,
                                        const Placed& placed);

struct Rung {
  std::string_view name;
  std::string_view help;
  RungFunction* propose;
};

// The rungs, one file each.
RungFunction ProposeFromMetadata;
RungFunction ProposeFromFunctions;
RungFunction ProposeFromInlined;
RungFunction ProposeForHelperBodies;
RungFunction ProposeForFunctionBodies;
RungFunction ProposeFromDialect;
RungFunction ProposeFromScope;
RungFunction ProposeFromValueName;
RungFunction ProposeFromParameters;
RungFunction ProposeFromRecipes;
RungFunction ProposeFromLooseRecipes;
RungFunction ProposeFromNormPatterns;
RungFunction ProposeForControlFlow;
RungFunction ProposeForCarriers;
RungFunction ProposeForConversions;
RungFunction ProposeForGemmReshapes;
RungFunction ProposeFromConsumers;
RungFunction ProposeForConstants;
RungFunction ProposeForUnnamedRegions;
RungFunction ProposeMuteRoot;
RungFunction ProposeFromSanitizedNames;
RungFunction ProposeFromNeighbours;
RungFunction ProposeFromAttention;
RungFunction ProposeForRecurrentSteps;
RungFunction ProposeForRecurrentLayout;
RungFunction ProposeForQuantizedProducts;
RungFunction ProposeForSequentialParts;
RungFunction ProposeFromExecutionOrder;
RungFunction ProposeFromTrace;
RungFunction ProposeRecordedHeads;
RungFunction ProposeRecordedParts;
RungFunction ProposeBetweenRecorded;
RungFunction ProposeForRecordedGemms;
RungFunction ProposeForTracedOperands;
RungFunction ProposeFromFx;
RungFunction ProposeForFxOperands;
RungFunction ProposeByVote;
RungFunction ProposeAuxiliary;

}  // namespace onnx_tag

#endif  // ONNX_TAG_LADDER_CLAIM_H_
