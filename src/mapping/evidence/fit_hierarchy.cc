// Matches the user's hierarchy with the modules in the file.
//
// Both may start at different modules: the model was wrapped before the export,
// or a part of the recorded model was exported. The modules in the file's
// parameters and metadata must be in the hierarchy. If most of them are not,
// the hierarchy belongs to another model. If the file names no modules, the
// shapes of weights are compared.
#include <algorithm>
#include <cstddef>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "base/lists.h"
#include "base/text.h"
#include "clues/recording/module_map.h"
#include "core/graph/constant_weights.h"
#include "file/model/tensor_data.h"
#include "mapping/evidence/evidence.h"
#include "onnx_tag/error.h"

namespace onnx_tag {
namespace {

// Whether the weights of a file and of a recorded model have the same shapes.
struct ShapeMatch {
  std::size_t file = 0;   // weights of the file with two dimensions or more
  std::size_t map = 0;    // the same of the map
  std::size_t equal = 0;  // pairs of the same shape, in any order of axes

  // Of a model and its own recording, half of one of the two at least have
  // partners, in 23 forms of 12 models; of a model and another's recording,
  // 38 % at most. If too few can be compared, nothing is said.
  bool IsForeign() const {
    constexpr std::size_t kFewest = 4;
    return file >= kFewest && map >= kFewest && 5 * equal < 2 * file &&
           5 * equal < 2 * map;
  }
};

class Shapes {
 public:
  void Add(std::span<const std::int64_t> dims, std::size_t times = 1) {
    WeightShape shape = WithoutOnes(Sorted(dims));
    if (shape.size() < 2) return;
    counts_[std::move(shape)] += times;
    total_ += times;
  }
  std::size_t total() const { return total_; }
  std::size_t Common(const Shapes& other) const {
    std::size_t common = 0;
    for (const auto& [shape, count] : counts_) {
      const auto at = other.counts_.find(shape);
      if (at != other.counts_.end()) common += std::min(count, at->second);
    }
    return common;
  }

 private:
  std::map<WeightShape, std::size_t> counts_;
  std::size_t total_ = 0;
};

// Packed weights (four bits) are not compared; if they are more than the
// others, nothing is.
ShapeMatch MatchShapes(const GraphFacts& graph, const ModuleMap& map) {
  const Model& model = graph.model;
  Shapes file;
  std::size_t packed = 0;
  const auto see = [&](ValueId value, std::int32_t type,
                       std::span<const std::int64_t> dims) {
    const auto readers = model.Consumers(value);
    const NodeId reader = readers.empty() ? kNo<NodeId> : readers.front();
    const bool is_byte = type == 2 || type == 3;  // of TensorProto.DataType
    if (reader != kNo<NodeId> && graph.ops[reader] == Op::kMatMulNBits) {
      ++packed;
    } else if (reader != kNo<NodeId> &&
               graph.ops.Is(reader, OpKind::kRecurrent)) {
      // Both directions are in one tensor.
      if (dims.size() == 3) file.Add(dims.subspan(1), dims[0] == 2 ? 2 : 1);
    } else if (IsFloat(type) || is_byte) {
      file.Add(dims);
    }
  };
  for (const Initializer& tensor : model.initializers()) {
    see(tensor.value, tensor.data_type, model.Dims(tensor));
  }
  for (const ConstantWeight& tensor : FindConstantWeights(model)) {
    see(tensor.value, tensor.data_type, tensor.dims);
  }
  if (packed > file.total()) return {};
  Shapes recorded;
  for (const RecordedModule& module : map.modules) {
    for (const WeightShape& shape : module.shapes) recorded.Add(shape);
  }
  return {.file = file.total(),
          .map = recorded.total(),
          .equal = file.Common(recorded)};
}

// The modules that the file certainly has, each once, without the root.
std::vector<ModuleId> NamedModules(const HierarchyInputs& file,
                                   const ModuleTree& tree) {
  std::vector<bool> named(tree.size(), false);
  for (const Parameter& parameter : file.parameters.parameters) {
    if (parameter.uses > 0) named[Index(parameter.module)] = true;
  }
  for (const WriterId from :
       {WriterId::kMetadata, WriterId::kRecorded, WriterId::kRecordedPart}) {
    for (const Clue& clue : file.said.From(from)) {
      named[Index(clue.module)] = true;
    }
  }
  std::vector<ModuleId> modules;
  for (const ModuleId id : AllIds<ModuleId>(named.size())) {
    if (named[Index(id)] && id != ModuleTree::kRoot) modules.push_back(id);
  }
  return modules;
}

// The module of the file that is the map's root, or the module of the map that
// is the file's root.
struct Offset {
  ModuleId in_file = ModuleTree::kRoot;
  ModuleId in_map = ModuleTree::kRoot;
  auto operator<=>(const Offset&) const = default;
};

class Fitter {
 public:
  Fitter(const HierarchyInputs& file, const ModuleTree& tree,
         const ModuleMap& map)
      : file_(file), tree_(tree), map_(map), named_(NamedModules(file, tree)) {}

