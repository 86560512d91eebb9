// A second, independent reading of a model, by protobuf.
#pragma once

#include <string>
#include <vector>

#include "onnx_tag/bytes.h"
#include "onnx_tag/model.h"

namespace onnx_tag {

struct ReadingDifference {
  NodeId node = kNo<NodeId>;
  std::string what;
};

// Parses all of `file` with protobuf's generated classes, weights included, and
// compares the result with `model`, which ReadModel() made of the same bytes:
// graphs, nodes, names, edges, metadata, types and shapes. Holds the whole file
// in memory. Lists at most 1,000 differences; the first one if protobuf refuses
// the file.
// REQUIRES: the file has less than 2 GiB, which protobuf can parse.
std::vector<ReadingDifference> CompareWithProtobuf(Bytes file,
                                                   const Model& model);

}  // namespace onnx_tag
