// The operations of one graph that carry data, in an order of their own.
//
// An atom is the smallest module: a composite (core/graph/composites.h: a
// linear layer with its bias, a norm or an activation that is written out in
// arithmetic), recurrent layers in a row, any other single node. Identities and
// quantizers belong to the atom that they read.
//
// The order depends on the graph alone, not on the order of the file: exporters
// write modules one after the other, but optimizers sort nodes anew. It is
// found from the end: of the atoms whose readers are all placed, the next is
// the one whose first reader was placed last. So the branches of a block stand
// together, and a value that many blocks read (the output of an encoder)
// stands before the first of them.
#pragma once

#include <cstdint>
#include <span>
#include <unordered_map>
#include <utility>
#include <vector>

#include "clues/structure/parts.h"
#include "onnx_tag/model.h"

namespace onnx_tag::structure {

// Lists of numbers, one list for each number: the readers of an atom, say.
class Edges {
 public:
  using Pairs = std::vector<std::pair<std::uint32_t, std::uint32_t>>;

  Edges() = default;
  // Each second number is in the list of its first; the order is kept.
  Edges(std::size_t size, const Pairs& pairs) : first_(size + 1, 0) {
    for (const auto& [from, to] : pairs) ++first_[from + 1];
    for (std::size_t i = 0; i < size; ++i) first_[i + 1] += first_[i];
    to_.resize(pairs.size());
    std::vector<std::uint32_t> next(first_.begin(), first_.end() - 1);
    for (const auto& [from, to] : pairs) to_[next[from]++] = to;
  }

  std::span<const std::uint32_t> operator[](std::size_t from) const {
    return {to_.data() + first_[from], first_[from + 1] - first_[from]};
  }

 private:
  std::vector<std::uint32_t> first_;
  std::vector<std::uint32_t> to_;
};

// What an atom is when two are compared; 0 for what does not count.
using Token = std::uint32_t;

// Inclusive: atoms or units from `first` to `last`.
struct Range {
  std::uint32_t first;
  std::uint32_t last;
  friend bool operator==(const Range&, const Range&) = default;
};

class Atoms {
 public:
  // `parts` must outlive this.
  Atoms(const ModelParts& parts, GraphId graph);

  std::uint32_t size() const {
    return static_cast<std::uint32_t>(atoms_.size());
  }
  AtomKind Kind(std::uint32_t i) const { return atoms_[i].kind; }
  Token TokenOf(std::uint32_t i) const { return atoms_[i].token; }
  bool IsHeavyAt(std::uint32_t i) const { return IsHeavy(atoms_[i].kind); }
  std::span<const std::uint32_t> ins(std::uint32_t i) const { return ins_[i]; }
  std::span<const std::uint32_t> outs(std::uint32_t i) const {
    return outs_[i];
  }
  // The atom that a node of the graph is in; of an identity, the one that it
  // reads. kNone: no atom.
  std::uint32_t Of(NodeId node) const {
    return atom_of_[parts_.graph().model[node].index];
  }
  // Masks, rotary tables: values made without heavy operators that are only
  // ever the lesser operand, in several blocks. By place in the graph.
  const std::vector<bool>& IsSide() const { return is_side_; }

  // Heavy operators in a row inside a range; an upper bound.
  std::uint32_t Series(Range range) const;
  std::uint32_t Heavies(Range range) const {
    return heavies_[range.last + 1] - heavies_[range.first];
  }
  std::uint32_t NodesIn(Range range) const {
    return nodes_[range.last + 1] - nodes_[range.first];
  }

  // The operator of the atom's first or last node, without a tool's additions.
  Op FirstOp(std::uint32_t i) const { return OpOf(atoms_[i].first); }
  Op LastOp(std::uint32_t i) const { return OpOf(atoms_[i].last); }
  NodeId Core(std::uint32_t i) const { return atoms_[i].core; }
  bool Is(std::uint32_t i, OpKinds kinds) const {
    return Describe(OpOf(Core(i))).kinds.HasAnyOf(kinds);
  }

  // -1 where pictures become smaller, 1 where they become larger.
  int Scale(std::uint32_t i) const { return atoms_[i].scale; }
  // Channels of the result of a convolution or linear layer; 0 if unknown.
  std::int64_t Width(std::uint32_t i) const { return atoms_[i].width; }
  // Dimensions of a convolution's kernel; 0 for others.
  std::size_t KernelRank(std::uint32_t i) const {
    return atoms_[i].kernel_rank;
  }
  // The weights of heavy atoms.
  std::vector<ValueId> WeightsIn(Range range) const;
  // Whether the range reads what a heavy operator before it made.
  bool ReadsBefore(Range range) const;
  // Its tokens, sorted: two ranges with much the same are alike. With `once`, a
  // token counts once, however often it occurs.
  std::vector<Token> Bag(Range range, bool once = false) const;

 private:
  struct Atom {
    NodeId first = kNo<NodeId>;
    NodeId last = kNo<NodeId>;
    NodeId core = kNo<NodeId>;
    std::uint32_t nodes = 0;
    AtomKind kind = AtomKind::kOther;
    Token token = 0;
    int scale = 0;
    std::int64_t width = 0;
    std::uint8_t kernel_rank = 0;
    ValueId weight = kNo<ValueId>;
  };
  // A weight that a node reads, also behind casts, transposes and quantizers.
  struct Weight {
    ValueId value = kNo<ValueId>;    // the initializer or constant itself
    std::vector<std::int64_t> dims;  // as the node reads it
  };

  bool CarriesData(NodeId node) const;
  NodeId AliasOf(NodeId node) const;
  void Number(const std::vector<NodeId>& nodes);
  void Connect(const std::vector<NodeId>& nodes, GraphId graph);
  void SetKind(std::uint32_t i);
  void FindDepth();
  void FindSide();
  void Sort();
  bool AddsToQueries(std::uint32_t i) const;
  void Measure();

  AtomKind KindOf(std::uint32_t i) const;
  Weight FindWeight(ValueId value) const;
  Weight WeightAt(NodeId node, std::size_t rank) const;
  Op OpOf(NodeId node) const;

  const ModelParts& parts_;
  const Model& model_;
  std::vector<Atom> atoms_;
  std::vector<std::uint32_t> atom_of_;  // by place in the graph
  std::vector<bool> is_side_;
  Edges ins_;   // in the order of the operands, each once
  Edges outs_;  // ascending
  std::vector<std::uint32_t> depth_;
  std::vector<bool> side_;
  std::vector<std::uint32_t> heavies_;  // before each atom
  std::vector<std::uint32_t> nodes_;
};

// Gives ranges that are alike the same class. Time is linear: a range is
// compared with at most a few others.
class Classes {
 public:
  // The class of the range among those with the same mark, new or not: the
  // first one whose first range has this share of atoms in common with it.
  std::uint32_t Add(std::uint64_t mark, std::vector<Token> bag, double share);
  // How many ranges were added to it.
  std::uint32_t Count(std::uint32_t id) const { return counts_[id]; }

 private:
  struct Class {
    std::vector<Token> first;
    std::uint32_t id;
  };
  std::unordered_map<std::uint64_t, std::vector<Class>> classes_;  // by mark
  std::vector<std::uint32_t> counts_;
};

}  // namespace onnx_tag::structure
