// Two versions of a model, and what is the same in both. Either may be the
// model that a sidecar describes: without weights, so without their shapes.
#ifndef ONNX_TAG_TRANSFER_VERSIONS_H_
#define ONNX_TAG_TRANSFER_VERSIONS_H_

#include <string_view>

#include "graph/operators.h"
#include "onnx_tag/model.h"

namespace onnx_tag::transfer {

// Operators that return their first input in another form. Tools insert and
// remove them.
constexpr OpKinds kPassThrough = {OpKind::kIdentity,  OpKind::kCast,
                                  OpKind::kReshape,   OpKind::kTranspose,
                                  OpKind::kExpand,    OpKind::kDropout,
                                  OpKind::kQuantizer, OpKind::kDequantizer};
// Operators that return their first input as another type. Tools put them
// between two nodes, and nothing else about the nodes changes.
constexpr OpKinds kConversion = {OpKind::kIdentity, OpKind::kCast,
                                 OpKind::kQuantizer, OpKind::kDequantizer};

struct Versions {
  // Both must outlive it.
  Versions(const Model& old_version, const Model& new_version);

  const Model& from;
  const Model& to;
  const Operators from_ops;
  const Operators to_ops;

  // The name in the new version that is equal to one of the old version; kNo if
  // there is none.
  NameId InTo(NameId old) const { return in_to_[old]; }

  bool SameOperator(NodeId new_node, NodeId old) const {
    return to[new_node].op_type == InTo(from[old].op_type);
  }
  bool SameName(ValueId new_value, ValueId old) const {
    return to[new_value].name == InTo(from[old].name);
  }
  // Whether both are the same output of their producers.
  bool SameOutput(ValueId new_value, ValueId old) const;

  // How the shapes of two weights compare.
  enum class Shapes { kUnknown, kSame, kDifferent };
  Shapes CompareShapes(ValueId new_value, ValueId old) const;

 private:
  IdVector<NameId, NameId> in_to_;
};

// The attribute that holds a subgraph, or the name of a function.
std::string_view LabelOf(const Model& model, GraphId graph);

}  // namespace onnx_tag::transfer

#endif  // ONNX_TAG_TRANSFER_VERSIONS_H_
