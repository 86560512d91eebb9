// Before anything is written: no two models may share an output, and none may
// be another's.
#ifndef ONNX_TAG_COMMANDS_BATCH_REFUSE_COLLISIONS_H_
#define ONNX_TAG_COMMANDS_BATCH_REFUSE_COLLISIONS_H_

#include <vector>

#include "commands/output/destinations.h"
#include "commands/read/find_models.h"

namespace onnx_tag {

// `destinations` has one entry for each model. Throws Error(kUsage) that names
// both models.
void RefuseCollisions(const std::vector<FoundModel>& models,
                      const std::vector<Destinations>& destinations,
                      const TagOptions& options);

}  // namespace onnx_tag

#endif  // ONNX_TAG_COMMANDS_BATCH_REFUSE_COLLISIONS_H_
