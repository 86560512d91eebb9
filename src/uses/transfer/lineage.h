// What became of each node, from the pairs of two versions.
#pragma once

#include "onnx_tag/transfer.h"
#include "uses/transfer/placing.h"

namespace onnx_tag::transfer {

Lineage FindLineage(const Matching& matching, const Placing& placing);

}  // namespace onnx_tag::transfer
