#include "clues/exporters/genai/genai.h"

#include <algorithm>
#include <set>
#include <unordered_set>

#include "base/text.h"
#include "clues/exporters/dialect_names.h"
#include "clues/exporters/tools/original_name.h"
#include "core/hierarchy/name_parts.h"
#include "generated/genai_names.h"

namespace onnx_tag::hierarchy {
namespace {

bool IsMadeUp(std::string_view segment) {
  return segment == "constants" || segment == "constant_nodes" ||
         segment.ends_with("_subgraph") || segment.ends_with("_reformat");
}

// Cuts at the first segment that is no module.
void CutMadeUp(GenaiName& name) {
  for (std::size_t begin = 0; begin <= name.scope.size();) {
    const std::size_t slash = name.scope.find('/', begin);
    const std::string_view segment = name.scope.substr(
        begin, slash == std::string_view::npos ? slash : slash - begin);
    if (IsMadeUp(segment)) {
      name.scope = name.scope.substr(0, begin == 0 ? 0 : begin - 1);
      name.made = true;
      return;
    }
    if (slash == std::string_view::npos) return;
    begin = slash + 1;
  }
}

GenaiName Finish(std::string_view scope, std::string_view op) {
  GenaiName name;
  name.scope = scope;
  name.op = op;
  name.ok = true;
  CutMadeUp(name);
  name.final_norm = LastPart(name.scope, '/') == "final_norm_layernorm";
  return name;
}

}  // namespace

GenaiName SplitGenaiNode(std::string_view name) {
  const ScopedName scoped = SplitScopedName(name);
  return scoped.ok ? Finish(scoped.scope, scoped.op) : GenaiName();
}

GenaiParameter SplitGenaiParameter(std::string_view name) {
  const std::string_view parameter = LastPart(name, '.');
  std::string_view module = BeforeLastPart(name, '.');
  for (const std::string_view op :
       {".MatMul", ".MatMulNBits", ".Gemm", ".Add", ".Conv", ".Gather"}) {
    if (ConsumeSuffix(module, op)) return {module, parameter, true};
  }
  return {};
}

}  // namespace onnx_tag::hierarchy

// The onnxruntime-genai builder names nodes by hand, with the same words for
// every architecture. data/genai_names.txt has the modules that they stand for.
namespace onnx_tag {
namespace {

using Atoms = std::vector<std::string_view>;

struct Word {
  std::string_view when;
  Atoms builder;  // without the layer
  std::string_view module;
  std::string_view origins;
  bool in_layer = false;
  bool undecided = false;
};

Word ParseWord(std::string_view line) {
  std::vector<std::string_view> columns;
  for (const std::string_view column : Split(line, ' ')) {
    if (!column.empty()) columns.push_back(column);
  }
  Word word;
  if (columns.size() < 3) return word;
  word.when = columns[0];
  word.in_layer = hierarchy::ConsumePrefix(columns[1], ".");
  word.builder = Split(columns[1], '.');
  word.undecided = hierarchy::ConsumeSuffix(columns[2], "?");
  word.module = columns[2];
  if (columns.size() > 3) word.origins = columns[3];
  return word;
}

// A path of the builder, cut where it leaves what the file holds.
struct Place {
  std::string_view index;  // of the layer; empty: outside
  Atoms atoms;
};

Place SplitPlace(std::string_view path) {
  // Real paths are six deep; a hostile one would make Join quadratic.
  constexpr std::size_t kMaxAtoms = 32;
  Place place;
  for (const std::string_view segment : Split(path, '/')) {
    // `LayerNorm/output_0/Cast`: inside one operator.
    if (segment.empty() || hierarchy::IsUpper(segment[0])) break;
    if (place.atoms.size() > kMaxAtoms) break;
    for (const std::string_view atom : Split(segment, '.')) {
      place.atoms.push_back(atom);
    }
  }
  if (place.atoms.size() >= 3 && place.atoms[0] == "model" &&
      place.atoms[1] == "layers" && hierarchy::IsNumeric(place.atoms[2])) {
    place.index = place.atoms[2];
    place.atoms.erase(place.atoms.begin(), place.atoms.begin() + 3);
  }
  return place;
}

std::string Join(const Atoms& atoms, std::size_t count) {
  std::string text;
  for (std::size_t i = 0; i < count; ++i) {
    if (i > 0) text += '.';
    text += atoms[i];
  }
  return text;
}

class GenaiNames : public DialectNames {
 public:
  explicit GenaiNames(const Model& model) : model_(model) {
    for (const Initializer& tensor : model.initializers()) {
      CollectParameter(model.ValueName(tensor.value));
    }
    for (const NodeId node : model.Nodes()) CollectNode(node);
    if (IsPlain()) facts_.insert("plain");
    for (const std::string_view line : Split(kGenaiNames, '\n')) {
      Word word = ParseWord(line);
      if (word.when == "*" || facts_.contains(std::string(word.when))) {
        if (!word.module.empty()) words_.push_back(std::move(word));
      }
    }
  }

  std::optional<NamedModule> OfNode(NodeId node) const override {
    const hierarchy::GenaiName name = NodeName(node);
    if (!name.ok) return std::nullopt;
    if (name.made) {
      // A constant belongs to whoever reads it.
      if (model_.OpType(node) == "Constant") return std::nullopt;
      return NamedModule{ModuleOf(SplitPlace(name.scope), {}).module,
                         Confidence::kMedium,
                         "the builder added it to this module",
                         {}};
    }
    Place place = SplitPlace(name.scope);
    if (!name.op.empty() && hierarchy::IsLower(name.op[0])) {
      place.atoms.push_back(name.op);  // `/model/layers.0/moe` is a node
    }
    return ModuleOf(std::move(place), name.op);
  }

