#include "mapping/ladder/clue_laws.h"

#include <algorithm>

namespace onnx_tag {
namespace {

bool IsInferred(const Claim& claim) {
  return claim.source == Source::kOperation ||
         claim.source == Source::kLocality ||
         claim.source == Source::kPlacement;
}

// The body of a module's function belongs to the module or to modules it calls.
bool StaysInFunction(const Evidence& file, Claim& claim) {
  if (claim.source != Source::kLocality && claim.source != Source::kPlacement) {
    return true;
  }
  const FunctionId owner = file.functions.OwnerOf(file.model[claim.node].graph);
  if (owner == kNo<FunctionId>) return true;
  const ModuleId module = file.functions[owner].module;
  return module == kNo<ModuleId> ||
         file.modules.IsAncestor(module, claim.module);
}

bool IsOperatorOfModule(const Evidence& file, Claim& claim) {
  return !IsInferred(claim) || !file.IsContradicted(claim.node, claim.module);
}

// A module without parameters in the map owns no tensor, whatever the tensor is
// called: `w5` is nobody's.
bool MayOwnTensors(const Evidence& file, Claim& claim) {
  if (claim.source != Source::kParameter) return true;
  const ModuleId in_map = file.known.InMap(claim.module);
  return in_map == kNo<ModuleId> || file.known.map->MayOwnTensors(in_map);
}

// What a name says of a module that the map lacks is said of the nearest module
// around it.
bool IsInMap(const Evidence& file, Claim& claim) {
  if (!file.IsImpossible(claim.module)) return true;
  if (IsInferred(claim)) return false;
  while (file.IsImpossible(claim.module)) {
    claim.module = file.modules.Parent(claim.module);
  }
  claim.confidence = std::min(claim.confidence, Confidence::kMedium);
  claim.source = Source::kHierarchy;
  claim.because =
      "the hierarchy does not have the module in its name, but has this parent";
  return true;
}

constexpr ClueLaw kClueLaws[] = {
    {"function", "what neighbours say stays inside the function around it",
     &StaysInFunction},
    {"operator", "a module of the map makes the operators of its class",
     &IsOperatorOfModule},
    {"owner", "a module without parameters in the map owns no tensor",
     &MayOwnTensors},
    {"map", "the map has the module, or one around it", &IsInMap},
};

}  // namespace

std::span<const ClueLaw> ClueLaws() { return kClueLaws; }

std::optional<Claim> Admit(const Evidence& file, Claim claim) {
  if (claim.source == Source::kRule) return claim;  // the user knows better
  for (const ClueLaw& law : kClueLaws) {
    if (!law.holds(file, claim)) return std::nullopt;
  }
  return claim;
}

}  // namespace onnx_tag
