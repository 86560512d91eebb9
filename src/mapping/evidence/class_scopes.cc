#include "mapping/evidence/class_scopes.h"

#include <algorithm>
#include <deque>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "base/lists.h"
#include "base/text.h"
#include "core/graph/walk.h"
#include "core/hierarchy/name_parts.h"
#include "core/tagging/module_format.h"

namespace onnx_tag {
namespace {

using Atoms = ModuleTree::Atoms;

bool IsClassWord(std::string_view word) {
  return !word.empty() && hierarchy::IsUpper(word.front());
}

// The class in the last segment: "BertLayer" of "BertLayer.0".
std::string_view ClassIn(const ScopeTable& scopes, ScopeId id) {
  const std::string_view segment = scopes.Segment(id);
  return segment.substr(0, segment.find('.'));
}

// By scope: whether it is made of classes. Empty unless every name begins with
// the class of the root, and most of what is inside are classes, too.
IdVector<ScopeId, bool> FindClassScopes(const ScopeFacts& facts,
                                        const ModuleTree& modules) {
  const ScopeTable& scopes = facts.scopes;
  const auto is_scope = [](ScopeId id) {
    return id != kNo<ScopeId> && id != ScopeId{0};
  };
  const auto named =
      std::find_if(facts.node_scope.begin(), facts.node_scope.end(), is_scope);
  if (named == facts.node_scope.end()) return {};
  ScopeId root = *named;
  while (scopes[root].parent != ScopeId{0}) root = scopes[root].parent;
  const std::string_view name = scopes.Segment(root);
  if (!IsClassWord(name) || name.find('.') != std::string_view::npos ||
      modules.FindChild(ModuleTree::kRoot, name) != kNo<ModuleId>) {
    return {};
  }
  IdVector<ScopeId, bool> inside(scopes.size(), false);
  std::size_t classes = 0;
  std::size_t others = 0;
  // The id of a parent is smaller than the ids of its children.
  for (const ScopeId id : AllIds<ScopeId>(scopes.size())) {
    inside[id] = id == root || (id != ScopeId{0} && inside[scopes[id].parent]);
    if (!inside[id] || id == root) continue;
    ++(IsClassWord(ClassIn(scopes, id)) ? classes : others);
  }
  const bool all_inside = AllIn(facts.node_scope, [&](ScopeId id) {
    return !is_scope(id) || inside[id];
  });
  if (classes <= others || !all_inside) return {};
  return inside;
}

}  // namespace

IdVector<NodeId, ScopeId> TakeClassScopes(const ParameterFacts& parameters,
                                          bool has_map,
                                          const ModuleTree& modules,
                                          ScopeFacts& facts) {
  if (parameters.parameters.empty() && !has_map) return {};
  const IdVector<ScopeId, bool> inside = FindClassScopes(facts, modules);
  if (inside.empty()) return {};
  IdVector<NodeId, ScopeId> taken(facts.node_scope.size(), kNo<ScopeId>);
  for (const NodeId node : AllIds<NodeId>(taken.size())) {
    ScopeId& scope = facts.node_scope[node];
    if (scope == kNo<ScopeId> || !inside[scope]) continue;
    taken[node] = scope;
    scope = kNo<ScopeId>;
    // Other names of values have attributes.
    ScopeId& value = facts.value_scope[node];
    if (value != kNo<ScopeId> && inside[value]) value = kNo<ScopeId>;
  }
  return taken;
}

namespace {

class ClassPlacer {
 public:
  ClassPlacer(const GraphFacts& graph, const ParameterFacts& parameters,
              const ScopeFacts& facts,
              const IdVector<NodeId, ScopeId>& scope_of, KnownModules& known,
              const PathsToPart& paths, ModuleTree& modules)
      : graph_(graph),
        model_(graph.model),
        parameters_(parameters),
        facts_(facts),
        scope_of_(scope_of),
        scopes_(facts.scopes),
        known_(known),
        paths_(paths),
        tree_(modules),
        tops_(scopes_.size()),
        stand_ins_(scopes_.size()),
        has_parts_(scopes_.size(), false) {
    // Granularity `hf` leaves the classes of torch.nn out, but for some.
    for (const ScopeId id : AllIds<ScopeId>(scopes_.size())) {
      const std::string_view name = ClassIn(scopes_, id);
      every_class_ |=
          TorchNnClasses().contains(name) && !IsAmong(name, kDefaultExceptions);
    }
  }

