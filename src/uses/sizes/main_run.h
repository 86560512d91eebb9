// The main graph as it runs, step by step: what each step costs, what it reads,
// and how long its results stay in memory.
//
// The order is that of the file. No result is written over another one in
// place, a result is given back after its last reader, inputs and outputs stay
// for the whole run, and nothing is padded. Nodes that depend on no input are
// constants: a part that reads them has them itself.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <unordered_map>
#include <vector>

#include "core/graph/function_calls.h"
#include "onnx_tag/model.h"
#include "uses/sizes/assumptions.h"
#include "uses/sizes/module_sizes.h"
#include "uses/sizes/shapes.h"

namespace onnx_tag::sizes {

class MainRun {
 public:
  // A result, an input, or a weight.
  struct Item {
    ValueId value = kNo<ValueId>;
    std::uint64_t bytes = 0;  // 0 if they are not known
    std::uint32_t maker = kNobody;
    std::uint32_t last = 0;  // the last step that reads it
    bool is_weight = false;
    bool is_read = false;
    bool is_output = false;
  };
  struct Step {
    NodeId node;
    bool is_constant = false;
    std::uint64_t cost = 0;  // FLOPs or time
    // The most that its subgraphs or its function hold at once, or the copies
    // that an Einsum makes.
    std::uint64_t inside = 0;
    std::vector<std::uint32_t> reads = {};  // items, each once
    std::vector<std::uint32_t> makes = {};
  };
  static constexpr std::uint32_t kNobody = 0xffffffff;

  // `constant`: by the index of a node in the main graph. `model` must outlive
  // it.
  MainRun(const Model& model, const Shapes& shapes, const Evaluation& numbers,
          std::span<const Weight> weights, const std::vector<bool>& constant);

  const std::vector<Step>& steps() const { return steps_; }
  const std::vector<Item>& items() const { return items_; }
  // Null if the main graph neither makes nor takes it.
  const Item* Find(ValueId value) const {
    const std::uint32_t at = item_of_[value];
    return at == kNobody ? nullptr : &items_[at];
  }
  std::uint64_t unknown_values() const { return unknown_values_; }
  std::uint64_t unknown_flops() const { return unknown_flops_; }
  // Replaces FLOPs by other numbers, by node of the whole model; -1: none.
  void SetCosts(const IdVector<NodeId, std::int64_t>& costs);

  // Bytes held while each step runs, without weights.
  std::vector<std::uint64_t> Live() const;
  // Bytes that are made before each step and read by it or a later one.
  std::vector<std::uint64_t> Crossing() const;

 private:
  void AddItems(std::span<const Weight> weights);
  std::uint64_t BytesOf(ValueId value);
  // The node of `graph` that `node` is in, or that it is; kNo: none.
  NodeId NodeAround(NodeId node, GraphId graph) const;
  // Calls `use` with each value of `graph` that a node in it or further inside
  // reads, and with the node of `graph` that is or has the reader.
  template <typename Use>
  void ForEachRead(ValueId value, const Use& use) const;
  // The most that the results of a body's nodes hold at once.
  std::uint64_t PeakOf(GraphId graph, int depth);
  std::uint64_t InsideOf(NodeId node, int depth);
  // Bytes that the node holds beside its operands and results.
  std::uint64_t CopiesOf(NodeId node);

  const Model& model_;
  const Shapes& shapes_;
  const Evaluation& numbers_;
  std::vector<Step> steps_;
  std::vector<Item> items_;
  const FunctionCalls calls_;
  IdVector<ValueId, std::uint32_t> item_of_;
  IdVector<NodeId, std::uint32_t> step_of_;
  // What subgraphs return that is not theirs: such a value has a reader that
  // Model::Consumers() does not know.
  std::unordered_map<ValueId, std::vector<NodeId>> returned_;
  std::vector<std::optional<std::uint64_t>> peaks_;  // by graph
  std::uint64_t unknown_values_ = 0;
  std::uint64_t unknown_flops_ = 0;
};

// What consecutive steps cost as a part of their own.
class PartSweep {
 public:
  enum class Measure : std::uint8_t {
    kWeights,  // bytes
    kFlops,    // or what SetCosts() gave
    kMemory,   // bytes of weights, inputs and the most that is held at once
  };

  PartSweep(const MainRun& run, Measure measure)
      : run_(run),
        measure_(measure),
        item_seen_(run.items().size(), 0),
        step_seen_(run.steps().size(), 0) {}

  // The cost of the steps [first, last) for each of `lasts`, which ascend.
  std::vector<std::uint64_t> From(std::size_t first,
                                  std::span<const std::size_t> lasts);

 private:
  void Add(std::size_t step);
  void AddConstant(std::size_t step);

  const MainRun& run_;
  const Measure measure_;
  std::vector<std::uint32_t> item_seen_, step_seen_;  // in which sweep
  std::uint32_t sweep_ = 0;
  std::size_t first_ = 0;
  std::uint64_t cost_ = 0;
  std::uint64_t held_ = 0;  // for the whole part: inputs, constants
  std::uint64_t live_ = 0;
  std::uint64_t peak_ = 0;
  std::uint64_t weights_ = 0;
};

}  // namespace onnx_tag::sizes
