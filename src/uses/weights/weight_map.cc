#include "uses/weights/weight_map.h"

#include <algorithm>
#include <map>
#include <optional>
#include <unordered_map>

#include "clues/exporters/parameter_name.h"
#include "clues/exporters/tools/original_name.h"
#include "core/graph/operators.h"
#include "core/hierarchy/name_parts.h"
#include "file/model/attributes.h"
#include "file/model/tensor_data.h"
#include "uses/sizes/element_types.h"
#include "uses/weights/uses.h"
#include "uses/weights/weight_names.h"

namespace onnx_tag::weights {
namespace {

// TensorProto.DataType.
constexpr std::int32_t kString = 8;

constexpr std::string_view kTiedWhy = "several modules read it as their own";

std::string Join(const std::string& module, std::string_view atom) {
  return module.empty() ? std::string(atom) : module + "." + std::string(atom);
}

bool EndsWithAny(std::string_view text,
                 std::initializer_list<std::string_view> ends) {
  return std::any_of(ends.begin(), ends.end(),
                     [&](std::string_view end) { return text.ends_with(end); });
}

bool IsZeroPoint(std::string_view name) {
  return EndsWithAny(name, {"_zero_point", "_zero_points"});
}

// A tool's name for a weight or bias that a constant was multiplied into.
bool IsScaled(std::string_view name) {
  return EndsWithAny(name, {"_weight_fused", "_bias_fused"});
}

bool IsHelper(const Weight& weight) {
  return weight.change == Change::kScale || weight.change == Change::kZeroPoint;
}

// The name of the tensor that was quantized, and whose scale this is.
std::string_view BaseOf(std::string_view name) {
  for (const std::string_view end :
       {"_quantized", "_scale", "_zero_point", "_zero_points"}) {
    if (name.ends_with(end)) return name.substr(0, name.size() - end.size());
  }
  return hierarchy::UndoTensorName(name).name;
}

// The usual name of what a node reads there; "" if the operator does not tell.
std::string_view AtomOf(Operand operand) {
  switch (operand) {
    case Operand::kWeight:
    case Operand::kMatrix:
      return "weight";
    case Operand::kBias:
      return "bias";
    case Operand::kMean:
      return "running_mean";
    case Operand::kVariance:
      return "running_var";
    default:
      return "";
  }
}

// Adds a parameter that another module reads as its own, too.
void Tie(const std::string& parameter, Weight& weight) {
  if (std::find(weight.parameters.begin(), weight.parameters.end(),
                parameter) != weight.parameters.end()) {
    return;
  }
  weight.parameters.push_back(parameter);
  weight.change = Change::kTied;
  weight.why = kTiedWhy;
}

class Mapper {
 public:
  Mapper(const Model& model, const Tagging& tagging)
      : model_(model),
        tagging_(tagging),
        names_(WeightNames::BuiltIn()),
        ops_(model),
        uses_(model, ops_) {
    CountRecurrent();
  }

  std::vector<Weight> Run() {
    const std::vector<Initializer>& tensors = model_.initializers();
    std::vector<Weight> weights(tensors.size());
    for (std::uint32_t i = 0; i < tensors.size(); ++i) {
      by_value_.emplace(tensors[i].value, i);
      weights[i] = Read(tensors[i], uses_.Of(tensors[i].value));
      weights[i].initializer = i;
      if (weights[i].change == Change::kQuantized) {
        by_base_.emplace(BaseOf(NameOf(tensors[i])), i);
      }
    }
    NameHead(weights);
    // Scales take the name of what they scale, so that comes first.
    for (Weight& weight : weights) {
      if (IsHelper(weight)) NameHelper(weight, weights);
    }
    return weights;
  }

 private:
  std::string_view NameOf(const Initializer& tensor) const {
    return model_.ValueName(tensor.value);
  }
  std::string_view ClassOf(ModuleId id) const {
    return id == kNo<ModuleId> ? std::string_view()
                               : tagging_.modules.Class(id);
  }
  // Modules that are made of others seldom have a weight of their own: more
  // likely the module of the node is not known exactly.
  bool HoldsOthers(ModuleId id) const {
    return names_.HoldsOthers(ClassOf(id));
  }
  const Tag& TagOf(const Use& use) const { return tagging_.tags[use.node]; }

