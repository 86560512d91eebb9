#include "clues/structure/atoms.h"

#include <algorithm>
#include <queue>
#include <tuple>

#include "base/jaccard.h"
#include "core/graph/neighbours.h"
#include "file/model/attributes.h"
#include "file/model/tensor_data.h"

namespace onnx_tag::structure {
namespace {

bool IsMove(Op op) {
  return Describe(op).kinds.HasAnyOf(kMoves) || op == Op::kGather ||
         op == Op::kPad;
}

}  // namespace

Atoms::Atoms(const ModelParts& parts, GraphId graph)
    : parts_(parts), model_(parts.graph().model) {
  const std::vector<NodeId>& nodes = model_[graph].nodes;
  Number(nodes);
  Connect(nodes, graph);
  for (std::uint32_t i = 0; i < size(); ++i) SetKind(i);
  FindDepth();
  FindSide();
  Sort();
  for (std::uint32_t i = 0; i < size(); ++i) {
    if (AddsToQueries(i)) atoms_[i].kind = AtomKind::kJoin;
  }
  Measure();
}

bool Atoms::CarriesData(NodeId node) const {
  const GraphFacts& graph = parts_.graph();
  return !graph.ops.Is(node, {OpKind::kConstant, OpKind::kShapeOf}) &&
         graph.ops[node] != Op::kConstantOfShape && graph.data.IsMadeBy(node);
}

// The node whose value an Identity or the like hands on, or kNo. Forward
// references have no node: such files are not sorted.
NodeId Atoms::AliasOf(NodeId node) const {
  if (!parts_.graph().ops.Is(node, kAliases)) return kNo<NodeId>;
  const NodeId from = ProducerOf(model_, FirstInput(model_, node));
  return from != kNo<NodeId> && from < node &&
                 model_[from].graph == model_[node].graph && CarriesData(from)
             ? from
             : kNo<NodeId>;
}

// Atoms are numbered by their last nodes.
void Atoms::Number(const std::vector<NodeId>& nodes) {
  atom_of_.assign(nodes.size(), kNone);
  is_side_.assign(nodes.size(), false);
  std::unordered_map<std::uint32_t, std::uint32_t> atom_of_group;
  for (std::size_t i = nodes.size(); i-- > 0;) {
    const NodeId node = nodes[i];
    if (!CarriesData(node) || AliasOf(node) != kNo<NodeId>) continue;
    const std::uint32_t group = parts_.GroupOf(node);
    std::uint32_t number = size();
    if (group != kNone) {
      number = atom_of_group.emplace(group, number).first->second;
    }
    if (number == size()) {
      Atom& atom = atoms_.emplace_back();
      atom.last = node;
      atom.core = group == kNone ? node : parts_[group].main;
    }
    atoms_[number].first = node;
    ++atoms_[number].nodes;
    atom_of_[i] = number;
  }
  std::reverse(atoms_.begin(), atoms_.end());
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    if (atom_of_[i] != kNone) {
      atom_of_[i] = size() - 1 - atom_of_[i];
    } else if (CarriesData(nodes[i])) {
      atom_of_[i] = Of(AliasOf(nodes[i]));
    }
  }
}

void Atoms::Connect(const std::vector<NodeId>& nodes, GraphId graph) {
  Edges::Pairs reads;  // the reader first
  const auto connect = [&](NodeId from, NodeId to) {
    if (from == kNo<NodeId> || from >= to || model_[from].graph != graph ||
        Of(from) == kNone || Of(to) == kNone || Of(from) == Of(to)) {
      return;
    }
    reads.push_back({Of(to), Of(from)});
  };
  for (const NodeId node : nodes) {
    if (AliasOf(node) != kNo<NodeId>) continue;
    for (const ValueId input : model_.Inputs(node)) {
      connect(ProducerOf(model_, input), node);
    }
  }
  for (const ModelParts::OuterRead& read : parts_.OuterReads(graph)) {
    connect(read.from, read.to);
  }
  // Each once.
  const Edges all(size(), reads);
  std::vector<std::uint32_t> reader(size(), kNone);
  reads.clear();
  Edges::Pairs readers;
  for (std::uint32_t i = 0; i < size(); ++i) {
    for (const std::uint32_t from : all[i]) {
      if (std::exchange(reader[from], i) == i) continue;
      reads.push_back({i, from});
      readers.push_back({from, i});
    }
  }
  ins_ = Edges(size(), reads);
  outs_ = Edges(size(), readers);
}

