// The smallest modules: a linear layer with its bias, a norm or an activation
// that is written out in arithmetic, a convolution, any other single node.
#ifndef ONNX_TAG_CLUES_STRUCTURE_ATOMS_H_
#define ONNX_TAG_CLUES_STRUCTURE_ATOMS_H_

#include <cstdint>
#include <vector>

#include "clues/structure/flow.h"
#include "core/graph/data_values.h"
#include "core/graph/operators.h"
#include "onnx_tag/model.h"

namespace onnx_tag::structure {

// The weights that a node reads, also behind casts, transposes and quantizers.
struct Weight {
  ValueId value = kNo<ValueId>;    // the initializer or constant itself
  std::vector<std::int64_t> dims;  // as the node reads it
};

class Weights {
 public:
  Weights(const Model& model, const Operators& ops, const DataValues& data)
      : model_(model), ops_(ops), data_(data) {}

  // The weight behind `value`; kNo if there is none of rank 1 or more.
  Weight Find(ValueId value) const;
  // The first input of `node` that has a weight of `rank` or more.
  Weight Of(NodeId node, std::size_t rank) const;

 private:
  const Model& model_;
  const Operators& ops_;
  const DataValues& data_;
};

enum class AtomKind : std::uint8_t {
  kLinear,     // a product with a weight
  kMatMul,     // a product of two values
  kPointwise,  // a convolution of size 1
  kConv,       // a larger one
  kDepthwise,
  kDeconv,  // a transposed one
  kRecurrent,
  kAttention,  // a whole attention in one node
  kCall,       // of a function or a subgraph with any of these
  kNorm,
  kActivation,
  kPool,
  kMean,  // a reduction over positions or channels
  kSoftmax,
  kJoin,       // a sum or concatenation of values
  kEmbedding,  // rows of a table
  kNeutral,    // moves data
  kOther,
};

constexpr bool IsHeavy(AtomKind kind) { return kind <= AtomKind::kCall; }
constexpr bool IsConv(AtomKind kind) {
  return kind >= AtomKind::kPointwise && kind <= AtomKind::kDeconv;
}

// What an atom is when two are compared; 0 for what does not count.
using Token = std::uint32_t;

struct Atom {
  std::uint32_t first;  // positions in the Flow
  std::uint32_t last;
  std::uint32_t core;  // the position of the heavy operator; else `first`
  AtomKind kind;
  Token token;
};

// Inclusive: atoms, units or positions from `first` to `last`.
struct Range {
  std::uint32_t first;
  std::uint32_t last;
  friend bool operator==(const Range&, const Range&) = default;
};

class Atoms {
 public:
  // The arguments must outlive this.
  Atoms(const Model& model, const Flow& flow, const Operators& ops,
        const HeavyNodes& heavy, const Weights& weights);

  std::uint32_t size() const {
    return static_cast<std::uint32_t>(atoms_.size());
  }
  const Atom& operator[](std::uint32_t i) const { return atoms_[i]; }
  AtomKind Kind(std::uint32_t i) const { return atoms_[i].kind; }
  bool IsHeavyAt(std::uint32_t i) const { return IsHeavy(atoms_[i].kind); }
  std::span<const std::uint32_t> ins(std::uint32_t i) const { return ins_[i]; }
  std::span<const std::uint32_t> outs(std::uint32_t i) const {
    return outs_[i];
  }
  std::uint32_t OfPosition(std::uint32_t position) const {
    return of_[position];
  }

  // Heavy operators in a row that end with this atom, at most.
  std::uint32_t Depth(std::uint32_t i) const { return depth_[i]; }
  // Heavy operators in a row inside a range; an upper bound.
  std::uint32_t Series(Range range) const;
  std::uint32_t Heavies(Range range) const {
    return heavies_[range.last + 1] - heavies_[range.first];
  }
  std::uint32_t NodesIn(Range range) const {
    return atoms_[range.last].last - atoms_[range.first].first + 1;
  }

  // The operator of the atom's first or last node, without a tool's additions.
  Op FirstOp(std::uint32_t i) const { return op_[atoms_[i].first]; }
  Op LastOp(std::uint32_t i) const { return op_[atoms_[i].last]; }
  Op OpAt(std::uint32_t position) const { return op_[position]; }
  NodeId NodeAt(std::uint32_t position) const { return flow_.nodes[position]; }
  NodeId Core(std::uint32_t i) const { return flow_.nodes[atoms_[i].core]; }

  // -1 where pictures become smaller, 1 where they become larger.
  int Scale(std::uint32_t i) const { return scale_[i]; }
  // Channels of the result of a convolution or linear layer; 0 if unknown.
  std::int64_t Width(std::uint32_t i) const { return width_[i]; }
  // Dimensions of a convolution's kernel; 0 for others.
  std::size_t KernelRank(std::uint32_t i) const { return kernel_rank_[i]; }
  // The weight of a heavy atom, or kNo.
  ValueId WeightOf(std::uint32_t i) const { return weight_[i]; }

 private:
  struct Found {
    std::uint32_t last;
    AtomKind kind;
  };
  Found At(std::uint32_t p) const;
  Found Linear(std::uint32_t p) const;
  Found Recurrent(std::uint32_t p) const;
  std::uint32_t Scaled(std::uint32_t last) const;
  // A closed region of arithmetic with one entry; `last` is p - 1 if none.
  Found Arithmetic(std::uint32_t p) const;
  bool IsNormArithmetic(std::uint32_t p, std::uint32_t q) const;
  bool IsActivationArithmetic(std::uint32_t p, std::uint32_t q,
                              std::uint32_t entry) const;
  bool AddsToQueries(const Atom& atom) const;
  AtomKind ProductKind(std::uint32_t p) const;
  AtomKind ConvolutionKind(std::uint32_t p) const;
  Token TokenOf(std::uint32_t p) const;
  void Measure();

  // q reads nothing but p, and p has no other reader.
  bool Follows(std::uint32_t q, std::uint32_t p) const;
  bool Is(std::uint32_t p, OpKinds kinds) const {
    return Describe(op_[p]).kinds.HasAnyOf(kinds);
  }
  bool IsArithmetic(std::uint32_t p) const;

  const Model& model_;
  const Flow& flow_;
  const Weights& weights_;
  std::vector<Op> op_;             // by position
  std::vector<AtomKind> product_;  // by position, of heavy operators
  std::vector<Atom> atoms_;
  std::vector<std::uint32_t> of_;
  Edges ins_;
  Edges outs_;
  std::vector<std::uint32_t> depth_;
  std::vector<std::uint32_t> heavies_;  // before each atom
  std::vector<std::int8_t> scale_;
  std::vector<std::int64_t> width_;
  std::vector<std::uint8_t> kernel_rank_;
  std::vector<ValueId> weight_;
};

}  // namespace onnx_tag::structure

#endif  // ONNX_TAG_CLUES_STRUCTURE_ATOMS_H_
