// In which order the nodes of a model ran.
#ifndef ONNX_TAG_LADDER_RUNGS_RUN_ORDER_H_
#define ONNX_TAG_LADDER_RUNGS_RUN_ORDER_H_

#include <cstdint>
#include <vector>

#include "graph/data_values.h"
#include "ladder/claim.h"

namespace onnx_tag {

struct RunOrder {
  std::vector<NodeId> nodes;             // of the main graph
  IdVector<NodeId, std::uint32_t> rank;  // of all nodes
  bool as_written = true;                // the file's order
};

// The file's order, or depth first from the outputs, where that keeps the named
// nodes of modules together and the file does not: tools sort nodes anew.
RunOrder FindRunOrder(const Evidence& evidence, const Placed& placed,
                      const DataValues& data);

}  // namespace onnx_tag

#endif  // ONNX_TAG_LADDER_RUNGS_RUN_ORDER_H_