  Offset Find() const {
    Offset best;
    std::size_t hits = Hits(best);
    if (2 * hits >= named_.size()) return best;
    for (const auto& [offset, count] : Candidates()) {
      const std::size_t more = Hits(offset);
      if (more > hits) {
        hits = more;
        best = offset;
      }
    }
    return best;
  }

  // Throws an error, adds a warning, or does nothing.
  void Check(const Offset& offset, std::vector<std::string>& warnings) const {
    std::size_t inside = 0, missing = 0;
    ModuleId first = kNo<ModuleId>;
    for (const ModuleId id : named_) {
      if (!tree_.IsAncestor(offset.in_file, id)) continue;
      ++inside;
      if (InMap(id, offset) != kNo<ModuleId>) continue;
      if (missing++ == 0) first = id;
    }
    if (named_.empty()) {
      if (AnyScopeFits()) return;
      const ShapeMatch match = MatchShapes(file_.graph, map_);
      if (match.IsForeign()) FailOnShapes(match);
      if (match.equal == 0) {
        warnings.push_back(
            Message("{}: the file names no modules, so this hierarchy "
                    "could not be checked",
                    map_.name));
      }
    } else if (map_.complete && 2 * (inside - missing) < named_.size()) {
      FailOnForeign(first == kNo<ModuleId> ? named_[0] : first);
    } else if (!map_.complete && missing == inside && !AnyKnown(offset)) {
      FailOnForeign(named_[0]);
    } else if (map_.complete && missing > 0) {
      warnings.push_back(
          Message("{}: lacks the module {}{}, which the file names", map_.name,
                  tree_.Path(first),
                  missing == 1 ? std::string()
                               : fmt::format(" and {} more", missing - 1)));
    }
  }

  ModuleId InMap(ModuleId id, const Offset& offset) const {
    return Down(id, offset.in_file, offset.in_map);
  }

 private:
  [[noreturn]] void FailOnShapes(const ShapeMatch& match) const {
    Fail(ErrorKind::kUsage,
         "{}: belongs to another model: of {} in the file and {} in the "
         "hierarchy, only {} have the same shape\n  record the model that was "
         "exported: python -m onnx_tag record",
         map_.name, Count(match.file, "weight"), WithThousands(match.map),
         WithThousands(match.equal));
  }

  [[noreturn]] void FailOnForeign(ModuleId conflict) const {
    Fail(ErrorKind::kUsage,
         "{}: belongs to another model: the file has the module {}, but "
         "the hierarchy does not\n  record the model that was exported: "
         "python -m onnx_tag record",
         map_.name, tree_.Path(conflict));
  }

  // For files without parameter names: whether a scope at the root is a module
  // of the map.
  bool AnyScopeFits() const {
    for (const ScopeId id : AllIds<ScopeId>(file_.scopes.scopes.size())) {
      const Scope& scope = file_.scopes.scopes[id];
      if (scope.parent == ScopeId{0} &&
          map_.tree.Find(scope.text) != kNo<ModuleId>) {
        return true;
      }
    }
    return false;
  }