  // Recurrent nodes of one module and one kind are its layers, in file order.
  void CountRecurrent() {
    std::map<std::pair<ModuleId, Op>, std::uint32_t> layers;
    for (const NodeId node : model_.Nodes()) {
      const Operator& op = Describe(ops_[node]);
      const Tag& tag = tagging_.tags[node];
      if (!op.kinds.HasAnyOf(OpKind::kRecurrent) || !tag.tagged()) continue;
      recurrent_layer_[node] = layers[{tag.module, op.like}]++;
    }
  }

  Weight Read(const Initializer& tensor, const std::vector<Use>& uses) const {
    if (IsQuantizersHelper(tensor, uses)) return ReadHelper(tensor, uses);
    const hierarchy::Undone undone = hierarchy::UndoTensorName(NameOf(tensor));
    if (IsParameterName(tensor, undone)) return ReadNamed(tensor, undone, uses);
    const bool quantized = IsQuantized(tensor, uses);
    if (!quantized && IsConstant(tensor)) {
      return {.change = Change::kConstant,
              .module = ReaderOf(uses),
              .confidence = Confidence::kCertain,
              .why = "a number, or a short list of whole numbers"};
    }
    Weight weight = ReadUses(tensor, uses);
    if (weight.parameters.empty() && quantized) {
      weight.change = Change::kQuantized;
      weight.why = "a quantizer's, of a constant";
    }
    return weight;
  }

  // Whether its name, with what tools added undone, is a parameter's.
  bool IsParameterName(const Initializer& tensor,
                       const hierarchy::Undone& undone) const {
    if (!hierarchy::IsCrediblePath(undone.name) ||
        !hierarchy::IsParameterName(undone.name)) {
      return false;
    }
    return undone.name.find('.') != std::string_view::npos ||
           (!IsScaled(undone.name) && tensor.rank > 0 &&
            (IsFloat(tensor.data_type) || tensor.rank > 1));
  }

  bool IsConstant(const Initializer& tensor) const {
    return CountElements(model_.Dims(tensor)) <= 1 ||
           tensor.data_type == kString ||
           (!IsFloat(tensor.data_type) && tensor.rank <= 1);
  }

  // A convolution or a Gemm, perhaps with an activation fused into it, but not
  // of a quantized weight.
  bool IsLike(const Use& use, Op op) const {
    const Operator& own = Describe(ops_[use.node]);
    return own.like == op && own.Input(1) == Operand::kWeight;
  }
  bool Transposes(const Use& gemm) const {
    return IntAttribute(model_.NodeBytes(gemm.node), "transB", 0) != 0;
  }

  // A scale or a zero point, by its slot or by its name. ONNX Runtime's
  // quantizer writes `x_quantized` and `x_scale` for `x`.
  bool IsQuantizersHelper(const Initializer& tensor,
                          const std::vector<Use>& uses) const {
    for (const Use& use : uses) {
      if (use.operand >= Operand::kScale &&
          use.operand <= Operand::kDataZeroPoint) {
        return true;
      }
    }
    const std::string_view raw = NameOf(tensor);
    return IsZeroPoint(raw) || raw.ends_with("_quantized_scale") ||
           (raw.ends_with("_scale") &&
            (hierarchy::UndoTensorName(raw).quantizer ||
             IsName(std::string(BaseOf(raw)) + "_quantized")));
  }
  bool IsName(std::string_view name) const {
    return model_.FindName(name) != kNo<NameId>;
  }

  Weight ReadHelper(const Initializer& tensor,
                    const std::vector<Use>& uses) const {
    bool zero = IsZeroPoint(NameOf(tensor));
    for (const Use& use : uses) {
      zero |= use.operand == Operand::kZeroPoint ||
              use.operand == Operand::kDataZeroPoint;
    }
    return {.change = zero ? Change::kZeroPoint : Change::kScale,
            .module = ReaderOf(uses),
            .confidence = Confidence::kHigh,
            .why = "a quantizer's, for an activation"};
  }

