// What the blocks of the graph (structure/structure.h) say to a guess of the
// recipe book.
#ifndef ONNX_TAG_MAPPING_JUDGE_GUESS_H_
#define ONNX_TAG_MAPPING_JUDGE_GUESS_H_

#include "onnx_tag/tagging.h"
#include "structure/structure.h"

namespace onnx_tag {

// All nodes if the guess tears blocks apart, has one module for several or
// puts equal blocks into different lists. Else those on the wrong side of the
// border of a block.
IdVector<NodeId, bool> FindContradicted(const Model& model,
                                        const Structure& blocks,
                                        const ModuleTree& modules,
                                        const IdVector<NodeId, Tag>& tags);

}  // namespace onnx_tag

#endif  // ONNX_TAG_MAPPING_JUDGE_GUESS_H_