  // A traced map without torch.nn lacks the modules with parameters, but has
  // their ancestors.
  bool AnyKnown(const Offset& offset) const {
    for (ModuleId id : named_) {
      for (; id != offset.in_file && id != ModuleTree::kRoot;
           id = tree_.Parent(id)) {
        if (InMap(id, offset) != kNo<ModuleId>) return true;
      }
    }
    return false;
  }

  // The module at the same relative path below `in_map` as `id` below
  // `in_file`.
  ModuleId Down(ModuleId id, ModuleId in_file, ModuleId in_map) const {
    if (!tree_.IsAncestor(in_file, id)) return kNo<ModuleId>;
    return map_.tree.Down(in_map, tree_.AtomsBelow(in_file, id));
  }

  std::size_t Hits(const Offset& offset) const {
    return CountIn(named_, [&](ModuleId id) {
      return id != offset.in_file && InMap(id, offset) != kNo<ModuleId>;
    });
  }

  // The offsets that a few modules suggest, and how many do. All modules are
  // checked later.
  std::vector<std::pair<Offset, int>> Candidates() const {
    constexpr std::size_t kSample = 32;
    constexpr std::size_t kMostCandidates = 8;
    std::map<Offset, int> seen;
    const std::size_t step = std::max<std::size_t>(1, named_.size() / kSample);
    for (std::size_t i = 0; i < named_.size(); i += step) {
      const ModuleId id = named_[i];
      ModuleId first = id;  // the first atom of the path
      for (ModuleId at = id; at != ModuleTree::kRoot; at = tree_.Parent(at)) {
        if (at != id && Down(id, at, ModuleTree::kRoot) != kNo<ModuleId>) {
          ++seen[{.in_file = at, .in_map = ModuleTree::kRoot}];
        }
        first = at;
      }
      for (const ModuleId at : AllIds<ModuleId>(map_.tree.size())) {
        if (at == ModuleTree::kRoot ||
            map_.tree.Atom(at) != tree_.Atom(first)) {
          continue;
        }
        const ModuleId top = map_.tree.Parent(at);
        if (Down(id, ModuleTree::kRoot, top) != kNo<ModuleId>) {
          ++seen[{.in_file = ModuleTree::kRoot, .in_map = top}];
        }
      }
    }
    std::vector<std::pair<Offset, int>> ordered(seen.begin(), seen.end());
    std::stable_sort(
        ordered.begin(), ordered.end(),
        [](const auto& a, const auto& b) { return a.second > b.second; });
    if (ordered.size() > kMostCandidates) ordered.resize(kMostCandidates);
    return ordered;
  }

