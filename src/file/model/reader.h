// Reads a Model from bytes in one walk over the file's spine.
#pragma once

#include <string>
#include <string_view>
#include <unordered_set>
#include <vector>

#include "file/wire/field_reader.h"
#include "onnx_tag/model.h"

namespace onnx_tag {

// The names of a graph's own values, until NameResolver gives them ids.
struct GraphNames {
  std::vector<NameId> inputs;
  std::vector<NameId> outputs;
  std::vector<std::uint32_t> initializers;  // indices in Model::initializers_
  struct Info {
    NameId name;
    std::uint32_t info;  // index in Model::value_infos_
  };
  std::vector<Info> infos;
};

class ModelReader {
 public:
  ModelReader(Bytes bytes, const Release& release, const Fetch& fetch);

  // Throws Error(kInput), with the place in the file.
  Model Read();

 private:
  // The place of a message: its bytes, its place in the spine, its depth.
  struct Place {
    Bytes bytes;
    wire::MessageId message;
    int depth;
  };

  void ReadModelProto();
  void ReadGraph(const Place& place, GraphId graph);
  void ReadNode(const Place& place, GraphId graph);
  void ReadGraphAttribute(const Place& node_place, const wire::Field& field,
                          NodeId node);
  void ReadFunction(const Place& place);
  void ReadTrainingInfo(const Place& place, std::uint32_t position);
  // `depth` is that of the message the field is in.
  void ReadInitializer(const wire::Field& field, GraphId graph, int depth);
  void ReadSparseInitializer(const wire::Field& field, GraphId graph,
                             int depth);
  void SetDims(const std::vector<std::int64_t>& dims, Initializer& tensor);
  void AddInitializer(Initializer tensor, GraphId graph);
  void ReadTensorHeader(const wire::Field& field, Initializer& tensor,
                        int depth);
  void ReadValueInfo(const wire::Field& field, GraphId graph,
                     std::vector<NameId>* names, int depth);
  void ReadType(const wire::Field& field, ValueInfo& info, int depth);
  MetadataEntry ReadEntry(const wire::Field& field, int depth) const;

  // Adds `field`, a message in `parent`, to the spine. Fails if the nesting is
  // deeper than protobuf accepts.
  Place Enter(const Place& parent, const wire::Field& field);
  GraphId AddGraph(GraphKind kind);
  void ReleaseBehind(const wire::Field& field);
  void FetchAhead(const wire::Field& field);
  NameId InternTensorName(Bytes text, std::size_t tensor_size);
  NameId Intern(Bytes text) { return model_.names_.Intern(text); }
  std::uint64_t Offset(const char* at) const {
    return static_cast<std::uint64_t>(at - bytes_.data());
  }
  std::string WhereAmI(const char* at) const;

  Bytes bytes_;
  const Release& release_;
  std::uint64_t released_ = 0;
  const Fetch& fetch_;
  std::uint64_t fetch_at_ = 0;  // where the next piece is fetched
  std::uint64_t fetched_ = 0;   // size of the last piece
  Model model_;
  std::vector<GraphNames> graph_names_;
  // A name in a node. All names of a node are found before the first is
  // interned, so that their places are loaded at the same time.
  struct NameField {
    std::uint32_t field = 0;  // of NodeProto
    std::uint32_t hash = 0;
    Bytes text;
  };
  std::vector<NameField> scratch_names_;
  std::vector<ValueId> scratch_inputs_;
  std::vector<ValueId> scratch_outputs_;
  std::unordered_set<std::string_view> external_seen_;
};

// Gives every name in `model` its value: a value of the same graph, else of the
// nearest enclosing graph.
class NameResolver {
 public:
  NameResolver(Model& model, const std::vector<GraphNames>& names);
  void Resolve();

 private:
  void SortSubgraphs();
  void ResolveAll(GraphKind kind);
  void ResolveInside(GraphId graph);
  void Declare(GraphId graph);
  void ResolveGraph(GraphId graph);
  ValueId Bind(GraphId graph, NameId name);
  ValueId Lookup(GraphId graph, NameId name);
  void LinkConsumers();

  Model& model_;
  const std::vector<GraphNames>& names_;
  std::vector<ValueId> bound_;  // by name: its current value
  struct Shadowed {
    NameId name;
    ValueId outer;
  };
  std::vector<Shadowed> shadowed_;
};

// The kind of file, if `bytes` are a known other kind of file, else "".
std::string WhatElseItIs(Bytes bytes);

}  // namespace onnx_tag
