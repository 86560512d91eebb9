// The facts that the rules for roles use: a few bytes per node. Every step is
// one walk over the nodes, in file order or in reverse order.
#pragma once

#include <vector>

#include "core/graph/graph_facts.h"
#include "core/graph/neighbours.h"
#include "mapping/roles/role_vocabulary.h"
#include "onnx_tag/model.h"
#include "onnx_tag/tagging.h"

namespace onnx_tag {

struct ModuleMeaning {
  Meaning meaning;  // of the module and its submodules
  Meaning own;      // of its own code
  // The outermost attention or feed-forward around it, or kNo.
  ModuleId region = kNo<ModuleId>;
  std::int32_t layer = -1;
  bool leaf = false;
  bool listed = false;  // inside a numbered element
};

// Where the data of a node comes from.
enum Flow : std::uint8_t {
  kFromShape = 1,      // computed only from shapes and constants
  kScores = 2,         // between the product of query and key and the softmax
  kProbabilities = 4,  // after the softmax
  kContext = 8,        // after the product with the value
  kProjected = 16,     // after the projection that follows
  kRotaryTable = 32,
  kRelativeBias = 64,
  kBeforeSoftmax = 128,
};

// Where the result of a node is used.
enum Reach : std::uint16_t {
  kToShape = 1,
  kToMask = 2,
  kToPositionIds = 4,
  kToTokenType = 8,
  kToRelativeBias = 16,
  kToData = 32,
  // Within one attention.
  kToQuery = 64,
  kToKey = 128,
  kToValue = 256,
  kToProbabilities = 512,
  kToPick = 1024,  // index of the token that a head uses
};

struct RoleFacts {
  RoleFacts(const GraphFacts& g, const Tagging& t,
            const RoleVocabulary& vocabulary)
      : graph(g),
        model(g.model),
        tagging(t),
        words(vocabulary),
        data_inputs(g.model.node_count(), 0) {
    for (const NodeId node : model.Nodes()) {
      for (const ValueId input : model.Inputs(node)) {
        // Saturates: only none, one and several are told apart.
        if (data_inputs[node] < 2 && graph.data.IsComputed(input) &&
            !IsScale(input)) {
          ++data_inputs[node];
        }
      }
    }
  }

  const GraphFacts& graph;
  const Model& model;
  const Tagging& tagging;
  RoleLookup words;
  IdVector<NodeId, std::uint8_t> data_inputs;  // 0, 1, or 2 for more

  // By operation, each once: the lines of src/data/roles.txt.
  std::vector<std::vector<std::uint16_t>> op_lines;
  IdVector<NodeId, std::uint16_t> node_op;
  IdVector<NodeId, std::uint8_t> flow;
  IdVector<NodeId, std::uint16_t> reach;
  std::vector<bool> in_activation;  // by node: in a decomposed activation
  std::vector<bool> in_norm;        // by node: in a decomposed normalization
  IdVector<ModuleId, ModuleMeaning> modules;
  // By module: the innermost module around it that has the products of an
  // attention, or kNo.
  IdVector<ModuleId, ModuleId> core;
  // By such a module: its keys and values come from elsewhere than its queries.
  IdVector<ModuleId, bool> crosses;

  const std::vector<std::uint16_t>& OpLines(NodeId node) const {
    return op_lines[node_op[node]];
  }
  bool Is(NodeId node, OpKinds kinds) const {
    return graph.ops.Is(node, kinds);
  }
  // A normalization, as one node or as one of several.
  bool IsNorm(NodeId node) const {
    return Is(node, OpKind::kNorm) || in_norm[Index(node)];
  }
  // Neither computed while the model runs nor a size.
  bool IsConstant(ValueId value) const {
    return !graph.data.IsComputed(value) && !graph.data.IsSize(value);
  }
  NodeId Producer(ValueId value) const { return ProducerOf(model, value); }
  // Null for kNo, and if the node is untagged.
  const ModuleMeaning* Module(NodeId node) const {
    if (node == kNo<NodeId>) return nullptr;
    const ModuleId id = tagging.tags[node].module;
    return id == kNo<ModuleId> ? nullptr : &modules[id];
  }
  // The attention around the node, or kNo.
  ModuleId Attention(NodeId node) const {
    const ModuleMeaning* module = Module(node);
    return module != nullptr && module->region != kNo<ModuleId> &&
                   modules[module->region].own.type == RoleType::kAttention
               ? module->region
               : kNo<ModuleId>;
  }
  bool IsShape(NodeId node) const {
    return (flow[node] & kFromShape) != 0 || reach[node] == kToShape;
  }
  int DataInputs(NodeId node) const { return data_inputs[node]; }
  // The scale or the zero point of a quantized value, or a product of scales.
  bool IsScale(ValueId value) const {
    const NodeId producer = Producer(value);
    if (producer == kNo<NodeId>) return false;
    if (Is(producer, OpKind::kQuantizer)) {
      return value != FirstOutput(model, producer);
    }
    if (graph.ops[producer] != Op::kMul) return false;
    bool any = false;
    for (const ValueId input : model.Inputs(producer)) {
      if (!graph.data.IsComputed(input)) continue;
      const NodeId maker = Producer(input);
      if (maker == kNo<NodeId> || !Is(maker, OpKind::kQuantizer) ||
          input == FirstOutput(model, maker)) {
        return false;
      }
      any = true;
    }
    return any;
  }
  // A convolution, or a product of data with a weight.
  bool HasWeight(NodeId node) const {
    return Is(node, OpKind::kConvolution) ||
           (Is(node, OpKind::kProduct) && DataInputs(node) == 1);
  }
  // An Add of two that are both computed.
  bool IsJoin(NodeId node) const {
    return Is(node, OpKind::kSum) && DataInputs(node) >= 2;
  }
  // The initializer that `value` comes from, through reshapes and casts; or
  // kNo.
  ValueId WeightOf(ValueId value) const;
  // What a parameter's name means inside of `around`: "...q_proj.weight".
  Meaning ParameterMeaning(ValueId value, const Meaning& around);
};

// The steps, in order.
void GatherOps(RoleFacts& facts);
void GatherShapes(RoleFacts& facts);
void GatherModuleMeanings(RoleFacts& facts);
void FollowAttention(RoleFacts& facts);
void FollowUses(RoleFacts& facts);
void TellCrossAttention(RoleFacts& facts);

// By module: its index in the first list on the path from the root that has at
// least two elements of similar structure, or -1. Modules without children have
// similar structure if their `leaf_kind` is equal.
std::vector<std::int32_t> LayerIndices(
    const ModuleTree& tree, const std::vector<std::uint32_t>& leaf_kind);

}  // namespace onnx_tag
