#include "mapping/placing/scene.h"

#include <algorithm>
#include <bit>
#include <string_view>

#include "base/lists.h"
#include "core/graph/neighbours.h"
#include "core/graph/order.h"
#include "core/graph/walk.h"
#include "core/hierarchy/name_parts.h"
#include "core/hierarchy/roll_up.h"
#include "file/model/attributes.h"
#include "file/model/field_kinds.h"
#include "file/model/onnx_fields.h"
#include "mapping/placing/words.h"

namespace onnx_tag::placing {
namespace {

constexpr ModuleId kRoot = ModuleTree::kRoot;
// Of a list of makers or readers, so that a node with 10^5 of them costs no
// more than another.
constexpr std::size_t kMostNeighbours = 32;
constexpr std::size_t kMostNearest = 6;
constexpr std::size_t kMostMembers = 40;
constexpr std::size_t kMostCandidates = 64;
constexpr std::uint32_t kFar = 99;

std::uint8_t AtMost(std::size_t count, std::size_t most) {
  return static_cast<std::uint8_t>(std::min(count, most));
}

// Eight times the binary logarithm of n + 1, straight between powers of two.
std::int16_t LogOf(std::uint64_t n) {
  const std::uint64_t above = n + 1;
  const int power = static_cast<int>(std::bit_width(above)) - 1;
  return static_cast<std::int16_t>(8 * power - 8 +
                                   static_cast<int>((above * 8) >> power));
}

// What the network knows of attributes: which axes, not which sizes.
std::uint16_t AttributeOf(const Model& model, NodeId node) {
  constexpr std::string_view kTold[] = {"perm", "axis",  "axes",  "keepdims",
                                        "to",   "group", "transB"};
  constexpr std::size_t kMostNumbers = 8;
  if (model.bytes().empty()) return 0;
  std::uint32_t all = 0;  // a sum: tools sort attributes
  model::ForEach(model.NodeBytes(node), onnx::NodeProto::kAttribute,
                 [&](const wire::Field& field) {
                   const std::string_view name =
                       model::LastOf(field.bytes, onnx::AttributeProto::kName);
                   if (!IsAmong(name, kTold)) return;
                   const Attribute attribute = ReadAttribute(field.bytes);
                   if (attribute.numbers.size() > kMostNumbers) return;
                   std::uint32_t hash = HashWord(name);
                   if (attribute.number)
                     hash = HashNumber(*attribute.number, hash);
                   for (const std::int64_t number : attribute.numbers) {
                     hash = HashNumber(number, hash);
                   }
                   all += hash;
                 });
  return static_cast<std::uint16_t>(all == 0 ? 0 : 1 + all % (kAttributes - 1));
}

bool IsConstantNode(const Evidence& evidence, NodeId node) {
  const auto outputs = evidence.model.Outputs(node);
  return !outputs.empty() && AllIn(outputs, [&](ValueId value) {
    return value == kNo<ValueId> || evidence.graph.data.IsConstant(value);
  });
}

}  // namespace

IdVector<NodeId, ModuleId> FindAnchors(const Evidence& evidence,
                                       const IdVector<NodeId, Tag>& placed) {
  const Model& model = evidence.model;
  IdVector<NodeId, ModuleId> anchors(model.node_count(), kNo<ModuleId>);
  // Of a constant node: what its parameters say.
  IdVector<NodeId, ModuleId> read(model.node_count(), kNo<ModuleId>);
  for (const NodeId node : ExecutionOrder(model)) {
    const Tag& tag = placed[node];
    ModuleId module = kNo<ModuleId>;
    for (const ValueId input : model.Inputs(node)) {
      const ParameterId id = evidence.ParameterOf(input);
      const NodeId maker = ProducerOf(model, input);
      if (id != kNo<ParameterId>) {
        const ModuleId owner = evidence.parameters[id].module;
        // A name without dots may be of a tool's making.
        if (owner != kRoot) module = evidence.modules.Join(module, owner);
      } else if (maker != kNo<NodeId>) {
        module = evidence.modules.Join(module, read[maker]);
      }
    }
    if (IsConstantNode(evidence, node)) read[node] = module;
    const bool is_sure = tag.tagged() && tag.confidence >= Confidence::kMedium;
    anchors[node] = is_sure ? tag.module : module;
  }
  return anchors;
}

Scene::Scene(const Evidence& evidence,
             const IdVector<NodeId, ModuleId>& anchors)
    : evidence_(evidence),
      model_(evidence.model),
      tree_(evidence.modules),
      position_(evidence.model.node_count(), kNowhere) {
  const std::vector<NodeId> order = RunningOrder();
  Cast(order, anchors);
  Link();
  LetFollow(order);
  has_open_ = AnyIn(actors_, [](const Actor& actor) {
    return actor.anchor == kNo<ModuleId>;
  });
  if (!has_open_) return;
  DescribeModules();
  ModuleId last = kNo<ModuleId>;
  for (Position at = 0; at < size(); ++at) Describe(at, last);
  FindNeighbours();
}

// Main graph first; the nodes of a body stand before the first node that has
// it.
std::vector<NodeId> Scene::RunningOrder() const {
  struct Open {
    std::vector<NodeId> nodes;
    std::size_t next = 0;
  };
  std::vector<NodeId> order;
  order.reserve(model_.node_count());
  IdVector<GraphId, bool> seen(model_.graph_count(), false);
  std::vector<Open> open;
  const auto enter = [&](GraphId graph) {
    if (graph == kNo<GraphId> || seen[graph]) return false;
    seen[graph] = true;
    open.push_back({graph == GraphId{0} ? ExecutionOrder(model_, graph)
                                        : model_[graph].nodes});
    return true;
  };
  for (const GraphId graph : model_.Graphs()) {
    enter(graph);
    while (!open.empty()) {
      Open& inner = open.back();
      if (inner.next == inner.nodes.size()) {
        open.pop_back();
        continue;
      }
      const NodeId node = inner.nodes[inner.next];
      if (AnyIn(model_.Subgraphs(node), enter) ||
          enter(evidence_.graph.calls.BodyOf(model_, node))) {
        continue;
      }
      order.push_back(node);
      ++inner.next;
    }
  }
  return order;
}

bool Scene::IsConstant(NodeId node) const {
  return IsConstantNode(evidence_, node);
}

void Scene::Cast(const std::vector<NodeId>& order,
                 const IdVector<NodeId, ModuleId>& anchors) {
  for (const NodeId node : order) {
    if (IsConstant(node) || evidence_.graph.links.IsTransparent(node)) continue;
    position_[node] = static_cast<Position>(actors_.size());
    actors_.emplace_back();
    actors_.back().node = node;
    actors_.back().anchor = anchors[node];
  }
}

void Scene::Link() {
  const Links& links = evidence_.graph.links;
  std::vector<std::uint32_t> count(size() + 1, 0);
  const auto add = [&](Position at, ValueId value) {
    const NodeId maker = ProducerOf(model_, links.Source(value));
    const Position from = maker == kNo<NodeId> ? kNowhere : position_[maker];
    if (from == kNowhere || from >= at) return;
    makers_.push_back(from);
    ++count[from];
  };
  for (Position at = 0; at < size(); ++at) {
    first_maker_.push_back(static_cast<std::uint32_t>(makers_.size()));
    const NodeId node = actors_[at].node;
    for (const ValueId value : model_.Inputs(node)) {
      if (value != kNo<ValueId>) add(at, value);
    }
    for (const GraphId graph : model_.Subgraphs(node)) {
      for (const ValueId value : model_[graph].outputs) {
        if (value != kNo<ValueId>) add(at, value);
      }
    }
  }
  first_maker_.push_back(static_cast<std::uint32_t>(makers_.size()));
  first_reader_.resize(size() + 1, 0);
  for (Position at = 0; at < size(); ++at) {
    first_reader_[at + 1] = first_reader_[at] + count[at];
  }
  readers_.resize(makers_.size());
  std::vector<std::uint32_t> next(first_reader_);
  for (Position at = 0; at < size(); ++at) {
    for (const Position maker : Makers(at)) readers_[next[maker]++] = at;
  }
}

void Scene::LetFollow(const std::vector<NodeId>& order) {
  IdVector<NodeId, std::uint32_t> rank(model_.node_count(), kNowhere);
  for (std::size_t i = 0; i < order.size(); ++i) {
    rank[order[i]] = static_cast<std::uint32_t>(i);
  }
  IdVector<NodeId, Position> follows(model_.node_count(), kNowhere);
  for (std::size_t i = order.size(); i-- > 0;) {
    const NodeId node = order[i];
    if (position_[node] != kNowhere) continue;
    if (evidence_.graph.links.IsTransparent(node)) {
      const NodeId maker = ProducerOf(
          model_, evidence_.graph.links.Source(FirstOutput(model_, node)));
      if (maker != kNo<NodeId> && position_[maker] != kNowhere) {
        follows[node] = position_[maker];
        followers_.emplace_back(node, follows[node]);
        continue;
      }
    }
    std::uint32_t first = kNowhere;
    std::size_t left = kMostNeighbours;
    for (const NodeId reader : onnx_tag::Readers(model_, node)) {
      if (left-- == 0) break;
      if (rank[reader] > i) first = std::min(first, rank[reader]);
    }
    if (first != kNowhere) {
      const NodeId reader = order[first];
      follows[node] =
          position_[reader] == kNowhere ? follows[reader] : position_[reader];
    }
    followers_.emplace_back(node, follows[node]);
  }
  std::sort(followers_.begin(), followers_.end());
}

std::uint8_t Scene::KindOfComposite(NodeId node) const {
  const Composites::Composite* const composite =
      evidence_.graph.composites().Of(node);
  return composite == nullptr
             ? std::uint8_t{0}
             : static_cast<std::uint8_t>(1 + static_cast<int>(composite->kind));
}

// `last`: the module of the anchor before it.
void Scene::Describe(Position at, ModuleId& last) {
  Actor& actor = actors_[at];
  const NodeId node = actor.node;
  std::size_t weights = 0;
  std::size_t constants = 0;
  std::size_t left = kMostNeighbours;
  for (const ValueId value : model_.Inputs(node)) {
    if (left-- == 0) break;
    if (value == kNo<ValueId>) continue;
    const NodeId maker = ProducerOf(model_, value);
    if (maker != kNo<NodeId>) {
      if (IsConstant(maker)) ++constants;
    } else if (model_.InitializerOf(value) != nullptr) {
      ++weights;
    }
  }
  const auto outputs = model_.Outputs(node);
  const ValueInfo* const info =
      outputs.empty() ? nullptr : model_.InfoOf(outputs[0]);
  const bool is_output = AnyIn(outputs, [&](ValueId value) {
    return value != kNo<ValueId> && model_[value].is_output;
  });
  actor.counts = {
      AtMost(Makers(at).size(), 4),
      AtMost(Readers(at).size(), 6),
      AtMost(weights, 4),
      AtMost(constants, 4),
      AtMost(IsOpen(at) ? 0 : 1, 1),
      AtMost(info == nullptr || !info->has_shape ? 0 : 1 + info->rank, 8),
      AtMost(is_output ? 1 : 0, 1),
      KindOfComposite(node)};
  actor.attribute = AttributeOf(model_, node);
  if (IsOpen(at)) return;
  const ModuleId module = actor.anchor;
  const ModuleId parent =
      module == kRoot ? kNo<ModuleId> : tree_.Parent(module);
  SetWords(tree_.Atom(module), actor.words.data());
  SetWords(
      parent == kNo<ModuleId> || parent == kRoot ? "^" : tree_.Atom(parent),
      actor.words.data() + kWordsOfName);
  const std::size_t depth = tree_.Depth(module);
  actor.depths[0] = AtMost(depth, 12);
  if (last != kNo<ModuleId>) {
    const std::size_t common = tree_.Depth(Common(module, last));
    actor.depths[1] = AtMost(depth - common, 9);
    actor.depths[2] = AtMost(tree_.Depth(last) - common, 9);
  }
  actor.depths[3] = AtMost(hierarchy::IsNumeric(tree_.Atom(module)) ? 1 : 0, 1);
  last = module;
}

void Scene::DescribeModules() {
  const std::size_t count = tree_.size();
  spelled_ = IdVector<ModuleId, bool>(count, false);
  extent_ = IdVector<ModuleId, Extent>(count);
  members_ = IdVector<ModuleId, std::vector<Position>>(count);
  for (Position at = 0; at < size(); ++at) {
    const ModuleId module = actors_[at].anchor;
    if (module == kNo<ModuleId>) continue;
    Extent& extent = extent_[module];
    extent.first = std::min(extent.first, at);
    extent.last = at;
    anchored_modules_ += extent.own == 0 ? 1 : 0;
    ++extent.own;
    ++extent.inside;
    // A full module is full all the way up.
    for (ModuleId up = module;
         up != kNo<ModuleId> && members_[up].size() < kMostMembers;
         up = tree_.Parent(up)) {
      members_[up].push_back(at);
    }
  }
  RollUp(tree_, extent_, [](Extent& to, const Extent& from) {
    to.first = std::min(to.first, from.first);
    to.last = std::max(to.last, from.last);
    to.inside += from.inside;
  });
  for (std::size_t i = count; i-- > 0;) {
    const auto id = MakeId<ModuleId>(i);
    if (id == kRoot || extent_[id].inside > 0 || evidence_.HasParameterAt(id)) {
      spelled_[id] = true;
    }
    if (spelled_[id] && id != kRoot) spelled_[tree_.Parent(id)] = true;
  }
  children_ = IdVector<ModuleId, std::uint32_t>(count, 0);
  is_list_ = IdVector<ModuleId, bool>(count, true);
  // The number of modules below each, then each one's place in a walk.
  leave_ = IdVector<ModuleId, std::uint32_t>(count, 1);
  enter_ = IdVector<ModuleId, std::uint32_t>(count, 0);
  RollUp(tree_, leave_);
  IdVector<ModuleId, std::uint32_t> next(count, 1);
  for (std::size_t i = 1; i < count; ++i) {
    const auto id = MakeId<ModuleId>(i);
    const ModuleId parent = tree_.Parent(id);
    enter_[id] = next[parent];
    next[parent] += leave_[id];
    next[id] = enter_[id] + 1;
    if (!spelled_[id]) continue;
    ++children_[parent];
    is_list_[parent] = is_list_[parent] && hierarchy::IsNumeric(tree_.Atom(id));
  }
  for (std::size_t i = 0; i < count; ++i) {
    const auto id = MakeId<ModuleId>(i);
    leave_[id] += enter_[id];
    is_list_[id] = is_list_[id] && children_[id] > 0;
  }
}

template <typename Neighbours>
void Scene::FindNearest(Position at, const Neighbours& neighbours,
                        Nearest& nearest) {
  std::vector<Near> found;
  const auto add = [&](ModuleId module, std::uint32_t distance) {
    for (Near& near : found) {
      if (near.module != module) continue;
      near.distance = std::min(near.distance, distance);
      return;
    }
    found.push_back({module, distance});
  };
  std::size_t left = kMostNeighbours;
  for (const Position other : neighbours) {
    if (left-- == 0) break;
    if (!IsOpen(other)) {
      add(actors_[other].anchor, 1);
      continue;
    }
    const auto [first, count] = nearest.of[other];
    for (std::uint32_t i = first; i < first + count; ++i) {
      add(nearest.all[i].module, std::min(nearest.all[i].distance + 1, kFar));
    }
  }
  if (found.size() > kMostNearest) {
    SortBy(found, &Near::distance);
    found.resize(kMostNearest);
  }
  nearest.of[at] = {static_cast<std::uint32_t>(nearest.all.size()),
                    static_cast<std::uint32_t>(found.size())};
  nearest.all.insert(nearest.all.end(), found.begin(), found.end());
}

void Scene::FindNeighbours() {
  before_.resize(size(), kNowhere);
  after_.resize(size(), kNowhere);
  up_.of.resize(size());
  down_.of.resize(size());
  Position last = kNowhere;
  for (Position at = 0; at < size(); ++at) {
    before_[at] = last;
    if (!IsOpen(at)) {
      last = at;
    } else {
      FindNearest(at, Makers(at), up_);
    }
  }
  last = kNowhere;
  for (Position at = static_cast<Position>(size()); at-- > 0;) {
    after_[at] = last;
    if (!IsOpen(at)) {
      last = at;
    } else {
      FindNearest(at, Readers(at), down_);
    }
  }
}

std::vector<ModuleId> Scene::Modules(const Nearest& nearest,
                                     Position at) const {
  std::vector<ModuleId> modules;
  for (const Near& near : Part(nearest, at)) modules.push_back(near.module);
  return modules;
}

std::vector<ModuleId> Scene::CandidatesOf(Position at) const {
  std::vector<ModuleId> found = {kRoot};
  const auto add = [&](ModuleId module) {
    for (; module != kRoot && !IsAmong(module, found) &&
           found.size() < kMostCandidates;
         module = tree_.Parent(module)) {
      found.push_back(module);
    }
  };
  for (const Position near : {before_[at], after_[at]}) {
    if (near != kNowhere) add(actors_[near].anchor);
  }
  for (const Nearest* const nearest : {&up_, &down_}) {
    for (const Near& near : Part(*nearest, at)) add(near.module);
  }
  // What a map has and nothing spells.
  if (evidence_.known.map != nullptr) {
    for (std::size_t i = 0, count = found.size(); i < count; ++i) {
      for (const ModuleId child : tree_.Children(found[i])) {
        if (found.size() == kMostCandidates) break;
        if (IsInMap(child) && !spelled_[child]) found.push_back(child);
      }
    }
  }
  SortUnique(found);
  return found;
}

void Scene::FindCandidates(Position at,
                           std::vector<Candidate>& candidates) const {
  constexpr int kNoDepth = 9;
  constexpr int kNoDistance = 20;
  constexpr int kMostDepths = 20;
  constexpr int kMostSteps = 60;
  constexpr int kParts = 60;  // what 1 to 6 divide
  const auto up = Part(up_, at);
  const auto down = Part(down_, at);
  const ModuleId before =
      before_[at] == kNowhere ? kNo<ModuleId> : actors_[before_[at]].anchor;
  const ModuleId after =
      after_[at] == kNowhere ? kNo<ModuleId> : actors_[after_[at]].anchor;
  const int steps_before =
      static_cast<int>(before_[at] == kNowhere ? at + 1 : at - before_[at]);
  const int steps_after = static_cast<int>(
      (after_[at] == kNowhere ? static_cast<Position>(size()) : after_[at]) -
      at);
  const auto common = [&](std::initializer_list<std::span<const Near>> lists) {
    ModuleId all = kNo<ModuleId>;
    for (const auto& list : lists) {
      for (const Near& near : list) all = tree_.Join(all, near.module);
    }
    return all;
  };
  const auto or_root = [](ModuleId id) {
    return id == kNo<ModuleId> ? kRoot : id;
  };
  const ModuleId above = common({up});
  const ModuleId below = common({down});
  const ModuleId both = or_root(common({up, down}));
  const ModuleId around = or_root(tree_.Join(before, after));
  std::vector<ModuleId> direct[2];  // of readers, of makers
  for (const int side : {0, 1}) {
    std::size_t left = kMostNeighbours;
    for (const Position other : side == 0 ? Readers(at) : Makers(at)) {
      if (left-- == 0) break;
      if (!IsOpen(other)) direct[side].push_back(actors_[other].anchor);
    }
    SortUnique(direct[side]);
  }
  std::vector<ModuleId> together;  // in its composite
  if (const auto* const composite =
          evidence_.graph.composites().Of(actors_[at].node)) {
    for (const NodeId node : evidence_.graph.composites().Nodes(*composite)) {
      const Position other = position_[node];
      if (other != kNowhere && !IsOpen(other)) {
        together.push_back(actors_[other].anchor);
      }
    }
  }
  const auto least = [&](std::span<const Near> list, const auto& is) {
    int distance = kNoDistance;
    for (const Near& near : list) {
      if (is(near.module)) {
        distance = std::min(distance, static_cast<int>(near.distance));
      }
    }
    return distance;
  };
  const auto any = [](ModuleId) { return true; };
  const std::vector<ModuleId> modules = CandidatesOf(at);
  candidates.clear();
  candidates.reserve(modules.size());
  for (const ModuleId module : modules) {
    const auto inside = [&](ModuleId other) {
      return other != kNo<ModuleId> && IsInside(other, module);
    };
    const auto part_inside = [&](std::span<const Near> list) {
      const auto count =
          CountIn(list, [&](const Near& near) { return inside(near.module); });
      return list.empty() ? -kParts
                          : kParts * static_cast<int>(count) /
                                static_cast<int>(list.size());
    };
    const int depth = static_cast<int>(tree_.Depth(module));
    const auto deeper = [&](ModuleId than) {
      return std::clamp(depth - static_cast<int>(tree_.Depth(than)),
                        -kMostDepths, kMostDepths);
    };
    const auto deeper_or = [&](ModuleId than) {
      return than == kNo<ModuleId> ? kNoDepth : deeper(than);
    };
    const auto higher_or = [&](ModuleId than) {
      return than == kNo<ModuleId> ? kNoDepth : -deeper(than);
    };
    const Extent& extent = extent_[module];
    const bool runs = extent.inside > 0;
    const auto steps = [&](Position from, Position to) {
      return std::clamp(static_cast<int>(to) - static_cast<int>(from),
                        -kMostSteps, kMostSteps);
    };
    const auto is_near = [&](std::span<const Near> list) {
      return AnyIn(list,
                   [&](const Near& near) { return near.module == module; });
    };
    const int features[] = {
        depth,
        deeper(both),
        deeper(around),
        deeper_or(above),
        deeper_or(below),
        part_inside(up),
        part_inside(down),
        static_cast<int>(up.size()),
        static_cast<int>(down.size()),
        least(up, any),
        least(down, any),
        least(up, inside),
        least(down, inside),
        inside(before) ? std::min(steps_before, 30) : 40,
        inside(after) ? std::min(steps_after, 30) : 40,
        std::min(steps_before, 30),
        std::min(steps_after, 30),
        before == module ? 1 : 0,
        after == module ? 1 : 0,
        higher_or(before),
        higher_or(after),
        runs && extent.first < at && at < extent.last ? 1 : 0,
        runs ? steps(extent.first, at) : static_cast<int>(kFar),
        runs ? steps(at, extent.last) : static_cast<int>(kFar),
        LogOf(extent.inside),
        LogOf(extent.own),
        LogOf(children_[module]),
        hierarchy::IsNumeric(tree_.Atom(module)) ? 1 : 0,
        is_list_[module] ? 1 : 0,
        AnyIn(direct[0], inside) ? 1 : 0,
        AnyIn(direct[1], inside) ? 1 : 0,
        module == both ? 1 : 0,
        module == around ? 1 : 0,
        static_cast<int>(modules.size()),
        extent.own > 0 && extent.own == extent.inside ? 1 : 0,
        is_near(up) ? 1 : 0,
        is_near(down) ? 1 : 0,
        spelled_[module] ? 1 : 0,
        AnyIn(together, inside) ? 1 : 0,
        IsAmong(module, together) ? 1 : 0,
    };
    static_assert(std::size(features) == kFeatures);
    Candidate& candidate = candidates.emplace_back();
    candidate.module = module;
    std::copy(std::begin(features), std::end(features),
              candidate.features.begin());
    // Its own name, that of its child towards both sides, that of its parent.
    const auto child_towards = [&](ModuleId other) -> std::string_view {
      if (!inside(other) || other == module) return "-";
      while (tree_.Parent(other) != module) other = tree_.Parent(other);
      return tree_.Atom(other);
    };
    std::uint16_t* words = candidate.words.data();
    SetWords(module == kRoot ? "^" : tree_.Atom(module), words);
    SetWords(child_towards(before), words += kWordsOfName);
    SetWords(child_towards(after), words += kWordsOfName);
    SetWords(depth < 2 ? "^" : tree_.Atom(tree_.Parent(module)),
             words += kWordsOfName);
  }
}

}  // namespace onnx_tag::placing
