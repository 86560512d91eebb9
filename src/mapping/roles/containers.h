// Roles of nodes in the code of embeddings and of containers: the root, an
// encoder, a block.
#ifndef ONNX_TAG_MAPPING_ROLES_CONTAINERS_H_
#define ONNX_TAG_MAPPING_ROLES_CONTAINERS_H_

#include "mapping/roles/role_facts.h"

namespace onnx_tag {

class ContainerRules {
 public:
  // `meanings` has the meanings of the nodes so far. Both must outlive it.
  ContainerRules(RoleFacts& facts, const IdVector<NodeId, Meaning>& meanings)
      : facts_(facts), model_(facts.model), meanings_(meanings) {}

  Meaning InEmbedding(NodeId node, const ModuleMeaning& module);
  // x[:, 0]: the token that a head uses.
  bool IsTokenPick(NodeId node) const;
  Meaning InContainer(NodeId node, const ModuleMeaning& module);

 private:
  // A table with several rows; a bias has one row.
  bool IsTable(ValueId value) const;
  bool AddsTable(NodeId node) const;
  // The sum of features and position embeddings.
  bool AddsPositions(NodeId node) const;
  // Whether the producer of the value has a role that is passed on. Rows looked
  // up at fixed places are constant, but still an embedding.
  bool HasMeaning(ValueId value) const;
  // A container may read parameters directly: class tokens, positions, the
  // weight of a head.
  Meaning FromParameters(NodeId node);
  bool IsLayerScale(NodeId node, const ModuleMeaning& module) const;
  // The meaning of the data inputs, if they agree and containers pass it on.
  Meaning FromInputs(NodeId node) const;
  static bool IsHandedOn(RoleType type);

  RoleFacts& facts_;
  const Model& model_;
  const IdVector<NodeId, Meaning>& meanings_;
};

}  // namespace onnx_tag

#endif  // ONNX_TAG_MAPPING_ROLES_CONTAINERS_H_
