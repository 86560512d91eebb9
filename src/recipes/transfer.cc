#include "recipes/transfer.h"

#include <map>
#include <set>

#include "recipes/decode.h"

namespace onnx_tag::recipes {
namespace {

using Parameters = std::set<Path>;

// The module that runs what the recording runs where these parameters are.
Path OwnerOf(const Parameters& parameters) {
  Path owner = *parameters.begin();
  for (const Path& path : parameters) {
    owner.resize(CommonLength(owner, path));
  }
  if (parameters.size() == 1 && !owner.empty()) owner.pop_back();
  // A list runs nothing itself.
  if (!owner.empty() && !IsIndex(owner.back())) {
    for (const Path& path : parameters) {
      if (path.size() > owner.size() && IsIndex(path[owner.size()])) {
        owner.pop_back();
        break;
      }
    }
  }
  return owner;
}

}  // namespace

std::vector<Answer> TransferRoles(const File& file, const Match& match) {
  const Program& program = match.candidate->ProgramIn(match.order);
  const auto& steps = file.steps[static_cast<std::size_t>(match.order)];
  const auto paths = Decode(program, match.alignment);
  std::map<Path, Parameters> below;
  for (std::size_t i = 0; i < steps.size(); ++i) {
    const Path& anchor = file.anchors[steps[i].token];
    if (!paths[i] || anchor.empty()) continue;
    for (std::size_t k = 0; k < paths[i]->size(); ++k) {
      below[First(*paths[i], k)].insert(anchor);
    }
  }
  std::vector<Answer> answers(file.graph.tokens().size());
  for (std::size_t i = 0; i < steps.size(); ++i) {
    if (!paths[i] || !file.anchors[steps[i].token].empty()) continue;
    for (Path path = *paths[i]; !path.empty(); path.pop_back()) {
      const auto at = below.find(path);
      if (at == below.end()) continue;
      answers[steps[i].token] = {OwnerOf(at->second), How::kRole};
      break;
    }
  }
  return answers;
}

}  // namespace onnx_tag::recipes
