// The gates of `tag`: what a build wants to be sure of.
#ifndef ONNX_TAG_COMMANDS_READ_GATES_H_
#define ONNX_TAG_COMMANDS_READ_GATES_H_

#include <string>
#include <vector>

#include "commands/options.h"

namespace onnx_tag {

// One sentence for each gate that `tagging` does not pass.
std::vector<std::string> UnmetGates(const Tagging& tagging,
                                    const TagOptions& options);

// The same for those that need no more than counts: all but --require-module.
std::vector<std::string> UnmetCounts(const Coverage& coverage,
                                     const TagOptions& options);

}  // namespace onnx_tag

#endif  // ONNX_TAG_COMMANDS_READ_GATES_H_