  // The table of embeddings with the most rows; null: there is none.
  const Weight* FindVocabulary(const std::vector<Weight>& weights) const {
    const auto rows = [&](const Weight& weight) {
      return model_.Dims(model_.initializers()[weight.initializer])[0];
    };
    const Weight* best = nullptr;
    for (const Weight& weight : weights) {
      const Initializer& tensor = model_.initializers()[weight.initializer];
      if (tensor.rank != 2 || weight.parameters.size() != 1 ||
          weight.confidence < Confidence::kHigh) {
        continue;
      }
      const std::vector<Use> uses = uses_.Of(tensor.value);
      const bool is_table =
          std::any_of(uses.begin(), uses.end(), [&](const Use& use) {
            return use.slot == 0 && ops_[use.node] == Op::kGather;
          });
      if (is_table && (best == nullptr || rows(weight) > rows(*best))) {
        best = &weight;
      }
    }
    return best;
  }

  // The head of a language model often shares its weight with the embedding.
  // If its own module is in doubt and the shape fits, that name is more likely.
  void NameHead(std::vector<Weight>& weights) const {
    const Weight* const table = FindVocabulary(weights);
    if (table == nullptr) return;
    const auto rows = model_.Dims(model_.initializers()[table->initializer]);
    for (Weight& weight : weights) {
      const Initializer& tensor = model_.initializers()[weight.initializer];
      if (weight.confidence != Confidence::kLow || tensor.rank != 2 ||
          weight.parameters.size() != 1 ||
          (weight.change != Change::kTransposed &&
           weight.change != Change::kQuantized)) {
        continue;
      }
      const auto dims = model_.Dims(tensor);
      if (dims[0] != rows[1] || dims[1] != rows[0]) continue;
      const std::vector<Use> uses = uses_.Of(tensor.value);
      if (uses.empty()) continue;
      const Tag& reader = TagOf(uses[0]);
      if (!reader.tagged() || tagging_.roles[reader.role].layer >= 0 ||
          (reader.module != ModuleTree::kRoot && !HoldsOthers(reader.module))) {
        continue;
      }
      weight.parameters = table->parameters;
      weight.why =
          "no module reads it as its own, and its shape is that of the "
          "embedding, transposed";
    }
  }

  // Gives a scale the parameter it scales: the tensor beside it, or the one
  // whose name it has.
  void NameHelper(Weight& helper, const std::vector<Weight>& weights) const {
    const auto take = [&](const Weight& from) {
      if (from.parameters.empty() || IsHelper(from)) return false;
      helper.parameters = from.parameters;
      helper.module = from.module;
      helper.confidence = from.confidence;
      helper.why = "it scales this parameter";
      return true;
    };
    const Initializer& tensor = model_.initializers()[helper.initializer];
    for (const NodeId node : model_.Consumers(tensor.value)) {
      const std::span<const ValueId> inputs = model_.Inputs(node);
      const Operator& op = Describe(ops_[node]);
      for (std::size_t slot = 0; slot < inputs.size(); ++slot) {
        if (op.Input(slot) != Operand::kQuantized &&
            op.Input(slot) != Operand::kQkvWeight) {
          continue;
        }
        const auto at = by_value_.find(inputs[slot]);
        if (at != by_value_.end() && take(weights[at->second])) return;
      }
    }
    const auto base = by_base_.find(BaseOf(NameOf(tensor)));
    if (base != by_base_.end()) take(weights[base->second]);
  }

  ModuleId ReaderOf(const std::vector<Use>& uses) const {
    for (const Use& use : uses) {
      if (TagOf(use).tagged()) return TagOf(use).module;
    }
    return kNo<ModuleId>;
  }

