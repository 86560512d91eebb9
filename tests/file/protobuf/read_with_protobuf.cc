#include "file/protobuf/read_with_protobuf.h"

#include <fmt/core.h>
#include <google/protobuf/arena.h>

#include <algorithm>
#include <unordered_map>

#include "base/lists.h"
#include "base/text.h"
#include "onnx_tag_schema.pb.h"

namespace onnx_tag {
namespace {

constexpr std::size_t kMostDifferences = 1000;

struct Type {
  std::int32_t data_type = 0;
  bool has_shape = false;
  std::vector<std::int64_t> dims;

  bool operator==(const Type&) const = default;
};

Type TypeOf(const schema::ValueInfoProto& info) {
  Type type;
  const schema::TypeProto::Tensor& tensor = info.type().tensor_type();
  type.data_type = tensor.elem_type();
  type.has_shape = tensor.has_shape();
  for (const schema::TensorShapeProto::Dimension& dim : tensor.shape().dim()) {
    type.dims.push_back(dim.has_dim_value() ? dim.dim_value() : -1);
  }
  return type;
}

class Comparison {
 public:
  explicit Comparison(const Model& model) : model_(model) {
    for (const GraphId id : model.Graphs()) {
      graphs_[model.GraphPath(id)].push_back(id);
    }
    for (const Initializer& weight : model.initializers()) {
      const GraphId graph = model[weight.value].graph;
      (weight.sparse ? sparse_weights_ : weights_)[graph].push_back(&weight);
    }
  }

  void Compare(const schema::ModelProto& proto) {
    Equal("ir_version", model_.ir_version(), proto.ir_version());
    Equal("producer_name", model_.producer_name(), proto.producer_name());
    Equal("producer_version", model_.producer_version(),
          proto.producer_version());
    ForEachPair("opset imports", model_.opset_imports(), proto.opset_import(),
                [&](const OpsetImport& ours, const auto& theirs) {
                  Equal("domain of an opset", ours.domain, theirs.domain());
                  Equal("version of an opset", ours.version, theirs.version());
                });
    CompareMetadata(model_.metadata(), proto.metadata_props());
    CompareGraph(proto.graph(), "");
    for (int i = 0; i < proto.training_info_size(); ++i) {
      const schema::TrainingInfoProto& training = proto.training_info(i);
      if (training.has_initialization()) {
        CompareGraph(training.initialization(),
                     fmt::format("train[{}]:initialization", i));
      }
      if (training.has_algorithm()) {
        CompareGraph(training.algorithm(),
                     fmt::format("train[{}]:algorithm", i));
      }
    }
    Equal("number of functions", model_.functions().size(),
          static_cast<std::size_t>(proto.functions_size()));
    for (const schema::FunctionProto& function : proto.functions()) {
      CompareFunction(function);
    }
    for (const auto& [path, ids] : graphs_) {
      if (!ids.empty()) {
        Differ(Message("protobuf does not find the graph \"{}\"", path));
      }
    }
    CompareTypes();
  }

  std::vector<ReadingDifference> Take() { return std::move(differences_); }

 private:
  // Compares the lengths of two lists, and calls `compare` with the items of
  // both.
  template <typename Mine, typename Theirs, typename Compare>
  void ForEachPair(std::string_view what, const Mine& ours,
                   const Theirs& theirs, const Compare& compare) {
    const auto count = static_cast<std::size_t>(theirs.size());
    Equal(fmt::format("number of {}", what), ours.size(), count);
    for (std::size_t i = 0; i < std::min(ours.size(), count); ++i) {
      compare(ours[i], theirs[static_cast<int>(i)]);
    }
  }

  void Differ(std::string what) {
    if (differences_.size() < kMostDifferences) {
      differences_.push_back({node_, std::move(what)});
    }
  }

  template <typename Mine, typename Theirs>
  void Equal(std::string_view what, const Mine& ours, const Theirs& theirs) {
    if (ours == theirs) return;
    Differ(fmt::format("{}: onnx-tag reads {}, protobuf {}", what, Shown(ours),
                       Shown(theirs)));
  }

  template <typename T>
  static std::string Shown(const T& value) {
    if constexpr (std::is_convertible_v<T, std::string_view>) {
      return Message("\"{}\"", Short{value, 100});
    } else {
      return fmt::format("{}", value);
    }
  }

  template <typename Entries>
  void CompareMetadata(std::span<const MetadataEntry> ours,
                       const Entries& theirs) {
    ForEachPair("metadata entries", ours, theirs,
                [&](const MetadataEntry& mine, const auto& other) {
                  Equal("key of metadata", mine.key, other.key());
                  Equal("value of metadata", mine.value, other.value());
                });
  }

  static std::string_view Same(const std::string& name) { return name; }

  template <typename Names, typename NameOf>
  void CompareNames(std::string_view what, std::span<const ValueId> ours,
                    const Names& theirs, const NameOf& name_of) {
    ForEachPair(std::string(what) + "s", ours, theirs,
                [&](ValueId mine, const auto& other) {
                  Equal(what, model_.ValueName(mine), name_of(other));
                });
  }

  // Of several graphs with one path (a function that occurs twice) the next.
  GraphId TakeGraph(const std::string& path) {
    std::vector<GraphId>& ids = graphs_[path];
    if (ids.empty()) {
      Differ(Message("only protobuf finds the graph \"{}\"", path));
      return kNo<GraphId>;
    }
    const GraphId id = ids.front();
    ids.erase(ids.begin());
    return id;
  }

