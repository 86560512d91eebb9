// What nobody claims, by a trained network.
#include "mapping/ladder/claim.h"
#include "mapping/placing/placing.h"

namespace onnx_tag {

std::vector<Claim> ProposeFromPlacement(const Evidence& evidence,
                                        const Placed& placed) {
  return placing::Place(evidence, placed);
}

}  // namespace onnx_tag
