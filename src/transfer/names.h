// Pairs that names tell.
#ifndef ONNX_TAG_TRANSFER_NAMES_H_
#define ONNX_TAG_TRANSFER_NAMES_H_

#include <string_view>
#include <unordered_map>

#include "transfer/matching.h"

namespace onnx_tag::transfer {

// A name that an exporter counted out ("MatMul_12", "onnx::Add_7", "123",
// "val_4"): the next export gives it to another node.
bool IsCounted(std::string_view name);
// The same for parameters and graph inputs, where a word without a number is
// somebody's choice.
bool IsCountedWord(std::string_view name);

// Pairs what has one name in both versions, and where a name stands once in
// each: inputs and outputs of graphs, parameters, nodes and their outputs.
// Counted names count where most of them agree.
void PairByNames(Matching& matching);

// The same within two graphs, for names that other graphs have as well.
void PairByNames(Matching& matching, GraphId to, GraphId from);

// The old version's nodes and values by name, those that it has once.
class NamesOf {
 public:
  NamesOf(const Outline& outline, const Texts& texts);

  NodeId Node(std::string_view name) const;
  ValueId Value(std::string_view name) const;

 private:
  const Texts& texts_;
  std::vector<NodeId> nodes_;    // by text
  std::vector<ValueId> values_;  // by text
};

}  // namespace onnx_tag::transfer

#endif  // ONNX_TAG_TRANSFER_NAMES_H_
