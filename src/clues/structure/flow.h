// The nodes of one graph that carry data, in an order of their own.
//
// The order depends on the graph alone, not on the order of the file: exporters
// write modules one after the other, but optimizers sort nodes anew. It is
// found from the end: of the nodes whose readers are all placed, the next is
// the one whose first reader was placed last. So the branches of a block stand
// together, and a value that many blocks read (a mask, the output of an
// encoder) stands before the first of them. Over 136 files with known modules,
// a layer is 1.01 times as scattered as in the file's own order.
#ifndef ONNX_TAG_CLUES_STRUCTURE_FLOW_H_
#define ONNX_TAG_CLUES_STRUCTURE_FLOW_H_

#include <cstdint>
#include <map>
#include <span>
#include <utility>
#include <vector>

#include "core/graph/data_values.h"
#include "core/graph/operators.h"
#include "onnx_tag/model.h"

namespace onnx_tag::structure {

// Lists of numbers, one list for each number: the readers of a node, say.
class Edges {
 public:
  Edges() : first_(1, 0) {}

  // Lists are added in their order.
  void Push(std::uint32_t to) { to_.push_back(to); }
  void End() { first_.push_back(static_cast<std::uint32_t>(to_.size())); }

  std::span<const std::uint32_t> operator[](std::size_t from) const {
    return {to_.data() + first_[from], first_[from + 1] - first_[from]};
  }
  std::size_t size() const { return first_.size() - 1; }

  // The same edges, from their other ends; each list ascends.
  Edges Reversed(std::size_t size) const {
    Edges result;
    result.first_.assign(size + 1, 0);
    for (const std::uint32_t to : to_) ++result.first_[to + 1];
    for (std::size_t i = 0; i < size; ++i) {
      result.first_[i + 1] += result.first_[i];
    }
    result.to_.resize(to_.size());
    std::vector<std::uint32_t> next(result.first_.begin(),
                                    result.first_.end() - 1);
    for (std::size_t from = 0; from < this->size(); ++from) {
      for (const std::uint32_t to : (*this)[from]) {
        result.to_[next[to]++] = static_cast<std::uint32_t>(from);
      }
    }
    return result;
  }

 private:
  std::vector<std::uint32_t> first_;
  std::vector<std::uint32_t> to_;
};

// A node that has no place in the order: it belongs where `to` belongs.
struct Attached {
  NodeId node;
  NodeId to;
};

struct Flow {
  std::vector<NodeId> nodes;
  Edges ins;   // positions in `nodes`, in the order of the operands, each once
  Edges outs;  // ascending

  // Identities and quantizers; what ends in an output without a product,
  // convolution or the like. `to` comes first or is in `nodes`.
  std::vector<Attached> attached;
  // Masks, rotary tables: values made without products that are only ever the
  // lesser operand, in several blocks. In the order of the file.
  std::vector<NodeId> side;
};

// The function that each node calls.
class Calls {
 public:
  Calls(const Model& model, const Operators& ops);
  // The body of the function, or kNo.
  GraphId operator[](NodeId node) const;

 private:
  const Model& model_;
  const Operators& ops_;
  std::map<std::pair<NameId, NameId>, GraphId> bodies_;  // by name and domain
};

// Operators that do the work of a model: products, convolutions, recurrent
// layers, attention, and what holds or calls a graph that has them.
class HeavyNodes {
 public:
  HeavyNodes(const Model& model, const Operators& ops, const Calls& calls);
  bool operator[](NodeId node) const { return heavy_[Index(node)]; }

 private:
  std::vector<bool> heavy_;
};

// What the nodes of subgraphs read from the graphs around them, as edges
// between nodes of one graph: `to` is the node that holds the subgraph.
struct OuterRead {
  NodeId from;
  NodeId to;
};
using OuterReads = std::vector<std::vector<OuterRead>>;  // by graph
OuterReads FindOuterReads(const Model& model);

Flow FindFlow(const Model& model, GraphId graph, const Operators& ops,
              const HeavyNodes& heavy, const DataValues& data,
              const std::vector<OuterRead>& outer);

}  // namespace onnx_tag::structure

#endif  // ONNX_TAG_CLUES_STRUCTURE_FLOW_H_
