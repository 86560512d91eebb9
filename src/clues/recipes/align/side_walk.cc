#include "clues/recipes/align/side_walk.h"

#include <algorithm>
#include <utility>
#include <vector>

namespace onnx_tag::recipes {

namespace {

// Shortens the path to the owner of the first list at or after `begin`.
bool CutAtList(std::size_t begin, Path& path) {
  const auto index = std::find_if(
      path.begin() + static_cast<std::ptrdiff_t>(begin), path.end(), IsIndex);
  if (index == path.end()) return false;
  CutAtItem(static_cast<std::size_t>(index - path.begin()), path);
  return true;
}

constexpr std::string_view kMakesInput =
    "makes an input of an operation that matches";

}  // namespace

std::optional<Answer> Relative(const Candidate& candidate, const Path& recorded,
                               const Answer& here, const Path& other) {
  auto there = ToFile(candidate, other);
  const auto from = ToFile(candidate, recorded);
  if (!there || !from) return std::nullopt;
  const Path& path = *here.path;
  const std::size_t shared = CommonLength(*there, *from);
  const std::size_t common = std::min(shared, path.size());
  if (Generic(First(path, common)) == Generic(First(*from, common))) {
    std::copy(path.begin(), path.begin() + static_cast<std::ptrdiff_t>(common),
              there->begin());
    const bool cut = here.cut && CutAtList(common, *there);
    return Answer{std::move(there), Confidence::kCertain, kMakesInput, cut};
  }
  // With another prefix, the rest after the shared part must be equal.
  const std::size_t tail = from->size() - shared;
  if (!here.cut && path.size() >= tail &&
      Generic(Rest(path, path.size() - tail)) == Generic(Rest(*from, shared))) {
    return Answer{Join(First(path, path.size() - tail), Rest(*there, shared)),
                  Confidence::kCertain, kMakesInput};
  }
  if (HasIndex(*there)) return std::nullopt;
  return Answer{std::move(there), Confidence::kCertain, kMakesInput};
}

void SideWalk::From(std::uint32_t token, std::uint32_t recorded,
                    const Answer& placed) {
  const Token& here = graph_.tokens()[token];
  const Recipe& recipe = candidate_.recipe;
  const RecordedToken& there = recipe.tokens[recorded];
  const Path* const recorded_path = candidate_.paths.of(there.module);
  if (recorded_path == nullptr) return;
  const Model& model = graph_.flow().model();
  for (const SideReference& reference : there.sides) {
    NodeId node = kNo<NodeId>;
    if (reference.node == there.main) {
      node = here.main_node();
    } else if (here.nodes.size() == there.ops.size() &&
               model.OpType(here.nodes[reference.node]) ==
                   recipe.texts[there.ops[reference.node]]) {
      node = here.nodes[reference.node];
    } else {
      continue;
    }
    const auto inputs = model.Inputs(node);
    if (reference.slot >= inputs.size()) continue;
    Walk(inputs[reference.slot], reference.side, *recorded_path, placed);
  }
}

// Whether the Shape or Size reads a value made inside the module that needs it.
// Then `owner`, a module above, cannot have computed it.
bool SideWalk::IsOfHere(NodeId shape, const Path& owner,
                        const Path& here) const {
  const DataFlow& flow = graph_.flow();
  for (const ValueId value : flow.model().Inputs(shape)) {
    const NodeId producer = flow.Producer(flow.Source(value));
    if (producer == kNo<NodeId> || graph_.token_of()[producer] == kNone) {
      continue;
    }
    const Answer& made = placed_[graph_.token_of()[producer]];
    if (made.path && StartsWith(here, owner) &&
        CommonLength(*made.path, here) > owner.size()) {
      return true;
    }
  }
  return false;
}

void SideWalk::Walk(ValueId start, std::uint32_t first, const Path& recorded,
                    const Answer& here) {
  const DataFlow& flow = graph_.flow();
  const Model& model = flow.model();
  const Recipe& recipe = candidate_.recipe;
  struct Open {
    ValueId value;
    std::uint32_t side;
    std::uint32_t reader;
  };
  std::vector<Open> open = {{start, first, kNone}};
  std::vector<Visit> visits;
  while (!open.empty()) {
    const Open next = open.back();
    open.pop_back();
    const NodeId node = flow.Producer(next.value);
    if (node == kNo<NodeId> || next.side == kNone || flow.IsData(node) ||
        seen_[node]) {
      continue;
    }
    const SideNode& side = recipe.side_nodes[next.side];
    if (model.OpType(node) != recipe.texts[side.op]) continue;
    seen_[node] = true;
    const auto visit = static_cast<std::uint32_t>(visits.size());
    visits.push_back({node, next.side, next.reader});
    const Path* const maker = candidate_.paths.of(side.module);
    if (maker != nullptr && flow.facts().ops.Is(node, OpKind::kShapeOf)) {
      const auto owner = Relative(candidate_, recorded, here, *maker);
      if (owner && IsOfHere(node, *owner->path, *here.path)) {
        // Another version computes the shape elsewhere; so the nodes computed
        // from it are affected, too.
        for (std::uint32_t at = visit; at != kNone; at = visits[at].reader) {
          if (recipe.side_nodes[visits[at].side].module != side.module) break;
          visits[at].sound = false;
        }
      }
    }
    const auto inputs = model.Inputs(node);
    const std::size_t slots = std::min(inputs.size(), side.inputs.size());
    for (std::size_t slot = slots; slot-- > 0;) {
      open.push_back({inputs[slot], side.inputs[slot], visit});
    }
  }
  for (const Visit& visit : visits) {
    const std::uint32_t module = recipe.side_nodes[visit.side].module;
    const Path* const path = candidate_.paths.of(module);
    const bool sound =
        visit.sound && (visit.reader == kNone || visits[visit.reader].sound ||
                        !flow.facts().ops.Is(visit.node, OpKind::kConstant));
    if (!sound || path == nullptr) continue;
    auto answer = Relative(candidate_, recorded, here, *path);
    if (!answer) continue;
    if (old_activations_ && IsActivationModule(recipe, module) &&
        !answer->path->empty()) {
      answer->path->pop_back();
    }
    found_.try_emplace(visit.node, std::move(*answer));
  }
}

}  // namespace onnx_tag::recipes
