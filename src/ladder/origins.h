#ifndef ONNX_TAG_LADDER_ORIGINS_H_
#define ONNX_TAG_LADDER_ORIGINS_H_

#include <vector>

#include "ladder/claim.h"

namespace onnx_tag {

// By node; the module of the tag itself is none of them.
std::vector<Origin> FindOrigins(const Evidence& evidence, const Placed& placed);

}  // namespace onnx_tag

#endif  // ONNX_TAG_LADDER_ORIGINS_H_
