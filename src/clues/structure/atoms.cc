#include "clues/structure/atoms.h"

#include <algorithm>

#include "core/graph/neighbours.h"
#include "file/model/attributes.h"
#include "file/model/tensor_data.h"

namespace onnx_tag::structure {
namespace {

// Operators that move data: not counted when blocks are compared.
constexpr OpKinds kMoves = {
    OpKind::kReshape, OpKind::kTranspose, OpKind::kSlice,
    OpKind::kExpand,  OpKind::kIdentity,  OpKind::kDropout,
    OpKind::kCast,    OpKind::kQuantizer, OpKind::kDequantizer};

bool IsMove(Op op) {
  return Describe(op).kinds.HasAnyOf(kMoves) || op == Op::kGather ||
         op == Op::kPad;
}

Op WithoutAdditions(Op op) {
  const Op like = Describe(op).like;
  return like == Op::kNone ? op : like;
}

// Tokens: kinds first, then operators with one and with several operands, then
// unknown operators.
constexpr Token kFirstOperator = 64;
constexpr Token kUnknownOperator = 1u << 20;

Token KindToken(AtomKind kind) { return 1 + static_cast<Token>(kind); }

}  // namespace

Atoms::Atoms(const Model& model, const Flow& flow, const Operators& ops,
             const HeavyNodes& heavy, const Weights& weights)
    : model_(model), flow_(flow), weights_(weights) {
  const auto count = static_cast<std::uint32_t>(flow.nodes.size());
  op_.reserve(count);
  product_.assign(count, AtomKind::kOther);
  for (std::uint32_t p = 0; p < count; ++p) {
    const NodeId node = flow.nodes[p];
    op_.push_back(WithoutAdditions(ops[node]));
    if (!heavy[node]) continue;
    if (ops.Is(node, OpKind::kConvolution)) {
      product_[p] = ConvolutionKind(p);
    } else if (ops.Is(node, OpKind::kRecurrent)) {
      product_[p] = AtomKind::kRecurrent;
    } else if (ops.Is(node, OpKind::kAttention)) {
      product_[p] = AtomKind::kAttention;
    } else if (ops.Is(node, OpKind::kProduct)) {
      product_[p] = ProductKind(p);
    } else {
      product_[p] = AtomKind::kCall;
    }
  }
  of_.resize(count);
  for (std::uint32_t p = 0; p < count;) {
    const Found found = At(p);
    std::uint32_t core = p;
    while (core < found.last && !IsHeavy(product_[core])) ++core;
    if (!IsHeavy(product_[core])) core = p;
    const Token token = found.last == p ? TokenOf(p) : KindToken(found.kind);
    for (std::uint32_t q = p; q <= found.last; ++q) of_[q] = size();
    atoms_.push_back({p, found.last, core, found.kind, token});
    p = found.last + 1;
  }
  std::vector<std::uint32_t> seen;
  for (std::uint32_t i = 0; i < size(); ++i) {
    seen.clear();
    for (std::uint32_t p = atoms_[i].first; p <= atoms_[i].last; ++p) {
      for (const std::uint32_t q : flow.ins[p]) {
        const std::uint32_t from = of_[q];
        if (from == i ||
            std::find(seen.begin(), seen.end(), from) != seen.end()) {
          continue;
        }
        if (seen.size() < 64) seen.push_back(from);
        ins_.Push(from);
      }
    }
    ins_.End();
  }
  outs_ = ins_.Reversed(size());
  for (Atom& atom : atoms_) {
    if (!AddsToQueries(atom)) continue;
    atom.kind = AtomKind::kJoin;
    ++atom.token;  // as of a sum of two values
  }
  Measure();
}

// The sum that ends an attention whose queries are learned: it adds to a
// constant. A bias is a part of its linear layer.
bool Atoms::AddsToQueries(const Atom& atom) const {
  if (atom.kind != AtomKind::kOther || op_[atom.first] != Op::kAdd ||
      atom.first != atom.last) {
    return false;
  }
  const auto before = [&](std::uint32_t i) {
    std::uint32_t from = i;
    do {
      if (ins_[from].size() != 1) return i;
      from = ins_[from][0];
    } while (Kind(from) == AtomKind::kNeutral && from > 0);
    return from;
  };
  const std::uint32_t sum = of_[atom.first];
  const std::uint32_t linear = before(sum);
  if (linear == sum || Kind(linear) != AtomKind::kLinear) return false;
  const std::uint32_t product = before(linear);
  if (product == linear || Kind(product) != AtomKind::kMatMul) return false;
  const auto ins = ins_[product];
  return std::any_of(ins.begin(), ins.end(), [&](std::uint32_t from) {
    return Kind(from) == AtomKind::kSoftmax;
  });
}

AtomKind Atoms::ConvolutionKind(std::uint32_t p) const {
  const NodeId node = flow_.nodes[p];
  if (Is(p, OpKind::kTransposed)) return AtomKind::kDeconv;
  const std::vector<std::int64_t> dims = weights_.Of(node, 3).dims;
  const std::int64_t group = IntAttribute(model_.NodeBytes(node), "group", 1);
  if (dims.empty()) return AtomKind::kConv;
  if (group > 1 && group == dims[0]) return AtomKind::kDepthwise;
  return std::all_of(dims.begin() + 2, dims.end(),
                     [](std::int64_t d) { return d == 1; })
             ? AtomKind::kPointwise
             : AtomKind::kConv;
}

AtomKind Atoms::ProductKind(std::uint32_t p) const {
  return flow_.ins[p].size() < 2 &&
                 weights_.Of(flow_.nodes[p], 1).value != kNo<ValueId>
             ? AtomKind::kLinear
             : AtomKind::kMatMul;
}

Token Atoms::TokenOf(std::uint32_t p) const {
  const Op op = op_[p];
  if (IsMove(op)) return 0;
  if (IsHeavy(product_[p]) && product_[p] != AtomKind::kDeconv &&
      product_[p] != AtomKind::kCall) {
    return KindToken(product_[p]);
  }
  if (op == Op::kNone) {
    return kUnknownOperator +
           static_cast<Token>(Index(model_[flow_.nodes[p]].op_type) % 65536);
  }
  const bool binary = Is(p, OpKind::kElementwise) && flow_.ins[p].size() > 1;
  return kFirstOperator + 2 * static_cast<Token>(op) + (binary ? 1 : 0);
}

bool Atoms::Follows(std::uint32_t q, std::uint32_t p) const {
  return q < flow_.nodes.size() && flow_.ins[q].size() == 1 &&
         flow_.ins[q][0] == p && flow_.outs[p].size() == 1;
}

bool Atoms::IsArithmetic(std::uint32_t p) const {
  return Is(p,
            {OpKind::kElementwise, OpKind::kActivation, OpKind::kReduction}) ||
         op_[p] == Op::kWhere;
}

Atoms::Found Atoms::At(std::uint32_t p) const {
  const Op op = op_[p];
  switch (product_[p]) {
    case AtomKind::kLinear:
      return Linear(p);
    case AtomKind::kPointwise:
    case AtomKind::kConv:
    case AtomKind::kDepthwise: {
      std::uint32_t last = p;  // and a bias or scale
      while (last < p + 2 && Follows(last + 1, last) &&
             (op_[last + 1] == Op::kAdd || op_[last + 1] == Op::kMul)) {
        ++last;
      }
      return {last, product_[p]};
    }
    case AtomKind::kRecurrent:
      return Recurrent(p);
    case AtomKind::kOther:
      break;
    default:
      return {p, product_[p]};
  }
  const bool has_next = p + 1 < flow_.nodes.size();
  if ((op == Op::kTranspose || op == Op::kSqueeze) && has_next &&
      product_[p + 1] == AtomKind::kRecurrent && Follows(p + 1, p)) {
    return Recurrent(p + 1);
  }
  // A norm over channels, between two transposes.
  if (op == Op::kTranspose && has_next && flow_.ins[p].size() == 1 &&
      Follows(p + 1, p)) {
    const auto perm = FindAttribute(model_.NodeBytes(flow_.nodes[p]), "perm");
    if (perm && perm->numbers.size() == 4) {
      std::uint32_t last = p;
      if (Is(p + 1, OpKind::kNorm)) {
        last = p + 1;
      } else if (const Found found = Arithmetic(p + 1);
                 found.last > p && found.kind == AtomKind::kNorm) {
        last = found.last;
      }
      if (last > p && Follows(last + 1, last) &&
          op_[last + 1] == Op::kTranspose) {
        return {last + 1, AtomKind::kNorm};
      }
    }
  }
  // A product between two reshapes.
  if (op == Op::kReshape && has_next && product_[p + 1] == AtomKind::kLinear &&
      Follows(p + 1, p)) {
    const std::uint32_t last = Linear(p + 1).last;
    if (Follows(last + 1, last) && op_[last + 1] == Op::kReshape) {
      return {last + 1, AtomKind::kLinear};
    }
  }
  if (const Found found = Arithmetic(p); found.last + 1 > p) return found;
  if (Is(p, OpKind::kNorm)) return {p, AtomKind::kNorm};
  if (Is(p, OpKind::kActivation) || op == Op::kErf) {
    return {p, AtomKind::kActivation};
  }
  if (Is(p, {OpKind::kPool, OpKind::kResample})) return {p, AtomKind::kPool};
  if (op == Op::kReduceMean || op == Op::kReduceMax) {
    return {p, AtomKind::kMean};
  }
  if (op == Op::kSoftmax) return {p, AtomKind::kSoftmax};
  if (Is(p, {OpKind::kSum, OpKind::kConcat}) && flow_.ins[p].size() > 1) {
    return {p, AtomKind::kJoin};
  }
  if (op == Op::kGather) {
    const ValueId table = model_.Inputs(flow_.nodes[p])[0];
    if (weights_.Find(table).dims.size() == 2) {
      return {p, AtomKind::kEmbedding};
    }
  }
  return {p, IsMove(op) ? AtomKind::kNeutral : AtomKind::kOther};
}

Atoms::Found Atoms::Linear(std::uint32_t p) const {
  const bool bias = Follows(p + 1, p) && op_[p + 1] == Op::kAdd;
  return {bias ? p + 1 : p, AtomKind::kLinear};
}

// Layers of one module: LSTM, moves of data, LSTM again.
Atoms::Found Atoms::Recurrent(std::uint32_t p) const {
  const auto count = static_cast<std::uint32_t>(flow_.nodes.size());
  const auto reads_inside = [&](std::uint32_t q) {
    const auto ins = flow_.ins[q];
    return std::all_of(ins.begin(), ins.end(),
                       [&](std::uint32_t from) { return from >= p; });
  };
  std::uint32_t last = p;
  for (;;) {
    std::uint32_t q = last + 1;
    while (q < count && q - last < 6 && IsMove(op_[q]) && reads_inside(q)) ++q;
    if (q >= count || op_[q] != op_[p] || !reads_inside(q)) break;
    last = q;
  }
  while (Follows(last + 1, last) &&
         Is(last + 1, {OpKind::kTranspose, OpKind::kReshape})) {
    ++last;
  }
  return {last, AtomKind::kRecurrent};
}

// The scale and bias of a norm.
std::uint32_t Atoms::Scaled(std::uint32_t last) const {
  for (int i = 0; i < 3 && Follows(last + 1, last); ++i) {
    const Op op = op_[last + 1];
    const bool cast = op == Op::kCast && last + 2 < flow_.nodes.size() &&
                      op_[last + 2] == Op::kMul &&
                      flow_.ins[last + 2].size() == 1 &&
                      flow_.ins[last + 2][0] == last + 1;
    if (op != Op::kMul && op != Op::kAdd && !cast) break;
    ++last;
  }
  return last;
}

Atoms::Found Atoms::Arithmetic(std::uint32_t p) const {
  const Found none{p - 1, AtomKind::kOther};
  const auto count = static_cast<std::uint32_t>(flow_.nodes.size());
  if (flow_.ins[p].size() != 1) return none;
  if (op_[p] == Op::kReshape) {  // a group norm
    if (p + 2 < count && op_[p + 1] == Op::kInstanceNormalization &&
        op_[p + 2] == Op::kReshape && Follows(p + 1, p) &&
        Follows(p + 2, p + 1)) {
      return {Scaled(p + 2), AtomKind::kNorm};
    }
    return none;
  }
  if (op_[p] == Op::kInstanceNormalization) return {Scaled(p), AtomKind::kNorm};
  if (!IsArithmetic(p) && op_[p] != Op::kCast) return none;

  constexpr std::uint32_t kLongest = 16;
  const std::uint32_t entry = flow_.ins[p][0];
  std::uint32_t last_reader = 0;  // of what is inside so far
  for (std::uint32_t q = p; q < count && q <= p + kLongest; ++q) {
    if (!IsArithmetic(q) && op_[q] != Op::kCast && op_[q] != Op::kTranspose) {
      break;
    }
    const auto ins = flow_.ins[q];
    if (std::any_of(ins.begin(), ins.end(), [&](std::uint32_t from) {
          return from < p && from != entry;
        })) {
      break;
    }
    if (q > p && last_reader <= q) {  // closed
      if (IsNormArithmetic(p, q)) return {Scaled(q), AtomKind::kNorm};
      if (IsActivationArithmetic(p, q, entry)) {
        // GELU may end with a product by one half.
        const bool has_erf = std::find(op_.begin() + p, op_.begin() + q,
                                       Op::kErf) != op_.begin() + q;
        const bool half = has_erf && op_[q] == Op::kMul && q < p + kLongest &&
                          Follows(q + 1, q) && op_[q + 1] == Op::kMul;
        return {half ? q + 1 : q, AtomKind::kActivation};
      }
    }
    const auto outs = flow_.outs[q];
    if (!outs.empty()) last_reader = std::max(last_reader, outs.back());
  }
  return none;
}

bool Atoms::IsNormArithmetic(std::uint32_t p, std::uint32_t q) const {
  if (op_[q] != Op::kDiv && op_[q] != Op::kMul) return false;
  const auto has = [&](Op op) {
    return std::find(op_.begin() + p, op_.begin() + q + 1, op) !=
           op_.begin() + q + 1;
  };
  if (has(Op::kReduceL2)) return true;
  return has(Op::kReduceMean) && flow_.ins[q].size() > 1 &&
         (has(Op::kSqrt) || has(Op::kReciprocal) ||
          (has(Op::kPow) && has(Op::kDiv)));
}

bool Atoms::IsActivationArithmetic(std::uint32_t p, std::uint32_t q,
                                   std::uint32_t entry) const {
  if (op_[q] != Op::kDiv && op_[q] != Op::kMul) return false;
  int reads = 0;
  bool activation = false;
  for (std::uint32_t i = p; i <= q; ++i) {
    if (Is(i, OpKind::kReduction) || op_[i] == Op::kTranspose) return false;
    activation |= Is(i, OpKind::kActivation) || op_[i] == Op::kErf;
    for (const std::uint32_t from : flow_.ins[i]) reads += from == entry;
  }
  return activation && reads > 1;
}

void Atoms::Measure() {
  depth_.resize(size());
  heavies_.assign(size() + 1, 0);
  scale_.assign(size(), 0);
  width_.assign(size(), 0);
  kernel_rank_.assign(size(), 0);
  weight_.assign(size(), kNo<ValueId>);
  for (std::uint32_t i = 0; i < size(); ++i) {
    const Atom& atom = atoms_[i];
    std::uint32_t depth = 0;
    for (const std::uint32_t from : ins_[i]) {
      depth = std::max(depth, depth_[from]);
    }
    const bool heavy = IsHeavy(atom.kind);
    depth_[i] = depth + (heavy ? 1 : 0);
    heavies_[i + 1] = heavies_[i] + (heavy ? 1 : 0);

    const NodeId core = Core(i);
    const Bytes bytes = model_.NodeBytes(core);
    if (Is(atom.core, {OpKind::kResample, OpKind::kTransposed}) ||
        op_[atom.core] == Op::kDepthToSpace) {
      scale_[i] = 1;
    } else if (Is(atom.core, {OpKind::kConvolution, OpKind::kPool})) {
      const auto strides = FindAttribute(bytes, "strides");
      if (strides &&
          std::any_of(strides->numbers.begin(), strides->numbers.end(),
                      [](std::int64_t s) { return s > 1; })) {
        scale_[i] = -1;
      }
    }
    if (!heavy) continue;
    const bool conv = IsConv(atom.kind);
    const Weight weight = weights_.Of(core, conv ? 3 : 2);
    weight_[i] = weight.value;
    if (weight.dims.empty()) continue;
    if (conv) {
      kernel_rank_[i] = static_cast<std::uint8_t>(
          std::min<std::size_t>(weight.dims.size() - 2, 8));
      width_[i] = weight.dims[atom.kind == AtomKind::kDeconv ? 1 : 0];
    } else if (atom.kind == AtomKind::kLinear) {
      const bool rows =
          op_[atom.core] == Op::kGemm && IntAttribute(bytes, "transB", 0) != 0;
      width_[i] = rows ? weight.dims.front() : weight.dims.back();
    }
  }
}

std::uint32_t Atoms::Series(Range range) const {
  std::uint32_t least = 0xffffffff;
  std::uint32_t most = 0;
  for (std::uint32_t i = range.first; i <= range.last; ++i) {
    least = std::min(least, depth_[i]);
    most = std::max(most, depth_[i]);
  }
  return std::min(Heavies(range), most - least + 1);
}

Weight Weights::Find(ValueId value) const {
  constexpr int kFarthest = 4;  // carriers between a weight and its reader
  int transposes = 0;
  for (int i = 0; i <= kFarthest && value != kNo<ValueId>; ++i) {
    if (data_.Contains(value)) break;
    Weight weight{.value = value, .dims = {}};
    const NodeId from = model_.Producer(value);
    if (const Initializer* const tensor = model_.InitializerOf(value)) {
      const auto dims = model_.Dims(*tensor);
      weight.dims.assign(dims.begin(), dims.end());
    } else if (from != kNo<NodeId> && ops_.Is(from, OpKind::kConstant)) {
      const auto attribute = FindAttribute(model_.NodeBytes(from), "value");
      if (attribute) weight.dims = ReadTensorType(attribute->tensor).dims;
    } else if (from != kNo<NodeId> && ops_.Is(from, kCarriers)) {
      transposes += ops_.Is(from, OpKind::kTranspose) ? 1 : 0;
      value = FirstInput(model_, from);
      continue;
    }
    if (weight.dims.empty()) break;
    if (transposes % 2 != 0) {
      std::reverse(weight.dims.begin(), weight.dims.end());
    }
    return weight;
  }
  return {};
}

Weight Weights::Of(NodeId node, std::size_t rank) const {
  for (const ValueId input : model_.Inputs(node)) {
    if (input == kNo<ValueId> || data_.Contains(input)) continue;
    Weight weight = Find(input);
    if (weight.dims.size() >= rank) return weight;
  }
  return {};
}

}  // namespace onnx_tag::structure
