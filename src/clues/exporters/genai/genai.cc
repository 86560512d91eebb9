#include <algorithm>
#include <set>
#include <span>
#include <unordered_set>

#include "base/text.h"
#include "clues/exporters/dialect_names.h"
#include "clues/exporters/tools/original_name.h"
#include "clues/exporters/words.h"
#include "core/graph/neighbours.h"
#include "core/graph/operators.h"
#include "core/hierarchy/name_parts.h"
#include "core/tagging/tag_format.h"
#include "generated/genai_names.h"

namespace onnx_tag::hierarchy {
namespace {

bool IsMadeUp(std::string_view segment) {
  return segment == "constants" || segment == "constant_nodes" ||
         segment.ends_with("_subgraph") || segment.ends_with("_reformat");
}

}  // namespace

GenaiName SplitGenaiNode(std::string_view name) {
  const ScopedName scoped = SplitScopedName(name);
  if (!scoped.ok) return {};
  GenaiName result{scoped.scope, scoped.op, false, true};
  // Cut before the first segment that is no module.
  for (const std::string_view segment : Split(scoped.scope, '/')) {
    if (!IsMadeUp(segment)) continue;
    const auto size =
        static_cast<std::size_t>(segment.data() - scoped.scope.data());
    result.scope = scoped.scope.substr(0, size == 0 ? 0 : size - 1);
    result.made = true;
    break;
  }
  return result;
}

std::string_view GenaiOwner(std::string_view parameter) {
  const std::string_view module = BeforeLastPart(parameter, '.');
  static const WordList operators("genai");
  const std::string_view op = LastPart(module, '.');
  return op.size() < module.size() && operators.Has(op)
             ? BeforeLastPart(module, '.')
             : module;
}

}  // namespace onnx_tag::hierarchy

// The onnxruntime-genai builder names nodes by hand, with the same words for
// every architecture. src/data/genai_names.txt has the modules that they stand
// for.
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

std::vector<std::string_view> Columns(std::string_view line) {
  std::vector<std::string_view> columns = Split(line, ' ');
  std::erase(columns, "");
  return columns;
}

Word ParseWord(std::vector<std::string_view> columns) {
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

// A condition on the names of a file, as the data writes it.
struct Condition {
  std::string_view wanted;  // a segment, or `@` and an operator, or the end of
                            // a node's name
  std::string_view reads;   // a segment in the name of the node's first input
  bool is_absent = false;
};

// `!a/b<c`: no node whose name ends with /a/b reads a value of /c/.
Condition ParseCondition(std::string_view text) {
  Condition condition;
  condition.is_absent = hierarchy::ConsumePrefix(text, "!");
  const std::size_t less = text.find('<');
  condition.wanted = text.substr(0, less);
  if (less != std::string_view::npos) condition.reads = text.substr(less + 1);
  return condition;
}

class GenaiNames : public DialectNames {
 public:
  explicit GenaiNames(const Model& model) : model_(model) {
    for (const Initializer& tensor : model.initializers()) {
      CollectParameter(model.ValueName(tensor.value));
    }
    for (const NodeId node : model.Nodes()) CollectNode(node);
    for (const std::string_view line : Split(kGenaiNames, '\n')) {
      const std::vector<std::string_view> columns = Columns(line);
      if (columns.size() >= 3 && columns[0] == "=") {
        if (std::all_of(columns.begin() + 2, columns.end(),
                        [&](std::string_view text) { return Holds(text); })) {
          facts_.emplace(columns[1]);
        }
        continue;
      }
      Word word = ParseWord(columns);
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
      if (FindOp(model_.OpType(node)) == Op::kConstant) return std::nullopt;
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
    return ModuleOf(SplitPlace(hierarchy::GenaiOwner(tensor)), {}).module;
  }

 private:
  hierarchy::GenaiName NodeName(NodeId node) const {
    return hierarchy::SplitGenaiNode(
        hierarchy::UndoNodeName(ExporterName(model_, node)).name);
  }

  void CollectParameter(std::string_view raw) {
    const hierarchy::StrippedName name = hierarchy::UndoTensorName(raw);
    if (name.name.starts_with('/')) return;
    const Place place = SplitPlace(
        name.module_only ? name.name : hierarchy::GenaiOwner(name.name));
    for (std::size_t count = 1; count <= place.atoms.size(); ++count) {
      owned_.insert(Join(std::span(place.atoms).first(count), "."));
      facts_.emplace(place.atoms[count - 1]);
    }
  }

  void CollectNode(NodeId node) {
    for (const std::string_view segment :
         Split(ExporterName(model_, node), '/')) {
      facts_.emplace(segment);
    }
    facts_.insert("@" + std::string(model_.OpType(node)));
  }

  bool Holds(std::string_view text) const {
    const Condition condition = ParseCondition(text);
    const bool is_end = condition.wanted.find('/') != std::string_view::npos;
    const bool found = is_end ? HasNode(condition)
                              : facts_.contains(std::string(condition.wanted));
    return found != condition.is_absent;
  }

  bool HasNode(const Condition& condition) const {
    const std::string end = "/" + std::string(condition.wanted);
    const std::string part = "/" + std::string(condition.reads) + "/";
    for (const NodeId node : model_.Nodes()) {
      if (!ExporterName(model_, node).ends_with(end)) continue;
      const ValueId input = FirstInput(model_, node);
      if (condition.reads.empty() ||
          (input != kNo<ValueId> &&
           model_.ValueName(input).find(part) != std::string_view::npos)) {
        return true;
      }
    }
    return false;
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
           !owned_.contains(Join(place.atoms, "."))) {
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
    const Op made_of = FindOp(op);
    if (word != nullptr && !word->origins.empty() &&
        (made_of == Op::kAdd ||
         Describe(made_of).kinds.HasAnyOf(OpKind::kProduct))) {
      for (const std::string_view origin : Split(word->origins, ',')) {
        result.origins.push_back(Fill(origin, place.index));
      }
    }
    return result;
  }

  const Model& model_;
  std::set<std::string> facts_;  // segments of names, and what they imply
  std::unordered_set<std::string> owned_;  // builder's paths with parameters
  std::vector<Word> words_;
};

}  // namespace

std::shared_ptr<const DialectNames> ReadGenaiNames(const Model& model) {
  return std::make_shared<GenaiNames>(model);
}

}  // namespace onnx_tag
