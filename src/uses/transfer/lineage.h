// What became of each node, from the pairs of two versions.
#ifndef ONNX_TAG_USES_TRANSFER_LINEAGE_H_
#define ONNX_TAG_USES_TRANSFER_LINEAGE_H_

#include "onnx_tag/transfer.h"
#include "uses/transfer/placing.h"

namespace onnx_tag::transfer {

Lineage FindLineage(const Matching& matching, const Placing& placing);

}  // namespace onnx_tag::transfer

#endif  // ONNX_TAG_USES_TRANSFER_LINEAGE_H_