  const HierarchyInputs& file_;
  const ModuleTree& tree_;
  const ModuleMap& map_;
  const std::vector<ModuleId> named_;
};

// By the map's first name of an object: the module of the file, if the file has
// it by another name only.
std::map<ModuleId, ModuleId> FindOtherNames(const ModuleMap& map,
                                            const Offset& offset,
                                            const ModuleTree& tree) {
  const auto in_file = [&](ModuleId id) {
    return map.tree.IsAncestor(offset.in_map, id)
               ? tree.Down(offset.in_file,
                           map.tree.AtomsBelow(offset.in_map, id))
               : kNo<ModuleId>;
  };
  std::map<ModuleId, ModuleId> others;
  for (const ModuleId id : AllIds<ModuleId>(map.tree.size())) {
    const std::string& name = map.modules[id].shared_with;
    if (name.empty() || in_file(id) == kNo<ModuleId>) continue;
    const ModuleId first = map.tree.Find(name);
    if (first != kNo<ModuleId> && in_file(first) == kNo<ModuleId>) {
      others.emplace(first, in_file(id));
    }
  }
  return others;
}

// Finds the module of the map for each module of the file. Adds the other
// modules of the map, so that every rung knows them.
void Overlay(const ModuleMap& map, const Offset& offset, ModuleTree& tree,
             KnownModules& known) {
  known.top = offset.in_file;
  IdVector<ModuleId, ModuleId>& in_file = known.in_file;
  in_file.resize(map.tree.size(), kNo<ModuleId>);
  in_file[offset.in_map] = offset.in_file;
  // Parents come before their children.
  for (const ModuleId id : AllIds<ModuleId>(map.tree.size())) {
    if (id != offset.in_map) {
      const ModuleId parent = id == ModuleTree::kRoot
                                  ? kNo<ModuleId>
                                  : in_file[map.tree.Parent(id)];
      if (parent == kNo<ModuleId>) continue;
      // With its parametrizations, a convolution would look like a module that
      // calls others. If they have nodes, scopes or metadata show it.
      if (map.tree.Atom(id) == "parametrizations" &&
          tree.FindChild(parent, map.tree.Atom(id)) == kNo<ModuleId>) {
        continue;
      }
      in_file[id] = tree.Child(parent, map.tree.Atom(id));
    }
    known.in_map.resize(tree.size(), kNo<ModuleId>);
    known.in_map[in_file[id]] = id;
  }
}

// What the map says of an object by its first name goes to the name that the
// file has: two names for one module would look like two modules.
void UseOtherNames(const std::map<ModuleId, ModuleId>& others,
                   const ModuleMap& map, ModuleTree& tree,
                   KnownModules& known) {
  IdVector<ModuleId, bool> renamed(map.tree.size(), false);
  for (const ModuleId id :
       AllIds<ModuleId>(others.empty() ? 0 : renamed.size())) {
    if (id == ModuleTree::kRoot || known.in_file[id] == kNo<ModuleId>) continue;
    const ModuleId parent = map.tree.Parent(id);
    const auto other = others.find(id);
    if (!renamed[parent] && other == others.end()) continue;
    renamed[id] = true;
    known.in_file[id] =
        renamed[parent] ? tree.Child(known.in_file[parent], map.tree.Atom(id))
                        : other->second;
    known.in_map.resize(tree.size(), kNo<ModuleId>);
    known.in_map[known.in_file[id]] = id;
  }
}

// The classes of the hierarchy replace the recorded classes of the file,
// because the user gave it for this model. If they differ, the user gets a
// warning.
void TakeClasses(const ModuleMap& map, ModuleTree& tree, KnownModules& known) {
  std::size_t others = 0;
  std::string first;
  for (const ModuleId id : AllIds<ModuleId>(tree.size())) {
    const ModuleId in_map = known.InMap(id);
    if (in_map == kNo<ModuleId> || map.tree.Class(in_map).empty()) continue;
    const std::string_view recorded = tree.Class(id);
    if (!recorded.empty() && recorded != map.tree.Class(in_map)) {
      if (others++ == 0) {
        first = Message("{} is {} in the file and {} in {}", tree.Shown(id),
                        recorded, map.tree.Class(in_map), map.name);
      }
    }
    tree.SetClass(id, map.tree.Class(in_map));
  }
  if (others == 0) return;
  known.warnings.push_back(fmt::format(
      "{}{}; the class in the hierarchy is used", first,
      others == 1 ? "" : fmt::format(", and {} more differ", others - 1)));
}

}  // namespace

ModuleId KnownModules::Add(ModuleId id, ModuleTree& modules) {
  const ModuleTree& tree = map->tree;
  std::vector<ModuleId> missing;
  for (; in_file[id] == kNo<ModuleId>; id = tree.Parent(id)) {
    if (id == ModuleTree::kRoot) return kNo<ModuleId>;
    missing.push_back(id);
  }
  ModuleId at = in_file[id];
  for (auto next = missing.rbegin(); next != missing.rend(); ++next) {
    at = modules.Child(at, tree.Atom(*next));
    modules.SetClass(at, tree.Class(*next));
    in_file[*next] = at;
    in_map.resize(modules.size(), kNo<ModuleId>);
    in_map[at] = *next;
  }
  return at;
}

KnownModules FitHierarchy(const HierarchyInputs& file,
                          std::shared_ptr<const ModuleMap> map,
                          ModuleTree& modules) {
  KnownModules known;
  if (map == nullptr) return known;
  const Fitter fitter(file, modules, *map);
  const Offset offset = fitter.Find();
  fitter.Check(offset, known.warnings);
  const auto others = FindOtherNames(*map, offset, modules);
  Overlay(*map, offset, modules, known);
  UseOtherNames(others, *map, modules, known);
  TakeClasses(*map, modules, known);
  known.map = std::move(map);
  return known;
}

}  // namespace onnx_tag
