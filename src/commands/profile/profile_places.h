// The nodes that a runtime's kernels are.
#ifndef ONNX_TAG_COMMANDS_PROFILE_PROFILE_PLACES_H_
#define ONNX_TAG_COMMANDS_PROFILE_PROFILE_PLACES_H_

#include <string_view>
#include <unordered_map>
#include <vector>

#include "commands/read/tag_source.h"
#include "profile/profile.h"

namespace onnx_tag {

// Finds the node of a kernel by the name the runtime gave it: the node's own,
// one that an optimizer made out of it, or its operator and index where it has
// none.
class KernelPlaces {
 public:
  // `model` must outlive it.
  explicit KernelPlaces(const TaggedModel& model);

  enum class Kind { kNode, kSeveral, kNone };
  struct Place {
    Kind kind = Kind::kNone;
    NodeId node = kNo<NodeId>;  // of kSeveral one of them
  };
  Place Find(const profile::Kernel& kernel) const;

 private:
  Place Choose(const std::vector<NodeId>& nodes, std::string_view op) const;
  Place FindUnnamed(const profile::Kernel& kernel) const;

  const TaggedModel& model_;
  std::unordered_map<std::string_view, std::vector<NodeId>> by_name_;
  std::unordered_map<std::string_view, std::vector<NodeId>> by_output_;
  std::unordered_map<std::uint32_t, std::vector<NodeId>> unnamed_;  // by index
};

}  // namespace onnx_tag

#endif  // ONNX_TAG_COMMANDS_PROFILE_PROFILE_PLACES_H_
