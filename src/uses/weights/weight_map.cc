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
#include "file/model/element_types.h"
#include "file/model/tensor_data.h"
#include "uses/weights/uses.h"

namespace onnx_tag::weights {
namespace {

constexpr std::array<std::string_view, 4> kQueryNames = {"query", "q_proj",
                                                         "q_lin", "q"};
constexpr std::array<std::string_view, 4> kKeyNames = {"key", "k_proj", "k_lin",
                                                       "k"};
constexpr std::array<std::string_view, 4> kValueNames = {"value", "v_proj",
                                                         "v_lin", "v"};

std::string Join(const std::string& module, std::string_view atom) {
  return module.empty() ? std::string(atom) : module + "." + std::string(atom);
}

bool EndsWithAny(std::string_view text,
                 std::initializer_list<std::string_view> ends) {
  for (const std::string_view end : ends) {
    if (text.ends_with(end)) return true;
  }
  return false;
}

// What one use says of a tensor.
struct Reading {
  Change change = Change::kComputed;
  std::vector<std::string> parameters;
  std::string may_hold = {};
  ModuleId module = kNo<ModuleId>;
  Confidence confidence = Confidence::kLow;
  std::string_view why;
};

class Mapper {
 public:
  Mapper(const Model& model, const Tagging& tagging)
      : model_(model), tagging_(tagging), uses_(model) {
    CountRecurrent();
  }

  std::vector<Weight> Run() {
    const std::vector<Initializer>& tensors = model_.initializers();
    std::vector<Weight> weights(tensors.size());
    for (std::uint32_t i = 0; i < tensors.size(); ++i) {
      by_value_.emplace(Index(tensors[i].value), i);
    }
    // Scales take the name of what they scale, so that comes first.
    std::vector<std::uint32_t> helpers;
    for (std::uint32_t i = 0; i < tensors.size(); ++i) {
      weights[i] = Map(i);
      if (weights[i].change == Change::kScale ||
          weights[i].change == Change::kZeroPoint) {
        helpers.push_back(i);
      } else if (weights[i].change == Change::kQuantized) {
        by_base_.emplace(BaseOf(NameOf(i)), i);
      }
    }
    NameHead(weights);
    for (const std::uint32_t i : helpers) NameHelper(i, weights);
    return weights;
  }

 private:
  std::string_view NameOf(std::uint32_t i) const {
    return model_.ValueName(model_.initializers()[i].value);
  }
  // The name of the tensor that was quantized, and whose scale this is.
  static std::string_view BaseOf(std::string_view name) {
    for (const std::string_view end :
         {"_quantized", "_scale", "_zero_point", "_zero_points"}) {
      if (name.ends_with(end)) return name.substr(0, name.size() - end.size());
    }
    return hierarchy::UndoTensorName(name).name;
  }
  // ONNX Runtime's quantizer writes `x_quantized` and `x_scale` for `x`.
  bool HasQuantizedTwin(std::string_view scale) const {
    const NameId twin =
        model_.FindName(std::string(BaseOf(scale)) + "_quantized");
    return twin != kNo<NameId>;
  }
  std::string_view ClassOf(ModuleId id) const {
    return id == kNo<ModuleId> ? std::string_view()
                               : tagging_.modules.Class(id);
  }
  const Tag& TagOf(NodeId node) const { return tagging_.tags[node]; }

  // Recurrent nodes of one module and one kind are its layers, in file order.
  void CountRecurrent() {
    std::map<std::pair<ModuleId, Op>, std::uint32_t> layers;
    for (const NodeId node : model_.Nodes()) {
      const Operator& op = OperatorOf(node);
      if (!op.kinds.HasAnyOf(OpKind::kRecurrent)) continue;
      if (!TagOf(node).tagged()) continue;
      recurrent_layer_[Index(node)] = layers[{TagOf(node).module, op.like}]++;
    }
  }

  Weight Map(std::uint32_t i) const {
    const Initializer& tensor = model_.initializers()[i];
    Weight weight;
    weight.initializer = i;
    const std::vector<Use> uses = uses_.Of(tensor.value);
    const Reading reading = Read(tensor, uses);
    weight.change = reading.change;
    weight.parameters = reading.parameters;
    weight.may_hold = reading.may_hold;
    weight.module = reading.module;
    weight.confidence = reading.confidence;
    weight.why = reading.why;
    return weight;
  }