  void CompareGraph(const schema::GraphProto& proto, const std::string& path) {
    const GraphId id = TakeGraph(path);
    if (id == kNo<GraphId>) return;
    const Graph& graph = model_[id];
    const auto name_of = [](const schema::ValueInfoProto& info) {
      return std::string_view(info.name());
    };
    Equal("name of a graph", graph.name, proto.name());
    CompareNames("input of a graph", graph.inputs, proto.input(), name_of);
    CompareNames("output of a graph", graph.outputs, proto.output(), name_of);
    CompareMetadata(graph.metadata, proto.metadata_props());
    AddTypes(proto.input());
    AddTypes(proto.output());
    AddTypes(proto.value_info());
    ForEachPair("initializers", weights_[id], proto.initializer(),
                [&](const Initializer* ours, const auto& theirs) {
                  CompareWeight(*ours, theirs, theirs.dims());
                });
    ForEachPair("sparse initializers", sparse_weights_[id],
                proto.sparse_initializer(),
                [&](const Initializer* ours, const auto& theirs) {
                  CompareWeight(*ours, theirs.values(), theirs.dims());
                });
    CompareNodes(graph.nodes, proto.node(), path);
  }

  void CompareFunction(const schema::FunctionProto& proto) {
    const std::string path =
        fmt::format("fn:{}::{}{}{}", proto.domain(), proto.name(),
                    proto.overload().empty() ? "" : ":", proto.overload());
    const GraphId id = TakeGraph(path);
    if (id == kNo<GraphId>) return;
    const Graph& graph = model_[id];
    CompareNames("input of a function", graph.inputs, proto.input(), Same);
    CompareNames("output of a function", graph.outputs, proto.output(), Same);
    CompareMetadata(model_.functions()[graph.function].metadata,
                    proto.metadata_props());
    AddTypes(proto.value_info());
    CompareNodes(graph.nodes, proto.node(), path);
  }

  template <typename Nodes>
  void CompareNodes(const std::vector<NodeId>& ours, const Nodes& theirs,
                    const std::string& path) {
    ForEachPair("nodes", ours, theirs, [&](NodeId mine, const auto& other) {
      CompareNode(mine, other, path);
    });
  }

  void CompareNode(NodeId id, const schema::NodeProto& proto,
                   const std::string& path) {
    node_ = id;
    Equal("name", model_[id].name, proto.name());
    Equal("operator", model_.OpType(id), proto.op_type());
    Equal("domain", model_.Domain(id),
          proto.domain() == "ai.onnx" ? std::string() : proto.domain());
    CompareNames("input", model_.Inputs(id), proto.input(), Same);
    CompareNames("output", model_.Outputs(id), proto.output(), Same);
    CompareMetadata(model_.Metadata(id), proto.metadata_props());
    const std::string place =
        fmt::format("{}{}{}:", path, path.empty() ? "" : "/", model_[id].index);
    for (const schema::AttributeProto& attribute : proto.attribute()) {
      const std::string name = place + attribute.name();
      if (attribute.has_g()) CompareGraph(attribute.g(), name);
      for (int k = 0; k < attribute.graphs_size(); ++k) {
        CompareGraph(attribute.graphs(k), fmt::format("{}[{}]", name, k));
      }
    }
    node_ = kNo<NodeId>;
  }

  template <typename Dims>
  void CompareWeight(const Initializer& ours, const schema::TensorProto& theirs,
                     const Dims& dims) {
    Equal("name of an initializer", model_.ValueName(ours.value),
          theirs.name());
    Equal("type of an initializer", ours.data_type, theirs.data_type());
    const std::span<const std::int64_t> our_dims = model_.Dims(ours);
    if (!std::equal(our_dims.begin(), our_dims.end(), dims.begin(),
                    dims.end())) {
      Differ(Message("shape of the initializer \"{}\"", theirs.name()));
    }
  }

  template <typename Infos>
  void AddTypes(const Infos& infos) {
    for (const schema::ValueInfoProto& info : infos) {
      types_[info.name()].push_back(TypeOf(info));
    }
  }

  // Several messages may describe one value: ours must be one of them.
  void CompareTypes() {
    for (const ValueId id : AllIds<ValueId>(model_.value_count())) {
      const ValueInfo* const info = model_.InfoOf(id);
      if (info == nullptr) continue;
      const std::span<const std::int64_t> dims = model_.Dims(*info);
      const Type ours{
          info->data_type, info->has_shape, {dims.begin(), dims.end()}};
      const auto at = types_.find(model_.ValueName(id));
      if (at == types_.end() || !IsAmong(ours, at->second)) {
        Differ(Message("type of the value \"{}\"", model_.ValueName(id)));
      }
    }
  }

  const Model& model_;
  std::unordered_map<std::string, std::vector<GraphId>> graphs_;
  std::unordered_map<GraphId, std::vector<const Initializer*>> weights_;
  std::unordered_map<GraphId, std::vector<const Initializer*>> sparse_weights_;
  std::unordered_map<std::string_view, std::vector<Type>> types_;
  NodeId node_ = kNo<NodeId>;
  std::vector<ReadingDifference> differences_;
};

}  // namespace

std::vector<ReadingDifference> CompareWithProtobuf(Bytes file,
                                                   const Model& model) {
  google::protobuf::Arena arena;
  auto* const proto =
      google::protobuf::Arena::CreateMessage<schema::ModelProto>(&arena);
  if (!proto->ParseFromArray(file.data(), static_cast<int>(file.size()))) {
    return {{kNo<NodeId>, "protobuf refuses the file, but onnx-tag reads it"}};
  }
  Comparison comparison(model);
  comparison.Compare(*proto);
  return comparison.Take();
}

}  // namespace onnx_tag
