#include "mapping/classes/wrapper_classes.h"

#include <algorithm>
#include <array>
#include <initializer_list>
#include <string>
#include <vector>

#include "mapping/classes/catalogue/identify.h"

namespace onnx_tag {
namespace {

class WrapperNamer {
 public:
  WrapperNamer(bool adapters_only_scale, Tagging& tagging)
      : adapters_only_scale_(adapters_only_scale),
        tagging_(tagging),
        tree_(tagging.modules) {}

  void Run() {
    for (const ModuleId id : tree_.All()) NameCompiled(id);
    // Wrappers of whole models, one inside the other, outermost first.
    ModuleId at = ModuleTree::kRoot;
    while (at != kNo<ModuleId> &&
           (tree_.Class(at).empty() || tree_.Class(at).starts_with("Peft"))) {
      at = NameAt(at);
    }
  }

 private:
  ModuleId OnlyChild(ModuleId id) const {
    ModuleId only = kNo<ModuleId>;
    for (const ModuleId child : tree_.Children(id)) {
      if (only != kNo<ModuleId>) return kNo<ModuleId>;
      only = child;
    }
    return only;
  }

  // The only child, if it has that name and either a known class or content of
  // its own.
  ModuleId Held(ModuleId id, std::string_view atom) const {
    const ModuleId only = OnlyChild(id);
    return only != kNo<ModuleId> && tree_.Atom(only) == atom ? only
                                                             : kNo<ModuleId>;
  }

  void Set(ModuleId id, std::string_view name, Confidence confidence,
           std::initializer_list<const char*> candidates = {}) {
    if (id == kNo<ModuleId> || !tree_.Class(id).empty()) return;
    tagging_.modules.SetClass(id, name);
    tagging_.facts[id].class_confidence = confidence;
    tagging_.facts[id].candidates.assign(candidates.begin(), candidates.end());
  }

  // torch.compile has an attribute name that no other class uses.
  void NameCompiled(ModuleId id) {
    if (Held(id, "_orig_mod") == kNo<ModuleId>) return;
    tagging_.modules.SetClass(id, "");
    Set(id, "OptimizedModule", Confidence::kCertain);
  }

  // Sets the class of the wrapper and returns its content; kNo if `id` is not a
  // wrapper.
  ModuleId NameAt(ModuleId id) {
    if (const ModuleId held = Held(id, "module"); held != kNo<ModuleId>) {
      if (!HoldsAModel(held)) return kNo<ModuleId>;
      Set(id, "DistributedDataParallel", Confidence::kMedium, {"DataParallel"});
      return held;
    }
    if (const ModuleId tuner = Held(id, "base_model");
        tuner != kNo<ModuleId> && Held(tuner, "model") != kNo<ModuleId>) {
      return NamePeft(id, tuner);
    }
    return NameSentenceTransformer(id);
  }

  bool HoldsAModel(ModuleId id) const {
    for (; id != kNo<ModuleId>; id = OnlyChild(id)) {
      if (!tree_.Class(id).empty()) return true;
    }
    return false;
  }

  ModuleId NamePeft(ModuleId id, ModuleId tuner) {
    // The modules that a tuner adds to layers show which tuner it is.
    const std::string_view name = HasAtom("lora_E")      ? "AdaLoraModel"
                                  : HasAtom("lora_A")    ? "LoraModel"
                                  : HasAtom("ia3_l")     ? "IA3Model"
                                  : HasAtom("hada_w1_a") ? "LoHaModel"
                                  : adapters_only_scale_ ? "IA3Model"
                                                         : "";
    if (name.empty()) return kNo<ModuleId>;
    NamePeftModel(id, tree_.Class(Held(tuner, "model")));
    Set(tuner, name,
        adapters_only_scale_ ? Confidence::kMedium : Confidence::kHigh);
    return kNo<ModuleId>;  // the catalogue has set the class of its content
  }

  // The class depends on the task that the user chose. The classification tasks
  // train the whole head; the others need no task.
  void NamePeftModel(ModuleId id, std::string_view held) {
    const bool head = HasAtom(kModulesToSave);
    if (head && held.ends_with("ForSequenceClassification")) {
      Set(id, "PeftModelForSequenceClassification", Confidence::kMedium,
          {"PeftModel"});
    } else if (head && held.ends_with("ForTokenClassification")) {
      Set(id, "PeftModelForTokenClassification", Confidence::kMedium,
          {"PeftModel"});
    } else {
      Set(id, "PeftModel", Confidence::kMedium,
          {"PeftModelForCausalLM", "PeftModelForSequenceClassification",
           "PeftModelForTokenClassification", "PeftModelForFeatureExtraction",
           "PeftModelForSeq2SeqLM", "PeftModelForQuestionAnswering"});
    }
  }

  bool HasAtom(std::string_view atom) const {
    for (const ModuleId id : tree_.All()) {
      if (tree_.Atom(id) == atom) return true;
    }
    return false;
  }

  // A Sequential whose first member contains a model under one of two names.
  ModuleId NameSentenceTransformer(ModuleId id) {
    const ModuleId first = tree_.FindChild(id, "0");
    if (first == kNo<ModuleId>) return kNo<ModuleId>;
    const bool old = Held(first, "auto_model") != kNo<ModuleId>;
    const ModuleId model = Held(first, old ? "auto_model" : "model");
    if (model == kNo<ModuleId> || tree_.Class(model).empty()) {
      return kNo<ModuleId>;
    }
    const Confidence sure = old ? Confidence::kHigh : Confidence::kMedium;
    Set(id, "SentenceTransformer", sure);
    Set(first, "Transformer", sure);
    const ModuleId pooling = tree_.FindChild(id, "1");
    // Pooling has no modules and no parameters; Dense has a `linear`.
    if (pooling != kNo<ModuleId> && tree_.Children(pooling).empty()) {
      Set(pooling, "Pooling", Confidence::kMedium);
    }
    if (const ModuleId dense = tree_.FindChild(id, "2");
        dense != kNo<ModuleId> && Held(dense, "linear") != kNo<ModuleId>) {
      Set(dense, "Dense", Confidence::kMedium);
    }
    return kNo<ModuleId>;
  }

  bool adapters_only_scale_;
  Tagging& tagging_;
  const ModuleTree& tree_;
};

}  // namespace

void NameWrappers(bool adapters_only_scale, Tagging& tagging) {
  WrapperNamer(adapters_only_scale, tagging).Run();
}

// Tested by tests/mapping/classes/classes_test.cc.

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
