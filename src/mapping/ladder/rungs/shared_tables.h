// Code that several layers run, known by the tables that it reads.
//
// One object may be called from every layer, such as rotary positions. Its
// tables are constants of the file, and every call looks them up anew. So nodes
// of several layers that do the same with the same table are of one module, and
// it is in none of the layers.
#pragma once

#include <vector>

#include "mapping/ladder/claim.h"

namespace onnx_tag {

// The calls of one module: the open nodes of each.
using SharedCalls = std::vector<std::vector<NodeId>>;

std::vector<SharedCalls> FindSharedCalls(const Evidence& evidence,
                                         const Placed& placed);

}  // namespace onnx_tag
