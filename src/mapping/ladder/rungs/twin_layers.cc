// Where the layers of a list begin and end.
//
// Between the last named node of one layer and the first of the next lies what
// is the end of the one, the beginning of the other, or its caller's. The last
// layer of the list is followed by something else, and the first one preceded:
// what follows all of them is their end, what precedes all of them their
// beginning.
#include <algorithm>
#include <map>
#include <string>
#include <vector>

#include "core/hierarchy/name_parts.h"
#include "mapping/ladder/rungs/graph_patterns.h"
#include "mapping/ladder/rungs/layer_bounds.h"

namespace onnx_tag {
namespace {

constexpr std::size_t kNowhere = static_cast<std::size_t>(-1);

// A layer: from its first named node to its last, in the order of execution.
struct Layer {
  ModuleId module = kNo<ModuleId>;
  std::size_t first = kNowhere;
  std::size_t last = 0;
  std::size_t named = 0;
};

// Nodes without a name, from `begin` to before `end`.
struct Gap {
  std::size_t begin = 0;
  std::size_t end = 0;
  std::size_t size() const { return end - begin; }
};

class TwinLayers : BoundsFinder {
 public:
  explicit TwinLayers(const BoundsFinder& finder) : BoundsFinder(finder) {}

  void Run() {
    FindLayers();
    for (const auto& [kind, layers] : kinds_) {
      if (layers.size() > 1) BoundEnds(layers);
    }
  }

 private:
  void FindLayers() {
    place_.resize(model_.node_count(), kNowhere);
    std::vector<Layer> layers(tree_.size());
    named_before_.push_back(0);
    for (const NodeId node : bounds_.order.nodes) {
      if (!data_.IsMadeBy(node)) continue;
      const std::size_t place = nodes_.size();
      place_[node] = place;
      nodes_.push_back(node);
      named_before_.push_back(named_before_.back() + IsKnown(placed_[node]));
      if (!IsKnown(placed_[node])) continue;
      for (ModuleId at = placed_[node].module; at != ModuleId{0};
           at = tree_.Parent(at)) {
        if (!hierarchy::IsNumeric(tree_.Atom(at))) continue;
        Layer& layer = layers[Index(at)];
        layer.module = at;
        layer.first = std::min(layer.first, place);
        layer.last = place;
        ++layer.named;
      }
    }
    FindNeighbours();
    IdVector<ModuleId, bool> own(tree_.size(), false);  // has arithmetic
    for (const Parameter& parameter : evidence_.parameters) {
      if (parameter.uses > 0 && !IsPlainParameter(parameter.name)) {
        own[parameter.module] = true;
      }
    }
    for (const Layer& layer : layers) {
      // Run in one go, and more than one operation of a Sequential, where the
      // next is an activation without a name as likely as not.
      if (layer.named > 0 &&
          (!tree_.Children(layer.module).empty() || own[layer.module]) &&
          named_before_[layer.last + 1] - named_before_[layer.first] ==
              layer.named) {
        kinds_[KindOf(layer.module)].push_back(layer);
      }
    }
  }

  void FindNeighbours() {
    next_named_.assign(nodes_.size() + 1, nodes_.size());
    for (std::size_t i = nodes_.size(); i-- > 0;) {
      next_named_[i] = IsKnown(placed_[nodes_[i]]) ? i : next_named_[i + 1];
    }
    behind_named_.assign(nodes_.size() + 1, 0);
    for (std::size_t i = 0; i < nodes_.size(); ++i) {
      behind_named_[i + 1] =
          IsKnown(placed_[nodes_[i]]) ? i + 1 : behind_named_[i];
    }
  }

  // Equal for the layers of all lists of the same name. `stage1` and `stage2`
  // are two names here: their layers often end differently.
  std::string KindOf(ModuleId module) const {
    std::string kind;
    for (ModuleId at = module; at != ModuleId{0}; at = tree_.Parent(at)) {
      const std::string_view atom = tree_.Atom(at);
      kind.append(hierarchy::IsNumeric(atom) ? "*" : atom).push_back('.');
    }
    return kind;
  }

  Gap GapBehind(const Layer& layer) const {
    return {layer.last + 1, next_named_[layer.last + 1]};
  }
  Gap GapBefore(const Layer& layer) const {
    return {behind_named_[layer.first], layer.first};
  }