// Tokens: kinds first, then operators, then unknown operators.
void Atoms::SetKind(std::uint32_t i) {
  constexpr Token kFirstOperator = 64;
  constexpr Token kUnknownOperator = 1u << 20;
  Atom& atom = atoms_[i];
  atom.kind = KindOf(i);
  const Op op = OpOf(atom.core);
  if (atom.nodes > 1 || IsHeavy(atom.kind)) {
    atom.token = 1 + static_cast<Token>(atom.kind);
  } else if (op == Op::kNone) {
    atom.token = kUnknownOperator +
                 static_cast<Token>(Index(model_[atom.core].op_type) % 65536);
  } else if (!IsMove(op)) {
    atom.token = kFirstOperator + static_cast<Token>(op);
  }
}

AtomKind Atoms::KindOf(std::uint32_t i) const {
  const NodeId core = atoms_[i].core;
  const std::uint32_t group = parts_.GroupOf(core);
  if (group != kNone && parts_[group].kind != AtomKind::kOther) {
    return parts_[group].kind;
  }
  const Op op = OpOf(core);
  const std::size_t operands = ins_[i].size();
  if (Is(i, OpKind::kTransposed)) return AtomKind::kDeconv;
  if (Is(i, OpKind::kConvolution)) {
    const std::vector<std::int64_t> dims = WeightAt(core, 3).dims;
    const std::int64_t groups =
        IntAttribute(model_.NodeBytes(core), "group", 1);
    if (dims.empty()) return AtomKind::kConv;
    if (groups > 1 && groups == dims[0]) return AtomKind::kDepthwise;
    return std::all_of(dims.begin() + 2, dims.end(),
                       [](std::int64_t d) { return d == 1; })
               ? AtomKind::kPointwise
               : AtomKind::kConv;
  }
  if (Is(i, OpKind::kRecurrent)) return AtomKind::kRecurrent;
  if (Is(i, OpKind::kAttention)) return AtomKind::kAttention;
  if (Is(i, OpKind::kProduct)) {
    return operands < 2 &&
                   parts_.graph().links.ConstantOperand(core) != kNo<ValueId>
               ? AtomKind::kLinear
               : AtomKind::kMatMul;
  }
  if (parts_.IsHeavy(core)) return AtomKind::kCall;
  if (Is(i, OpKind::kNorm)) return AtomKind::kNorm;
  if (Is(i, OpKind::kActivation)) return AtomKind::kActivation;
  if (Is(i, {OpKind::kPool, OpKind::kResample})) return AtomKind::kPool;
  if (op == Op::kSoftmax) return AtomKind::kSoftmax;
  if (Is(i, {OpKind::kSum, OpKind::kConcat}) && operands > 1) {
    return AtomKind::kJoin;
  }
  if (op == Op::kGather &&
      FindWeight(model_.Inputs(core)[0]).dims.size() == 2) {
    return AtomKind::kEmbedding;
  }
  return IsMove(op) ? AtomKind::kNeutral : AtomKind::kOther;
}

Op Atoms::OpOf(NodeId node) const {
  const Op op = parts_.graph().ops[node];
  const Op like = Describe(op).like;
  return like == Op::kNone ? op : like;
}

void Atoms::FindDepth() {
  depth_.assign(size(), 0);
  for (std::uint32_t i = 0; i < size(); ++i) {
    for (const std::uint32_t from : ins_[i]) {
      depth_[i] = std::max(depth_[i], depth_[from]);
    }
    depth_[i] += IsHeavyAt(i) ? 1u : 0u;
  }
}

