#include <algorithm>
#include <optional>
#include <utility>
#include <vector>

#include "clues/recipes/align/replay.h"

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

namespace {

class SideWalk {
 public:
  SideWalk(const File& file, const Candidate& candidate, Replayed& replayed)
      : file_(file), candidate_(candidate), replayed_(replayed) {}

  void From(std::uint32_t token, std::uint32_t recorded) {
    const Token& here = file_.graph.tokens()[token];
    const Answer& placed = replayed_.tokens[token];
    const Recipe& recipe = candidate_.recipe;
    const RecordedToken& there = recipe.tokens[recorded];
    const Path* const recorded_path = candidate_.paths.of(there.module);
    if (recorded_path == nullptr) return;
    for (const SideReference& reference : there.sides) {
      NodeId node = kNo<NodeId>;
      if (reference.node == there.main) {
        node = here.main_node();
      } else if (here.nodes.size() == there.ops.size() &&
                 model_.OpType(here.nodes[reference.node]) ==
                     recipe.texts[there.ops[reference.node]]) {
        node = here.nodes[reference.node];
      } else {
        continue;
      }
      const auto inputs = model_.Inputs(node);
      if (reference.slot >= inputs.size()) continue;
      Walk(inputs[reference.slot], reference.side, *recorded_path, placed);
    }
  }

 private:
  // A node of the file, the corresponding side node, and the consumer from
  // which it was reached.
  struct Visit {
    NodeId node;
    std::uint32_t side;
    std::uint32_t reader;  // in the walk; kNone: the token
    bool sound = true;
  };

  // Whether the Shape or Size reads a value made inside the module that needs
  // it. Then `owner`, a module above, cannot have computed it.
  bool IsOfHere(NodeId shape, const Path& owner, const Path& here) const {
    for (const ValueId value : model_.Inputs(shape)) {
      const NodeId producer = flow_.Producer(flow_.Source(value));
      if (producer == kNo<NodeId> ||
          file_.graph.token_of()[producer] == kNone) {
        continue;
      }
      const Answer& made = replayed_.tokens[file_.graph.token_of()[producer]];
      if (made.path && StartsWith(here, owner) &&
          CommonLength(*made.path, here) > owner.size()) {
        return true;
      }
    }
    return false;
  }

  void Walk(ValueId start, std::uint32_t first, const Path& recorded,
            const Answer& here) {
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
      const NodeId node = flow_.Producer(next.value);
      if (node == kNo<NodeId> || next.side == kNone || flow_.IsData(node) ||
          seen_[node]) {
        continue;
      }
      const SideNode& side = recipe.side_nodes[next.side];
      if (model_.OpType(node) != recipe.texts[side.op]) continue;
      seen_[node] = true;
      const auto visit = static_cast<std::uint32_t>(visits.size());
      visits.push_back({node, next.side, next.reader});
      const Path* const maker = candidate_.paths.of(side.module);
      if (maker != nullptr && flow_.facts().ops.Is(node, OpKind::kShapeOf)) {
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
      const auto inputs = model_.Inputs(node);
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
                          !flow_.facts().ops.Is(visit.node, OpKind::kConstant));
      if (!sound || path == nullptr) continue;
      auto answer = Relative(candidate_, recorded, here, *path);
      if (!answer) continue;
      if (file_.old_activations && IsActivationModule(recipe, module) &&
          !answer->path->empty()) {
        answer->path->pop_back();
      }
      replayed_.sides.try_emplace(visit.node, std::move(*answer));
    }
  }

  const File& file_;
  const Candidate& candidate_;
  Replayed& replayed_;
  const DataFlow& flow_ = file_.graph.flow();
  const Model& model_ = flow_.model();
  IdVector<NodeId, bool> seen_{model_.node_count()};
};

}  // namespace

void WalkSides(const File& file, const Candidate& candidate,
               const std::vector<TokenPair>& aligned, Replayed& replayed) {
  SideWalk walk(file, candidate, replayed);
  for (const auto& [token, recorded] : aligned) walk.From(token, recorded);
}

}  // namespace onnx_tag::recipes
