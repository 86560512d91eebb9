#include "uses/weights/check.h"

#include <algorithm>
#include <unordered_map>
#include <unordered_set>

#include "core/graph/walk.h"
#include "file/model/tensor_data.h"
#include "uses/weights/use_reader.h"

namespace onnx_tag::weights {
namespace {

// Whether a tensor that was changed so can come from one of that shape.
bool Fits(const Weight& weight, std::span<const std::int64_t> found,
          std::vector<std::int64_t> expected) {
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
  const std::size_t dot = parameter.rfind('.');
  return dot == parameter.npos ? std::string_view() : parameter.substr(0, dot);
}

std::int64_t SizeOf(const Model& model, const Initializer& tensor) {
  return static_cast<std::int64_t>(CountElements(model.Dims(tensor)));
}

// How many convolutions read the bias. Equal biases are one initializer: those
// of norms that were never trained are all zero.
std::size_t CountReaders(const Uses& all, ValueId bias) {
  constexpr std::uint32_t kBiasSlot = 2;
  const std::vector<Use> uses = all.Of(bias);
  const auto readers =
      std::count_if(uses.begin(), uses.end(),
                    [](const Use& use) { return use.slot == kBiasSlot; });
  return std::max<std::size_t>(static_cast<std::size_t>(readers), 1);
}

// A bias of a layer that has none in the reference: a normalization was folded
// into the layer, if one is left that explains it.
struct NewBias {
  std::string name;
  std::int64_t size = 0;
};

using CountBySize = std::unordered_map<std::int64_t, std::size_t>;

// Takes one of that size, if one is left.
bool Take(CountBySize& counts, std::int64_t size) {
  const auto at = counts.find(size);
  if (at == counts.end() || at->second == 0) return false;
  --at->second;
  return true;
}

CountBySize CountFoldedBiases(const Model& model, const Operators& ops,
                              const std::vector<Weight>& weights) {
  CountBySize counts;
  const Uses uses(model, ops);
  for (const Weight& weight : weights) {
    if (!IsFoldedBias(weight)) continue;
    const Initializer& bias = model.initializers()[weight.initializer];
    counts[SizeOf(model, bias)] += CountReaders(uses, bias.value);
  }
  return counts;
}

// Whether the result of the convolution goes to a normalization: then it was
// not folded.
bool FeedsNorm(const Model& model, const Operators& ops, NodeId convolution) {
  return !ForEachReader(model, convolution, [&](NodeId reader) {
    return ops[reader] != Op::kBatchNormalization;
  });
}

using References = std::unordered_map<std::string_view, const ReferenceTensor*>;

// Convolutions into which a normalization may have been folded, by output
// channels.
struct Convolutions {
  CountBySize without_bias;
  // The folded bias has the name of the convolution's own.
  CountBySize with_own_bias;
};

Convolutions CountConvolutions(const Model& model, const Operators& ops,
                               const std::vector<Weight>& weights,
                               const References& known) {
  std::unordered_set<ValueId> own_biases;
  for (const Weight& weight : weights) {
    const bool is_own =
        !IsFoldedBias(weight) &&
        std::any_of(
            weight.parameters.begin(), weight.parameters.end(),
            [&](const std::string& name) { return known.contains(name); });
    if (!is_own) continue;
    own_biases.insert(model.initializers()[weight.initializer].value);
  }
  Convolutions found;
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
      ++found.without_bias[size];
    } else if (own_biases.contains(inputs[2])) {
      ++found.with_own_bias[size];
    }
  }
  return found;
}

bool IsZero(const References& known, const std::string& name) {
  const auto at = known.find(name);
  return at != known.end() && at->second->is_zero;
}

// The normalizations with running statistics of which the model holds nothing,
// as far as as many convolutions of their size have a bias that may be folded,
// or none because the folded bias is 0. Takes out of `added` what explains one.
std::unordered_set<std::string_view> FindFoldedNorms(
    const Model& model, const std::vector<Weight>& weights,
    const std::vector<ReferenceTensor>& reference, const References& known,
    const std::unordered_set<std::string_view>& held,
    std::vector<NewBias>& added) {
  const Operators ops(model);
  CountBySize biases = CountFoldedBiases(model, ops, weights);
  Convolutions convolutions = CountConvolutions(model, ops, weights, known);
  CountBySize of_layers;
  for (const NewBias& bias : added) ++of_layers[bias.size];
  std::unordered_set<std::string_view> present;
  for (const std::string_view name : held) present.insert(ModuleOf(name));
  std::unordered_set<std::string_view> folded;
  for (const ReferenceTensor& mean : reference) {
    if (!mean.name.ends_with(kMean) || mean.shape.size() != 1) continue;
    const std::string_view norm = ModuleOf(mean.name);
    if (present.contains(norm)) continue;
    const std::int64_t size = mean.shape[0];
    const bool leaves_no_bias =
        mean.is_zero && IsZero(known, std::string(norm) + ".bias");
    if (Take(of_layers, size) || Take(biases, size) ||
        (leaves_no_bias && Take(convolutions.without_bias, size)) ||
        Take(convolutions.with_own_bias, size)) {
      folded.insert(norm);
    }
  }
  std::erase_if(
      added, [&](const NewBias& bias) { return !Take(of_layers, bias.size); });
  return folded;
}

}  // namespace

CheckResult Check(const Model& model, const std::vector<Weight>& weights,
                  const std::vector<ReferenceTensor>& reference) {
  CheckResult result;
  References known;
  for (const ReferenceTensor& tensor : reference) {
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
    if (weight.change == Change::kTied &&
        std::any_of(
            weight.parameters.begin(), weight.parameters.end(),
            [&](const std::string& name) { return known.contains(name); })) {
      aliases.insert(weight.parameters.begin(), weight.parameters.end());
    }
  }
  std::vector<NewBias> added;
  std::unordered_set<std::string_view> held;
  for (const Weight& weight : weights) {
    const std::span<const std::int64_t> dims =
        model.Dims(model.initializers()[weight.initializer]);
    const auto add_new = [&](const std::string& name) {
      added.push_back(
          {name, SizeOf(model, model.initializers()[weight.initializer])});
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
      } else if (at->second->has_shape &&
                 !Fits(weight, dims, at->second->shape)) {
        result.shapes.push_back(
            {name, at->second->shape, {dims.begin(), dims.end()}});
      } else {
        ++result.fit;
      }
    }
  }
  const std::unordered_set<std::string_view> folded =
      FindFoldedNorms(model, weights, reference, known, held, added);
  for (const NewBias& bias : added) result.left_over.push_back(bias.name);
  // Tied tensors have the same bytes; others may have by chance.
  std::unordered_set<Bytes> held_bytes;
  for (const ReferenceTensor& tensor : reference) {
    if (held.contains(tensor.name)) held_bytes.insert(tensor.bytes);
  }
  for (const ReferenceTensor& tensor : reference) {
    if (held.contains(tensor.name)) continue;
    if (tensor.name.ends_with("num_batches_tracked")) {
      ++result.counters;
    } else if (folded.contains(ModuleOf(tensor.name))) {
      ++result.folded;
    } else if (tensor.is_zero && tensor.name.ends_with(".bias") &&
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
