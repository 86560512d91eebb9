#include <algorithm>
#include <map>
#include <set>
#include <unordered_map>

#include "clues/exporters/dialect_names.h"
#include "clues/exporters/tools/original_name.h"
#include "clues/exporters/words.h"
#include "core/hierarchy/name_parts.h"
#include "core/tagging/tag_format.h"

namespace onnx_tag::hierarchy {
namespace {

bool IsInnerScope(std::string_view segment) {
  static const WordList scopes("tensorflow");
  return scopes.Has(segment) || scopes.Has(WithoutCounter(segment));
}

// Keras calls its Add layers `add` and `add_1`, as TensorFlow does the scope of
// an addition's constants.
bool IsAddLayer(std::string_view segment, std::string_view op) {
  static const WordList additions("tensorflowAdd");
  return WithoutCounter(segment) == "add" && additions.Has(op);
}

bool IsCall(std::string_view segment) {
  const std::string_view bare = WithoutCounter(segment);
  return bare == "StatefulPartitionedCall" || bare == "PartitionedCall" ||
         bare == "Func" || bare.empty();
}

// tf2onnx names the graphs of a loop after the loop:
// `__inference_<…>_frozen_931_<scope>`, `cond___<scope>`.
std::string_view WithoutGraphPrefix(std::string_view name) {
  while (ConsumePrefix(name, "cond_") || ConsumePrefix(name, "body_")) {
    while (ConsumePrefix(name, "_")) {
    }
  }
  constexpr std::string_view kFrozen = "_frozen_";
  if (!name.starts_with("__inference_")) return name;
  const std::size_t at = name.find(kFrozen);
  if (at == std::string_view::npos) return name;
  std::string_view rest = name.substr(at + kFrozen.size());
  while (!rest.empty() && IsDigit(rest[0])) rest.remove_prefix(1);
  return ConsumePrefix(rest, "_") && !rest.empty() ? rest : name;
}

std::string_view WithoutPortAndCounter(std::string_view name) {
  name = WithoutNumbered(name, ":").value_or(name);
  return WithoutNumbered(name, "__").value_or(name);
}

void AppendSegment(std::string_view segment,
                   std::vector<std::string_view>& segments) {
  // Hugging Face's TensorFlow lists: `layer_._23`.
  const std::size_t list = segment.find("_._");
  if (list != std::string_view::npos && list > 0 &&
      IsNumeric(segment.substr(list + 3))) {
    segments.push_back(segment.substr(0, list));
    segments.push_back(segment.substr(list + 3));
  } else {
    segments.push_back(segment);
  }
}

}  // namespace

TfName SplitTfName(std::string_view name) {
  TfName result;
  name = WithoutGraphPrefix(WithoutPortAndCounter(name));
  if (name.starts_with('/')) return result;
  std::string_view scope = BeforeLastPart(name, '/');
  result.op = WithoutCounter(LastPart(name, '/'));
  while (!scope.empty() && IsInnerScope(LastPart(scope, '/')) &&
         !IsAddLayer(LastPart(scope, '/'), result.op)) {
    scope = BeforeLastPart(scope, '/');
  }
  bool leading = true;
  while (!scope.empty()) {
    const std::size_t slash = scope.find('/');
    const std::string_view segment = scope.substr(0, slash);
    scope.remove_prefix(slash == std::string_view::npos ? scope.size()
                                                        : slash + 1);
    if (segment.empty() || (leading && IsCall(segment))) continue;
    leading = false;
    // What a loop or a call holds keeps its layer: `gru/while/gru_cell`.
    if (WithoutCounter(segment) == "while" || IsCall(segment)) continue;
    AppendSegment(segment, result.segments);
  }
  result.ok = !result.segments.empty();
  return result;
}

}  // namespace onnx_tag::hierarchy

// TensorFlow's scopes as tf2onnx keeps them: a path of Keras layers, below the
// model's own name, above the scopes that TensorFlow opens inside a layer.
namespace onnx_tag {
namespace {

using hierarchy::TfName;
using hierarchy::WithoutCounter;

bool HasSuffix(std::string_view segment) {
  return WithoutCounter(segment).size() != segment.size();
}

class TfNames : public DialectNames {
 public:
  explicit TfNames(const Model& model) : model_(model) {
    for (const NodeId node : model.Nodes()) {
      const TfName name = NodeName(node);
      if (name.ok) Collect(name);
    }
    FindRoot();
    FindSuffix();
  }

