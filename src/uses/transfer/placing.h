// Finds the module of each new node after the pairs are found, and what became
// of each old one.
#pragma once

#include <vector>

#include "mapping/ladder/ladder.h"
#include "onnx_tag/transfer.h"
#include "uses/transfer/matching.h"
#include "uses/transfer/names.h"

namespace onnx_tag::transfer {

// The count of a transfer that a node adds to.
using FoundBy = std::uint64_t TransferCounts::*;

struct Place {
  FoundBy found = nullptr;  // null: no counterpart
  ModuleId module = kNo<ModuleId>;
  NodeId like = kNo<NodeId>;  // the old node with the same role, or kNo
  Confidence confidence = Confidence::kLow;
  Confidence match = Confidence::kLow;  // of `like`, whatever its tag
};

class Placing {
 public:
  // Both must outlive it.
  Placing(const Matching& matching, const Tagging& tags);

  const Place& operator[](NodeId to) const { return places_[to]; }
  // By node.
  const std::vector<Origin>& origins() const { return origins_; }

 private:
  void PlaceCounterparts();
  IdVector<NodeId, NodeId> FirstOfMerged() const;
  NodeId EarliestProducer(NodeId to, NodeId known,
                          const IdVector<NodeId, NodeId>& likes) const;
  void PlaceByNames();
  // Of nodes that pass on what another node gives, or of the others.
  void PlaceByResults(bool passing_on);
  void PlaceMerged();
  void PlaceNamed(NodeId to, NodeId from, bool by_name, bool helper);
  void PlaceByParameters();
  void Climb(const Evidence& evidence, StrategySet rungs, FoundBy found,
             Confidence limit);
  NodeId LikeBeside(NodeId to, ModuleId module) const;
  void PlaceInserted();
  void PlaceByRegion();
  void FindOrigins();

  bool AreStrangers() const;
  // Places `to` like the old node, unless the old node has no tag.
  void PlaceLike(NodeId to, NodeId from, FoundBy found, Confidence limit);
  bool GivesTheSame(NodeId to, NodeId from) const;
  // The old value that the node reads as a weight, or kNo.
  ValueId OldWeight(NodeId to, ValueId input) const;
  NodeId OldNodeNamed(std::string_view name) const;
  NodeId NamedAfter(NodeId to, bool& helper) const;
  NodeId GaveTheSame(NodeId to) const;
  bool PlaceByConsumers(NodeId to, FoundBy found, Confidence limit);
  void CollectCone(NodeId last, NodeId to, std::vector<ModuleId>& modules);
  bool IsOpen(NodeId to) const { return places_[to].found == nullptr; }
  // The node that contains a subgraph counts as consumer of its outputs.
  template <typename Use>
  void ForEachConsumer(NodeId to, Use use) const;

  const Matching& matching_;
  const Versions& versions_;
  const Model& to_;
  const Model& from_;
  const Tagging& tags_;
  const NameIndex names_;
  IdVector<NodeId, Place> places_;
  IdVector<NodeId, NodeId> merged_;   // by new Reshape: the old one
  IdVector<NodeId, bool> stands_in_;  // by old node: some new node is like it
  std::vector<Origin> origins_;
};

Lineage FindLineage(const Matching& matching, const Placing& placing);

}  // namespace onnx_tag::transfer