  ClassClaims Run(Clues& said) {
    if (known_.map != nullptr && known_.map->complete) ReadMap();
    if (!mapped_) Vote();
    for (const ScopeId id : AllIds<ScopeId>(scopes_.size())) {
      const std::string_view name = ClassIn(scopes_, id);
      if (!IsClassWord(name)) continue;
      for (const ModuleId top : tops_[id]) {
        if (tree_.Class(top).empty()) tree_.SetClass(top, name);
      }
    }
    said.TakeBack(WriterId::kRecorded,
                  [&](const Clue& clue) { return Refutes(clue); });
    Label();
    has_recording_ = !said.From(WriterId::kRecorded).empty();
    is_recorded_.resize(model_.node_count(), false);
    for (const WriterId from : {WriterId::kRecorded, WriterId::kRecordedPart}) {
      for (const Clue& clue : said.From(from)) is_recorded_[clue.node] = true;
    }
    for (const NodeId node : model_.Nodes()) {
      if (scope_of_[node] != kNo<ScopeId> && HasPart(node)) {
        has_parts_[scope_of_[node]] = true;
      }
    }
    ClassClaims claims;
    for (const NodeId node : model_.Nodes()) Judge(node, claims);
    return claims;
  }

 private:
  // The modules whose hierarchy tag is the scope, by the map.
  void ReadMap() {
    Tagging tagging;
    tagging.modules = known_.map->tree;
    tagging.root.name = known_.map->tree.Class(ModuleTree::kRoot);
    tagging.format.torch_nn = every_class_;
    const ModuleFormat format(tagging);
    std::unordered_map<std::string, ScopeId> by_tag;
    for (const ScopeId id : AllIds<ScopeId>(scopes_.size())) {
      by_tag.emplace("/" + std::string(scopes_[id].text), id);
    }
    for (const ModuleId id : tagging.modules.All()) {
      if (format.TagModule(id) != id) continue;
      const auto at = by_tag.find(format.HierarchyTag(id));
      if (at == by_tag.end()) continue;
      const ModuleId module = known_.Add(id, tree_);
      if (module == kNo<ModuleId>) continue;
      tops_[at->second].push_back(module);
      mapped_ = true;
    }
  }

  // Lays the scopes of nodes along the paths of their parameters.
  void Vote() {
    for (const NodeId node : model_.Nodes()) {
      const ScopeId scope = scope_of_[node];
      if (scope == kNo<ScopeId> || parameters_.is_carrier[node]) continue;
      if (const ScopeId value = facts_.ScopeOf(node); value != kNo<ScopeId>) {
        Lay(scope, scopes_[value].module);
      }
      for (const Parameter& parameter :
           parameters_.Among(model_.Inputs(node))) {
        if (parameter.trusted) Lay(scope, parameter.module);
      }
    }
  }

  // Each segment is one attribute, or the items of lists: "BertLayer.0" is
  // `layer.0`.
  void Lay(ScopeId scope, ModuleId module) {
    // Nodes of one module follow each other.
    if (std::exchange(last_, {scope, module}) == std::pair(scope, module)) {
      return;
    }
    std::vector<ScopeId> chain;  // without the root's
    ScopeId root = scope;
    for (ScopeId at = scope; scopes_[at].parent != ScopeId{0};
         at = scopes_[at].parent) {
      chain.push_back(at);
      root = scopes_[at].parent;
    }
    AddTop(root, ModuleTree::kRoot);
    const Atoms path = tree_.AtomsBelow(ModuleTree::kRoot, module);
    std::vector<std::pair<ScopeId, std::size_t>> ends;
    std::size_t at = 0;
    for (auto id = chain.rbegin(); id != chain.rend(); ++id) {
      at = EndOf(*id, path, at);
      if (at == 0) return;  // does not fit
      ends.emplace_back(*id, at);
    }
    if (every_class_ && at != path.size()) return;
    for (const auto& [id, end] : ends) {
      AddTop(id,
             tree_.Down(ModuleTree::kRoot, std::span(path).subspan(0, end)));
    }
  }

  // Where the segment ends in the path that begins at `at`; 0: it does not fit.
  std::size_t EndOf(ScopeId id, const Atoms& path, std::size_t at) const {
    std::string_view segment = scopes_.Segment(id);
    std::size_t dot = segment.find('.');
    if (dot == std::string_view::npos) {
      return at < path.size() && !hierarchy::IsNumeric(path[at]) ? at + 1 : 0;
    }
    while (dot != std::string_view::npos) {
      segment.remove_prefix(dot + 1);
      dot = segment.find('.');
      while (at < path.size() && !hierarchy::IsNumeric(path[at])) ++at;
      if (at == path.size() || path[at] != segment.substr(0, dot)) return 0;
      ++at;
    }
    return at;
  }