  std::optional<NamedModule> OfNode(NodeId node) const override {
    if (const TfName name = NodeName(node); name.ok) {
      return NamedModule{
          ModuleOf(name), Confidence::kHigh, "its name contains the scope", {}};
    }
    for (const ValueId value : model_.Outputs(node)) {
      if (value == kNo<ValueId>) continue;
      const TfName name = SplitName(model_.ValueName(value));
      if (!name.ok) continue;
      return NamedModule{ModuleOf(name),
                         Confidence::kHigh,
                         "its output still has the name of a scoped node",
                         {}};
    }
    return std::nullopt;
  }

  std::optional<std::string> OwnerOf(std::string_view tensor) const override {
    const TfName name = SplitName(tensor);
    if (!name.ok) return std::nullopt;
    return ModuleOf(name);
  }

 private:
  TfName NodeName(NodeId node) const {
    return SplitName(hierarchy::UndoNodeName(ExporterName(model_, node)).name);
  }

  // TensorFlow Lite joins the names of what it fused: `a/Conv2D;a/BiasAdd`.
  static TfName SplitName(std::string_view name) {
    return hierarchy::SplitTfName(name.substr(0, name.find(';')));
  }

  void Collect(const TfName& name) {
    ++scoped_;
    ++first_[name.segments[0]];
    if (name.segments.size() > 1) {
      below_first_[name.segments[0]].insert(name.segments[1]);
    }
    for (std::size_t i = 1; i < name.segments.size(); ++i) {
      siblings_[name.segments[i - 1]].insert(name.segments[i]);
    }
    siblings_[name.segments.back()].insert(name.op);
  }

  // The model's name stands before nearly every scope.
  void FindRoot() {
    for (const auto& [segment, count] : first_) {
      if (count * 10 >= scoped_ * 9 && !below_first_[segment].empty()) {
        root_ = segment;
      }
    }
  }

  // Keras 3 opens each layer's scope twice, and TensorFlow numbers the second:
  // the layer `dense` is `dense_1`, and `dense_1`, which is taken, `dense_1_2`.
  // Where nearly every layer has the model's own number, or one more behind a
  // taken name, the numbers are not the layers'.
  void FindSuffix() {
    if (root_.empty() || !HasSuffix(root_) || IsKeras2()) return;
    const std::set<std::string_view>& layers = below_first_[root_];
    const auto explained = std::count_if(
        layers.begin(), layers.end(), [&](std::string_view layer) {
          const std::string_view bare = WithoutCounter(layer);
          if (bare.size() == layer.size()) return false;
          return hierarchy::LastPart(layer, '_') ==
                     hierarchy::LastPart(root_, '_') ||
                 (HasSuffix(bare) && layers.contains(bare));
        });
    suffixed_ = static_cast<std::size_t>(explained) * 10 >= layers.size() * 7;
  }

  // Keras 2 reads a weight where it uses it; Keras 3 casts it before.
  bool IsKeras2() const {
    for (const Initializer& tensor : model_.initializers()) {
      const std::string_view name = model_.ValueName(tensor.value);
      for (const std::string_view op :
           {"/MatMul/ReadVariableOp", "/Conv2D/ReadVariableOp",
            "/Tensordot/ReadVariableOp", "/embedding_lookup"}) {
        if (name.find(op) != std::string_view::npos) return true;
      }
    }
    return false;
  }

  std::string ModuleOf(const TfName& name) const {
    std::string module;
    const std::size_t begin =
        !root_.empty() && name.segments[0] == root_ ? 1 : 0;
    for (std::size_t i = begin; i < name.segments.size(); ++i) {
      std::string_view segment = name.segments[i];
      if (suffixed_) {
        const std::string_view bare = WithoutCounter(segment);
        if (bare.size() == segment.size()) break;  // TensorFlow's own
        if (i > 0 && !HasSuffix(bare) && Has(name.segments[i - 1], bare)) {
          break;  // `zeros_1` beside `zeros`: the second of an inner scope
        }
        segment = bare;
      }
      if (!module.empty()) module += '.';
      module += segment;
    }
    return module;
  }

  bool Has(std::string_view parent, std::string_view child) const {
    const auto at = siblings_.find(parent);
    return at != siblings_.end() && at->second.contains(child);
  }

  const Model& model_;
  std::size_t scoped_ = 0;
  std::map<std::string_view, std::size_t> first_;
  std::map<std::string_view, std::set<std::string_view>> below_first_;
  std::unordered_map<std::string_view, std::set<std::string_view>> siblings_;
  std::string_view root_;
  bool suffixed_ = false;
};

}  // namespace

std::shared_ptr<const DialectNames> ReadTfNames(const Model& model) {
  return std::make_shared<TfNames>(model);
}

}  // namespace onnx_tag