  void BoundEnds(const std::vector<Layer>& layers) {
    std::size_t ends = kNowhere;    // nodes that follow all of them
    std::size_t begins = kNowhere;  // and that precede them
    for (const Layer& layer : layers) {
      ends = CountAlike(GapBehind(layers[0]), GapBehind(layer), ends, true);
      begins =
          CountAlike(GapBefore(layers[0]), GapBefore(layer), begins, false);
    }
    // What one layer has for an end, all have.
    std::size_t end = kNowhere;
    std::size_t begin = kNowhere;
    for (const Layer& layer : layers) {
      const Gap gap = GapBehind(layer);
      if (!LeadsToTwin(layer, gap)) continue;
      // Where whole modules have lost their names, layers that are not alike
      // to the end tell nothing.
      if (ends < gap.size() && HasHiddenModule(gap)) return;
      const std::size_t split = Split(layer, gap, ends, begins);
      end = std::min(end, std::min(split, ends));
      begin = std::min(begin, std::min(gap.size() - split, begins));
    }
    if (end == kNowhere) return;
    for (const Layer& layer : layers) {
      const Gap behind = GapBehind(layer);
      const Gap before = GapBefore(layer);
      for (std::size_t i = 0; i < std::min(end, behind.size()); ++i) {
        bounds_.PutInside(tree_, nodes_[behind.begin + i], layer.module);
        bounds_.ends[nodes_[behind.begin + i]] = layer.module;
      }
      for (std::size_t i = 0; i < std::min(begin, before.size()); ++i) {
        const NodeId node = nodes_[before.end - 1 - i];
        if (IsPool(evidence_, node)) break;
        bounds_.PutInside(tree_, node, layer.module);
      }
    }
  }

  // Whether the next layer of the same list follows.
  bool LeadsToTwin(const Layer& layer, const Gap& gap) const {
    if (gap.end == nodes_.size()) return false;
    const ModuleId list = tree_.Parent(layer.module);
    const ModuleId next = placed_[nodes_[gap.end]].module;
    return next != list && tree_.IsAncestor(list, next) &&
           !tree_.IsAncestor(layer.module, next) && Feeds(layer, gap);
  }

  // Whether what the layer makes is used right behind the gap. A loop over a
  // list that collects results looks the same after every item, and no item
  // owns it.
  bool Feeds(const Layer& layer, const Gap& gap) const {
    std::vector<bool> of_layer(gap.size() + 1, false);
    for (std::size_t i = gap.begin; i <= gap.end; ++i) {
      for (const ValueId input : model_.Inputs(nodes_[i])) {
        const NodeId producer = ProducerOf(model_, input);
        if (producer == kNo<NodeId> || place_[producer] >= i) continue;
        const std::size_t made = place_[producer];
        if (made < gap.begin ? made >= layer.first
                             : of_layer[made - gap.begin]) {
          of_layer[i - gap.begin] = true;
        }
      }
    }
    return of_layer.back();
  }

  // How many nodes at the beginning (or end) of two gaps do the same.
  std::size_t CountAlike(const Gap& a, const Gap& b, std::size_t most,
                         bool from_begin) const {
    most = std::min(most, std::min(a.size(), b.size()));
    std::size_t count = 0;
    while (count < most) {
      const std::size_t i = from_begin ? a.begin + count : a.end - 1 - count;
      const std::size_t j = from_begin ? b.begin + count : b.end - 1 - count;
      if (!IsAlike(i, a, j, b)) break;
      ++count;
    }
    return count;
  }

  bool IsAlike(std::size_t i, const Gap& a, std::size_t j, const Gap& b) const {
    if (model_.OpType(nodes_[i]) != model_.OpType(nodes_[j])) return false;
    const auto left = model_.Inputs(nodes_[i]);
    const auto right = model_.Inputs(nodes_[j]);
    if (left.size() != right.size()) return false;
    for (std::size_t k = 0; k < left.size(); ++k) {
      if (Distance(left[k], i, a) != Distance(right[k], j, b)) return false;
    }
    return true;
  }

