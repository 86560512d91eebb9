// What lies inside a call of a module: its named nodes, and around them as many
// as make the fewest values cross its border.
//
// A module takes a few values and gives a few. A cell whose gates nobody names
// hands out four of them where its border is drawn behind its convolution, and
// one where it is drawn behind the gates. Of equal borders the inner one is
// taken: nothing is claimed that the flow of data does not ask for.
#ifndef ONNX_TAG_LADDER_RUNGS_CALL_REGIONS_H_
#define ONNX_TAG_LADDER_RUNGS_CALL_REGIONS_H_

#include "ladder/rungs/layer_bounds.h"

namespace onnx_tag {

void BoundByRegions(const BoundsFinder& finder);

// What is known of one layer of a list is known of its twins: the nodes that
// stand in the same place and do the same.
void BoundByLikeness(const BoundsFinder& finder);

}  // namespace onnx_tag

#endif  // ONNX_TAG_LADDER_RUNGS_CALL_REGIONS_H_
