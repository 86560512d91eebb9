// A profile on disk, and the number of each node of a model.
#ifndef ONNX_TAG_COMMANDS_PROFILE_PROFILE_FILE_H_
#define ONNX_TAG_COMMANDS_PROFILE_PROFILE_FILE_H_

#include <string>
#include <string_view>

#include "commands/read/tag_source.h"
#include "profile/profile.h"

namespace onnx_tag {

// See profile::ReadProfile().
profile::Profile ReadProfileFile(const ProfileSource& source);

// Kernels that run others, also where the model at hand does not have them.
bool RunsOthers(std::string_view op);

// A number for each node, without what ran inside it, in parts of `measure`;
// -1: the node is not in the profile.
struct NodeNumbers {
  IdVector<NodeId, std::int64_t> numbers;
  profile::Measure measure;
};

// Throws Error(kUsage) where the numbers are not amounts: some are negative,
// or they are levels.
NodeNumbers ReadNodeNumbers(const TaggedModel& model,
                            const ProfileSource& source);

}  // namespace onnx_tag

#endif  // ONNX_TAG_COMMANDS_PROFILE_PROFILE_FILE_H_
