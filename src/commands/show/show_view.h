// What `show` has to show, as text or as JSON.
#ifndef ONNX_TAG_COMMANDS_SHOW_SHOW_VIEW_H_
#define ONNX_TAG_COMMANDS_SHOW_SHOW_VIEW_H_

#include <algorithm>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "commands/options.h"
#include "commands/read/folded_tree.h"
#include "commands/read/model_sizes.h"
#include "commands/read/module_counts.h"
#include "commands/read/tag_source.h"
#include "io/terminal.h"

namespace onnx_tag {

// The nodes of each module, in file order.
class NodesByModule {
 public:
  explicit NodesByModule(const Tagging& tagging) {
    for (const NodeId node : AllIds<NodeId>(tagging.tags.size())) {
      nodes_.push_back(node);
    }
    std::stable_sort(nodes_.begin(), nodes_.end(), [&](NodeId a, NodeId b) {
      return tagging.tags[a].module < tagging.tags[b].module;
    });
    tagging_ = &tagging;
  }
  // kNo: the untagged ones.
  std::span<const NodeId> Of(ModuleId module) const {
    const auto [first, last] = std::equal_range(nodes_.begin(), nodes_.end(),
                                                module, Less{&tagging_->tags});
    return std::span(nodes_).subspan(
        static_cast<std::size_t>(first - nodes_.begin()),
        static_cast<std::size_t>(last - first));
  }

 private:
  struct Less {
    const IdVector<NodeId, Tag>* tags;
    bool operator()(NodeId node, ModuleId module) const {
      return (*tags)[node].module < module;
    }
    bool operator()(ModuleId module, NodeId node) const {
      return module < (*tags)[node].module;
    }
  };
  std::vector<NodeId> nodes_;
  const Tagging* tagging_;
};

struct ShowView {
  ShowView(const TaggedModel& shown, std::vector<ModuleId> asked,
           std::span<const sizes::GivenShape> shapes)
      : model(shown),
        tagging(shown.tagging()),
        tops(std::move(asked)),
        coverage(CountTags(tagging)),
        counts(tagging),
        nodes(tagging),
        tree(tagging, counts),
        parameters(shown.parameters()),
        total_parameters(parameters.Totals(tagging.modules)),
        sizes(SizesOf(shown, shapes)) {
    if (sizes) totals = sizes->Totals(tagging.modules);
  }

  bool whole() const { return tops == std::vector{ModuleTree::kRoot}; }

  const TaggedModel& model;
  const Tagging& tagging;
  const std::vector<ModuleId> tops;  // of the subtrees to show
  const Coverage coverage;
  const ModuleCounts counts;
  const NodesByModule nodes;
  const FoldedTree tree;
  const ParameterCounts parameters;
  const IdVector<ModuleId, std::uint64_t> total_parameters;
  const std::optional<sizes::ModelSizes> sizes;  // none for a sidecar
  IdVector<ModuleId, sizes::Sums> totals;  // of a module and its submodules
};

// The modules whose subtrees to show: the one of this path, or those that fit
// it as a pattern. Throws Error(kUsage), with the nearest path.
std::vector<ModuleId> FindTops(const Tagging& tagging, const std::string& path);

// A module at a time, for there may be many.
void PrintShowJson(const ShowView& view, const ShowOptions& options,
                   Terminal& terminal);

}  // namespace onnx_tag

#endif  // ONNX_TAG_COMMANDS_SHOW_SHOW_VIEW_H_
