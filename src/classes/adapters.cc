// Tested by tests/classes/classes_test.cc.
#include "classes/adapters.h"

#include <algorithm>
#include <array>
#include <string>

#include "classes/catalogue/leaf_class.h"

namespace onnx_tag {
namespace {

using catalogue::ClassAnswer;
using catalogue::Identification;
using catalogue::Observation;
using catalogue::SeenModule;

bool IsAdapter(const ModuleTree& tree, ModuleId id) {
  return tree.FindChild(id, kBaseLayer) != kNo<ModuleId>;
}

bool IsSaved(const ModuleTree& tree, ModuleId id) {
  return tree.FindChild(id, kModulesToSave) != kNo<ModuleId>;
}

bool HasAdapters(const ModuleTree& tree) {
  for (const ModuleId id : tree.All()) {
    if (tree.Atom(id) == kBaseLayer || tree.Atom(id) == kModulesToSave) {
      return true;
    }
  }
  return false;
}

ModuleId OnlyChild(const ModuleTree& tree, ModuleId id, std::string_view atom) {
  const auto children = tree.Children(id);
  const bool one = !children.empty() && ++children.begin() == children.end();
  return one ? tree.FindChild(id, atom) : kNo<ModuleId>;
}

// The model inside the tuner of a PeftModel at `id`; kNo if there is none.
ModuleId HeldByPeft(const ModuleTree& tree, ModuleId id) {
  const ModuleId tuner = OnlyChild(tree, id, "base_model");
  return tuner == kNo<ModuleId> ? tuner : OnlyChild(tree, tuner, "model");
}

// The tree as it was before the adapters.
class Plain {
 public:
  explicit Plain(const ModuleTree& adapted)
      : place_(adapted.size(), kNo<ModuleId>), source_(1, ModuleTree::kRoot) {
    place_[ModuleTree::kRoot] = ModuleTree::kRoot;
    held_ = HeldByPeft(adapted, ModuleTree::kRoot);
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
        id == held_ || IsAround(adapted, id) || atom == kBaseLayer ||
        atom == kModulesToSave || adapted.Atom(parent) == kModulesToSave;
    if (stands_for_parent) {
      place_[id] = place;
      source_[place] = id;
    } else if (!IsAdapter(adapted, parent) && !IsSaved(adapted, parent)) {
      place_[id] = tree_.Child(place, atom);
      source_.resize(tree_.size(), id);
    }
  }

  ModuleTree tree_;
  ModuleId held_ = kNo<ModuleId>;  // the model that a PeftModel wraps
  IdVector<ModuleId, ModuleId> place_;
  IdVector<ModuleId, ModuleId> source_;  // the source of a plain module's facts
};

// PEFT's classes have the name of the layer that they adapt. Conv1D, a class of
// transformers, is adapted as a Linear.
std::string_view AdapterOf(std::string_view base) {
  constexpr std::array<std::string_view, 6> kAdapted = {
      "Linear", "Embedding", "Conv1d",
      "Conv2d", "Conv3d",    "MultiheadAttention"};
  if (base == "Conv1D") return "Linear";
  const auto at = std::find(kAdapted.begin(), kAdapted.end(), base);
  return at == kAdapted.end() ? std::string_view() : *at;
}

ClassAnswer AnswerForAdapter(const Observation& seen, ModuleId id,
                             const ClassAnswer& base) {
  const ModuleTree& tree = seen.modules;
  const ModuleId layer = tree.FindChild(id, kBaseLayer);
  const std::string_view recorded = tree.Class(layer);
  ClassAnswer known = base;
  if (!recorded.empty()) {
    known = {recorded, Confidence::kHigh, {}};
  } else if (!known.known()) {
    known = catalogue::GuessLeafClass(seen.seen[layer]);
  }
  ClassAnswer answer;
  answer.name = AdapterOf(known.name);
  if (tree.FindChild(id, "lora_E") != kNo<ModuleId>) {
    answer.name = answer.name == "Linear" ? "SVDLinear" : "";
  }
  // Other libraries also use the name base_layer.
  const bool lora = tree.FindChild(id, "lora_A") != kNo<ModuleId>;
  answer.confidence = std::min(known.confidence,
                               lora ? Confidence::kHigh : Confidence::kMedium);
  return answer;
}

}  // namespace

Identification IdentifyAdapted(const Observation& seen,
                               std::string_view hidden) {
  const ModuleTree& tree = seen.modules;
  if (!HasAdapters(tree)) {
    return catalogue::Identify(catalogue::BuiltIn(), seen, hidden);
  }
  const Plain plain(tree);
  Identification found =
      catalogue::Identify(catalogue::BuiltIn(), plain.Observe(seen), hidden);
  IdVector<ModuleId, ClassAnswer> modules(tree.size());
  for (const ModuleId id : tree.All()) {
    const std::string_view atom = tree.Atom(id);
    if (atom == "lora_A" || atom == "lora_B" || atom == "lora_dropout" ||
        atom == kModulesToSave) {
      modules[id] = {"ModuleDict", Confidence::kHigh, {}};
    } else if (plain[id] == kNo<ModuleId> || plain.IsAround(tree, id)) {
      continue;
    } else if (IsAdapter(tree, id)) {
      modules[id] = AnswerForAdapter(seen, id, found.modules[plain[id]]);
    } else if (IsSaved(tree, id)) {
      modules[id] = {"ModulesToSaveWrapper", Confidence::kHigh, {}};
    } else {
      modules[id] = found.modules[plain[id]];
    }
  }
  found.modules = std::move(modules);
  return found;
}

bool AdaptersOnlyScale(const Observation& seen) {
  const ModuleTree& tree = seen.modules;
  const catalogue::Operators scaling =
      catalogue::OperatorBit("Mul") | catalogue::OperatorBit("Cast");
  bool any = false;
  for (const ModuleId id : tree.All()) {
    if (!IsAdapter(tree, id)) continue;
    const catalogue::Operators done = seen.seen[id].operators;
    if (done == 0 || (done & ~scaling) != 0) return false;
    for (const ModuleId child : tree.Children(id)) {
      if (tree.Atom(child) != kBaseLayer) return false;
    }
    any = true;
  }
  return any;
}

}  // namespace onnx_tag
