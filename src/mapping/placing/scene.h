// What the placement network sees of a file: the nodes that carry data, in
// running order, whose modules are known (anchors), and for each other node the
// modules that may have made it. Everything is a small integer, so that
// training and every platform see the same.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "mapping/evidence/evidence.h"

namespace onnx_tag::placing {

constexpr std::size_t kCounts = 8;
constexpr std::size_t kDepths = 4;
constexpr std::size_t kFeatures = 40;
// Three words for a name; 0 is none.
constexpr std::size_t kWordsOfName = 3;
constexpr std::size_t kNamesOfAnchor = 2;
constexpr std::size_t kNamesOfCandidate = 4;
constexpr std::size_t kAttributes = 512;
constexpr std::size_t kWords = 4096;
constexpr std::size_t kSteps = 16;  // of a count or a depth

using Position = std::uint32_t;
constexpr Position kNowhere = 0xffffffff;

// A node that carries data.
struct Actor {
  NodeId node = kNo<NodeId>;
  ModuleId anchor = kNo<ModuleId>;  // kNo: it is open
  std::uint16_t attribute = 0;
  std::array<std::uint8_t, kCounts> counts{};
  std::array<std::uint8_t, kDepths> depths{};
  std::array<std::uint16_t, kNamesOfAnchor * kWordsOfName> words{};
};

struct Candidate {
  ModuleId module = kNo<ModuleId>;
  std::array<std::int16_t, kFeatures> features{};
  std::array<std::uint16_t, kNamesOfCandidate * kWordsOfName> words{};
};

// By node: the module of its tag of medium or more; else the module around the
// named parameters that it reads, itself or through constant nodes; else kNo.
IdVector<NodeId, ModuleId> FindAnchors(const Evidence& evidence,
                                       const IdVector<NodeId, Tag>& placed);

class Scene {
 public:
  // `anchors`: by node, its module if that is known. The evidence must outlive
  // the scene.
  Scene(const Evidence& evidence, const IdVector<NodeId, ModuleId>& anchors);

  const Model& model() const { return model_; }
  std::size_t module_count() const { return tree_.size(); }
  std::size_t size() const { return actors_.size(); }
  const Actor& operator[](Position at) const { return actors_[at]; }
  bool IsOpen(Position at) const { return actors_[at].anchor == kNo<ModuleId>; }
  // Who makes what the node reads, input by input; who reads what it makes.
  std::span<const Position> Makers(Position at) const {
    return Part(makers_, first_maker_, at);
  }
  std::span<const Position> Readers(Position at) const {
    return Part(readers_, first_reader_, at);
  }
  // The nearest anchors before and after it, or kNowhere.
  Position Before(Position at) const { return before_[at]; }
  Position After(Position at) const { return after_[at]; }
  // The modules of the nearest anchors that its data come from, and that they
  // go to.
  std::vector<ModuleId> Above(Position at) const { return Modules(up_, at); }
  std::vector<ModuleId> Below(Position at) const { return Modules(down_, at); }

  // The modules that may have made an open node, parents before children; and
  // what the network sees of them.
  std::vector<ModuleId> CandidatesOf(Position at) const;
  void FindCandidates(Position at, std::vector<Candidate>& candidates) const;

  // The first anchors inside a module.
  std::span<const Position> Members(ModuleId module) const {
    return members_[module];
  }
  // Whether a parameter or an anchor spells the module.
  bool IsSpelled(ModuleId module) const { return spelled_[module]; }
  bool IsInside(ModuleId module, ModuleId around) const {
    return enter_[around] <= enter_[module] && enter_[module] < leave_[around];
  }
  ModuleId Common(ModuleId a, ModuleId b) const {
    return evidence_.modules.CommonAncestor(a, b);
  }
  std::size_t anchored_modules() const { return anchored_modules_; }
  bool has_open() const { return has_open_; }

  // Nodes without a place of their own, and who has it: constants follow their
  // first reader, quantizers of data what they serve; kNowhere: nobody.
  const std::vector<std::pair<NodeId, Position>>& followers() const {
    return followers_;
  }

 private:
  struct Near {
    ModuleId module;
    std::uint32_t distance;
  };
  // Lists of the open nodes, one behind the other.
  struct Nearest {
    std::vector<Near> all;
    std::vector<std::pair<std::uint32_t, std::uint32_t>> of;  // by position
  };
  struct Extent {  // of a module's anchors
    Position first = kNowhere;
    Position last = 0;
    std::uint32_t inside = 0;
    std::uint32_t own = 0;
  };

  static std::span<const Position> Part(const std::vector<Position>& all,
                                        const std::vector<std::uint32_t>& first,
                                        Position at) {
    return {all.data() + first[at], first[at + 1] - first[at]};
  }
  static std::span<const Near> Part(const Nearest& nearest, Position at) {
    return {nearest.all.data() + nearest.of[at].first, nearest.of[at].second};
  }
  std::vector<ModuleId> Modules(const Nearest& nearest, Position at) const;

  std::vector<NodeId> RunningOrder() const;
  bool IsConstant(NodeId node) const;
  void Cast(const std::vector<NodeId>& order,
            const IdVector<NodeId, ModuleId>& anchors);
  void Link();
  void LetFollow(const std::vector<NodeId>& order);
  void Describe(Position at, ModuleId& last);
  void DescribeModules();
  void FindNeighbours();
  template <typename Neighbours>
  void FindNearest(Position at, const Neighbours& neighbours, Nearest& nearest);
  std::uint8_t KindOfComposite(NodeId node) const;
  bool IsInMap(ModuleId module) const {
    return evidence_.known.InMap(module) != kNo<ModuleId>;
  }

  const Evidence& evidence_;
  const Model& model_;
  const ModuleTree& tree_;
  std::vector<Actor> actors_;
  IdVector<NodeId, Position> position_;
  std::vector<Position> makers_;
  std::vector<std::uint32_t> first_maker_;
  std::vector<Position> readers_;
  std::vector<std::uint32_t> first_reader_;
  std::vector<std::pair<NodeId, Position>> followers_;
  std::vector<Position> before_;
  std::vector<Position> after_;
  Nearest up_;
  Nearest down_;
  std::size_t anchored_modules_ = 0;
  bool has_open_ = false;
  // By module.
  IdVector<ModuleId, bool> spelled_;
  IdVector<ModuleId, Extent> extent_;
  IdVector<ModuleId, std::uint32_t> children_;  // spelled ones
  IdVector<ModuleId, bool> is_list_;
  IdVector<ModuleId, std::uint32_t> enter_;  // in the order of a walk
  IdVector<ModuleId, std::uint32_t> leave_;
  IdVector<ModuleId, std::vector<Position>> members_;
};

}  // namespace onnx_tag::placing
