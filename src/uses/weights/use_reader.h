// What one use says of a tensor: the node that reads it, its module and the
// slot it goes into.
#pragma once

#include <optional>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "core/graph/operators.h"
#include "uses/weights/weight_map.h"

namespace onnx_tag::weights {

// A node that computes with the tensor, past those that only hand it on.
struct Use {
  NodeId node;
  std::uint32_t slot = 0;
  Operand operand = Operand::kData;  // what the node reads there
  bool transposed = false;           // a Transpose is on the way
  bool dequantized = false;  // it went through DequantizeLinear as the tensor
  bool sliced = false;       // only a piece of it arrives
};

class Uses {
 public:
  Uses(const Model& model, const Operators& ops);

  // At most kMost of them: a shared scalar may have thousands.
  std::vector<Use> Of(ValueId value) const;
  // Those behind one input of one node.
  std::vector<Use> At(NodeId node, std::uint32_t slot) const;

  // The places of a value among the inputs of a node, in order.
  std::vector<std::uint32_t> SlotsOf(NodeId node, ValueId value) const;

  static constexpr std::size_t kMost = 512;

 private:
  void Follow(ValueId value, Use so_far, int depth,
              std::vector<Use>& uses) const;
  void FollowAt(NodeId node, std::uint32_t slot, Use use, int depth,
                std::vector<Use>& uses) const;

  const Model& model_;
  const Operators& ops_;
  // Of nodes with many inputs, sorted: each weight asks for its own.
  std::unordered_map<NodeId, std::vector<std::pair<ValueId, std::uint32_t>>>
      wide_;
};

std::string Join(const std::string& module, std::string_view atom);

// A buffer that no training changes: "a.position_ids".
bool IsPlainBuffer(std::string_view name);

// dynamo's name for the result of an operation that takes rows ("embedding_1"),
// or that only moves numbers ("unsqueeze").
bool TakesRows(std::string_view value);
bool MovesNumbers(std::string_view value);

// A tool's name for a weight or bias that a constant was multiplied into.
bool IsScaled(std::string_view name);

class UseReader {
 public:
  // Both must outlive it.
  UseReader(const Model& model, const Tagging& tagging);

  // Nothing if the node does not read it as a parameter of its module.
  std::optional<Weight> Read(const Initializer& tensor, const Use& use) const;

  // A folded normalization gives the convolution a bias, whether it had one of
  // its own or not. The normalization is among the node's origins if the file
  // says which it was.
  Weight FoldedBias(const Initializer& tensor, const Use& use,
                    const std::string& conv, Weight weight) const;

  const Operators& ops() const { return ops_; }
  std::string_view NameOf(const Initializer& tensor) const {
    return model_.ValueName(tensor.value);
  }
  const Tag& TagOf(const Use& use) const { return tagging_.tags[use.node]; }
  std::string_view ClassOf(ModuleId id) const {
    return id == kNo<ModuleId> ? std::string_view()
                               : tagging_.modules.Class(id);
  }
  // Modules that are made of others seldom have a weight of their own: more
  // likely the module of the node is not known exactly.
  bool HoldsOthers(ModuleId id) const;
  // A convolution or a Gemm, perhaps with an activation fused into it, but not
  // of a quantized weight.
  bool IsLike(const Use& use, Op op) const;
  bool Transposes(const Use& gemm) const;
  bool IsQuantized(const Initializer& tensor,
                   const std::vector<Use>& uses) const;

 private:
  Change QuantizedOr(Change change, const Initializer& tensor,
                     const Use& use) const {
    return IsQuantized(tensor, {use}) ? Change::kQuantized : change;
  }
  // Whether one dimension is three times the other.
  bool HoldsThree(const Initializer& tensor) const;
  std::string_view MatrixAtom(const Initializer& tensor, ModuleId module) const;
  template <typename Give>
  std::optional<Weight> ReadWeight(const Initializer& tensor, const Use& use,
                                   const Give& give) const;
  template <typename Give>
  std::optional<Weight> ReadElementwise(const Initializer& tensor,
                                        const Use& use, const Give& give) const;
  Weight ReadGates(const Initializer& tensor, const Use& use,
                   Weight weight) const;
  ModuleId FindProjection(ModuleId module, std::string_view which) const;
  Weight ReadQkv(std::string_view atom, Weight weight) const;
  bool IsPlainNorm(const Use& use) const;

  const Model& model_;
  const Tagging& tagging_;
  const Operators ops_;
  std::unordered_map<NodeId, std::uint32_t> recurrent_layer_;
};

}  // namespace onnx_tag::weights
