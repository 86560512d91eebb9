#include "uses/weights/check.h"

#include <algorithm>
#include <map>
#include <unordered_map>
#include <unordered_set>

#include "base/lists.h"
#include "core/graph/walk.h"
#include "core/hierarchy/name_parts.h"
#include "file/model/tensor_data.h"
#include "uses/weights/use_reader.h"

namespace onnx_tag::weights {
namespace {

// Whether a tensor that was changed so can come from one of that shape.
bool Fits(const Weight& weight, std::span<const std::int64_t> found,
          std::vector<std::int64_t> expected) {
  if (!expected.empty() && expected[0] == kAnyDims) return true;
  switch (weight.change) {
    case Change::kTransposed:
      std::reverse(expected.begin(), expected.end());
      break;
    case Change::kSame:
      break;
    default:
      return true;
  }
  // A tensor may have lost or gained dimensions of 1.
  const auto without_ones = [](std::span<const std::int64_t> shape) {
    std::vector<std::int64_t> rest;
    for (const std::int64_t dim : shape) {
      if (dim != 1) rest.push_back(dim);
    }
    return rest;
  };
  return without_ones(found) == without_ones(expected);
}

// Whether a folded normalization made it, and not only shares it.
bool IsFoldedBias(const Weight& weight) {
  return !weight.may_hold.empty() && (weight.change == Change::kFolded ||
                                      weight.change == Change::kQuantized);
}

constexpr std::string_view kMean = ".running_mean";

// "a.norm" of "a.norm.running_mean"
std::string_view ModuleOf(std::string_view parameter) {
  return hierarchy::BeforeLastPart(parameter, '.');
}

std::int64_t SizeOf(const Model& model, const Initializer& tensor) {
  return static_cast<std::int64_t>(CountElements(model.Dims(tensor)));
}

bool IsZero(const Tensor& tensor) {
  return tensor.dims.size() == 1 && !tensor.bytes.empty() &&
         tensor.bytes.find_first_not_of('\0') == Bytes::npos;
}

// A bias of a layer that has none in the reference: a normalization was folded
// into the layer, if one is left that explains it.
struct NewBias {
  std::string name;
  std::int64_t size = 0;
};

// What normalizations left in the layers into which they were folded, by the
// number of channels.
enum class Trace : std::uint8_t {
  kNewBias,
  kFoldedBias,
  kNoBias,   // of a convolution: the folded bias is 0
  kOwnBias,  // the folded bias has the name of the convolution's own
};
using Traces = std::map<std::pair<Trace, std::int64_t>, std::size_t>;

// Takes one of that size, if one is left.
bool Take(Traces& traces, Trace trace, std::int64_t size) {
  std::size_t& left = traces[{trace, size}];
  if (left == 0) return false;
  --left;
  return true;
}

// How many convolutions read the bias. Equal biases are one initializer: those
// of norms that were never trained are all zero.
std::size_t CountReaders(const Uses& all, ValueId bias) {
  constexpr std::uint32_t kBiasSlot = 2;
  const auto is_reader = [](const Use& use) { return use.slot == kBiasSlot; };
  return std::max<std::size_t>(CountIn(all.Of(bias), is_reader), 1);
}

// Whether the result of the convolution goes to a normalization: then it was
// not folded.
bool FeedsNorm(const Model& model, const Operators& ops, NodeId convolution) {
  return !ForEachReader(model, convolution, [&](NodeId reader) {
    return ops[reader] != Op::kBatchNormalization;
  });
}

using References = std::unordered_map<std::string_view, const Tensor*>;

bool HoldsOneOf(const Weight& weight, const References& known) {
  return AnyIn(weight.parameters,
               [&](const std::string& name) { return known.contains(name); });
}

Traces FindTraces(const Model& model, const std::vector<Weight>& weights,
                  const References& known, const std::vector<NewBias>& added) {
  Traces traces;
  for (const NewBias& bias : added) ++traces[{Trace::kNewBias, bias.size}];
  const Operators ops(model);
  const Uses uses(model, ops);
  std::unordered_set<ValueId> own_biases;
  for (const Weight& weight : weights) {
    const Initializer& tensor = model.initializers()[weight.initializer];
    if (IsFoldedBias(weight)) {
      traces[{Trace::kFoldedBias, SizeOf(model, tensor)}] +=
          CountReaders(uses, tensor.value);
    } else if (HoldsOneOf(weight, known)) {
      own_biases.insert(tensor.value);
    }
  }
  for (const NodeId node : model.Nodes()) {
    const std::span<const ValueId> inputs = model.Inputs(node);
    if (ops[node] != Op::kConv || inputs.size() < 2) continue;
    const Initializer* weight = model.InitializerOf(inputs[1]);
    if (weight == nullptr || model.Dims(*weight).empty() ||
        FeedsNorm(model, ops, node)) {
      continue;
    }
    const std::int64_t size = model.Dims(*weight)[0];
    if (inputs.size() == 2) {
      ++traces[{Trace::kNoBias, size}];
    } else if (own_biases.contains(inputs[2])) {
      ++traces[{Trace::kOwnBias, size}];
    }
  }
  return traces;
}

// The normalizations with running statistics of which the model holds nothing,
// as far as as many convolutions of their size have a bias that may be folded,
// or none because the folded bias is 0. Takes out of `added` what explains one.
std::unordered_set<std::string_view> FindFoldedNorms(
    Traces traces, const std::vector<Tensor>& reference,
    const References& known, const std::unordered_set<std::string_view>& held,
    std::vector<NewBias>& added) {
  std::unordered_set<std::string_view> present;
  for (const std::string_view name : held) present.insert(ModuleOf(name));
  std::unordered_set<std::string_view> folded;
  for (const Tensor& mean : reference) {
    if (!mean.name.ends_with(kMean) || mean.dims.size() != 1) continue;
    const std::string_view norm = ModuleOf(mean.name);
    if (present.contains(norm)) continue;
    const auto bias = known.find(std::string(norm) + ".bias");
    const bool leaves_no_bias =
        IsZero(mean) && bias != known.end() && IsZero(*bias->second);
    const auto take = [&](Trace trace) {
      return Take(traces, trace, mean.dims[0]);
    };
    if (take(Trace::kNewBias) || take(Trace::kFoldedBias) ||
        (leaves_no_bias && take(Trace::kNoBias)) || take(Trace::kOwnBias)) {
      folded.insert(norm);
    }
  }
  std::erase_if(added, [&](const NewBias& bias) {
    return !Take(traces, Trace::kNewBias, bias.size);
  });
  return folded;
}

}  // namespace

CheckResult Check(const Model& model, const std::vector<Weight>& weights,
                  const std::vector<Tensor>& reference) {
  CheckResult result;
  References known;
  for (const Tensor& tensor : reference) {
    known.emplace(tensor.name, &tensor);
  }
  // Whether it is a bias of a layer that has none in the reference.
  const auto is_new_bias = [&](std::string_view name) {
    return name.ends_with(".bias") &&
           known.contains(std::string(ModuleOf(name)) + ".weight");
  };
  // Names that the reference leaves out, because it has another one for the
  // same tensor.
  std::unordered_set<std::string_view> aliases;
  for (const Weight& weight : weights) {
    if (weight.change == Change::kTied && HoldsOneOf(weight, known)) {
      aliases.insert(weight.parameters.begin(), weight.parameters.end());
    }
  }
  std::vector<NewBias> added;
  std::unordered_set<std::string_view> held;
  for (const Weight& weight : weights) {
    const Initializer& tensor = model.initializers()[weight.initializer];
    const std::span<const std::int64_t> dims = model.Dims(tensor);
    const auto add_new = [&](const std::string& name) {
      added.push_back({name, SizeOf(model, tensor)});
    };
    for (const std::string& name : weight.may_hold) {
      if (known.contains(name)) {
        result.fit += held.insert(name).second;
      } else if (!IsFoldedBias(weight) && is_new_bias(name) &&
                 held.insert(name).second) {
        add_new(name);
      }
    }
    // The parameters of a folded normalization are explained below.
    if (IsFoldedBias(weight)) continue;
    for (const std::string& name : weight.parameters) {
      const auto at = known.find(name);
      if (!held.insert(name).second) continue;
      if (at == known.end() && aliases.contains(name)) continue;
      if (at == known.end() && is_new_bias(name)) {
        add_new(name);
      } else if (at == known.end()) {
        result.left_over.push_back(name);
      } else if (!Fits(weight, dims, at->second->dims)) {
        result.shapes.push_back(
            {name, at->second->dims, {dims.begin(), dims.end()}});
      } else {
        ++result.fit;
      }
    }
  }
  const std::unordered_set<std::string_view> folded = FindFoldedNorms(
      FindTraces(model, weights, known, added), reference, known, held, added);
  for (const NewBias& bias : added) result.left_over.push_back(bias.name);
  // Tied tensors have the same bytes; others may have by chance.
  std::unordered_set<Bytes> held_bytes;
  for (const Tensor& tensor : reference) {
    if (held.contains(tensor.name)) held_bytes.insert(tensor.bytes);
  }
  for (const Tensor& tensor : reference) {
    if (held.contains(tensor.name)) continue;
    if (tensor.name.ends_with("num_batches_tracked")) {
      ++result.counters;
    } else if (folded.contains(ModuleOf(tensor.name))) {
      ++result.folded;
    } else if (tensor.name.ends_with(".bias") && IsZero(tensor) &&
               held.contains(std::string(ModuleOf(tensor.name)) + ".weight")) {
      ++result.zeros;
    } else if (!tensor.bytes.empty() && held_bytes.contains(tensor.bytes)) {
      ++result.equal;
    } else {
      result.missing.push_back(tensor.name);
    }
  }
  return result;
}

}  // namespace onnx_tag::weights