  Reading Read(const Initializer& tensor, const std::vector<Use>& uses) const {
    std::string name;
    bool fused = false;
    const bool named = HasParameterName(tensor, name, fused);
    const std::uint64_t elements = CountElements(model_.Dims(tensor));
    const bool helper = IsHelper(tensor, uses);
    if (!named && !helper && !IsQuantized(tensor, uses) &&
        IsConstant(tensor, elements)) {
      return {.change = Change::kConstant,
              .parameters = {},
              .module = ReaderOf(uses),
              .confidence = Confidence::kCertain,
              .why = "a number, or a short list of whole numbers"};
    }
    if (helper) return ReadHelper(tensor, uses);
    if (named) return ReadNamed(tensor, name, fused, uses);
    Reading reading = ReadUses(tensor, uses);
    if (reading.parameters.empty() && IsQuantized(tensor, uses)) {
      reading.change = Change::kQuantized;
      reading.why = "a quantizer's, of a constant";
    }
    return reading;
  }

  // Whether its name is a parameter's; with what tools added undone.
  bool HasParameterName(const Initializer& tensor, std::string& name,
                        bool& fused) const {
    const std::string_view raw = model_.ValueName(tensor.value);
    const hierarchy::Undone undone = hierarchy::UndoTensorName(raw);
    if (!hierarchy::IsCrediblePath(undone.name) ||
        !hierarchy::IsParameterName(undone.name)) {
      return false;
    }
    const bool dotted = undone.name.find('.') != std::string_view::npos;
    if (!dotted && IsScaled(undone.name)) return false;
    if (tensor.rank == 0 && !dotted) return false;
    if (!dotted && !IsFloat(tensor.data_type) && tensor.rank <= 1) return false;
    fused = undone.fused;
    name = undone.module_only ? Join(std::string(undone.name), "weight")
                              : std::string(undone.name);
    return true;
  }

  // A tool's name for a weight or bias that a constant was multiplied into.
  static bool IsScaled(std::string_view name) {
    return EndsWithAny(name, {"_weight_fused", "_bias_fused"});
  }

  static bool IsConstant(const Initializer& tensor, std::uint64_t elements) {
    return elements <= 1 || tensor.data_type == kString ||
           (!IsFloat(tensor.data_type) && tensor.rank <= 1);
  }

  const Operator& OperatorOf(NodeId node) const {
    return Describe(FindOp(model_.OpType(node), model_.Domain(node)));
  }
  Operand OperandOf(NodeId node, std::uint32_t slot) const {
    return OperatorOf(node).Input(slot);
  }
  // A convolution or a Gemm, perhaps with an activation fused into it, but not
  // of a quantized weight.
  bool IsLike(NodeId node, Op op) const {
    const Operator& own = OperatorOf(node);
    return own.like == op && own.Input(1) == Operand::kWeight;
  }
  Operand KindOfUse(const Use& use) const {
    return OperandOf(use.node, use.slot);
  }

  // A scale or a zero point, by its slot or by its name.
  bool IsHelper(const Initializer& tensor, const std::vector<Use>& uses) const {
    for (const Use& use : uses) {
      switch (KindOfUse(use)) {
        case Operand::kScale:
        case Operand::kZeroPoint:
        case Operand::kDataScale:
        case Operand::kDataZeroPoint:
          return true;
        default:
          break;
      }
    }
    const std::string_view raw = model_.ValueName(tensor.value);
    return EndsWithAny(raw,
                       {"_zero_point", "_zero_points", "_quantized_scale"}) ||
           (raw.ends_with("_scale") &&
            (hierarchy::UndoTensorName(raw).quantizer ||
             HasQuantizedTwin(raw)));
  }

  Reading ReadHelper(const Initializer& tensor,
                     const std::vector<Use>& uses) const {
    const std::string_view raw = model_.ValueName(tensor.value);
    bool zero = EndsWithAny(raw, {"_zero_point", "_zero_points"});
    for (const Use& use : uses) {
      const Operand kind = KindOfUse(use);
      zero |= kind == Operand::kZeroPoint || kind == Operand::kDataZeroPoint;
    }
    return {.change = zero ? Change::kZeroPoint : Change::kScale,
            .parameters = {},
            .module = ReaderOf(uses),
            .confidence = Confidence::kHigh,
            .why = "a quantizer's, for an activation"};
  }