// Values that no heavy operator made and that only meet values which are
// deeper, at several depths.
void Atoms::FindSide() {
  struct Meets {
    std::uint32_t first = kNone;
    std::uint32_t last = 0;
    bool only = false;
  };
  std::vector<Meets> meets(size());
  side_.assign(size(), false);
  for (std::uint32_t i = size(); i-- > 0;) {
    if (depth_[i] > 0) continue;
    Meets& mine = meets[i];
    mine.only = !outs_[i].empty();
    for (const std::uint32_t r : outs_[i]) {
      const bool is_lesser = depth_[r] > (IsHeavyAt(r) ? 1u : 0u);
      if (is_lesser) {
        mine.first = std::min(mine.first, depth_[r]);
        mine.last = std::max(mine.last, depth_[r]);
      } else if (depth_[r] == 0 && meets[r].only) {
        mine.first = std::min(mine.first, meets[r].first);
        mine.last = std::max(mine.last, meets[r].last);
      } else {
        mine.only = false;
        break;
      }
    }
    side_[i] = mine.only && mine.last - mine.first >= 2;
  }
}

void Atoms::Sort() {
  std::vector<std::uint32_t> open(size(), 0);
  for (std::uint32_t i = 0; i < size(); ++i) {
    if (side_[i]) continue;
    for (const std::uint32_t from : ins_[i]) ++open[from];
  }
  // Later is better; then the last operand.
  using Key = std::tuple<std::uint32_t, std::uint32_t, std::uint32_t>;
  std::priority_queue<Key> ready;
  for (std::uint32_t i = 0; i < size(); ++i) {
    if (!side_[i] && open[i] == 0) ready.push({0, i, i});
  }
  std::vector<Key> key(size());
  std::vector<bool> met(size());
  std::vector<std::uint32_t> order;
  while (!ready.empty()) {
    const std::uint32_t i = std::get<2>(ready.top());
    ready.pop();
    order.push_back(i);
    const auto now = static_cast<std::uint32_t>(order.size());
    std::uint32_t operand = 0;
    for (const std::uint32_t from : ins_[i]) {
      if (side_[from]) continue;
      if (!met[from]) {
        met[from] = true;
        key[from] = {now, operand, from};
      }
      ++operand;
      if (--open[from] == 0) ready.push(key[from]);
    }
  }
  std::reverse(order.begin(), order.end());

  std::vector<std::uint32_t> position(size(), kNone);
  std::vector<Atom> sorted;
  for (const std::uint32_t i : order) {
    position[i] = static_cast<std::uint32_t>(sorted.size());
    sorted.push_back(atoms_[i]);
  }
  Edges::Pairs reads;
  Edges::Pairs readers;
  for (const std::uint32_t i : order) {
    for (const std::uint32_t from : ins_[i]) {
      if (position[from] == kNone) continue;
      reads.push_back({position[i], position[from]});
      readers.push_back({position[from], position[i]});
    }
  }
  for (std::size_t i = 0; i < atom_of_.size(); ++i) {
    if (atom_of_[i] == kNone) continue;
    is_side_[i] = side_[atom_of_[i]];
    atom_of_[i] = position[atom_of_[i]];
  }
  atoms_ = std::move(sorted);
  ins_ = Edges(size(), reads);
  outs_ = Edges(size(), readers);
  FindDepth();
}

// The sum that ends an attention whose queries are learned: it adds to a
// constant that is no bias.
bool Atoms::AddsToQueries(std::uint32_t sum) const {
  if (Kind(sum) != AtomKind::kOther || FirstOp(sum) != Op::kAdd ||
      ins_[sum].size() != 1 || WeightAt(Core(sum), 1).dims.size() == 1) {
    return false;
  }
  const std::uint32_t before = ins_[sum][0];
  return Kind(before) == AtomKind::kLinear ||
         Is(before, {OpKind::kReshape, OpKind::kTranspose});
}

