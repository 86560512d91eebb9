// Which parameter of the source model each initializer holds, and how it was
// changed on the way into the file.
//
// A name of the state_dict that survived says it. Where a tool made a name up
// (`onnx::MatMul_317`), the node that reads the tensor does: its module, its
// operator and the slot the tensor goes into.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "onnx_tag/tagging.h"

namespace onnx_tag::weights {

enum class Change : std::uint8_t {
  kSame,
  kTransposed,
  kMerged,     // several parameters, or the gates of one, in one tensor
  kFolded,     // a normalization is multiplied in
  kQuantized,  // in fewer bits; its scale and zero point are tensors, too
  kScale,
  kZeroPoint,
  kTied,      // one tensor for several parameters
  kSplit,     // a piece of a parameter
  kComputed,  // no parameter: a table of positions, a mask
  kConstant,  // no parameter: a number, a shape, axes
};
constexpr std::array<std::string_view, 11> kChangeNames = {
    "same",       "transposed", "merged", "folded",   "quantized", "scale",
    "zero_point", "tied",       "split",  "computed", "constant"};

struct Weight {
  std::uint32_t initializer = 0;  // index in Model::initializers()
  Change change = Change::kConstant;
  // As in the state_dict of the source model; none: it holds no parameter.
  std::vector<std::string> parameters = {};
  // Parameters that it holds, too, if the source model has them: biases of
  // convolutions into which a normalization was folded. The file does not say.
  std::vector<std::string> may_hold = {};
  ModuleId module = kNo<ModuleId>;  // of the first of them, or of its reader
  Confidence confidence = Confidence::kLow;
  std::string_view why = {};
};

// One for each initializer, in file order. Takes time in nodes and edges.
std::vector<Weight> MapWeights(const Model& model, const Tagging& tagging);

// Of the tensor's shape and type; 0 if no file could hold it.
std::uint64_t BytesOf(const Model& model, const Initializer& tensor);

}  // namespace onnx_tag::weights
