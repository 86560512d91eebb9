#include "classes/wrapper_classes.h"

#include <initializer_list>
#include <string>
#include <vector>

#include "classes/adapters.h"

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

}  // namespace onnx_tag