  // The table of embeddings with the most rows.
  std::optional<std::uint32_t> FindVocabulary(
      const std::vector<Weight>& weights) const {
    std::optional<std::uint32_t> best;
    for (std::uint32_t i = 0; i < weights.size(); ++i) {
      const Initializer& tensor = model_.initializers()[i];
      if (tensor.rank != 2 || weights[i].parameters.size() != 1 ||
          weights[i].confidence < Confidence::kHigh) {
        continue;
      }
      const std::vector<Use> uses = uses_.Of(tensor.value);
      if (std::none_of(uses.begin(), uses.end(), [&](const Use& use) {
            return use.slot == 0 && model_.OpType(use.node) == "Gather";
          })) {
        continue;
      }
      if (!best || model_.Dims(tensor)[0] >
                       model_.Dims(model_.initializers()[*best])[0]) {
        best = i;
      }
    }
    return best;
  }

  // The head of a language model often shares its weight with the embedding.
  // If its own module is in doubt and the shape fits, that name is more likely.
  void NameHead(std::vector<Weight>& weights) const {
    const std::optional<std::uint32_t> table = FindVocabulary(weights);
    if (!table) return;
    const auto rows = model_.Dims(model_.initializers()[*table]);
    for (std::uint32_t i = 0; i < weights.size(); ++i) {
      Weight& weight = weights[i];
      const Initializer& tensor = model_.initializers()[i];
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
      const Tag& reader = TagOf(uses[0].node);
      if (!reader.tagged() || tagging_.roles[reader.role].layer >= 0 ||
          (reader.module != ModuleTree::kRoot && !HoldsOthers(reader.module))) {
        continue;
      }
      weight.parameters = weights[*table].parameters;
      weight.why =
          "no module reads it as its own, and its shape is that of the "
          "embedding, turned";
    }
  }

  // Gives a scale the parameter it scales: the tensor beside it, or the one
  // whose name it has.
  void NameHelper(std::uint32_t i, std::vector<Weight>& weights) const {
    Weight& helper = weights[i];
    const auto take = [&](std::uint32_t from) {
      if (from == i || weights[from].parameters.empty() ||
          weights[from].change == Change::kScale ||
          weights[from].change == Change::kZeroPoint) {
        return false;
      }
      helper.parameters = weights[from].parameters;
      helper.module = weights[from].module;
      helper.confidence = weights[from].confidence;
      helper.why = "it scales this parameter";
      return true;
    };
    const ValueId value = model_.initializers()[i].value;
    for (const NodeId node : model_.Consumers(value)) {
      const std::span<const ValueId> inputs = model_.Inputs(node);
      for (std::uint32_t slot = 0; slot < inputs.size(); ++slot) {
        if (inputs[slot] == kNo<ValueId> || inputs[slot] == value) continue;
        const Operand kind = OperandOf(node, slot);
        if (kind != Operand::kQuantized && kind != Operand::kQkvWeight)
          continue;
        const auto at = by_value_.find(Index(inputs[slot]));
        if (at != by_value_.end() && take(at->second)) return;
      }
    }
    const auto base = by_base_.find(BaseOf(NameOf(i)));
    if (base != by_base_.end()) take(base->second);
  }

  ModuleId ReaderOf(const std::vector<Use>& uses) const {
    for (const Use& use : uses) {
      if (TagOf(use.node).tagged()) return TagOf(use.node).module;
    }
    return kNo<ModuleId>;
  }

