#include "mapping/classes/wrapper_classes.h"

#include <algorithm>
#include <map>
#include <string_view>
#include <vector>

#include "base/glob.h"
#include "base/lists.h"
#include "core/tagging/words.h"
#include "mapping/classes/catalogue/identify.h"

namespace onnx_tag {
namespace {

using catalogue::ClassAnswer;
using catalogue::ClassAnswers;
using catalogue::ClassRule;
using catalogue::Observation;
using catalogue::RulesOf;
using catalogue::SeenModule;
using catalogue::Words;

ModuleId OnlyChild(const ModuleTree& tree, ModuleId id) {
  ModuleId only = kNo<ModuleId>;
  for (const ModuleId child : tree.Children(id)) {
    if (only != kNo<ModuleId>) return kNo<ModuleId>;
    only = child;
  }
  return only;
}

// The only child, if it has that name.
ModuleId OnlyChild(const ModuleTree& tree, ModuleId id, std::string_view atom) {
  const ModuleId only = OnlyChild(tree, id);
  return only != kNo<ModuleId> && tree.Atom(only) == atom ? only
                                                          : kNo<ModuleId>;
}

// Gives modules the classes of `wrapper` rows.
class WrapperNamer {
 public:
  WrapperNamer(bool adapters_only_scale, Tagging& tagging)
      : adapters_only_scale_(adapters_only_scale), tagging_(tagging) {}

  void Run() {
    const std::vector<const ClassRule*> rules = RulesOf("wrapper");
    std::vector<const ClassRule*> anywhere;
    for (const ClassRule* rule : rules) {
      if (rule->Has("is", "anywhere")) anywhere.push_back(rule);
    }
    IdVector<ModuleId, bool> wraps(tree_.size(), false);
    // Parents come before their children.
    for (const ModuleId id : tree_.All()) {
      const bool inside = id == ModuleTree::kRoot || wraps[tree_.Parent(id)];
      if (!inside && tree_.Children(id).empty()) continue;
      for (const ClassRule* rule : inside ? rules : anywhere) {
        if (!Fits(*rule, id)) continue;
        Set(id, *rule);
        wraps[id] = true;
        break;
      }
    }
  }

 private:
  // Looked for once: as many modules as the file has nodes may ask.
  bool HasAtom(std::string_view atom) {
    const auto [known, is_new] = has_atom_.try_emplace(atom, false);
    if (!is_new) return known->second;
    for (const ModuleId id : tree_.All()) {
      known->second |= tree_.Atom(id) == atom;
    }
    return known->second;
  }

  bool Fits(const ClassRule& rule, ModuleId id) {
    const std::string_view at = rule.One("at");
    if (!at.empty() && at != tree_.Atom(id)) return false;
    if (rule.Has("is", "leaf") && !tree_.Children(id).empty()) {
      return false;
    }
    ModuleId held = id;
    for (const std::string_view atom : rule["only"]) {
      held = OnlyChild(tree_, held, atom);
      if (held == kNo<ModuleId>) return false;
    }
    for (const std::string_view atom : rule["child"]) {
      held =
          held == id ? tree_.FindChild(id, atom) : OnlyChild(tree_, held, atom);
      if (held == kNo<ModuleId>) return false;
    }
    const Words& with = rule["with"];
    const bool has_one = AnyIn(with, [&](std::string_view name) {
      return name == "(scales)" ? adapters_only_scale_ : HasAtom(name);
    });
    return (with.empty() || has_one) && Holds(held, rule.One("holds"));
  }

  bool Holds(ModuleId id, std::string_view pattern) const {
    if (pattern.empty()) return true;
    while (id != kNo<ModuleId> && tree_.Class(id).empty()) {
      id = OnlyChild(tree_, id);
    }
    return id != kNo<ModuleId> && MatchesPattern(pattern, tree_.Class(id), "");
  }

  void Set(ModuleId id, const ClassRule& rule) {
    // An attribute that no other class uses proves the class.
    if (!tree_.Class(id).empty() && !rule.Has("is", "anywhere")) return;
    tagging_.modules.SetClass(id, rule.name);
    tagging_.facts[id].class_confidence =
        WordToEnum<Confidence>(kConfidenceNames, rule.One("sure")).value();
    tagging_.facts[id].candidates.assign(rule["also"].begin(),
                                         rule["also"].end());
  }

  bool adapters_only_scale_;
  Tagging& tagging_;
  const ModuleTree& tree_ = tagging_.modules;
  std::map<std::string_view, bool> has_atom_;
};

}  // namespace

void NameWrappers(bool adapters_only_scale, Tagging& tagging) {
  WrapperNamer(adapters_only_scale, tagging).Run();
}

namespace {

const ClassRule& Adapter() {
  static const ClassRule& rule = *RulesOf("adapter").at(0);
  return rule;
}

bool HasChild(const ModuleTree& tree, ModuleId id, std::string_view column) {
  return tree.FindChild(id, Adapter().One(column)) != kNo<ModuleId>;
}

bool HasAdapters(const ModuleTree& tree) {
  const std::string_view layer = Adapter().One("layer");
  const std::string_view saved = Adapter().One("saved");
  for (const ModuleId id : tree.All()) {
    if (tree.Atom(id) == layer || tree.Atom(id) == saved) return true;
  }
  return false;
}

// The model inside a wrapper of adapters; kNo if there is none.
ModuleId HeldByWrapper(const ModuleTree& tree) {
  ModuleId held = ModuleTree::kRoot;
  for (const std::string_view atom : Adapter()["around"]) {
    if (held != kNo<ModuleId>) held = OnlyChild(tree, held, atom);
  }
  return held;
}

// The tree as it was before the adapters.
class Plain {
 public:
  explicit Plain(const ModuleTree& adapted)
      : place_(adapted.size(), kNo<ModuleId>), source_(1, ModuleTree::kRoot) {
    place_[ModuleTree::kRoot] = ModuleTree::kRoot;
    held_ = HeldByWrapper(adapted);
    // Parents have smaller ids than their children.
    for (const ModuleId id : adapted.All()) {
      if (id != ModuleTree::kRoot) Put(adapted, id);
      if (place_[id] != kNo<ModuleId> && source_[place_[id]] == id) {
        tree_.SetClass(place_[id], adapted.Class(id));
      }
    }
  }

