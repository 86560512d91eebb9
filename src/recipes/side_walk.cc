#include "recipes/side_walk.h"

#include <algorithm>
#include <utility>
#include <vector>

namespace onnx_tag::recipes {

std::optional<Path> Relative(const Candidate& candidate, const Path& recorded,
                             const Path& here, const Path& other) {
  auto there = ToFile(candidate, other);
  const auto from = ToFile(candidate, recorded);
  if (!there || !from) return std::nullopt;
  const std::size_t common = std::min(CommonLength(*there, *from), here.size());
  if (Generic(First(here, common)) != Generic(First(*from, common))) {
    return there;
  }
  std::copy(here.begin(), here.begin() + static_cast<std::ptrdiff_t>(common),
            there->begin());
  return there;
}

void SideWalk::From(std::uint32_t token, std::uint32_t recorded,
                    const Path& path) {
  const Token& here = graph_.tokens()[token];
  const Recording& recording = candidate_.recording;
  const RecordedToken& there = recording.tokens[recorded];
  const Path* const recorded_path = candidate_.paths.of(there.module);
  if (recorded_path == nullptr) return;
  const Model& model = graph_.flow().model();
  for (const SideReference& reference : there.sides) {
    NodeId node = kNo<NodeId>;
    if (reference.node == there.main) {
      node = here.main_node();
    } else if (here.nodes.size() == there.ops.size() &&
               model.OpType(here.nodes[reference.node]) ==
                   recording.texts[there.ops[reference.node]]) {
      node = here.nodes[reference.node];
    } else {
      continue;
    }
    const auto inputs = model.Inputs(node);
    if (reference.slot >= inputs.size()) continue;
    Walk(inputs[reference.slot], reference.side, *recorded_path, path);
  }
}

void SideWalk::Walk(ValueId start, std::uint32_t first, const Path& recorded,
                    const Path& here) {
  const DataFlow& flow = graph_.flow();
  const Model& model = flow.model();
  const Recording& recording = candidate_.recording;
  std::vector<std::pair<ValueId, std::uint32_t>> open = {{start, first}};
  while (!open.empty()) {
    const auto [value, index] = open.back();
    open.pop_back();
    const NodeId node = flow.Producer(value);
    if (node == kNo<NodeId> || index == kNone || flow.IsData(node) ||
        seen_[node]) {
      continue;
    }
    const SideNode& side = recording.side_nodes[index];
    if (model.OpType(node) != recording.texts[side.op]) continue;
    seen_[node] = true;
    if (side.module != kNone) {
      auto path = Relative(candidate_, recorded, here,
                           *candidate_.paths.of(side.module));
      if (path) {
        found_.try_emplace(static_cast<std::uint32_t>(node), std::move(*path));
      }
    }
    const auto inputs = model.Inputs(node);
    const std::size_t slots = std::min(inputs.size(), side.inputs.size());
    for (std::size_t slot = slots; slot-- > 0;) {
      open.emplace_back(inputs[slot], side.inputs[slot]);
    }
  }
}

}  // namespace onnx_tag::recipes