  Weight ReadNamed(const Initializer& tensor, const hierarchy::Undone& undone,
                   const std::vector<Use>& uses) const {
    const std::string name = undone.module_only
                                 ? Join(std::string(undone.name), "weight")
                                 : std::string(undone.name);
    const hierarchy::ParameterName split = hierarchy::SplitParameterName(name);
    Weight weight{.change = Change::kSame,
                  .module = tagging_.modules.Find(split.module),
                  .confidence = Confidence::kCertain,
                  .why = "its name is the parameter's"};
    if (hierarchy::IsFoldedBias(name) && !uses.empty()) {
      const std::string conv =
          name.substr(0, name.size() - hierarchy::kFoldedBias.size());
      weight.module = tagging_.modules.Find(conv);
      return FoldedBias(tensor, uses[0], conv, std::move(weight));
    }
    if (undone.fused || HasFoldedBias(tensor, uses)) {
      weight.change = Change::kFolded;
      weight.why = "a normalization went into the convolution that reads it";
    } else if (IsQuantized(tensor, uses)) {
      weight.change = Change::kQuantized;
    } else if (IsTransposed(uses)) {
      weight.change = Change::kTransposed;
      weight.why =
          "its name is the parameter's, and MatMul reads it transposed";
    }
    weight.parameters.push_back(
        weight.change == Change::kQuantized ? WithoutCopyNumber(name) : name);
    if (weight.module == kNo<ModuleId>) {
      weight.module = ReaderOf(uses);
      weight.confidence = Confidence::kHigh;
    }
    AddTied(tensor, split.parameter, uses, weight);
    return weight;
  }

  // A quantizer copies a bias that several nodes share: "a.bias0" for "a.bias".
  std::string WithoutCopyNumber(const std::string& parameter) const {
    const std::size_t end = parameter.find_last_not_of("0123456789") + 1;
    if (end == 0 || end == parameter.size()) return parameter;
    const std::string base = parameter.substr(0, end);
    return IsName(base + "_quantized") ? base : parameter;
  }

  // Other modules that read the same tensor as their own parameter.
  void AddTied(const Initializer& tensor, std::string_view atom,
               const std::vector<Use>& uses, Weight& weight) const {
    if (tensor.rank < 1 || weight.module == kNo<ModuleId>) return;
    // Where its own module does not read it, the reader is in doubt.
    const bool own = std::any_of(uses.begin(), uses.end(), [&](const Use& use) {
      return TagOf(use).module == weight.module;
    });
    if (!own) return;
    const ModuleTree& tree = tagging_.modules;
    for (const Use& use : uses) {
      const Tag& tag = TagOf(use);
      std::string_view other = AtomOf(use.operand);
      if (!tag.tagged() || tag.confidence < Confidence::kHigh ||
          other.empty()) {
        continue;
      }
      if (other == "weight") other = atom;
      // The statistics of a norm that was never trained are equal to its bias
      // and its weight.
      const bool is_other =
          tag.module == weight.module
              ? use.operand == Operand::kMean ||
                    use.operand == Operand::kVariance
              : !tree.IsAncestor(weight.module, tag.module) &&
                    !tree.IsAncestor(tag.module, weight.module);
      if (is_other) Tie(Join(tree.Path(tag.module), other), weight);
    }
  }

  bool IsQuantized(const Initializer& tensor,
                   const std::vector<Use>& uses) const {
    if (IsFloat(tensor.data_type)) return false;
    for (const Use& use : uses) {
      if (use.dequantized || use.operand == Operand::kQuantized ||
          use.operand == Operand::kQkvWeight) {
        return true;
      }
    }
    return hierarchy::UndoTensorName(NameOf(tensor)).quantizer;
  }
  Change QuantizedOr(Change change, const Initializer& tensor,
                     const Use& use) const {
    return IsQuantized(tensor, {use}) ? Change::kQuantized : change;
  }

  bool HasFoldedBias(const Initializer& tensor,
                     const std::vector<Use>& uses) const {
    for (const Use& use : uses) {
      const std::span<const ValueId> inputs = model_.Inputs(use.node);
      if (!IsLike(use, Op::kConv) || use.slot != 1 || inputs.size() < 3 ||
          inputs[2] == kNo<ValueId>) {
        continue;
      }
      if (model_.ValueName(inputs[2]) ==
          std::string(NameOf(tensor)) + "_bias") {
        return true;
      }
    }
    return false;
  }

