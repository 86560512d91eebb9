// TensorFlow's scopes as tf2onnx keeps them: a path of Keras layers, below the
// model's own name, above the scopes that TensorFlow opens inside a layer.
#include <map>
#include <set>
#include <unordered_map>

#include "hierarchy/cut.h"
#include "hierarchy/tf2onnx.h"
#include "hierarchy/undo.h"
#include "mapping/dialects.h"

namespace onnx_tag {
namespace {

using hierarchy::TfName;
using hierarchy::WithoutKerasSuffix;

bool HasSuffix(std::string_view segment) {
  return WithoutKerasSuffix(segment).size() != segment.size();
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
          ModuleOf(name), Confidence::kHigh, "its name has the scope", {}};
    }
    for (const ValueId value : model_.Outputs(node)) {
      if (value == kNo<ValueId>) continue;
      const TfName name = hierarchy::SplitTfName(model_.ValueName(value));
      if (!name.ok) continue;
      return NamedModule{ModuleOf(name),
                         Confidence::kHigh,
                         "its output kept the name of a scoped node",
                         {}};
    }
    return std::nullopt;
  }

  std::optional<std::string> OwnerOf(std::string_view tensor) const override {
    const TfName name = hierarchy::SplitTfName(tensor);
    if (!name.ok) return std::nullopt;
    return ModuleOf(name);
  }

 private:
  TfName NodeName(NodeId node) const {
    return hierarchy::SplitTfName(
        hierarchy::UndoNodeName(model_[node].name).name);
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
  // the layer `dense` is `dense_1`, `dense_1` is `dense_1_2`. Where every layer
  // and the model have a number, nearly always the same one, it is not theirs.
  void FindSuffix() {
    if (root_.empty() || !HasSuffix(root_)) return;
    std::map<std::string_view, std::size_t> numbers;
    std::size_t with = 0;
    const std::set<std::string_view>& layers = below_first_[root_];
    for (const std::string_view layer : layers) {
      if (!HasSuffix(layer)) continue;
      ++with;
      ++numbers[hierarchy::LastPart(layer, '_')];
    }
    std::size_t most = 0;
    for (const auto& [number, count] : numbers) most = std::max(most, count);
    suffixed_ = with * 10 >= layers.size() * 8 && most * 10 >= with * 5;
  }

  std::string ModuleOf(const TfName& name) const {
    std::string module;
    const std::size_t begin =
        !root_.empty() && name.segments[0] == root_ ? 1 : 0;
    for (std::size_t i = begin; i < name.segments.size(); ++i) {
      std::string_view segment = name.segments[i];
      if (suffixed_) {
        const std::string_view bare = WithoutKerasSuffix(segment);
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
