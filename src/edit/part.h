// A part of a model as a model of its own.
#ifndef ONNX_TAG_EDIT_PART_H_
#define ONNX_TAG_EDIT_PART_H_

#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "edit/graph_edit.h"
#include "protobuf/messages.h"
#include "sizes/shapes.h"

namespace onnx_tag::edit {

// What a node of the main graph reads of that graph: its inputs, and what its
// subgraphs capture. A value may come twice.
std::vector<ValueId> ReadsOf(const Model& model, NodeId node);

struct Part {
  std::vector<bool> nodes;  // of the main graph, by index: those that it has
  std::vector<std::string> inputs;
  std::vector<std::string> outputs;
};

// What became of an input or output of a part.
struct PartValue {
  std::string name;
  protobuf::TensorType type;  // as far as it is known
  bool complete = false;      // ONNX's checker has all it asks for
};

// The type of a value as far as it is sure: a size that depends on more than
// one dimension is left open, and so is one that only the file's example has.
protobuf::TensorType TensorTypeOf(const sizes::Shapes& shapes, ValueId value);

// The edits that leave of `model` what `part` needs: its nodes, the weights
// and functions they use, and new inputs and outputs.
class PartWriter {
 public:
  // `model` must outlive the writer.
  PartWriter(const Model& model, const sizes::Shapes& shapes, const Part& part,
             const Release& release = {});

  std::uint64_t new_size() const { return edit_.new_size(); }
  void Write(wire::Rewrite::Sink& sink) const { edit_.Write(sink); }

  const std::vector<PartValue>& inputs() const { return inputs_; }
  const std::vector<PartValue>& outputs() const { return outputs_; }
  std::size_t weights() const { return weights_; }

 private:
  void FindUses(const Part& part);
  void UseNode(NodeId node);
  void Call(NodeId node);
  ValueId ValueNamed(std::string_view name) const;  // kNo: none
  bool Keeps(const GraphEdit::Part& field, const Part& part) const;
  std::vector<PartValue> AppendValues(std::uint32_t field,
                                      const std::vector<std::string>& names,
                                      const sizes::Shapes& shapes);

  const Model& model_;
  GraphEdit edit_;
  std::vector<bool> used_;    // by value
  std::vector<bool> made_;    // by value: a kept node makes it
  std::vector<bool> called_;  // by function
  std::unordered_map<std::string_view, std::vector<std::size_t>> functions_;
  std::vector<bool> kept_;      // by initializer of the main graph
  std::vector<ValueId> named_;  // by name: the value of the main graph
  std::vector<bool> ends_;      // by name: an input or output of the part
  std::vector<PartValue> inputs_;
  std::vector<PartValue> outputs_;
  std::size_t weights_ = 0;
};

}  // namespace onnx_tag::edit

#endif  // ONNX_TAG_EDIT_PART_H_