  Reading ReadNamed(const Initializer& tensor, const std::string& name,
                    bool fused, const std::vector<Use>& uses) const {
    Reading reading;
    const hierarchy::ParameterName split = hierarchy::SplitParameterName(name);
    reading.module = tagging_.modules.Find(split.module);
    reading.change = Change::kSame;
    reading.why = "its name is the parameter's";
    reading.confidence = Confidence::kCertain;
    if (hierarchy::IsFoldedBias(name) && !uses.empty()) {
      const std::string conv =
          name.substr(0, name.size() - hierarchy::kFoldedBias.size());
      reading.module = tagging_.modules.Find(conv);
      return FoldedBias(tensor, uses[0], conv, std::move(reading));
    }
    if (fused || HasFoldedBias(tensor, uses)) {
      reading.change = Change::kFolded;
      reading.why = "a normalization went into the convolution that reads it";
    } else if (IsQuantized(tensor, uses)) {
      reading.change = Change::kQuantized;
    } else if (IsTurned(uses)) {
      reading.change = Change::kTransposed;
      reading.why = "its name is the parameter's, and MatMul reads it turned";
    }
    reading.parameters.push_back(
        reading.change == Change::kQuantized ? WithoutCopyNumber(name) : name);
    if (reading.module == kNo<ModuleId>) {
      reading.module = ReaderOf(uses);
      reading.confidence = Confidence::kHigh;
    }
    AddTied(tensor, split.parameter, uses, reading);
    return reading;
  }

  // A quantizer copies a bias that several nodes share: "a.bias0" for "a.bias".
  std::string WithoutCopyNumber(const std::string& parameter) const {
    const std::size_t end = parameter.find_last_not_of("0123456789") + 1;
    if (end == 0 || end == parameter.size()) return parameter;
    const std::string base = parameter.substr(0, end);
    return model_.FindName(base + "_quantized") != kNo<NameId> ? base
                                                               : parameter;
  }

  // Other modules that read the same tensor as their own parameter.
  void AddTied(const Initializer& tensor, std::string_view atom,
               const std::vector<Use>& uses, Reading& reading) const {
    if (tensor.rank < 1 || reading.module == kNo<ModuleId>) return;
    // Where its own module does not read it, the reader is in doubt.
    const bool own = std::any_of(uses.begin(), uses.end(), [&](const Use& use) {
      return TagOf(use.node).module == reading.module;
    });
    if (!own) return;
    for (const Use& use : uses) {
      const Tag& tag = TagOf(use.node);
      const Operand kind = KindOfUse(use);
      // The statistics of a norm that was never trained are equal to its bias
      // and its weight.
      const bool statistics =
          kind == Operand::kMean || kind == Operand::kVariance;
      if (!tag.tagged() || (tag.module == reading.module && !statistics) ||
          (tag.module != reading.module &&
           (tagging_.modules.IsAncestor(reading.module, tag.module) ||
            tagging_.modules.IsAncestor(tag.module, reading.module))) ||
          tag.confidence < Confidence::kHigh) {
        continue;
      }
      if (kind != Operand::kWeight && kind != Operand::kMatrix &&
          kind != Operand::kBias && !statistics) {
        continue;
      }
      const std::string other =
          Join(tagging_.modules.Path(tag.module),
               kind == Operand::kMean       ? "running_mean"
               : kind == Operand::kVariance ? "running_var"
               : kind == Operand::kBias     ? "bias"
                                            : atom);
      if (std::find(reading.parameters.begin(), reading.parameters.end(),
                    other) != reading.parameters.end()) {
        continue;
      }
      reading.parameters.push_back(other);
      reading.change = Change::kTied;
      reading.why = "several modules read it as their own";
    }
  }

  bool IsQuantized(const Initializer& tensor,
                   const std::vector<Use>& uses) const {
    if (IsFloat(tensor.data_type)) return false;
    for (const Use& use : uses) {
      if (use.dequantized || KindOfUse(use) == Operand::kQuantized ||
          KindOfUse(use) == Operand::kQkvWeight) {
        return true;
      }
    }
    return hierarchy::UndoTensorName(model_.ValueName(tensor.value)).quantizer;
  }

  bool HasFoldedBias(const Initializer& tensor,
                     const std::vector<Use>& uses) const {
    for (const Use& use : uses) {
      if (!IsLike(use.node, Op::kConv) || use.slot != 1) continue;
      const std::span<const ValueId> inputs = model_.Inputs(use.node);
      if (inputs.size() < 3 || inputs[2] == kNo<ValueId>) continue;
      const std::string_view bias = model_.ValueName(inputs[2]);
      const std::string_view weight = model_.ValueName(tensor.value);
      if (bias.ends_with("_bias") &&
          bias.substr(0, bias.size() - 5) == weight) {
        return true;
      }
    }
    return false;
  }

