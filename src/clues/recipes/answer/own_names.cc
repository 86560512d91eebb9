#include <algorithm>
#include <map>
#include <set>

#include "clues/recipes/align/align.h"
#include "clues/recipes/answer/match.h"

namespace onnx_tag::recipes {
namespace {

// The parameters of the file below a recorded module, and their recorded
// counterparts.
struct BelowModule {
  std::set<Path> parameters;
  std::set<Path> recorded;
};

// The deepest common ancestor.
Path OwnerOfAll(const std::set<Path>& paths) {
  Path owner = *paths.begin();
  for (const Path& path : paths) owner.resize(CommonLength(owner, path));
  return owner;
}

// The module of the file that corresponds to `role` in the recipe.
Path FillRole(const Path& role, const BelowModule& below) {
  Path owner = OwnerOfAll(below.parameters);
  const Path recorded = OwnerOfAll(below.recorded);
  // If they are all in one part of it, climb as far as in the recipe.
  for (std::size_t k = role.size(); k < recorded.size() && !owner.empty();
       ++k) {
    owner.pop_back();
  }
  // A list has no operations of its own.
  while (!owner.empty() && !IsIndex(owner.back()) &&
         std::any_of(below.parameters.begin(), below.parameters.end(),
                     [&](const Path& path) {
                       return path.size() > owner.size() &&
                              IsIndex(path[owner.size()]);
                     })) {
    owner.pop_back();
  }
  return owner;
}

}  // namespace

std::vector<Answer> TransferRoles(const File& file, const Match& match) {
  const Program& program = match.candidate->ProgramIn(match.order);
  const auto& steps = file.StepsIn(match.order);
  const auto paths = Decode(program, match.alignment);
  std::map<Path, BelowModule> below;
  for (std::size_t i = 0; i < steps.size(); ++i) {
    const Path& anchor = file.anchors[steps[i].token];
    if (!paths[i] || anchor.empty()) continue;
    for (std::size_t k = 0; k < paths[i]->size(); ++k) {
      BelowModule& there = below[First(*paths[i], k)];
      there.parameters.insert(anchor);
      there.recorded.insert(*paths[i]);
    }
  }
  std::vector<Answer> answers(file.graph.tokens().size());
  for (std::size_t i = 0; i < steps.size(); ++i) {
    if (!paths[i] || !file.anchors[steps[i].token].empty()) continue;
    for (Path path = *paths[i]; !path.empty(); path.pop_back()) {
      const auto at = below.find(path);
      if (at == below.end()) continue;
      answers[steps[i].token] = {
          FillRole(path, at->second), Confidence::kLow,
          "has the role of the module that runs this operation"};
      break;
    }
  }
  return answers;
}

}  // namespace onnx_tag::recipes
