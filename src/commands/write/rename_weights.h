// `weights --rename`.
#ifndef ONNX_TAG_COMMANDS_WRITE_RENAME_WEIGHTS_H_
#define ONNX_TAG_COMMANDS_WRITE_RENAME_WEIGHTS_H_

#include <vector>

#include "commands/new_model_commands.h"
#include "commands/read/tag_source.h"
#include "io/terminal.h"
#include "weights/weight_map.h"

namespace onnx_tag {

// Writes the model with its initializers named after the parameters they hold.
ExitCode RenameWeights(const WeightsOptions& options, const TaggedModel& model,
                       const std::vector<weights::Weight>& list,
                       Terminal& terminal);

}  // namespace onnx_tag

#endif  // ONNX_TAG_COMMANDS_WRITE_RENAME_WEIGHTS_H_
