// The facts of a file about its modules.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string_view>
#include <vector>

#include "mapping/classes/catalogue/class_rules.h"
#include "onnx_tag/hierarchy.h"

namespace onnx_tag::catalogue {

struct SeenParameter {
  std::string_view name;  // "weight": without the module
  std::uint32_t rank = 0;
  std::uint32_t rows = 0;  // its first dimension, or the most that fits
};

// A model may have one for each node.
struct SeenModule {
  OperatorSet operators = 0;      // of its own nodes, if their tags are high
  OperatorSet all_operators = 0;  // of its own nodes, however sure
  std::span<const SeenParameter> parameters;
  std::uint32_t weight_rank = 0;  // of its weight, with or without a name
  bool called = false;            // a scope of the module exists
};

// What is true of the whole file.
struct FileFacts {
  bool scopes = false;               // modules without parameters are visible
  bool linear_weights_lost = false;  // TorchScript renamed them onnx::MatMul_7
  bool batch_norms_folded = false;   // into the preceding convolutions
  bool constants_folded = false;     // by an optimizer, as positions may be
  bool counts_positions = false;     // a CumSum makes position ids
  std::string_view torch_version;    // of the exporter; "" if it is not torch
  std::vector<std::string_view> values;  // inputs and outputs of the graph
  int output_rank = -1;                  // of the first output; -1: not known
};

struct Observation : FileFacts {
  explicit Observation(const ModuleTree& tree)
      : modules(tree), seen(tree.size()) {}

  // A copy of `other` for the same modules in `tree`.
  Observation(const Observation& other, const ModuleTree& tree)
      : FileFacts(other),
        modules(tree),
        seen(other.seen),
        parameters(other.parameters) {}

  const ModuleTree& modules;  // with the classes that the file records
  IdVector<ModuleId, SeenModule> seen;
  // What `seen` points to.
  std::shared_ptr<const std::vector<SeenParameter>> parameters;
};

}  // namespace onnx_tag::catalogue
