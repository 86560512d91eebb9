#include "recipes/transfer.h"

#include <algorithm>
#include <map>
#include <set>

#include "recipes/decode.h"

namespace onnx_tag::recipes {
namespace {

// Of a recorded module: the parameters that the file has below it, and their
// recorded counterparts.
struct Below {
  std::set<Path> parameters;
  std::set<Path> recorded;
};

// The deepest module that all are of.
Path OwnerOfAll(const std::set<Path>& paths) {
  Path owner = *paths.begin();
  for (const Path& path : paths) owner.resize(CommonLength(owner, path));
  // A list runs nothing itself.
  if (!owner.empty() && !IsIndex(owner.back())) {
    for (const Path& path : paths) {
      if (path.size() > owner.size() && IsIndex(path[owner.size()])) {
        owner.pop_back();
        break;
      }
    }
  }
  return owner;
}

// The module that runs what `role` runs in the recording.
Path FillRole(const Path& role, const Below& below) {
  Path owner = OwnerOfAll(below.parameters);
  const Path recorded = OwnerOfAll(below.recorded);
  // They may all be of one part of it: as far up as there.
  for (std::size_t k = role.size(); k < recorded.size() && !owner.empty();
       ++k) {
    owner.pop_back();
  }
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
  const auto& steps = file.steps[static_cast<std::size_t>(match.order)];
  const auto paths = Decode(program, match.alignment);
  std::map<Path, Below> below;
  for (std::size_t i = 0; i < steps.size(); ++i) {
    const Path& anchor = file.anchors[steps[i].token];
    if (!paths[i] || anchor.empty()) continue;
    for (std::size_t k = 0; k < paths[i]->size(); ++k) {
      Below& there = below[First(*paths[i], k)];
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
      answers[steps[i].token] = {FillRole(path, at->second), How::kRole};
      break;
    }
  }
  return answers;
}

}  // namespace onnx_tag::recipes
