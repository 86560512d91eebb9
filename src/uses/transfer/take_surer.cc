// Takes tags from a mapping of the new version, if they are surer than the tags
// that were carried.
#include <algorithm>

#include "core/tagging/role_index.h"
#include "core/tagging/source_trust.h"
#include "onnx_tag/transfer.h"

namespace onnx_tag {
namespace {

class Taking {
 public:
  Taking(const Tagging& mapped, Tagging& carried)
      : mapped_(mapped),
        carried_(carried),
        in_carried_(mapped.modules.size(), kNo<ModuleId>),
        carried_roles_(carried),
        roles_(mapped.roles.size(), kNo<RoleId>) {
    in_carried_[ModuleTree::kRoot] = ModuleTree::kRoot;
    for (const ModuleId id : mapped.modules.All()) {
      if (id == ModuleTree::kRoot) continue;
      const ModuleId parent = in_carried_[mapped.modules.Parent(id)];
      if (parent == kNo<ModuleId>) continue;
      in_carried_[id] =
          carried.modules.FindChild(parent, mapped.modules.Atom(id));
    }
  }

  // Whether both name modules alike: FROM may have names of its own, or a
  // wrapper around them. Then it has few of the modules that the mapping found.
  bool NamesAgree() const {
    std::uint64_t known = 0;
    std::uint64_t all = 0;
    bool any = false;
    for (const NodeId node : AllIds<NodeId>(carried_.tags.size())) {
      const Tag& mapped = mapped_.tags[node];
      any |= carried_.tags[node].tagged();
      if (!mapped.tagged() || mapped.module == ModuleTree::kRoot ||
          mapped.source == Source::kStructure) {
        continue;
      }
      ++all;
      if (in_carried_[mapped.module] != kNo<ModuleId>) ++known;
    }
    return !any || 2 * known > all;
  }

  bool IsSurer(NodeId node, bool names_agree) const {
    const Tag& carried = carried_.tags[node];
    const Tag& mapped = mapped_.tags[node];
    if (!mapped.tagged()) return false;
    if (!carried.tagged()) return true;
    if (!names_agree || mapped.source == Source::kStructure) return false;
    return mapped.confidence > carried.confidence ||
           (mapped.confidence == carried.confidence &&
            in_carried_[mapped.module] != carried.module &&
            IsBetterBased(mapped));
  }

  void Take(NodeId node) {
    const Tag& mapped = mapped_.tags[node];
    Tag& tag = carried_.tags[node];
    tag = mapped;
    tag.module = ModuleOf(mapped.module);
    RoleId& role = roles_[mapped.role];
    if (role == kNo<RoleId>) {
      role = carried_roles_.Add(mapped_.roles[mapped.role]);
    }
    tag.role = role;
  }

  // Replaces the origins of the nodes that were taken.
  void TakeOrigins(const IdVector<NodeId, bool>& taken) {
    std::erase_if(carried_.origins,
                  [&](const Origin& origin) { return taken[origin.node]; });
    for (const Origin& origin : mapped_.origins) {
      if (!taken[origin.node]) continue;
      carried_.origins.push_back({origin.node, ModuleOf(origin.module)});
    }
    std::stable_sort(
        carried_.origins.begin(), carried_.origins.end(),
        [](const Origin& a, const Origin& b) { return a.node < b.node; });
  }

 private:
  // Which of two equal claims is the surer one: what the new version itself
  // spells, and below high what its operations show. A carried tag of that
  // level is a guess by neighbours.
  static bool IsBetterBased(const Tag& tag) {
    const SourceTrust trust = TrustIn(tag.source);
    return trust.is_spelled ||
           (trust.is_shown && tag.confidence < Confidence::kHigh);
  }

  ModuleId ModuleOf(ModuleId id) {
    ModuleId& known = in_carried_[id];
    if (known == kNo<ModuleId>) {
      const ModuleId parent = ModuleOf(mapped_.modules.Parent(id));
      known = carried_.modules.Child(parent, mapped_.modules.Atom(id));
      carried_.modules.SetClass(known, mapped_.modules.Class(id));
    }
    return in_carried_[id];
  }

  const Tagging& mapped_;
  Tagging& carried_;
  IdVector<ModuleId, ModuleId> in_carried_;  // by module of the mapping
  RoleIndex carried_roles_;
  IdVector<RoleId, RoleId> roles_;  // by role of the mapping
};

}  // namespace

std::uint64_t TakeSurer(const Tagging& mapped, Tagging& carried) {
  Taking taking(mapped, carried);
  const bool names_agree = taking.NamesAgree();
  IdVector<NodeId, bool> taken(carried.tags.size(), false);
  std::uint64_t count = 0;
  for (const NodeId node : AllIds<NodeId>(carried.tags.size())) {
    if (!taking.IsSurer(node, names_agree)) continue;
    taking.Take(node);
    taken[node] = true;
    ++count;
  }
  taking.TakeOrigins(taken);
  if (count > 0) ListFound(carried);
  return count;
}

}  // namespace onnx_tag
