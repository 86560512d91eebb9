// A part of a model as a model of its own.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "core/graph/function_calls.h"
#include "file/protobuf/messages.h"
#include "file/wire/rewrite.h"
#include "onnx_tag/bytes.h"
#include "uses/edit/graph_edit.h"
#include "uses/sizes/shapes.h"

namespace onnx_tag::edit {

// Weights that lie in files of their own, put together in another one: a part
// of a model takes what it needs along.
class WeightPacker {
 public:
  struct File {
    std::string path;
    std::uint64_t size;
  };
  // By the names that the model has for them.
  using Files = std::unordered_map<std::string_view, File>;
  // Bytes of a file, and where they stand in the new one.
  struct Piece {
    std::string_view path;
    std::uint64_t offset;
    std::uint64_t size;
    std::uint64_t at;
  };

  // `files` must outlive this. `location`: the new file, as models will name
  // it.
  WeightPacker(const Files& files, std::string location)
      : files_(files), location_(std::move(location)) {}

  // The tensor with its numbers in the new file, encoded; "" if it holds its
  // numbers itself, or they are in no file known here or past its end.
  std::string Move(Bytes tensor);

  const std::string& location() const { return location_; }
  // In the order of `at`.
  const std::vector<Piece>& pieces() const { return pieces_; }

 private:
  // Where these bytes are in the new file; each piece is there once.
  std::uint64_t Place(const File& file, std::uint64_t offset,
                      std::uint64_t size);

  const Files& files_;
  std::string location_;
  std::vector<Piece> pieces_;
  std::map<std::pair<std::string_view, std::pair<std::uint64_t, std::uint64_t>>,
           std::uint64_t>
      places_;
};

// What a node of the main graph reads of that graph: its inputs, and what its
// subgraphs capture. A value may come twice.
std::vector<ValueId> ReadsOf(const Model& model, NodeId node);

struct Part {
  std::vector<std::uint32_t> nodes;  // indices in the main graph, ascending
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

// Where everything stands in a file, found in one walk. All parts of a model
// are made of it, each in time that depends on the part alone.
class PartSource {
 public:
  // `model` must outlive it. `release` is told what the walk has left behind.
  explicit PartSource(const Model& model, const Release& release = {});

 private:
  friend class PartWriter;
  using Fields = std::unordered_multimap<std::string_view, Bytes>;

  ValueId ValueNamed(std::string_view name) const;  // kNo: none

  const Model& model_;
  std::vector<Bytes> rest_;           // whole fields of the file, always kept
  std::vector<Bytes> rest_of_graph_;  // the same, of its graph
  std::uint64_t graph_begin_ = 0;
  // Whole fields.
  std::vector<Bytes> nodes_;
  std::vector<Bytes> initializers_;
  std::vector<Bytes> functions_;
  Fields inputs_, value_infos_, annotations_;          // by name
  std::unordered_map<std::string_view, Bytes> infos_;  // what is said first
  FunctionCalls calls_;
  IdVector<NameId, ValueId> named_;  // the value of the main graph
  // By value: its first initializer; by initializer: the next of the same.
  std::vector<std::uint32_t> first_weight_, next_weight_;
};

// The file of a part: its nodes, the weights and functions they use, and new
// inputs and outputs.
class PartWriter {
 public:
  // `source` must outlive the writer. With `packer`, weights that lie in files
  // of their own are moved to another.
  PartWriter(const PartSource& source, const sizes::Shapes& shapes,
             const Part& part, WeightPacker* packer = nullptr);

  std::uint64_t new_size() const { return new_size_; }
  void Write(wire::Rewrite::Sink& sink) const;

  const std::vector<PartValue>& inputs() const { return inputs_; }
  const std::vector<PartValue>& outputs() const { return outputs_; }
  std::size_t weights() const { return weights_; }

 private:
  struct Span {
    std::uint64_t begin;
    std::uint64_t size;
  };
  struct Uses;

  void KeepWeights(const Uses& uses, std::vector<Bytes>& kept,
                   WeightPacker* packer);
  void KeepInfos(const Uses& uses, const Part& part, std::vector<Bytes>& kept);
  std::vector<PartValue> AppendValues(std::uint32_t field,
                                      const std::vector<std::string>& names,
                                      const sizes::Shapes& shapes);
  // In file order, neighbours joined.
  std::vector<Span> SpansOf(std::vector<Bytes> fields) const;

  const PartSource& source_;
  std::vector<Span> spans_;        // of the file
  std::vector<Span> graph_spans_;  // of its graph
  std::string graph_head_;         // tag and length
  std::string appended_;           // to the graph
  std::uint64_t new_size_ = 0;
  std::vector<PartValue> inputs_;
  std::vector<PartValue> outputs_;
  std::size_t weights_ = 0;
};

}  // namespace onnx_tag::edit