  // A Linear's weight that MatMul reads as it is: [in, out], which PyTorch has
  // as [out, in].
  bool IsTransposed(const std::vector<Use>& uses) const {
    bool transposed = false;
    for (const Use& use : uses) {
      if (!TagOf(use).tagged() || ClassOf(TagOf(use).module) != "Linear" ||
          use.transposed) {
        return false;
      }
      transposed |=
          use.slot == 1 && (use.operand == Operand::kMatrix ||
                            (ops_[use.node] == Op::kGemm && !Transposes(use)));
    }
    return transposed;
  }

  Weight ReadUses(const Initializer& tensor,
                  const std::vector<Use>& uses) const {
    Weight best{.change = Change::kComputed,
                .module = ReaderOf(uses),
                .confidence = Confidence::kMedium,
                .why = "no node reads it as a parameter"};
    for (const Use& use : uses) {
      if (TagOf(use).tagged() || !IsParameter(use.operand)) continue;
      best.why = "the node that reads it has no module";
      best.confidence = Confidence::kLow;
      best.change = ChangeWithoutModule(tensor, use);
    }
    for (const Use& use : uses) {
      const std::optional<Weight> reading = ReadUse(tensor, use);
      if (!reading) continue;
      if (best.parameters.empty()) {
        best = *reading;
        continue;
      }
      for (const std::string& parameter : reading->parameters) {
        Tie(parameter, best);
      }
    }
    return best;
  }

  // The operator alone tells that the tensor is a parameter.
  Change ChangeWithoutModule(const Initializer& tensor, const Use& use) const {
    if (use.slot > 0 && IsLike(use, Op::kConv)) return Change::kFolded;
    if (use.operand != Operand::kMatrix || tensor.rank != 2) {
      return Change::kComputed;
    }
    return use.transposed ? Change::kSame : Change::kTransposed;
  }

  std::optional<Weight> ReadUse(const Initializer& tensor,
                                const Use& use) const {
    const Tag& tag = TagOf(use);
    if (!tag.tagged()) return std::nullopt;
    Weight weight;
    weight.module = tag.module;
    // Quantizers replace products, not sums.
    weight.confidence = ops_[use.node] != Op::kAdd && HoldsOthers(tag.module)
                            ? Confidence::kLow
                            : std::min(tag.confidence, Confidence::kHigh);
    const auto give = [&](std::string_view atom, Change change,
                          std::string_view why) {
      weight.parameters = {Join(tagging_.modules.Path(tag.module), atom)};
      weight.change = QuantizedOr(use.sliced                 ? Change::kSplit
                                  : IsScaled(NameOf(tensor)) ? Change::kFolded
                                                             : change,
                                  tensor, use);
      weight.why = why;
      return weight;
    };
    switch (use.operand) {
      case Operand::kMatrix:
        if (tensor.rank != 2) return std::nullopt;
        return give(MatrixAtom(tensor, tag.module),
                    use.transposed ? Change::kSame : Change::kTransposed,
                    "MatMul of this module reads it");
      case Operand::kWeight:
        if (IsPlainNorm(use)) return std::nullopt;
        return ReadWeight(tensor, use, give);
      case Operand::kBias:
        if (IsPlainNorm(use)) return std::nullopt;
        // A bias of the convolution itself keeps its name.
        if (IsLike(use, Op::kConv)) {
          return FoldedBias(tensor, use, tagging_.modules.Path(tag.module),
                            std::move(weight));
        }
        return give("bias", Change::kSame,
                    "the node of this module reads it as its bias");
      case Operand::kMean:
        return give("running_mean", Change::kSame,
                    "BatchNormalization reads it as its mean");
      case Operand::kVariance:
        return give("running_var", Change::kSame,
                    "BatchNormalization reads it as its variance");
      case Operand::kQuantized:
        return give(MatrixAtom(tensor, tag.module), Change::kQuantized,
                    "the node of this module reads it as its weight");
      case Operand::kGatesIn:
      case Operand::kGatesOut:
      case Operand::kGatesBias:
        return ReadGates(tensor, use, std::move(weight));
      case Operand::kQkvWeight:
        return ReadQkv("weight", std::move(weight));
      case Operand::kQkvBias:
        return ReadQkv("bias", std::move(weight));
      default:
        return ReadElementwise(tensor, use, give);
    }
  }