  Observation Observe(const Observation& adapted) const {
    Observation plain(adapted, tree_);
    plain.seen = IdVector<ModuleId, SeenModule>(tree_.size());
    for (const ModuleId id : tree_.All()) {
      plain.seen[id] = adapted.seen[source_[id]];
    }
    return plain;
  }

  // The module that `adapted` replaced or contains; kNo for an adapter's own
  // module.
  ModuleId operator[](ModuleId adapted) const { return place_[adapted]; }

  // Whether `adapted` wraps the whole model.
  bool IsAround(const ModuleTree& tree, ModuleId adapted) const {
    return held_ != kNo<ModuleId> && adapted != held_ &&
           tree.IsAncestor(adapted, held_);
  }

 private:
  void Put(const ModuleTree& adapted, ModuleId id) {
    const ModuleId parent = adapted.Parent(id);
    const ModuleId place = place_[parent];
    if (place == kNo<ModuleId>) return;
    const std::string_view atom = adapted.Atom(id);
    const bool stands_for_parent =
        id == held_ || IsAround(adapted, id) ||
        atom == Adapter().One("layer") || atom == Adapter().One("saved") ||
        adapted.Atom(parent) == Adapter().One("saved");
    if (stands_for_parent) {
      place_[id] = place;
      source_[place] = id;
    } else if (!HasChild(adapted, parent, "layer") &&
               !HasChild(adapted, parent, "saved")) {
      place_[id] = tree_.Child(place, atom);
      source_.resize(tree_.size(), id);
    }
  }

  ModuleTree tree_;
  ModuleId held_ = kNo<ModuleId>;  // the model inside the wrapper
  IdVector<ModuleId, ModuleId> place_;
  IdVector<ModuleId, ModuleId> source_;  // the source of a plain module's facts
};

// The class of the adapter at `id` of a layer of the class `base`; "" if there
// is none.
std::string_view AdapterOf(std::string_view base, const ModuleTree& tree,
                           ModuleId id) {
  for (const ClassRule* rule : RulesOf("adapted")) {
    const std::string_view with = rule->One("with");
    if (rule->name == base &&
        (with.empty() || tree.FindChild(id, with) != kNo<ModuleId>)) {
      return rule->One("as");
    }
  }
  return {};
}

ClassAnswer AnswerForAdapter(const Observation& seen, ModuleId id,
                             const ClassAnswer& base) {
  const ModuleTree& tree = seen.modules;
  const ModuleId layer = tree.FindChild(id, Adapter().One("layer"));
  const std::string_view recorded = tree.Class(layer);
  ClassAnswer known = base;
  if (!recorded.empty()) {
    known = {recorded, Confidence::kHigh, {}};
  } else if (!known.known()) {
    known = catalogue::GuessLeafClass(seen.seen[layer]);
  }
  ClassAnswer answer;
  answer.name = AdapterOf(known.name, tree, id);
  answer.confidence = std::min(known.confidence, HasChild(tree, id, "proof")
                                                     ? Confidence::kHigh
                                                     : Confidence::kMedium);
  return answer;
}

}  // namespace

ClassAnswers IdentifyAdapted(const Observation& seen, std::string_view hidden) {
  const ModuleTree& tree = seen.modules;
  if (!HasAdapters(tree)) {
    return catalogue::Identify(catalogue::BuiltIn(), seen, hidden);
  }
  const Plain plain(tree);
  const ClassAnswers found =
      catalogue::Identify(catalogue::BuiltIn(), plain.Observe(seen), hidden);
  ClassAnswers modules(tree.size());
  for (const ModuleId id : tree.All()) {
    if (Adapter().Has("lists", tree.Atom(id))) {
      modules[id] = {"ModuleDict", Confidence::kHigh, {}};
    } else if (plain[id] == kNo<ModuleId> || plain.IsAround(tree, id)) {
      continue;
    } else if (HasChild(tree, id, "layer")) {
      modules[id] = AnswerForAdapter(seen, id, found[plain[id]]);
    } else if (HasChild(tree, id, "saved")) {
      modules[id] = {Adapter().One("wrapper"), Confidence::kHigh, {}};
    } else {
      modules[id] = found[plain[id]];
    }
  }
  return modules;
}

bool AdaptersOnlyScale(const Observation& seen) {
  const ModuleTree& tree = seen.modules;
  if (!HasAdapters(tree)) return false;
  const catalogue::OperatorSet scaling = catalogue::SetOf(Op::kMul);
  bool any = false;
  for (const ModuleId id : tree.All()) {
    if (!HasChild(tree, id, "layer")) continue;
    const catalogue::OperatorSet done = seen.seen[id].operators;
    if (done == 0 || (done & ~scaling) != 0) return false;
    for (const ModuleId child : tree.Children(id)) {
      if (tree.Atom(child) != Adapter().One("layer")) return false;
    }
    any = true;
  }
  return any;
}

}  // namespace onnx_tag