  std::optional<std::string> OwnerOf(std::string_view tensor) const override {
    if (tensor.starts_with('/') || tensor.find('.') == std::string_view::npos) {
      return std::nullopt;
    }
    return ModuleOf(SplitPlace(ModuleOfParameter(tensor)), {}).module;
  }

 private:
  hierarchy::GenaiName NodeName(NodeId node) const {
    return hierarchy::SplitGenaiNode(
        hierarchy::UndoNodeName(model_[node].name).name);
  }

  static std::string_view ModuleOfParameter(std::string_view name) {
    const hierarchy::GenaiParameter parameter =
        hierarchy::SplitGenaiParameter(name);
    return parameter.ok ? parameter.module
                        : hierarchy::BeforeLastPart(name, '.');
  }

  void CollectParameter(std::string_view raw) {
    const hierarchy::Undone name = hierarchy::UndoTensorName(raw);
    if (name.name.starts_with('/')) return;
    const Place place =
        SplitPlace(name.module_only ? name.name : ModuleOfParameter(name.name));
    for (std::size_t count = 1; count <= place.atoms.size(); ++count) {
      owned_.insert(Join(place.atoms, count));
      facts_.emplace(place.atoms[count - 1]);
    }
  }

  void CollectNode(NodeId node) {
    for (const std::string_view segment : Split(model_[node].name, '/')) {
      facts_.emplace(segment);
    }
    if (model_[node].name.ends_with("/q_norm/Reshape_1") &&
        !model_.Inputs(node).empty()) {
      const ValueId input = model_.Inputs(node)[0];
      if (input != kNo<ValueId> && model_.ValueName(input).find("/q_rotary/") !=
                                       std::string_view::npos) {
        facts_.insert("norm_after_rotary");
      }
    }
    const std::string_view name = model_[node].name;
    biased_ |= name.ends_with("/attn/qkv_proj/Add") ||
               name.ends_with("/attn/q_proj/Add");
    tied_ |= name.ends_with("/embed_tokens/Transpose") ||
             name.ends_with("/embed_tokens/Reshape");
    centred_ |= model_.OpType(node) == "LayerNormalization" ||
                model_.OpType(node) == "SkipLayerNormalization";
  }

  // Phi-3, whose projections are packed, is written exactly as Llama is.
  // Whatever Phi-3 has not got rules it out.
  bool IsPlain() const {
    for (const char* word : {"q_norm", "residual_mul", "residual_add",
                             "pre_feedforward_layernorm", "softcap"}) {
      if (facts_.contains(word)) return false;
    }
    return !biased_ && !tied_ && !centred_;
  }

  bool Fits(const Word& word, const Atoms& atoms) const {
    return word.builder.size() <= atoms.size() &&
           std::equal(word.builder.begin(), word.builder.end(), atoms.begin());
  }

  const Word* Find(const Atoms& atoms, bool in_layer) const {
    const Word* best = nullptr;
    for (const Word& word : words_) {
      if (word.in_layer != in_layer || !Fits(word, atoms)) continue;
      if (best == nullptr || word.builder.size() >= best->builder.size()) {
        best = &word;
      }
    }
    return best;
  }

  static std::string Fill(std::string_view module, std::string_view index) {
    if (module == "-") return std::string();
    std::string text;
    if (module.starts_with('.')) {
      text = "model.layers." + std::string(index);
    }
    const std::size_t star = module.find(".*");
    if (star == std::string_view::npos) return text.append(module);
    return text.append(module.substr(0, star + 1))
        .append(index)
        .append(module.substr(star + 2));
  }

  NamedModule ModuleOf(Place place, std::string_view op) const {
    const bool in_layer = !place.index.empty();
    place.atoms.push_back(op);
    const Word* word = Find(place.atoms, in_layer);
    const bool by_op =
        word != nullptr && word->builder.size() == place.atoms.size();
    if (!by_op) {
      place.atoms.pop_back();
      word = Find(place.atoms, in_layer);
    }
    // What owns no parameter and is none of the builder's words is a step
    // inside its module.
    const std::size_t known = word == nullptr ? 0 : word->builder.size();
    while (place.atoms.size() > known &&
           !owned_.contains(Join(place.atoms, place.atoms.size()))) {
      place.atoms.pop_back();
    }
    NamedModule result;
    const bool undecided = word != nullptr && word->undecided;
    result.confidence = undecided ? Confidence::kLow
                        : word != nullptr && word->when == "*"
                            ? Confidence::kCertain
                            : Confidence::kHigh;
    result.because =
        undecided ? "the builder's name contains it; a model with packed "
                    "projections would look the same"
                  : "the builder's name contains it";
    if (word != nullptr) {
      result.module = Fill(word->module, place.index);
    } else if (in_layer) {
      result.module = "model.layers." + std::string(place.index);
    }
    for (std::size_t i = known; i < place.atoms.size(); ++i) {
      if (!result.module.empty()) result.module += '.';
      result.module += place.atoms[i];
    }
    if (word != nullptr && !word->origins.empty() &&
        (op.starts_with("MatMul") || op == "Add")) {
      for (const std::string_view origin : Split(word->origins, ',')) {
        result.origins.push_back(Fill(origin, place.index));
      }
    }
    return result;
  }

  const Model& model_;
  std::set<std::string> facts_;  // segments of names, and what they imply
  std::unordered_set<std::string> owned_;  // builder's paths with parameters
  bool biased_ = false;
  bool tied_ = false;
  bool centred_ = false;
  std::vector<Word> words_;
};

}  // namespace

std::shared_ptr<const DialectNames> ReadGenaiNames(const Model& model) {
  return std::make_shared<GenaiNames>(model);
}

}  // namespace onnx_tag