  // A folded normalization gives the convolution a bias, whether it had one of
  // its own or not. The normalization is among the node's origins if the file
  // says which it was.
  Weight FoldedBias(const Initializer& tensor, const Use& use,
                    const std::string& conv, Weight weight) const {
    weight.change = QuantizedOr(Change::kFolded, tensor, use);
    weight.may_hold = Join(conv, "bias");
    weight.confidence = std::min(weight.confidence, Confidence::kHigh);
    weight.why = "a normalization that went into the convolution gave it";
    for (const Origin& origin : tagging_.OriginsOf(use.node)) {
      if (ClassOf(origin.module).find("Norm") == std::string_view::npos) {
        continue;
      }
      const std::string norm = tagging_.modules.Path(origin.module);
      for (const std::string_view atom :
           {"weight", "bias", "running_mean", "running_var"}) {
        weight.parameters.push_back(Join(norm, atom));
      }
      break;
    }
    return weight;
  }

  // torch.nn.MultiheadAttention has query, key and value in one parameter. Its
  // class may be unknown, but it has an out_proj.
  std::string_view MatrixAtom(const Initializer& tensor,
                              ModuleId module) const {
    const std::span<const std::int64_t> dims = model_.Dims(tensor);
    const bool three =
        dims.size() == 2 && (dims[0] == 3 * dims[1] || dims[1] == 3 * dims[0]);
    const bool packed = three && tagging_.modules.FindChild(
                                     module, "out_proj") != kNo<ModuleId>;
    return names_.At("matrix", packed ? "MultiheadAttention" : ClassOf(module));
  }

  template <typename Give>
  std::optional<Weight> ReadWeight(const Initializer& tensor, const Use& use,
                                   const Give& give) const {
    if (IsLike(use, Op::kGemm)) {
      return give(MatrixAtom(tensor, TagOf(use).module),
                  Transposes(use) != use.transposed ? Change::kSame
                                                    : Change::kTransposed,
                  "Gemm of this module reads it");
    }
    if (IsLike(use, Op::kConv)) {
      return give("weight", Change::kFolded,
                  "its name is gone, as where a normalization goes into a "
                  "convolution");
    }
    if (ops_[use.node] == Op::kGather && !use.dequantized &&
        (tensor.rank != 2 || !IsFloat(tensor.data_type))) {
      return std::nullopt;
    }
    return give("weight", Change::kSame,
                "the node of this module reads it as its weight");
  }

  Weight ReadGates(const Initializer& tensor, const Use& use,
                   Weight weight) const {
    const auto at = recurrent_layer_.find(use.node);
    const std::uint32_t layer = at == recurrent_layer_.end() ? 0 : at->second;
    const std::string path = tagging_.modules.Path(weight.module);
    const auto add = [&](std::string_view atom, bool reverse) {
      weight.parameters.push_back(Join(path, atom) + "_l" +
                                  std::to_string(layer) +
                                  (reverse ? "_reverse" : ""));
    };
    const std::span<const std::int64_t> dims = model_.Dims(tensor);
    const bool both = !dims.empty() && dims[0] == 2;
    for (int direction = 0; direction < (both ? 2 : 1); ++direction) {
      if (use.operand == Operand::kGatesBias) {
        add("bias_ih", direction == 1);
        add("bias_hh", direction == 1);
      } else {
        add(use.operand == Operand::kGatesIn ? "weight_ih" : "weight_hh",
            direction == 1);
      }
    }
    weight.change = QuantizedOr(Change::kMerged, tensor, use);
    weight.why = "the gates of a recurrent layer, in ONNX's order";
    return weight;
  }

