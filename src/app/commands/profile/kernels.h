// A profile on disk, and the nodes that its kernels are.
#pragma once

#include <string_view>
#include <unordered_map>
#include <vector>

#include "app/commands/read/tagged_model.h"
#include "uses/profile/profile.h"

namespace onnx_tag {

// Finds the node of a kernel by the name the runtime gave it: the node's own,
// that of its output or of its weights, one that an optimizer or an engine made
// out of these, or its operator and index where it has none.
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
  IdVector<profile::KernelId, Place> FindAll(
      const profile::Profile& profile) const;
  // Counts the self times of a profile of times; see CountSelfTimes().
  std::int64_t CountSelf(const IdVector<profile::KernelId, Place>& places,
                         profile::Profile& profile) const;
  // Whether it is in a branch or loop body, so that another kernel runs it.
  bool IsInner(const Place& place) const;

  // All nodes that `name` can mean. `op` may be empty: it is not known.
  std::vector<NodeId> NodesOf(std::string_view name, std::string_view op) const;

 private:
  using Names = std::unordered_map<std::string_view, std::vector<NodeId>>;

  std::vector<NodeId> OfType(std::vector<NodeId> nodes,
                             std::string_view op) const;
  std::vector<NodeId> Unnamed(std::string_view name, std::string_view op) const;
  std::vector<NodeId> Rewritten(std::string_view name) const;
  std::vector<NodeId> Sanitized(std::string_view name) const;
  void AddSanitized(std::string_view name, NodeId node);

  const TaggedModel& model_;
  Names by_name_;
  Names by_output_;
  Names by_weight_;                                                 // consumers
  std::unordered_map<std::uint32_t, std::vector<NodeId>> unnamed_;  // by index
  // By the hash of a name or output whose other bytes became underscores.
  std::unordered_multimap<std::uint64_t, std::pair<NodeId, std::string_view>>
      sanitized_;
};

// See profile::ReadProfile(); without the runs to skip.
profile::Profile ReadProfileFile(const ProfileSource& source);

// A number for each node, without what ran inside it, in parts of `measure`;
// -1: the node is not in the profile.
struct NodeNumbers {
  IdVector<NodeId, std::int64_t> numbers;
  profile::Measure measure;
  std::int64_t total = 0;  // of all, also what is not in the model
  std::uint64_t runs = 0;  // of the model; 0: not recorded
};

// Throws Error(kUsage) where the numbers are not amounts: some are negative,
// or they are levels.
NodeNumbers ReadNodeNumbers(const TaggedModel& model,
                            const ProfileSource& source);

}  // namespace onnx_tag