  // A Linear's weight that MatMul reads as it is: [in, out], which PyTorch has
  // as [out, in].
  bool IsTurned(const std::vector<Use>& uses) const {
    bool turned = false;
    for (const Use& use : uses) {
      if (!TagOf(use.node).tagged() ||
          ClassOf(TagOf(use.node).module) != "Linear" || use.transposed) {
        return false;
      }
      const std::string_view op = model_.OpType(use.node);
      const Operand kind = KindOfUse(use);
      turned |= (kind == Operand::kMatrix && use.slot == 1) ||
                (op == "Gemm" && use.slot == 1 &&
                 IntAttribute(model_.NodeBytes(use.node), "transB", 0) == 0);
    }
    return turned;
  }

  Reading ReadUses(const Initializer& tensor,
                   const std::vector<Use>& uses) const {
    Reading best;
    best.module = ReaderOf(uses);
    best.why = "no node reads it as a parameter";
    best.confidence = Confidence::kMedium;
    for (const Use& use : uses) {
      if (TagOf(use.node).tagged() || !IsParameter(KindOfUse(use))) continue;
      best.why = "the node that reads it has no module";
      best.confidence = Confidence::kLow;
      best.change = ChangeWithoutModule(tensor, use);
    }
    for (const Use& use : uses) {
      const std::optional<Reading> reading = ReadUse(tensor, use);
      if (!reading) continue;
      if (best.parameters.empty()) {
        best = *reading;
        continue;
      }
      for (const std::string& parameter : reading->parameters) {
        if (std::find(best.parameters.begin(), best.parameters.end(),
                      parameter) != best.parameters.end()) {
          continue;
        }
        best.parameters.push_back(parameter);
        best.change = Change::kTied;
        best.why = "several modules read it as their own";
      }
    }
    return best;
  }

  // The operator alone tells that the tensor is a parameter.
  Change ChangeWithoutModule(const Initializer& tensor, const Use& use) const {
    if (use.slot > 0 && IsLike(use.node, Op::kConv)) {
      return Change::kFolded;
    }
    return KindOfUse(use) == Operand::kMatrix && tensor.rank == 2
               ? use.transposed ? Change::kSame : Change::kTransposed
               : Change::kComputed;
  }