  void AddTop(ScopeId id, ModuleId module) {
    constexpr std::size_t kMost = 64;  // modules of one class path
    std::vector<ModuleId>& tops = tops_[id];
    if (tops.size() < kMost && !IsAmong(module, tops)) {
      tops.push_back(module);
    }
  }

  // The module of this class path that `module` is, or is a part of without a
  // class in the path.
  ModuleId TopOf(ScopeId scope, ModuleId module) const {
    for (const ModuleId top : tops_[scope]) {
      if (tree_.IsAncestor(top, module)) return top;
    }
    return kNo<ModuleId>;
  }

  bool Refutes(const Clue& clue) const {
    const ScopeId scope = scope_of_[clue.node];
    return scope != kNo<ScopeId> && !tops_[scope].empty() &&
           TopOf(scope, clue.module) == kNo<ModuleId>;
  }

  // Where several modules have one class path, nodes beside a parameter belong
  // to its owner.
  void Label() {
    label_.resize(model_.node_count(), kNo<ModuleId>);
    owner_.resize(model_.node_count(), kNo<ModuleId>);
    std::deque<NodeId> open;
    for (const NodeId node : model_.Nodes()) {
      const ScopeId scope = scope_of_[node];
      if (scope == kNo<ScopeId>) continue;
      owner_[node] = parameters_.OwnerOf(graph_, tree_, node).module;
      if (owner_[node] == kNo<ModuleId>) continue;
      label_[node] = TopOf(scope, owner_[node]);
      if (label_[node] != kNo<ModuleId> && tops_[scope].size() > 1) {
        open.push_back(node);
      }
    }
    while (!open.empty()) {
      const NodeId node = open.front();
      open.pop_front();
      const auto spread = [&](NodeId to) {
        if (scope_of_[to] == scope_of_[node] && label_[to] == kNo<ModuleId>) {
          label_[to] = label_[node];
          open.push_back(to);
        }
      };
      for (const NodeId maker : Makers(model_, node)) spread(maker);
      for (const NodeId reader : Readers(model_, node)) spread(reader);
    }
  }

  void Judge(NodeId node, ClassClaims& claims) {
    const ScopeId scope = scope_of_[node];
    if (scope == kNo<ScopeId> || facts_.ScopeOf(node) != kNo<ScopeId>) return;
    const std::vector<ModuleId>& tops = tops_[scope];
    if (tops.empty()) {
      const ModuleId stand_in = StandIn(scope);
      if (stand_in == kNo<ModuleId>) return;
      claims.unnamed.push_back({node, stand_in, Confidence::kLow,
                                Source::kScope,
                                "its name has the class of this module, but "
                                "the file does not say its attribute"});
      return;
    }
    const auto claim = [&](ModuleId module, Confidence confidence,
                           Source source) {
      claims.named.push_back({node, module, confidence, source,
                              "its name has the classes of this module's "
                              "path"});
    };
    // A module may use the parameters of a part that it never calls.
    if (!every_class_ && is_recorded_[node]) return;
    const ModuleId owner = owner_[node];
    const ModuleId top_of_owner =
        owner == kNo<ModuleId> ? owner : TopOf(scope, owner);
    if (top_of_owner != kNo<ModuleId> &&
        (!every_class_ || top_of_owner == owner)) {
      claim(owner, every_class_ ? Confidence::kCertain : Confidence::kHigh,
            Source::kScopeAndParameter);
      return;
    }
    const ModuleId top = tops.size() == 1 ? tops.front() : label_[node];
    if (top == kNo<ModuleId>) return;
    if (tops.size() == 1 && (every_class_ || IsLeaf(top))) {
      claim(top, Confidence::kCertain, Source::kScope);
      return;
    }
    // Layers and activations whose classes are not in the path are modules of
    // their own.
    if (is_recorded_[node] || (!every_class_ && ReadsWeight(node))) return;
    const bool doubtful =
        !every_class_ &&
        (has_parts_[scope] || graph_.ops.Is(node, OpKind::kActivation));
    if (doubtful && has_recording_) return;
    claim(top, doubtful ? Confidence::kLow : Confidence::kMedium,
          Source::kScope);
  }

