#include "uses/weights/weight_map.h"

#include <algorithm>
#include <optional>
#include <unordered_map>

#include "base/lists.h"
#include "clues/exporters/dynamo/metadata.h"
#include "clues/exporters/parameter_name.h"
#include "clues/exporters/tools/original_name.h"
#include "core/graph/operators.h"
#include "core/hierarchy/name_parts.h"
#include "core/tagging/tag_format.h"
#include "file/model/element_types.h"
#include "file/model/tensor_data.h"
#include "uses/weights/use_reader.h"

namespace onnx_tag::weights {
namespace {

bool IsZeroPoint(std::string_view name) {
  return name.ends_with("_zero_point") || name.ends_with("_zero_points");
}

bool IsHelper(const Weight& weight) {
  return weight.change == Change::kScale || weight.change == Change::kZeroPoint;
}

// The name of the tensor that was quantized, and whose scale this is.
std::string_view BaseOf(std::string_view name) {
  for (const std::string_view end :
       {"_quantized", "_scale", "_zero_point", "_zero_points"}) {
    if (hierarchy::ConsumeSuffix(name, end)) return name;
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
  if (IsAmong(parameter, weight.parameters)) {
    return;
  }
  weight.parameters.push_back(parameter);
  weight.change = Change::kTied;
  weight.why = "several modules read it as their own";
}

// What the exporter says of a value; "" if nothing.
std::string_view MetadataOf(const Model& model, ValueId value,
                            std::string_view key) {
  const ValueInfo* const info = model.InfoOf(value);
  const MetadataEntry* const entry =
      info == nullptr ? nullptr : FindEntry(model.Metadata(*info), key);
  return entry == nullptr ? std::string_view() : entry->value;
}

// The names of everything that onnxscript's optimizer computed the tensor from;
// none: it does not say.
std::vector<std::string> FoldedFrom(const Model& model, ValueId value) {
  return hierarchy::ParsePythonList(
             MetadataOf(model, value, "pkg.onnxscript.optimizer.folded_from"))
      .value_or(std::vector<std::string>());
}

class Mapper {
 public:
  Mapper(const Model& model, const Tagging& tagging)
      : model_(model),
        tagging_(tagging),
        reader_(model, tagging),
        uses_(model, reader_.ops()) {}

  std::vector<Weight> Run() {
    const std::vector<Initializer>& tensors = model_.initializers();
    std::vector<Weight> weights(tensors.size());
    for (const Initializer& tensor : tensors) {
      const std::vector<std::string> from = FoldedFrom(model_, tensor.value);
      if (from.size() == 1) copies_[from.front()].push_back(tensor.value);
    }
    for (std::uint32_t i = 0; i < tensors.size(); ++i) {
      by_value_.emplace(tensors[i].value, i);
      weights[i] = Read(tensors[i], uses_.Of(tensors[i].value));
      weights[i].initializer = i;
      if (weights[i].change == Change::kQuantized) {
        by_base_.emplace(BaseOf(reader_.NameOf(tensors[i])), i);
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
  Weight Read(const Initializer& tensor, const std::vector<Use>& uses) const {
    if (auto helper = ReadHelper(tensor, uses)) return std::move(*helper);
    if (tensor.rank > 1 && CountElements(model_.Dims(tensor)) == 0) {
      return {.change = Change::kConstant,
              .module = ReaderOf(uses),
              .confidence = Confidence::kCertain,
              .why = "no numbers: the default of an optional input"};
    }
    if (MetadataOf(model_, tensor.value,
                   "pkg.torch.export.graph_signature.InputSpec.persistent") ==
        "False") {
      return {.change = Change::kComputed,
              .module = ReaderOf(uses),
              .confidence = Confidence::kCertain,
              .why = "a buffer that the state_dict does not have"};
    }
    const std::vector<std::string> from = FoldedFrom(model_, tensor.value);
    if (IsFloat(tensor.data_type) && AnyIn(from, IsFoldedParameter)) {
      return ReadFolded(tensor, uses, from);
    }
    if (from.empty() && HasParameterName(tensor)) {
      return ReadNamed(tensor, uses);
    }
    const bool quantized = reader_.IsQuantized(tensor, uses);
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

  // Values of the graph have no dots.
  static bool IsFoldedParameter(const std::string& name) {
    return name.find('.') != std::string::npos &&
           hierarchy::IsParameterName(name) && !IsPlainBuffer(name);
  }

  // Whether the values of the graph that led to `name` only moved numbers. What
  // was computed before rows were taken chose the rows.
  static bool IsPiece(std::string_view name,
                      const std::vector<std::string>& from) {
    if (TakesRows(name)) return true;
    if (!MovesNumbers(name)) return false;
    return AnyIn(from, TakesRows) || AllIn(from, [](const std::string& value) {
             return IsFoldedParameter(value) || IsMoved(value);
           });
  }
  // onnxscript's own values, such as `val_3`, carry out one operation of torch.
  static bool IsMoved(std::string_view value) {
    return value.starts_with("val_") || MovesNumbers(value);
  }

  // The exporter computed it from parameters, and says from which.
  Weight ReadFolded(const Initializer& tensor, const std::vector<Use>& uses,
                    const std::vector<std::string>& from) const {
    Weight weight;
    std::copy_if(from.begin(), from.end(),
                 std::back_inserter(weight.parameters), IsFoldedParameter);
    const std::string& first = weight.parameters.front();
    weight.module =
        tagging_.modules.Find(hierarchy::SplitParameterName(first).module);
    if (weight.module == kNo<ModuleId>) weight.module = ReaderOf(uses);
    Weight used = ReadUses(tensor, uses);
    if (std::is_permutation(used.parameters.begin(), used.parameters.end(),
                            weight.parameters.begin(), weight.parameters.end())
            ? used.change == Change::kMerged ||
                  (used.change == Change::kSame &&
                   IsMoved(reader_.NameOf(tensor)))
            : used.change == Change::kMerged && weight.parameters.size() == 1) {
      return used;
    }
    if (weight.parameters.size() == 1 && from.size() == 1) {
      const bool turned = AnyIn(uses, [&](const Use& use) {
        return tensor.rank == 2 && use.operand == Operand::kMatrix &&
               !use.transposed;
      });
      weight.change = turned ? Change::kTransposed : Change::kSame;
      weight.confidence = turned ? Confidence::kHigh : Confidence::kMedium;
      weight.why = "the exporter says that it is this parameter, moved";
    } else if (weight.parameters.size() == 1 &&
               IsPiece(reader_.NameOf(tensor), from)) {
      weight.change = Change::kSplit;
      weight.confidence = Confidence::kHigh;
      weight.why = "the exporter says that it took rows of this parameter";
    } else {
      weight.change = Change::kFolded;
      weight.confidence = Confidence::kMedium;
      weight.why = "the exporter says that it was computed from these";
    }
    return weight;
  }

  // Whether its name, with what tools added undone, is a parameter's.
  bool HasParameterName(const Initializer& tensor) const {
    const std::string_view name =
        hierarchy::UndoTensorName(reader_.NameOf(tensor)).name;
    return hierarchy::IsCrediblePath(name) &&
           hierarchy::IsParameterName(name) &&
           (name.find('.') != std::string_view::npos ||
            (!IsScaled(name) && tensor.rank > 0 &&
             (IsFloat(tensor.data_type) || tensor.rank > 1)));
  }

  bool IsConstant(const Initializer& tensor) const {
    return CountElements(model_.Dims(tensor)) <= 1 ||
           tensor.data_type == kString ||
           (!IsFloat(tensor.data_type) && tensor.rank <= 1);
  }

  // A scale or a zero point, by its slot or by its name. ONNX Runtime's
  // quantizer writes `x_quantized` and `x_scale` for `x`.
  std::optional<Weight> ReadHelper(const Initializer& tensor,
                                   const std::vector<Use>& uses) const {
    const std::string_view raw = reader_.NameOf(tensor);
    bool zero = IsZeroPoint(raw);
    bool helper = zero || raw.ends_with("_quantized_scale") ||
                  (raw.ends_with("_scale") &&
                   (hierarchy::UndoTensorName(raw).quantizer ||
                    IsName(std::string(BaseOf(raw)) + "_quantized")));
    for (const Use& use : uses) {
      helper |= use.operand >= Operand::kScale &&
                use.operand <= Operand::kDataZeroPoint;
      zero |= use.operand == Operand::kZeroPoint ||
              use.operand == Operand::kDataZeroPoint;
    }
    if (!helper) return std::nullopt;
    return Weight{.change = zero ? Change::kZeroPoint : Change::kScale,
                  .module = ReaderOf(uses),
                  .confidence = Confidence::kHigh,
                  .why = "a quantizer's, for an activation"};
  }
  bool IsName(std::string_view name) const {
    return model_.FindName(name) != kNo<NameId>;
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
      const bool is_table = AnyIn(uses, [&](const Use& use) {
        return use.slot == 0 && reader_.ops()[use.node] == Op::kGather;
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
      const Tag& reader = reader_.TagOf(uses[0]);
      if (!reader.tagged() || tagging_.roles[reader.role].layer >= 0 ||
          (reader.module != ModuleTree::kRoot &&
           !reader_.HoldsOthers(reader.module))) {
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
      const Operator& op = Describe(reader_.ops()[node]);
      // Further ones are data; a wide Concat may have thousands.
      const std::size_t slots =
          std::min<std::size_t>(inputs.size(), Operator::kMostInputs);
      for (std::size_t slot = 0; slot < slots; ++slot) {
        if (op.Input(slot) != Operand::kQuantized &&
            op.Input(slot) != Operand::kQkvWeight) {
          continue;
        }
        const auto at = by_value_.find(inputs[slot]);
        if (at != by_value_.end() && take(weights[at->second])) return;
      }
    }
    const auto base = by_base_.find(BaseOf(reader_.NameOf(tensor)));
    if (base != by_base_.end()) take(weights[base->second]);
  }

  ModuleId ReaderOf(const std::vector<Use>& uses) const {
    for (const Use& use : uses) {
      if (reader_.TagOf(use).tagged()) return reader_.TagOf(use).module;
    }
    return kNo<ModuleId>;
  }

  Weight ReadNamed(const Initializer& tensor,
                   const std::vector<Use>& uses) const {
    const auto undone = hierarchy::UndoTensorName(reader_.NameOf(tensor));
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
      return reader_.FoldedBias(tensor, uses[0], conv, std::move(weight));
    }
    if (undone.fused || HasFoldedBias(tensor, uses)) {
      weight.change = Change::kFolded;
      weight.why =
          "a normalization was folded into the convolution that reads it";
    } else if (reader_.IsQuantized(tensor, uses)) {
      weight.change = Change::kQuantized;
    } else if (const Use* const folded = FindFolded(uses)) {
      weight = reader_.FoldedBias(tensor, *folded, "", std::move(weight));
      weight.why = "a normalization was folded into the node that reads it";
      if (folded->operand != Operand::kBias) weight.parameters.clear();
      weight.may_hold.clear();
      weight.parameters.insert(weight.parameters.begin(), name);
      return weight;
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
    const std::string base(hierarchy::WithoutCounter(parameter, ""));
    return IsName(base + "_quantized") ? base : parameter;
  }

  // The reader with a BatchNorm among its origins; null: there is none.
  const Use* FindFolded(const std::vector<Use>& uses) const {
    for (const Use& use : uses) {
      if (use.operand != Operand::kWeight && use.operand != Operand::kBias) {
        continue;
      }
      for (const Origin& origin : tagging_.OriginsOf(use.node)) {
        if (reader_.ClassOf(origin.module).find("BatchNorm") !=
            std::string_view::npos) {
          return &use;
        }
      }
    }
    return nullptr;
  }

  // Other modules that read the same tensor as their own parameter.
  void AddTied(const Initializer& tensor, std::string_view atom,
               std::vector<Use> uses, Weight& weight) const {
    if (tensor.rank < 1 || weight.module == kNo<ModuleId>) return;
    const auto copies = copies_.find(weight.parameters.front());
    if (copies != copies_.end()) {
      for (const ValueId copy : copies->second) {
        const std::vector<Use> more = uses_.Of(copy);
        uses.insert(uses.end(), more.begin(), more.end());
      }
    }
    // Where its own module does not read it, the reader is in doubt.
    const bool own = AnyIn(uses, [&](const Use& use) {
      return reader_.TagOf(use).module == weight.module;
    });
    if (!own) return;
    const ModuleTree& tree = tagging_.modules;
    for (const Use& use : uses) {
      const Tag& tag = reader_.TagOf(use);
      std::string_view other = AtomOf(use.operand);
      if (!tag.tagged() || tag.confidence < Confidence::kHigh ||
          tree.Children(tag.module).begin() !=
              tree.Children(tag.module).end()) {
        continue;
      }
      if (IsOfFoldedConv(use)) {
        weight.may_hold.push_back(Join(tree.Path(tag.module), other));
        continue;
      }
      if (other.empty()) {
        const std::optional<Weight> reading = reader_.Read(tensor, use);
        if (reading && tag.module != weight.module &&
            reading->change == Change::kSame &&
            reading->confidence >= Confidence::kHigh) {
          Tie(reading->parameters.front(), weight);
        }
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

  // Whether it is the bias of a convolution whose weight lost its name. The
  // convolution may have none of its own.
  bool IsOfFoldedConv(const Use& use) const {
    if (use.operand != Operand::kBias || !reader_.IsLike(use, Op::kConv)) {
      return false;
    }
    const Initializer* const weight =
        model_.InitializerOf(model_.Inputs(use.node)[1]);
    return weight != nullptr && !HasParameterName(*weight);
  }

  bool HasFoldedBias(const Initializer& tensor,
                     const std::vector<Use>& uses) const {
    for (const Use& use : uses) {
      const std::span<const ValueId> inputs = model_.Inputs(use.node);
      if (!reader_.IsLike(use, Op::kConv) || use.slot != 1 ||
          inputs.size() < 3 || inputs[2] == kNo<ValueId>) {
        continue;
      }
      if (model_.ValueName(inputs[2]) ==
          std::string(reader_.NameOf(tensor)) + "_bias") {
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
      if (!reader_.TagOf(use).tagged() ||
          reader_.ClassOf(reader_.TagOf(use).module) != "Linear" ||
          use.transposed) {
        return false;
      }
      transposed |=
          use.slot == 1 &&
          (use.operand == Operand::kMatrix ||
           (reader_.ops()[use.node] == Op::kGemm && !reader_.Transposes(use)));
    }
    return transposed;
  }

  Weight ReadUses(const Initializer& tensor,
                  const std::vector<Use>& uses) const {
    // TorchScript computes tables ahead, and does not say from what.
    const bool table = IsFloat(tensor.data_type) && tensor.rank > 1 &&
                       FoldedFrom(model_, tensor.value).empty();
    Weight best{.change = Change::kComputed,
                .module = ReaderOf(uses),
                .confidence = table ? Confidence::kLow : Confidence::kMedium,
                .why = table ? "no node reads it as a parameter; it may be "
                               "rows of one"
                             : "no node reads it as a parameter"};
    for (const Use& use : uses) {
      if (reader_.TagOf(use).tagged() || !IsParameter(use.operand)) continue;
      best.why = "the node that reads it has no module";
      best.confidence = Confidence::kLow;
      best.change = ChangeWithoutModule(tensor, use);
    }
    for (const Use& use : uses) {
      const std::optional<Weight> reading = reader_.Read(tensor, use);
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
    if (use.slot > 0 && reader_.IsLike(use, Op::kConv)) return Change::kFolded;
    if (use.operand != Operand::kMatrix || tensor.rank != 2) {
      return Change::kComputed;
    }
    return use.transposed ? Change::kSame : Change::kTransposed;
  }

  const Model& model_;
  const Tagging& tagging_;
  const UseReader reader_;
  const Uses uses_;
  std::unordered_map<ValueId, std::uint32_t> by_value_;
  std::unordered_map<std::string_view, std::uint32_t> by_base_;  // quantized
  // Tensors that the exporter made of one parameter alone.
  std::unordered_map<std::string, std::vector<ValueId>> copies_;
};

}  // namespace

std::vector<Weight> MapWeights(const Model& model, const Tagging& tagging) {
  return Mapper(model, tagging).Run();
}

std::uint64_t BytesOf(const Model& model, const Initializer& tensor) {
  return CountBytes(CountElements(model.Dims(tensor)), tensor.data_type);
}

}  // namespace onnx_tag::weights
