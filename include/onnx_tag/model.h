// The contents of an ONNX file: graphs, nodes, values and names, but no
// weights.
//
// A Model is read in one walk over the file's spine (ModelProto, GraphProto,
// NodeProto and the attributes that hold graphs). Nodes are numbered in file
// order, a node before the nodes of its subgraphs. All text is a view into the
// file's bytes, which must outlive the Model.
//
//   const Model model = ReadModel(bytes);
//   for (NodeId id : model.Nodes()) Use(model[id].name, model.Inputs(id));
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "onnx_tag/bytes.h"
#include "onnx_tag/ids.h"
#include "onnx_tag/interner.h"

namespace onnx_tag {

enum class NameId : std::uint32_t {};
enum class NodeId : std::uint32_t {};
enum class ValueId : std::uint32_t {};
enum class GraphId : std::uint32_t {};

struct MetadataEntry {
  std::string_view key;
  std::string_view value;
  Bytes whole;  // the entry's field in its message, tag included
};

struct Node {
  std::string_view name;
  NameId op_type;
  NameId domain;  // "ai.onnx" is read as ""
  GraphId graph;
  std::uint32_t index;  // in its graph
  wire::MessageId message;
  std::uint32_t first_operand;
  std::uint32_t input_count;
  std::uint32_t output_count;
  std::uint32_t first_metadata;
  std::uint32_t metadata_count;
};

struct Value {
  NameId name;
  GraphId graph;
  NodeId producer = kNo<NodeId>;  // the first one if there are several
  std::uint32_t initializer = 0xffffffff;
  std::uint32_t info = 0xffffffff;
  bool is_input = false;   // an initializer may be an input, too
  bool is_output = false;  // of its graph
};

struct Initializer {
  ValueId value;
  std::int32_t data_type = 0;
  std::uint32_t first_dim = 0;
  std::uint32_t rank = 0;
  bool external = false;
  bool sparse = false;
  // One number throughout, as far as the first bytes show: ones, zeros.
  bool uniform = false;
  // The encoded TensorProto if it is small and in the file; else empty. Shapes
  // are computed from such tensors.
  Bytes small = {};
  // In bytes, its name included.
  static constexpr std::size_t kMostSmall = 1024;
};

// The `value_info`, `input` or `output` entry of a value.
struct ValueInfo {
  std::int32_t data_type = 0;
  bool has_shape = false;
  std::uint32_t first_dim = 0;
  std::uint32_t rank = 0;
  // The encoded TypeProto: names of dimensions, types other than tensors.
  Bytes type = {};
  std::uint32_t first_metadata = 0;
  std::uint32_t metadata_count = 0;
};

enum class GraphKind : std::uint8_t { kMain, kSubgraph, kFunction, kTraining };

struct Graph {
  GraphKind kind = GraphKind::kMain;
  std::string_view name;
  GraphId parent = kNo<GraphId>;        // of a subgraph
  NodeId parent_node = kNo<NodeId>;     // of a subgraph
  std::string_view attribute;           // of a subgraph
  std::uint32_t position = 0xffffffff;  // in `graphs`, or of the training_info
  std::uint32_t function = 0;           // index in Model::functions()
  std::string_view path;                // if a sidecar gives it; else empty
  bool training_algorithm = false;
  std::vector<NodeId> nodes;
  std::vector<ValueId> inputs;
  std::vector<ValueId> outputs;
  std::vector<MetadataEntry> metadata;
};

struct Function {
  std::string_view domain;
  std::string_view name;
  std::string_view overload;
  GraphId body;
  std::vector<MetadataEntry> metadata;
  Bytes bytes;  // the encoded FunctionProto
};

struct OpsetImport {
  std::string_view domain;
  std::int64_t version;
};

class Model {
 public:
  std::size_t node_count() const { return nodes_.size(); }
  AllIds<NodeId> Nodes() const { return AllIds<NodeId>(nodes_.size()); }
  const Node& operator[](NodeId id) const { return nodes_[id]; }
  // kNo for an omitted input.
  std::span<const ValueId> Inputs(NodeId id) const {
    const Node& node = nodes_[id];
    return {operands_.data() + node.first_operand, node.input_count};
  }
  std::span<const ValueId> Outputs(NodeId id) const {
    const Node& node = nodes_[id];
    return {operands_.data() + node.first_operand + node.input_count,
            node.output_count};
  }
  std::span<const MetadataEntry> Metadata(NodeId id) const;
  std::string_view OpType(NodeId id) const { return Name(nodes_[id].op_type); }
  std::string_view Domain(NodeId id) const { return Name(nodes_[id].domain); }
  // Empty if the node has none.
  std::string_view DocString(NodeId id) const;
  bool has_doc_strings() const { return !doc_strings_.empty(); }
  // The encoded NodeProto.
  Bytes NodeBytes(NodeId id) const;
  // The graphs in the node's attributes, in file order.
  std::span<const GraphId> Subgraphs(NodeId id) const;