  // The nearest module with one of these names, in the node's module or beside
  // a module around it; kNo if there is none.
  ModuleId FindProjection(ModuleId module, std::string_view which) const {
    const ModuleTree& tree = tagging_.modules;
    for (ModuleId at = module; at != kNo<ModuleId>; at = tree.Parent(at)) {
      for (const std::string_view name : names_.Projection(which)) {
        const ModuleId child = tree.FindChild(at, name);
        if (child != kNo<ModuleId>) return child;
      }
    }
    return kNo<ModuleId>;
  }

  Weight ReadQkv(std::string_view atom, Weight weight) const {
    const ModuleTree& tree = tagging_.modules;
    for (const std::string_view which : {"query", "key", "value"}) {
      const ModuleId child = FindProjection(weight.module, which);
      if (child != kNo<ModuleId>) {
        weight.parameters.push_back(Join(tree.Path(child), atom));
      }
    }
    if (weight.parameters.size() != 3) {
      weight.parameters = {Join(tree.Path(weight.module), atom)};
      weight.confidence = Confidence::kLow;
    }
    weight.change = Change::kMerged;
    weight.why = "a fused attention reads query, key and value in one";
    return weight;
  }

  // A GroupNorm is exported as an InstanceNormalization with ones and zeros;
  // its parameters are multiplied and added afterwards.
  bool IsPlainNorm(const Use& use) const {
    return ops_[use.node] == Op::kInstanceNormalization &&
           !ClassOf(TagOf(use).module).starts_with("InstanceNorm");
  }

  // What is added or multiplied: a bias, or a normalization's weight; or put
  // before a sequence.
  template <typename Give>
  std::optional<Weight> ReadElementwise(const Initializer& tensor,
                                        const Use& use,
                                        const Give& give) const {
    const Op op = ops_[use.node];
    const Tag& tag = TagOf(use);
    const std::span<const std::int64_t> dims = model_.Dims(tensor);
    if (op == Op::kConcat && use.slot == 0 && IsFloat(tensor.data_type) &&
        dims.size() == 3 && dims[0] == 1 && dims[1] == 1) {
      return give(names_.At("first", ClassOf(tag.module)), Change::kSame,
                  "this module puts it before the sequence");
    }
    // One number for each channel, maybe shaped to be broadcast: [8, 1, 1].
    // Masks and tables are [1, 1, 1, n].
    const auto ones = std::count(dims.begin(), dims.end(), 1);
    if (static_cast<std::size_t>(ones) + 1 != dims.size() ||
        (dims.size() > 2 && dims.back() != 1)) {
      return std::nullopt;
    }
    if (op == Op::kAdd || op == Op::kSum) {
      // TorchScript names what it folds after the convolution that read it.
      if (NameOf(tensor).starts_with("onnx::Conv_")) {
        return FoldedBias(tensor, use, tagging_.modules.Path(tag.module),
                          {.module = tag.module, .confidence = tag.confidence});
      }
      return give(names_.At("added", ClassOf(tag.module)), Change::kSame,
                  "this module adds it");
    }
    if (op == Op::kMul) {
      return give("weight", Change::kSame, "this module multiplies with it");
    }
    return std::nullopt;
  }

  const Model& model_;
  const Tagging& tagging_;
  const WeightNames& names_;
  const Operators ops_;
  const Uses uses_;
  std::unordered_map<NodeId, std::uint32_t> recurrent_layer_;
  std::unordered_map<ValueId, std::uint32_t> by_value_;
  std::unordered_map<std::string_view, std::uint32_t> by_base_;  // quantized
};

}  // namespace

std::vector<Weight> MapWeights(const Model& model, const Tagging& tagging) {
  return Mapper(model, tagging).Run();
}

std::uint64_t BytesOf(const Model& model, const Initializer& tensor) {
  return sizes::CountBytes(CountElements(model.Dims(tensor)), tensor.data_type);
}

}  // namespace onnx_tag::weights
