// Pairs nodes and values by name.
#pragma once

#include <string_view>
#include <unordered_map>

#include "uses/transfer/matching.h"

namespace onnx_tag::transfer {

// Whether the exporter numbered the name ("MatMul_12", "onnx::Add_7", "123",
// "val_4"). The next export may give it to another node.
bool IsCounted(std::string_view name);
// The same for parameters and graph inputs, where a name without a number is
// not generated.
bool IsCountedWord(std::string_view name);

// Pairs inputs and outputs of graphs, parameters, nodes and their outputs that
// have the same name, if the name is unique in each version. Numbered names
// count if the nodes read the same, too.
void PairByNames(Matching& matching);

// The same within two graphs, for names that also occur in other graphs.
void PairByNames(Matching& matching, GraphId to, GraphId from);

// Nodes and values by name; kNo if the name is not unique.
class NameIndex {
 public:
  // Of the whole model, which must outlive the index; or of some nodes and
  // their outputs.
  explicit NameIndex(const Model& model);
  NameIndex(const Model& model, const std::vector<NodeId>& nodes);

  NodeId Node(std::string_view name) const;
  // A name of this model, or kNo.
  ValueId Value(NameId name) const;
  ValueId Value(std::string_view name) const {
    return Value(model_.FindName(name));
  }

 private:
  void AddNode(NodeId node);
  void AddValue(ValueId value);

  const Model& model_;
  std::unordered_map<std::string_view, NodeId> nodes_;
  std::unordered_map<NameId, ValueId> values_;
};

}  // namespace onnx_tag::transfer
