// A profile on disk, and how long each node of a model took.
#ifndef ONNX_TAG_COMMANDS_READ_PROFILE_FILE_H_
#define ONNX_TAG_COMMANDS_READ_PROFILE_FILE_H_

#include <string>
#include <string_view>

#include "commands/read/tag_source.h"
#include "profile/profile.h"

namespace onnx_tag {

// See profile::ReadProfile(). `layers` is a file, or "".
profile::Profile ReadProfileFile(const std::string& path,
                                 std::string_view measure,
                                 const std::string& layers);

// Kernels that run others, also where the model at hand does not have them.
bool RunsOthers(std::string_view op);

// Microseconds by node, without what ran inside it; -1: it is not in the
// profile.
IdVector<NodeId, std::int64_t> NodeTimes(const TaggedModel& model,
                                         const std::string& path);

}  // namespace onnx_tag

#endif  // ONNX_TAG_COMMANDS_READ_PROFILE_FILE_H_