  // Whether the node is of a layer that is more than one operation, such as an
  // attention or an LSTM of torch.nn.
  bool HasPart(NodeId node) const {
    if (graph_.ops.Is(node, OpKind::kRecurrent)) return true;
    for (const Parameter& parameter : parameters_.Among(model_.Inputs(node))) {
      const std::string_view name = hierarchy::LastPart(parameter.name, '.');
      if (name != "weight" && name != "bias") return true;
    }
    return false;
  }

  // The module below the one around it that is known to have such a part, else
  // one that has the class as its name.
  ModuleId StandIn(ScopeId id) {
    if (!stand_ins_[id]) stand_ins_[id] = FindStandIn(id);
    return *stand_ins_[id];
  }

  ModuleId FindStandIn(ScopeId id) {
    if (id == ScopeId{0}) return kNo<ModuleId>;
    if (tops_[id].size() == 1) return tops_[id].front();
    const ModuleId around = StandIn(scopes_[id].parent);
    if (around == kNo<ModuleId> || !tops_[id].empty()) return kNo<ModuleId>;
    const std::string part = PathToPart(id);
    if (part.empty()) {
      scopes_.ReadAtoms(id, atoms_);
    } else {
      atoms_ = Split(part, '.');
    }
    return tree_.AddDown(around, atoms_);
  }

  // The only known path to the part from the module around it, with the indices
  // of the scope: `layer.0` for "BertLayer.0" in "BertEncoder".
  std::string PathToPart(ScopeId id) {
    if (!paths_) return "";
    const std::vector<std::string_view> words = Split(scopes_.Segment(id), '.');
    const std::pair classes(ClassIn(scopes_, scopes_[id].parent),
                            words.front());
    const auto [known, is_new] = known_paths_.try_emplace(classes);
    if (is_new) known->second = paths_(classes.first, classes.second);
    std::string found;
    for (const std::string& path : known->second) {
      Atoms atoms = Split(path, '.');
      std::size_t next = 1;
      for (std::string_view& atom : atoms) {
        if (next < words.size() && (atom == "*" || atom == words[next])) {
          atom = words[next++];
        }
      }
      const bool fits = next == words.size() &&
                        CountIn(atoms, hierarchy::IsNumeric) == next - 1 &&
                        !IsAmong("*", atoms);
      if (!fits) continue;
      const std::string with_indices = Join(atoms, ".");
      if (!found.empty() && found != with_indices) return "";
      found = with_indices;
    }
    return found;
  }

  bool IsLeaf(ModuleId module) const {
    const ModuleId in_map = known_.InMap(module);
    return mapped_ && in_map != kNo<ModuleId> &&
           known_.map->tree.Children(in_map).empty();
  }

  bool ReadsWeight(NodeId node) const {
    if (parameters_.is_carrier[node]) return true;
    return graph_.ops.Is(node, {OpKind::kProduct, OpKind::kConvolution}) &&
           !AllIn(model_.Inputs(node),
                  [&](ValueId input) { return graph_.data.IsComputed(input); });
  }

  const GraphFacts& graph_;
  const Model& model_;
  const ParameterFacts& parameters_;
  const ScopeFacts& facts_;
  const IdVector<NodeId, ScopeId>& scope_of_;
  const ScopeTable& scopes_;
  KnownModules& known_;
  const PathsToPart& paths_;
  std::map<std::pair<std::string_view, std::string_view>,
           std::vector<std::string>>
      known_paths_;
  ModuleTree& tree_;
  IdVector<ScopeId, std::vector<ModuleId>> tops_;  // of this class path
  IdVector<ScopeId, std::optional<ModuleId>> stand_ins_;
  IdVector<ScopeId, bool> has_parts_;  // of layers without a class in the path
  IdVector<NodeId, ModuleId> owner_;   // of its parameters
  IdVector<NodeId, ModuleId> label_;
  IdVector<NodeId, bool> is_recorded_;  // or a part of what was
  Atoms atoms_;
  std::pair<ScopeId, ModuleId> last_ = {kNo<ScopeId>, kNo<ModuleId>};
  bool has_recording_ = false;
  bool every_class_ = false;  // also those of torch.nn
  bool mapped_ = false;       // the map says what is where
};

}  // namespace

ClassClaims PlaceClassScopes(const GraphFacts& graph,
                             const ParameterFacts& parameters,
                             const ScopeFacts& facts,
                             const IdVector<NodeId, ScopeId>& scope_of,
                             KnownModules& known, const PathsToPart& paths,
                             Clues& said, ModuleTree& modules) {
  if (scope_of.empty()) return {};
  return ClassPlacer(graph, parameters, facts, scope_of, known, paths, modules)
      .Run(said);
}

}  // namespace onnx_tag