  std::optional<Reading> ReadUse(const Initializer& tensor,
                                 const Use& use) const {
    const Tag& tag = TagOf(use.node);
    if (!tag.tagged()) return std::nullopt;
    Reading reading;
    reading.module = tag.module;
    const std::string path = tagging_.modules.Path(tag.module);
    const std::string_view op = model_.OpType(use.node);
    // Quantizers replace products, not sums.
    reading.confidence = op != "Add" && HoldsOthers(tag.module)
                             ? Confidence::kLow
                             : std::min(tag.confidence, Confidence::kHigh);
    const auto give = [&](std::string_view atom, Change change,
                          std::string_view why) {
      reading.parameters = {Join(path, atom)};
      const std::string_view name = model_.ValueName(tensor.value);
      reading.change = IsQuantized(tensor, {use}) ? Change::kQuantized
                       : use.sliced               ? Change::kSplit
                       : IsScaled(name)           ? Change::kFolded
                                                  : change;
      reading.why = why;
      return reading;
    };
    switch (KindOfUse(use)) {
      case Operand::kMatrix:
        if (tensor.rank != 2) return std::nullopt;
        return give(WeightAtom(tensor, tag.module),
                    use.transposed ? Change::kSame : Change::kTransposed,
                    "MatMul of this module reads it");
      case Operand::kWeight:
        if (IsPlainNorm(op, tag.module)) return std::nullopt;
        return ReadWeight(tensor, use, op, give);
      case Operand::kBias:
        if (IsPlainNorm(op, tag.module)) return std::nullopt;
        // A bias of the convolution itself keeps its name.
        if (IsLike(use.node, Op::kConv)) {
          return FoldedBias(tensor, use, path, std::move(reading));
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
        return give(WeightAtom(tensor, tag.module), Change::kQuantized,
                    "the node of this module reads it as its weight");
      case Operand::kGatesIn:
      case Operand::kGatesOut:
      case Operand::kGatesBias:
        return ReadGates(tensor, use, path, reading);
      case Operand::kQkvWeight:
        return ReadQkv(use, "weight", reading);
      case Operand::kQkvBias:
        return ReadQkv(use, "bias", reading);
      default:
        return ReadElementwise(tensor, use, op, give);
    }
  }

  // A folded normalization gives the convolution a bias, whether it had one of
  // its own or not. The normalization is among the node's origins if the file
  // says which it was.
  Reading FoldedBias(const Initializer& tensor, const Use& use,
                     const std::string& conv, Reading reading) const {
    reading.change =
        IsQuantized(tensor, {use}) ? Change::kQuantized : Change::kFolded;
    reading.parameters.clear();
    reading.may_hold = Join(conv, "bias");
    reading.confidence = std::min(reading.confidence, Confidence::kHigh);
    reading.why = "a normalization that went into the convolution gave it";
    for (const Origin& origin : tagging_.OriginsOf(use.node)) {
      const ModuleId module = origin.module;
      if (ClassOf(module).find("Norm") == std::string_view::npos) continue;
      const std::string norm = tagging_.modules.Path(module);
      for (const std::string_view atom :
           {"weight", "bias", "running_mean", "running_var"}) {
        reading.parameters.push_back(Join(norm, atom));
      }
      break;
    }
    return reading;
  }

  // Modules that are made of others seldom have a weight of their own: more
  // likely the module of the node is not known exactly.
  bool HoldsOthers(ModuleId module) const {
    const std::string_view name = ClassOf(module);
    for (const std::string_view word :
         {"Attention", "MLP", "Mlp", "SiLU", "GELU", "ReLU", "Activation"}) {
      if (name.find(word) != std::string_view::npos) {
        return name != "MultiheadAttention";
      }
    }
    for (const std::string_view word :
         {"Layer", "Block", "Model", "Generation", "PredictionHead"}) {
      if (name.ends_with(word)) return true;
    }
    return false;
  }

  // torch.nn.MultiheadAttention has query, key and value in one parameter.
  std::string_view WeightAtom(const Initializer& tensor,
                              ModuleId module) const {
    const std::span<const std::int64_t> dims = model_.Dims(tensor);
    const bool three =
        dims.size() == 2 && (dims[0] == 3 * dims[1] || dims[1] == 3 * dims[0]);
    const bool holds = ClassOf(module) == "MultiheadAttention" ||
                       (three && tagging_.modules.FindChild(
                                     module, "out_proj") != kNo<ModuleId>);
    return holds ? "in_proj_weight" : "weight";
  }

  template <typename Give>
  std::optional<Reading> ReadWeight(const Initializer& tensor, const Use& use,
                                    std::string_view op,
                                    const Give& give) const {
    if (IsLike(use.node, Op::kGemm)) {
      const bool turned =
          IntAttribute(model_.NodeBytes(use.node), "transB", 0) != 0;
      return give(
          WeightAtom(tensor, TagOf(use.node).module),
          turned != use.transposed ? Change::kSame : Change::kTransposed,
          "Gemm of this module reads it");
    }
    if (IsLike(use.node, Op::kConv)) {
      return give("weight", Change::kFolded,
                  "its name is gone, as where a normalization goes into a "
                  "convolution");
    }
    if (op == "Gather" && (tensor.rank != 2 || !IsFloat(tensor.data_type))) {
      if (!use.dequantized) return std::nullopt;
    }
    return give("weight", Change::kSame,
                "the node of this module reads it as its weight");
  }

  Reading ReadGates(const Initializer& tensor, const Use& use,
                    const std::string& path, Reading reading) const {
    const auto at = recurrent_layer_.find(Index(use.node));
    const std::uint32_t layer = at == recurrent_layer_.end() ? 0 : at->second;
    const std::span<const std::int64_t> dims = model_.Dims(tensor);
    const bool both = !dims.empty() && dims[0] == 2;
    const Operand kind = KindOfUse(use);
    for (int direction = 0; direction < (both ? 2 : 1); ++direction) {
      const std::string end =
          "_l" + std::to_string(layer) + (direction == 1 ? "_reverse" : "");
      if (kind != Operand::kGatesBias) {
        reading.parameters.push_back(Join(
            path,
            (kind == Operand::kGatesIn ? "weight_ih" : "weight_hh") + end));
      } else {
        reading.parameters.push_back(Join(path, "bias_ih" + end));
        reading.parameters.push_back(Join(path, "bias_hh" + end));
      }
    }
    reading.change =
        IsQuantized(tensor, {use}) ? Change::kQuantized : Change::kMerged;
    reading.why = "the gates of a recurrent layer, in ONNX's order";
    return reading;
  }

  Reading ReadQkv(const Use& use, std::string_view atom,
                  Reading reading) const {
    const ModuleTree& tree = tagging_.modules;
    const auto find = [&](std::span<const std::string_view> names) {
      for (ModuleId at = TagOf(use.node).module; at != kNo<ModuleId>;
           at = tree.Parent(at)) {
        for (const std::string_view name : names) {
          const ModuleId child = tree.FindChild(at, name);
          if (child != kNo<ModuleId>) return child;
        }
      }
      return kNo<ModuleId>;
    };
    for (const auto& names : {kQueryNames, kKeyNames, kValueNames}) {
      const ModuleId child = find(names);
      if (child != kNo<ModuleId>) {
        reading.parameters.push_back(Join(tree.Path(child), atom));
      }
    }
    if (reading.parameters.size() != 3) {
      reading.parameters = {Join(tree.Path(reading.module), atom)};
      reading.confidence = Confidence::kLow;
    }
    reading.change = Change::kMerged;
    reading.why = "a fused attention reads query, key and value in one";
    return reading;
  }

  // A GroupNorm is exported as an InstanceNormalization with ones and zeros;
  // its parameters are multiplied and added afterwards.
  bool IsPlainNorm(std::string_view op, ModuleId module) const {
    return op == "InstanceNormalization" &&
           !ClassOf(module).starts_with("InstanceNorm");
  }

  // What is added or multiplied: a bias, or a normalization's weight; or put
  // before a sequence.
  template <typename Give>
  std::optional<Reading> ReadElementwise(const Initializer& tensor,
                                         const Use& use, std::string_view op,
                                         const Give& give) const {
    const std::span<const std::int64_t> shape = model_.Dims(tensor);
    if (op == "Concat" && use.slot == 0 && IsFloat(tensor.data_type) &&
        shape.size() == 3 && shape[0] == 1 && shape[1] == 1) {
      return give("cls_token", Change::kSame,
                  "this module puts it before the sequence");
    }
    // One number for each channel, maybe shaped to be broadcast: [8, 1, 1].
    const std::span<const std::int64_t> dims = model_.Dims(tensor);
    if (std::count_if(dims.begin(), dims.end(),
                      [](std::int64_t dim) { return dim != 1; }) != 1) {
      return std::nullopt;
    }
    // Masks and tables are [1, 1, 1, n].
    if (dims.size() > 2 && dims.back() != 1) return std::nullopt;
    if (op == "Add" || op == "Sum") {
      // TorchScript names what it folds after the convolution that read it.
      if (model_.ValueName(tensor.value).starts_with("onnx::Conv_")) {
        const Tag& tag = TagOf(use.node);
        Reading reading;
        reading.module = tag.module;
        reading.confidence = tag.confidence;
        return FoldedBias(tensor, use, tagging_.modules.Path(tag.module),
                          std::move(reading));
      }
      return give(BiasAtom(use), Change::kSame, "this module adds it");
    }
    if (op == "Mul") {
      return give("weight", Change::kSame, "this module multiplies with it");
    }
    return std::nullopt;
  }

  // The generators of Bart and its like add a buffer to the logits.
  std::string_view BiasAtom(const Use& use) const {
    return ClassOf(TagOf(use.node).module).ends_with("ForConditionalGeneration")
               ? "final_logits_bias"
               : "bias";
  }

  const Model& model_;
  const Tagging& tagging_;
  Uses uses_;
  std::unordered_map<std::size_t, std::uint32_t> recurrent_layer_;  // by node
  std::unordered_map<std::size_t, std::uint32_t> by_value_;
  std::unordered_map<std::string_view, std::uint32_t> by_base_;  // quantized
};

}  // namespace

std::vector<Weight> MapWeights(const Model& model, const Tagging& tagging) {
  return Mapper(model, tagging).Run();
}

std::uint64_t BytesOf(const Model& model, const Initializer& tensor) {
  return CountBytes(CountElements(model.Dims(tensor)), tensor.data_type);
}

}  // namespace onnx_tag::weights
