// The whole command: what a transfer cannot carry, a mapping of the new version
// gives.
#include <algorithm>
#include <optional>

#include "base/lists.h"
#include "core/tagging/role_index.h"
#include "mapping/mapping/order_modules.h"
#include "onnx_tag/error.h"
#include "onnx_tag/mapping.h"
#include "onnx_tag/transfer.h"

namespace onnx_tag {
namespace {

// Takes tags from a mapping of the new version, if they are surer than the tags
// that were carried.
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
    // A surer kind wins, not a surer level.
    return mapped.evidence < carried.evidence ||
           (mapped.evidence == carried.evidence &&
            mapped.confidence > carried.confidence);
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
    SortBy(carried_.origins, &Origin::node);
  }

 private:
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

// TO, mapped with the strategy of FROM. Nothing if the strategy needs a
// recording.
std::optional<Tagging> MappedAgain(const Model& model, const Tagging& from,
                                   const MappingOptions& options,
                                   bool structure) {
  MappingOptions mapping;
  mapping.recipes = options.recipes;
  mapping.placement = options.placement;
  mapping.frames = options.frames;
  mapping.structure = structure;
  if (!from.strategy.empty()) mapping.strategy = from.strategy;
  mapping.format = from.format;
  try {
    return MapNodes(model, mapping);
  } catch (const Error& error) {
    if (error.kind() != ErrorKind::kUsage) throw;
    return std::nullopt;
  }
}

// Whether the blocks found in the new version are those that were carried:
// invented names of two versions do not mix.
bool FoundAlike(const Tagging& carried, const Tagging& mapped) {
  std::uint64_t both = 0;
  std::uint64_t same = 0;
  for (const NodeId node : AllIds<NodeId>(carried.tags.size())) {
    const Tag& a = carried.tags[node];
    const Tag& b = mapped.tags[node];
    if (a.source != Source::kStructure || b.source != Source::kStructure) {
      continue;
    }
    ++both;
    same += carried.modules.Path(a.module) == mapped.modules.Path(b.module);
  }
  return both > 0 && 10 * same >= 9 * both;
}

// Whether both are the same line, also if one has fewer folders: the folder
// that all files share may be another where few tracebacks are left.
bool IsSameLine(const SourceLine& a, const SourceLine& b) {
  return a.line == b.line &&
         (a.file.ends_with(b.file) || b.file.ends_with(a.file));
}

// A traceback in the file itself is surer than the line of a counterpart.
void TakeLines(const SourceLines& own, const Model& model, SourceLines& lines) {
  for (const NodeId node : model.Nodes()) {
    const std::optional<SourceLine> line = own.Of(node);
    if (!line) continue;
    const std::optional<SourceLine> carried = lines.Of(node);
    if (carried && IsSameLine(*carried, *line)) continue;
    lines.Set(node, *line);
    lines.SetFrames(node, own.FramesOf(node));
  }
}

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

Transferred TransferOrMap(const Model& from, const Tagging& tags,
                          const Model& to, const MappingOptions& options,
                          Lineage* lineage) {
  Transferred result;
  result.tagging = TransferTags(from, tags, to, &result.counts, lineage);
  // Tools fuse nodes and insert nodes: a version has many nodes without a
  // counterpart, but then most nodes of the smaller one have theirs.
  const std::uint64_t smaller =
      std::min<std::uint64_t>(from.node_count(), to.node_count());
  result.same_model = 4 * result.counts.counterparts() >= smaller;
  std::optional<Tagging> again = MappedAgain(to, tags, options, true);
  if (again && !tags.found.empty() && !FoundAlike(result.tagging, *again)) {
    again = MappedAgain(to, tags, options, false);
  }
  if (again) {
    // Those of FROM keep their order: it may be that of a recording.
    CallPlaces order(result.tagging.modules.size(), kNotCalled);
    std::uint32_t place = 0;
    for (const ModuleId id : result.tagging.modules.All()) order[id] = place++;
    result.mapped = TakeSurer(*again, result.tagging);
    TakeLines(again->lines, to, result.tagging.lines);
    if (result.tagging.modules.size() > order.size()) {
      OrderModules(GatherGraph(to), order, result.tagging);
    }
  }
  return result;
}

}  // namespace onnx_tag