  std::size_t value_count() const { return values_.size(); }
  const Value& operator[](ValueId id) const { return values_[id]; }
  // "" for kNo.
  std::string_view ValueName(ValueId id) const {
    return id == kNo<ValueId> ? std::string_view() : Name(values_[id].name);
  }
  NodeId Producer(ValueId id) const { return values_[id].producer; }
  std::span<const NodeId> Consumers(ValueId id) const {
    const std::uint32_t first = first_consumer_[Index(id)];
    return {consumers_.data() + first, first_consumer_[Index(id) + 1] - first};
  }
  // Null if the value has none, and for kNo.
  const Initializer* InitializerOf(ValueId id) const;
  const ValueInfo* InfoOf(ValueId id) const;
  std::span<const MetadataEntry> Metadata(const ValueInfo& info) const;
  std::span<const std::int64_t> Dims(const Initializer& initializer) const;
  std::span<const std::int64_t> Dims(const ValueInfo& info) const;

  std::size_t graph_count() const { return graphs_.size(); }
  AllIds<GraphId> Graphs() const { return AllIds<GraphId>(graphs_.size()); }
  const Graph& operator[](GraphId id) const { return graphs_[id]; }
  const std::vector<Function>& functions() const { return functions_; }
  const std::vector<Initializer>& initializers() const { return initializers_; }

  // "", "12:then_branch", "fn:domain::name", ... as in the specification.
  std::string GraphPath(GraphId id) const;
  std::string GraphPath(NodeId id) const { return GraphPath(nodes_[id].graph); }
  // "#17", "12:then_branch#3": the form that `explain` accepts.
  std::string Address(NodeId id) const;
  // "" for an omitted input.
  std::vector<std::string_view> InputNames(NodeId id) const {
    return NamesOf(Inputs(id));
  }
  std::vector<std::string_view> OutputNames(NodeId id) const {
    return NamesOf(Outputs(id));
  }

  std::string_view Name(NameId id) const { return names_[id]; }
  NameId FindName(std::string_view text) const { return names_.Find(text); }
  std::size_t name_count() const { return names_.size(); }

  std::int64_t ir_version() const { return ir_version_; }
  std::string_view producer_name() const { return producer_name_; }
  std::string_view producer_version() const { return producer_version_; }
  const std::vector<OpsetImport>& opset_imports() const { return opsets_; }
  const std::vector<MetadataEntry>& metadata() const { return metadata_; }
  // The files that hold external weights, each once, as the model names them.
  const std::vector<std::string_view>& external_files() const {
    return external_files_;
  }
  // The weights and constants whose numbers cannot be read: names of
  // initializers, and of the first outputs of nodes that hold tensors.
  const std::vector<std::string_view>& unreadable() const {
    return unreadable_;
  }

  // Empty if the model was made of a sidecar (file/model/model_builder.h): it
  // has names and edges then, but no weights, types, attributes or metadata.
  Bytes bytes() const { return bytes_; }
  // Every message whose length changes when something inside is tagged.
  std::span<const wire::Message> spine() const { return spine_; }

 private:
  friend class ModelBuilder;
  friend class ModelReader;
  friend class NameResolver;

  std::vector<std::string_view> NamesOf(std::span<const ValueId> values) const;

  Bytes bytes_;
  TextStore owned_texts_;  // copied out of the weights, or of a sidecar
  Interner<NameId> names_;
  IdVector<NodeId, Node> nodes_;
  IdVector<ValueId, Value> values_;
  IdVector<GraphId, Graph> graphs_;
  std::vector<ValueId> operands_;  // of each node: inputs, then outputs
  std::vector<MetadataEntry> node_metadata_;
  std::vector<std::pair<NodeId, std::string_view>> doc_strings_;  // by node
  std::vector<NodeId> subgraph_nodes_;         // sorted; parallel to ...
  std::vector<GraphId> subgraph_graphs_;       // ... these
  std::vector<std::uint32_t> first_consumer_;  // value_count + 1
  std::vector<NodeId> consumers_;
  std::vector<Initializer> initializers_;
  std::vector<ValueInfo> value_infos_;
  std::vector<MetadataEntry> value_metadata_;
  std::vector<std::int64_t> dims_;
  std::vector<Function> functions_;
  std::vector<OpsetImport> opsets_;
  std::vector<MetadataEntry> metadata_;
  std::vector<std::string_view> external_files_;
  std::vector<std::string_view> unreadable_;
  std::vector<wire::Message> spine_;
  std::int64_t ir_version_ = 0;
  std::string_view producer_name_;
  std::string_view producer_version_;
};

// Called with spans of the file that will not be read again soon (weights).
using Release = std::function<void(std::uint64_t begin, std::uint64_t end)>;
// Called with spans of the file that are read next.
using Fetch = std::function<void(std::uint64_t begin, std::uint64_t end)>;

// Throws Error(kInput) if `bytes` are not an ONNX model.
Model ReadModel(Bytes bytes, const Release& release = {},
                const Fetch& fetch = {});

}  // namespace onnx_tag
