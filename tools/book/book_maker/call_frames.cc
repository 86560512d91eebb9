#include "book_maker/call_frames.h"

#include <algorithm>
#include <string>

namespace onnx_tag::recipes {
namespace {

// They call nothing: what they hold is called by the module around them.
bool IsContainer(const std::string& class_name) {
  return class_name == "ModuleList" || class_name == "ModuleDict";
}

}  // namespace

Frames::Frames(const Recipe& recipe) : recipe_(recipe) {
  for (const RecordedModule& module : recipe.modules) {
    depth_.push_back(module.parent == kNone ? 0 : depth_[module.parent] + 1);
  }
  PlaceTokens();
  frame_of_.assign(recipe.tokens.size(), kNone);
  BuildFrame(0, kNone, 0, static_cast<std::uint32_t>(recipe.tokens.size()));
  FindFirstUses();
  PlaceSides();
}

bool Frames::IsAtOrBelow(std::uint32_t module, std::uint32_t ancestor) const {
  while (depth_[module] > depth_[ancestor]) {
    module = recipe_.modules[module].parent;
  }
  return module == ancestor;
}

std::uint32_t Frames::Common(std::uint32_t a, std::uint32_t b) const {
  while (a != b) {
    std::uint32_t& deeper = depth_[a] >= depth_[b] ? a : b;
    deeper = recipe_.modules[deeper].parent;
  }
  return a;
}

// A token that nobody knows stays with its neighbours.
void Frames::PlaceTokens() {
  const std::size_t count = recipe_.tokens.size();
  runs_.resize(count);
  std::uint32_t before = kNone;
  for (std::size_t i = 0; i < count; ++i) {
    const std::uint32_t module = recipe_.tokens[i].module;
    if (module != kNone) {
      runs_[i] = before = module;
      continue;
    }
    std::size_t next = i;
    while (next < count && recipe_.tokens[next].module == kNone) ++next;
    const std::uint32_t after =
        next < count ? recipe_.tokens[next].module : kNone;
    runs_[i] = before == kNone && after == kNone ? 0
               : before == kNone                 ? after
               : after == kNone                  ? before
                                                 : Common(before, after);
    before = runs_[i];
  }
}

// The module that a frame of `module` calls to get at `below`: the highest one
// between them that can be called.
std::uint32_t Frames::ChildTowards(std::uint32_t module,
                                   std::uint32_t below) const {
  std::uint32_t child = below;
  for (std::uint32_t at = below; at != module;
       at = recipe_.modules[at].parent) {
    const RecordedModule& recorded = recipe_.modules[at];
    if (!IsContainer(recipe_.texts[recorded.class_name])) child = at;
  }
  return child;
}

std::uint32_t Frames::BuildFrame(std::uint32_t module, std::uint32_t parent,
                                 std::uint32_t begin, std::uint32_t end) {
  const std::uint32_t id = static_cast<std::uint32_t>(frames_.size());
  frames_.push_back({module,
                     parent,
                     parent == kNone ? 0 : frames_[parent].level + 1,
                     begin,
                     {}});
  std::uint32_t i = begin;
  while (i < end) {
    Frame::Part part;
    part.first_token = i;
    if (runs_[i] == module) {
      part.token = i;
      frame_of_[i] = id;
      ++i;
    } else {
      const std::uint32_t child = ChildTowards(module, runs_[i]);
      std::uint32_t stop = i;
      while (stop < end && IsAtOrBelow(runs_[stop], child)) ++stop;
      part.frame = BuildFrame(child, id, i, stop);
      i = stop;
    }
    frames_[id].parts.push_back(part);
  }
  return id;
}

void Frames::FindFirstUses() {
  first_use_.assign(recipe_.side_nodes.size(), kNone);
  for (std::uint32_t i = 0; i < recipe_.tokens.size(); ++i) {
    for (const SideReference& reference : recipe_.tokens[i].sides) {
      Use(reference.side, i);
    }
  }
}

void Frames::Use(std::uint32_t side, std::uint32_t token) {
  std::vector<std::uint32_t> stack = {side};
  while (!stack.empty()) {
    const std::uint32_t at = stack.back();
    stack.pop_back();
    if (at == kNone || first_use_[at] != kNone) continue;
    first_use_[at] = token;
    for (const std::uint32_t input : recipe_.side_nodes[at].inputs) {
      stack.push_back(input);
    }
  }
}

// Of two places before the same token, the outer frame's comes first.
bool Frames::ComesBefore(const SidePlace& a, const SidePlace& b) const {
  if (a.before != b.before) return a.before < b.before;
  return frames_[a.frame].level < frames_[b.frame].level;
}

void Frames::PlaceSides() {
  side_places_.resize(recipe_.side_nodes.size());
  for (std::uint32_t i = 0; i < side_places_.size(); ++i) {
    side_places_[i] = Place(i);
  }
}

// In the frame of the module that owns it, where that is still open when the
// node is first needed: layers that share the node then look alike. Else the
// owner is called for it. A node that needs what is made further inside is
// made there.
SidePlace Frames::Place(std::uint32_t side) const {
  const SideNode& node = recipe_.side_nodes[side];
  const std::uint32_t token = first_use_[side];
  std::vector<SidePlace> chain;  // from the token's frame outwards
  std::uint32_t before = token;
  for (std::uint32_t f = frame_of_[token]; f != kNone; f = frames_[f].parent) {
    chain.push_back({f, before, kNone});
    before = frames_[f].first_token;
  }
  std::size_t at = 0;
  if (node.module != kNone) {
    while (!IsAtOrBelow(node.module, frames_[chain[at].frame].module)) ++at;
    if (frames_[chain[at].frame].module != node.module) {
      chain[at].called = node.module;
    }
  }
  const auto too_early = [&](const SidePlace& place) {
    return std::any_of(
        node.inputs.begin(), node.inputs.end(), [&](std::uint32_t input) {
          return input != kNone && ComesBefore(place, side_places_[input]);
        });
  };
  while (at > 0 && too_early(chain[at])) --at;
  return chain[at];
}

}  // namespace onnx_tag::recipes