void Atoms::Measure() {
  heavies_.assign(size() + 1, 0);
  nodes_.assign(size() + 1, 0);
  for (std::uint32_t i = 0; i < size(); ++i) {
    Atom& atom = atoms_[i];
    const bool heavy = IsHeavy(atom.kind);
    heavies_[i + 1] = heavies_[i] + (heavy ? 1u : 0u);
    nodes_[i + 1] = nodes_[i] + atom.nodes;
    const Bytes bytes = model_.NodeBytes(atom.core);
    const Op op = OpOf(atom.core);
    if (Is(i, {OpKind::kResample, OpKind::kTransposed}) ||
        op == Op::kDepthToSpace) {
      atom.scale = 1;
    } else if (Is(i, {OpKind::kConvolution, OpKind::kPool})) {
      const auto strides = FindAttribute(bytes, "strides");
      if (strides &&
          std::any_of(strides->numbers.begin(), strides->numbers.end(),
                      [](std::int64_t s) { return s > 1; })) {
        atom.scale = -1;
      }
    }
    if (!heavy) continue;
    const bool conv = IsConv(atom.kind);
    const Weight weight = WeightAt(atom.core, conv ? 3 : 2);
    atom.weight = weight.value;
    if (weight.dims.empty()) continue;
    if (conv) {
      atom.kernel_rank = static_cast<std::uint8_t>(
          std::min<std::size_t>(weight.dims.size() - 2, 8));
      atom.width = weight.dims[atom.kind == AtomKind::kDeconv ? 1 : 0];
    } else if (atom.kind == AtomKind::kLinear) {
      const bool rows =
          op == Op::kGemm && IntAttribute(bytes, "transB", 0) != 0;
      atom.width = rows ? weight.dims.front() : weight.dims.back();
    }
  }
}

std::uint32_t Atoms::Series(Range range) const {
  const auto [least, most] = std::minmax_element(
      depth_.begin() + range.first, depth_.begin() + range.last + 1);
  return std::min(Heavies(range), *most - *least + 1);
}

std::vector<ValueId> Atoms::WeightsIn(Range range) const {
  std::vector<ValueId> weights;
  for (std::uint32_t i = range.first; i <= range.last; ++i) {
    if (atoms_[i].weight != kNo<ValueId>) weights.push_back(atoms_[i].weight);
  }
  return weights;
}

bool Atoms::ReadsBefore(Range range) const {
  for (std::uint32_t i = range.first; i <= range.last; ++i) {
    for (const std::uint32_t from : ins_[i]) {
      if (from < range.first && depth_[from] > 0) return true;
    }
  }
  return false;
}

Atoms::Weight Atoms::FindWeight(ValueId value) const {
  const Links& links = parts_.graph().links;
  const NodeId from = ProducerOf(model_, value);
  Weight weight{.value = value, .dims = {}};
  if (parts_.graph().ops.Is(from, OpKind::kConstant)) {
    const auto attribute = FindAttribute(model_.NodeBytes(from), "value");
    if (attribute) weight.dims = ReadTensorType(attribute->tensor).dims;
  } else {
    weight.value = links.WeightOf(value);
    const auto dims = links.ShapeOf(value).dims;
    weight.dims.assign(dims.begin(), dims.end());
  }
  return weight;
}

// The first weight of `rank` or more that the node reads.
Atoms::Weight Atoms::WeightAt(NodeId node, std::size_t rank) const {
  for (const ValueId input : model_.Inputs(node)) {
    Weight weight = FindWeight(input);
    if (weight.dims.size() >= rank) return weight;
  }
  return {};
}

std::vector<Token> Atoms::Bag(Range range, bool once) const {
  std::vector<Token> tokens;
  for (std::uint32_t i = range.first; i <= range.last; ++i) {
    if (TokenOf(i) != 0) tokens.push_back(TokenOf(i));
  }
  std::sort(tokens.begin(), tokens.end());
  if (once) {
    tokens.erase(std::unique(tokens.begin(), tokens.end()), tokens.end());
  }
  return tokens;
}

std::uint32_t Classes::Add(std::uint64_t mark, std::vector<Token> bag,
                           double share) {
  constexpr std::size_t kMostCompared = 64;
  std::vector<Class>& classes = classes_[mark];
  auto found = static_cast<std::uint32_t>(counts_.size());
  for (const Class& other : classes) {
    if (other.first != bag && Jaccard(other.first, bag) < share) continue;
    found = other.id;
    break;
  }
  if (found == counts_.size()) {
    counts_.push_back(0);
    if (classes.size() < kMostCompared) {
      classes.push_back({std::move(bag), found});
    }
  }
  ++counts_[found];
  return found;
}

}  // namespace onnx_tag::structure