  // How far before `place` in the gap a value is made; 0: not in it, and -1:
  // it is a constant.
  std::ptrdiff_t Distance(ValueId value, std::size_t place,
                          const Gap& gap) const {
    if (!data_.Contains(value)) return -1;
    const NodeId producer = ProducerOf(model_, value);
    const std::size_t made =
        producer == kNo<NodeId> ? kNowhere : place_[producer];
    return made < gap.begin || made >= place
               ? 0
               : static_cast<std::ptrdiff_t>(place - made);
  }

  bool HasHiddenModule(const Gap& gap) const {
    for (std::size_t i = gap.begin; i < gap.end; ++i) {
      if (HasHiddenWeight(evidence_, nodes_[i])) return true;
    }
    return false;
  }

  // How much of a gap between two layers is the first one's.
  std::size_t Split(const Layer& layer, const Gap& gap, std::size_t ends,
                    std::size_t begins) const {
    std::size_t end = std::min(ends, gap.size());
    const std::size_t begin = std::min(begins, gap.size());
    // Norms begin with a Cast, behind the last layer, too.
    while (end > 0 && model_.OpType(nodes_[gap.begin + end - 1]) == "Cast") {
      --end;
    }
    end = std::min(end, BeforeNorm(gap, end));
    if (end + begin <= gap.size()) return end;
    // It could be either's: a layer ends where its result meets its input, or
    // with the activation behind that, or with what others read, too.
    std::size_t meets = 0;
    for (std::size_t i = 0; i < end; ++i) {
      const NodeId node = nodes_[gap.begin + i];
      if (MeetsOld(node, gap) || IsReadOutside(node, layer)) {
        meets = i + 1;
      } else if (meets == i && i > 0) {
        meets += SizeOfActivation(i, gap);
      }
    }
    return std::max(std::min(meets, end), gap.size() - begin);
  }

  // How much of the end is before a norm that follows the sum with the layer's
  // input: that norm begins what comes next.
  std::size_t BeforeNorm(const Gap& gap, std::size_t end) const {
    std::size_t meets = 0;
    for (std::size_t i = 0; i < end; ++i) {
      const NodeId node = nodes_[gap.begin + i];
      if (meets > 0 && model_.OpType(node).ends_with("Normalization")) {
        return meets;
      }
      if (MeetsOld(node, gap)) meets = i + 1;
    }
    return end;
  }

  // Whether a named node outside the list reads its result.
  bool IsReadOutside(NodeId node, const Layer& layer) const {
    const ModuleId list = tree_.Parent(layer.module);
    for (const ValueId output : model_.Outputs(node)) {
      if (output == kNo<ValueId>) continue;
      for (const NodeId reader : model_.Consumers(output)) {
        if (IsKnown(placed_[reader]) &&
            !tree_.IsAncestor(list, placed_[reader].module)) {
          return true;
        }
      }
    }
    return false;
  }

  // How many nodes the activation at this place of the gap has.
  std::size_t SizeOfActivation(std::size_t at, const Gap& gap) const {
    const NodeId node = nodes_[gap.begin + at];
    const Operators& ops = evidence_.graph.ops;
    if (ops[node] != Op::kSigmoid) {
      return ops.Is(node, OpKind::kActivation) ? 1 : 0;
    }
    // SiLU
    if (at + 1 >= gap.size()) return 0;
    const NodeId product = nodes_[gap.begin + at + 1];
    const auto factors = model_.Inputs(product);
    const bool silu = model_.OpType(product) == "Mul" &&
                      OnlyConsumer(model_, node) == product &&
                      std::find(factors.begin(), factors.end(),
                                FirstInput(model_, node)) != factors.end();
    return silu ? 2 : 0;
  }

  bool MeetsOld(NodeId node, const Gap& gap) const {
    std::size_t data = 0;
    bool old = false;
    for (const ValueId input : model_.Inputs(node)) {
      if (!data_.Contains(input)) continue;
      ++data;
      old = old || Distance(input, place_[node], gap) == 0;
    }
    return data > 1 && old;
  }

  std::vector<NodeId> nodes_;  // on data, in order
  IdVector<NodeId, std::size_t> place_;
  std::vector<std::size_t> named_before_;
  std::vector<std::size_t> next_named_;    // at a place or behind it
  std::vector<std::size_t> behind_named_;  // behind the last before a place
  std::map<std::string, std::vector<Layer>> kinds_;
};

}  // namespace

void BoundByTwins(const BoundsFinder& finder) { TwinLayers(finder).Run(); }

}  // namespace onnx_tag
