#include "onnx_tag/tagging.h"

#include <algorithm>

#include "core/hierarchy/roll_up.h"

namespace onnx_tag {

GivenPaths& Tagging::Give(ModuleId module) {
  if (given.size() < modules.size()) given.resize(modules.size());
  return given[module];
}

std::string_view Tagging::ClassConfidenceName(ModuleId module) const {
  const ModuleFacts* const known = FactsOf(module);
  if (known == nullptr || modules.Class(module).empty()) return "";
  return kConfidenceNames[Index(known->class_confidence)];
}

std::span<const Origin> Tagging::OriginsOf(NodeId node) const {
  const auto first = std::lower_bound(
      origins.begin(), origins.end(), node,
      [](const Origin& origin, NodeId id) { return origin.node < id; });
  auto last = first;
  while (last != origins.end() && last->node == node) ++last;
  return std::span(origins).subspan(
      static_cast<std::size_t>(first - origins.begin()),
      static_cast<std::size_t>(last - first));
}

const FoundBlock* Tagging::FindFound(ModuleId module) const {
  const auto at = std::lower_bound(
      found.begin(), found.end(), module,
      [](const FoundBlock& block, ModuleId id) { return block.module < id; });
  return at != found.end() && at->module == module ? &*at : nullptr;
}

void ListFound(Tagging& tagging) {
  Tagging before;
  before.found.swap(tagging.found);
  enum class Nodes : std::uint8_t { kNone, kFound, kOthers };
  const ModuleTree& tree = tagging.modules;
  IdVector<ModuleId, Nodes> nodes(tree.size(), Nodes::kNone);
  bool any = false;
  for (const Tag& tag : tagging.tags) {
    if (!tag.tagged()) continue;
    const bool is_found = tag.source == Source::kStructure;
    any |= is_found;
    nodes[tag.module] =
        std::max(nodes[tag.module], is_found ? Nodes::kFound : Nodes::kOthers);
  }
  if (!any) return;
  RollUp(tree, nodes, [](Nodes& to, Nodes from) { to = std::max(to, from); });
  for (const ModuleId id : tree.All()) {
    if (id != ModuleTree::kRoot && nodes[id] == Nodes::kFound) {
      const FoundBlock* const known = before.FindFound(id);
      tagging.found.push_back({id, known == nullptr ? "" : known->description});
    }
  }
}

std::string_view RootClass::ConfidenceName() const {
  if (name.empty()) return "";
  return kConfidenceNames[Index(confidence)];
}

Coverage CountTags(const Tagging& tagging) {
  Coverage coverage;
  coverage.nodes = tagging.tags.size();
  for (const Tag& tag : tagging.tags) {
    if (!tag.tagged()) continue;
    ++coverage.tagged;
    coverage.sure += tag.confidence >= Confidence::kMedium &&
                     tag.source != Source::kStructure;
    ++coverage.by_confidence[Index(tag.confidence)];
    ++coverage.by_source[Index(tag.source)];
    ++coverage.by_type[Index(tagging.roles[tag.role].type)];
  }
  return coverage;
}

}  // namespace onnx_tag
