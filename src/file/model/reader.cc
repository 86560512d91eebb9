#include "file/model/reader.h"

#include <fmt/core.h>

#include <algorithm>

#include "base/text.h"
#include "file/model/attributes.h"
#include "file/model/field_kinds.h"
#include "file/model/message_walk.h"
#include "file/model/onnx_fields.h"
#include "file/wire/rewrite.h"
#include "onnx_tag/error.h"

namespace onnx_tag {
namespace {

using model::Deeper;
using model::Is;
using model::IsInt;
using onnx::MessageType;
using wire::Field;
using wire::FieldReader;

// Smaller nodes contain no large constant, so their pages are not released.
constexpr std::size_t kLargeField = 64 * 1024;
constexpr std::uint64_t kReleaseStep = 256 * 1024;
// By default, Linux maps this many bytes around a page fault.
constexpr std::uint64_t kFaultAround = 64 * 1024;
constexpr std::uint64_t kFirstPiece = 128 * 1024;
constexpr std::uint64_t kLargestPiece = 2 * 1024 * 1024;

// How many bytes a model lacks whose end was cut off; none if its outermost
// fields are whole, or if it does not begin as a model does.
std::optional<std::uint64_t> MissingBytes(Bytes bytes) {
  const char* at = bytes.data();
  const char* const end = at + bytes.size();
  for (bool first = true; at != end; first = false) {
    std::uint64_t tag = 0;
    std::uint64_t value = 0;
    const char* next = wire::ParseVarint(at, end, tag);
    if (first &&
        (next == nullptr || tag != onnx::ModelProto::kIrVersion << 3)) {
      return std::nullopt;
    }
    const std::uint64_t type = tag & 7;
    if (next != nullptr && (type == 0 || type == 2)) {
      next = wire::ParseVarint(next, end, value);
    }
    if (next == nullptr) {
      // A number longer than any is not one that was cut off.
      if (end - at > 2 * 10) return std::nullopt;
      return 1;
    }
    const std::uint64_t size = type == 0   ? 0
                               : type == 1 ? 8
                               : type == 2 ? value
                               : type == 5 ? 4
                                           : 0;
    if (type == 3 || type == 4 || type > 5) return std::nullopt;
    const auto left = static_cast<std::uint64_t>(end - next);
    if (size > left) return size - left;
    at = next + size;
  }
  return std::nullopt;
}

}  // namespace

ModelReader::ModelReader(Bytes bytes, const Release& release,
                         const Fetch& fetch)
    : bytes_(bytes), release_(release), fetch_(fetch) {
  model_.bytes_ = bytes;
}

Model ModelReader::Read() {
  try {
    ReadModelProto();
  } catch (const wire::WireError& error) {
    const std::string other = WhatElseItIs(bytes_);
    if (!other.empty()) {
      Fail(ErrorKind::kInput, "not an ONNX model: {}", Ours{other});
    }
    if (const std::optional<std::uint64_t> missing = MissingBytes(bytes_)) {
      Fail(
          ErrorKind::kInput,
          "the file is cut off: at least {} missing\n  download or export it "
          "again",
          *missing == 1 ? "1 byte is" : WithThousands(*missing) + " bytes are");
    }
    Fail(ErrorKind::kInput, "not an ONNX model: {} ({})", error.what(),
         WhereAmI(error.position()));
  }
  NameResolver(model_, graph_names_).Resolve();
  return std::move(model_);
}

void ModelReader::ReadModelProto() {
  AddGraph(GraphKind::kMain);
  model_.spine_.push_back(
      {.begin = 0, .size = bytes_.size(), .parent = 0, .prefix_width = 0});
  const Place file{bytes_, 0, 0};
  bool has_graph = false;
  std::uint32_t training_count = 0;
  FieldReader reader(bytes_);
  for (Field field; reader.Next(field);) {
    if (Is(field, onnx::ModelProto::kGraph)) {
      has_graph = true;
      ReadGraph(Enter(file, field), GraphId{0});
    } else if (Is(field, onnx::ModelProto::kFunctions)) {
      ReadFunction(Enter(file, field));
    } else if (Is(field, onnx::ModelProto::kTrainingInfo)) {
      ReadTrainingInfo(Enter(file, field), training_count++);
    } else if (Is(field, onnx::ModelProto::kMetadataProps)) {
      model_.metadata_.push_back(ReadEntry(field, 0));
    } else if (IsInt(field, onnx::ModelProto::kIrVersion)) {
      model_.ir_version_ = static_cast<std::int64_t>(field.varint);
    } else if (Is(field, onnx::ModelProto::kProducerName)) {
      model_.producer_name_ = field.bytes;
    } else if (Is(field, onnx::ModelProto::kProducerVersion)) {
      model_.producer_version_ = field.bytes;
    } else if (Is(field, onnx::ModelProto::kOpsetImport)) {
      using onnx::OperatorSetIdProto;
      model::CheckField(field, MessageType::kModelProto, 0);
      model_.opsets_.push_back(
          {model::LastOf(field.bytes, OperatorSetIdProto::kDomain),
           model::LastInt(field.bytes, OperatorSetIdProto::kVersion, 0)});
    }
  }
  if (!has_graph) {
    const std::string other = WhatElseItIs(bytes_);
    Fail(ErrorKind::kInput, "not an ONNX model: {}",
         Ours{!other.empty()   ? other
              : bytes_.empty() ? "the file is empty"
                               : "the file has no graph"});
  }
}

ModelReader::Place ModelReader::Enter(const Place& parent, const Field& field) {
  const int depth = Deeper(field, parent.depth);
  model_.spine_.push_back(wire::MessageIn(bytes_, field, parent.message));
  return {field.bytes, static_cast<wire::MessageId>(model_.spine_.size() - 1),
          depth};
}

GraphId ModelReader::AddGraph(GraphKind kind) {
  Graph graph;
  graph.kind = kind;
  graph_names_.emplace_back();
  return model_.graphs_.Add(std::move(graph));
}

void ModelReader::ReadGraph(const Place& place, GraphId graph) {
  FieldReader reader(place.bytes, place.depth);
  for (Field field; reader.Next(field);) {
    if (!field.IsBytes()) continue;
    switch (field.number) {
      case onnx::GraphProto::kNode:
        ReadNode(Enter(place, field), graph);
        break;
      case onnx::GraphProto::kInitializer:
        ReadInitializer(field, graph, place.depth);
        break;
      case onnx::GraphProto::kSparseInitializer:
        ReadSparseInitializer(field, graph, place.depth);
        break;
      case onnx::GraphProto::kInput:
        ReadValueInfo(field, graph, &graph_names_[Index(graph)].inputs,
                      place.depth);
        break;
      case onnx::GraphProto::kOutput:
        ReadValueInfo(field, graph, &graph_names_[Index(graph)].outputs,
                      place.depth);
        break;
      case onnx::GraphProto::kValueInfo:
        ReadValueInfo(field, graph, nullptr, place.depth);
        break;
      case onnx::GraphProto::kName:
        model_.graphs_[graph].name = field.bytes;
        break;
      case onnx::GraphProto::kMetadataProps:
        model_.graphs_[graph].metadata.push_back(ReadEntry(field, place.depth));
        break;
      default:
        model::CheckField(field, MessageType::kGraphProto, place.depth);
        break;
    }
    if (release_) ReleaseBehind(field);
    if (fetch_) FetchAhead(field);
  }
}

// Weights are skipped, but reading their first bytes loads pages.
void ModelReader::ReleaseBehind(const Field& field) {
  if (field.number == onnx::GraphProto::kNode &&
      field.whole.size() < kLargeField) {
    return;
  }
  const std::uint64_t end = Offset(field.whole.data()) + field.whole.size();
  if (end - released_ < kReleaseStep) return;
  // A page fault also loads the pages before and after it.
  release_(released_ - std::min<std::uint64_t>(released_, kFaultAround), end);
  released_ = end;
}

// Most of a model is weights that the reader jumps over, so a mapped file is
// loaded page by page. Where no jump comes, pieces are fetched that grow.
void ModelReader::FetchAhead(const Field& field) {
  const std::uint64_t end = Offset(field.whole.data()) + field.whole.size();
  if (field.whole.size() >= kLargeField) {
    fetched_ = 0;
    fetch_at_ = end + kLargeField / 2;
  } else if (end >= fetch_at_) {
    fetched_ =
        fetched_ == 0 ? kFirstPiece : std::min(2 * fetched_, kLargestPiece);
    fetch_(end, std::min<std::uint64_t>(end + fetched_, bytes_.size()));
    fetch_at_ = end + fetched_ / 2;
  }
}

NameId ModelReader::InternTensorName(Bytes text, std::size_t tensor_size) {
  const NameId known = model_.names_.Find(text);
  if (known != kNo<NameId> || tensor_size < kReleaseStep / 256) {
    return known != kNo<NameId> ? known : Intern(text);
  }
  // A view of a name between released weights would load their pages again at
  // each access. So the name is copied.
  return Intern(model_.owned_texts_.Keep(text));
}

void ModelReader::ReadNode(const Place& place, GraphId graph) {
  // Subgraphs add their own nodes, so this node is added first.
  const NodeId id = model_.nodes_.Add({});
  {
    Node& node = model_.nodes_[id];
    node.graph = graph;
    node.index = static_cast<std::uint32_t>(model_.graphs_[graph].nodes.size());
    node.message = place.message;
    node.op_type = node.domain = kNo<NameId>;
    node.first_metadata =
        static_cast<std::uint32_t>(model_.node_metadata_.size());
  }
  model_.graphs_[graph].nodes.push_back(id);

  scratch_names_.clear();
  scratch_inputs_.clear();
  scratch_outputs_.clear();
  std::vector<Field> with_graphs;
  NameId op_type = kNo<NameId>;
  NameId domain = kNo<NameId>;
  std::string_view name;
  bool unreadable = false;
  FieldReader reader(place.bytes, place.depth);
  const auto add_name = [&](std::uint32_t number, Bytes text) {
    scratch_names_.push_back({number, model_.names_.Prepare(text), text});
  };
  for (Field field; reader.Next(field);) {
    if (!field.IsBytes()) continue;
    switch (field.number) {
      case onnx::NodeProto::kInput:
      case onnx::NodeProto::kOutput:
      case onnx::NodeProto::kOpType:
        add_name(field.number, field.bytes);
        break;
      case onnx::NodeProto::kDomain:
        add_name(field.number, field.bytes == "ai.onnx" ? "" : field.bytes);
        break;
      case onnx::NodeProto::kName:
        name = field.bytes;
        break;
      case onnx::NodeProto::kAttribute:
        // Checks attributes of any operator, not only of If, Loop and Scan.
        if (model::CheckAttribute(field, place.depth, unreadable)) {
          with_graphs.push_back(field);
        }
        break;
      case onnx::NodeProto::kMetadataProps:
        model_.node_metadata_.push_back(ReadEntry(field, place.depth));
        break;
      case onnx::NodeProto::kDocString:
        // Subgraphs are read later, so these are in the order of nodes.
        if (!field.bytes.empty()) {
          model_.doc_strings_.emplace_back(id, field.bytes);
        }
        break;
      default:
        break;
    }
  }
  for (const NameField& field : scratch_names_) {
    const NameId text = model_.names_.Intern(field.text, field.hash);
    switch (field.field) {
      // The ids of names; NameResolver replaces them by values.
      case onnx::NodeProto::kInput:
        scratch_inputs_.push_back(MakeId<ValueId>(Index(text)));
        break;
      case onnx::NodeProto::kOutput:
        scratch_outputs_.push_back(MakeId<ValueId>(Index(text)));
        break;
      case onnx::NodeProto::kOpType:
        op_type = text;
        break;
      default:
        domain = text;
        break;
    }
  }
  if (unreadable) {
    model_.unreadable_.push_back(
        scratch_outputs_.empty()
            ? name
            : model_.names_[MakeId<NameId>(Index(scratch_outputs_.front()))]);
  }
  Node& node = model_.nodes_[id];
  node.name = name;
  node.op_type = op_type == kNo<NameId> ? Intern("") : op_type;
  node.domain = domain == kNo<NameId> ? Intern("") : domain;
  node.first_operand = static_cast<std::uint32_t>(model_.operands_.size());
  node.input_count = static_cast<std::uint32_t>(scratch_inputs_.size());
  node.output_count = static_cast<std::uint32_t>(scratch_outputs_.size());
  node.metadata_count =
      static_cast<std::uint32_t>(model_.node_metadata_.size()) -
      node.first_metadata;
  model_.operands_.insert(model_.operands_.end(), scratch_inputs_.begin(),
                          scratch_inputs_.end());
  model_.operands_.insert(model_.operands_.end(), scratch_outputs_.begin(),
                          scratch_outputs_.end());
  for (const Field& attribute : with_graphs) {
    ReadGraphAttribute(place, attribute, id);
  }
}

void ModelReader::ReadGraphAttribute(const Place& node_place,
                                     const Field& field, NodeId node) {
  const std::string_view name =
      model::LastOf(field.bytes, onnx::AttributeProto::kName);
  const auto add_subgraph = [&](std::uint32_t position) {
    const GraphId id = AddGraph(GraphKind::kSubgraph);
    Graph& graph = model_.graphs_[id];
    graph.parent = model_.nodes_[node].graph;
    graph.parent_node = node;
    graph.attribute = name;
    graph.position = position;
    model_.subgraph_nodes_.push_back(node);
    model_.subgraph_graphs_.push_back(id);
    return id;
  };
  const Place place = Enter(node_place, field);
  GraphId single = kNo<GraphId>;  // if `g` occurs twice, both are merged
  std::uint32_t position = 0;
  FieldReader graphs(place.bytes);
  for (Field part; graphs.Next(part);) {
    if (Is(part, onnx::AttributeProto::kG)) {
      if (single == kNo<GraphId>) single = add_subgraph(0xffffffff);
      ReadGraph(Enter(place, part), single);
    } else if (Is(part, onnx::AttributeProto::kGraphs)) {
      ReadGraph(Enter(place, part), add_subgraph(position++));
    }
  }
}

void ModelReader::ReadFunction(const Place& place) {
  const GraphId body = AddGraph(GraphKind::kFunction);
  model_.graphs_[body].function =
      static_cast<std::uint32_t>(model_.functions_.size());
  Function function;
  bool unreadable = false;
  function.body = body;
  function.bytes = place.bytes;
  model_.functions_.push_back(function);
  FieldReader reader(place.bytes, place.depth);
  for (Field field; reader.Next(field);) {
    if (!field.IsBytes()) continue;
    switch (field.number) {
      case onnx::FunctionProto::kNode:
        ReadNode(Enter(place, field), body);
        break;
      case onnx::FunctionProto::kInput:
        graph_names_[Index(body)].inputs.push_back(Intern(field.bytes));
        break;
      case onnx::FunctionProto::kOutput:
        graph_names_[Index(body)].outputs.push_back(Intern(field.bytes));
        break;
      case onnx::FunctionProto::kValueInfo:
        ReadValueInfo(field, body, nullptr, place.depth);
        break;
      case onnx::FunctionProto::kName:
        function.name = field.bytes;
        break;
      case onnx::FunctionProto::kDomain:
        function.domain = field.bytes;
        break;
      case onnx::FunctionProto::kOverload:
        function.overload = field.bytes;
        break;
      case onnx::FunctionProto::kOpsetImport:
        model::CheckField(field, MessageType::kFunctionProto, place.depth);
        break;
      case onnx::FunctionProto::kAttributeProto:
        model::CheckField(field, MessageType::kFunctionProto, place.depth,
                          unreadable);
        break;
      case onnx::FunctionProto::kMetadataProps:
        function.metadata.push_back(ReadEntry(field, place.depth));
        break;
      default:
        break;
    }
  }
  if (unreadable) model_.unreadable_.push_back(function.name);
  model_.graphs_[body].name = function.name;
  model_.functions_[model_.graphs_[body].function] = std::move(function);
}

void ModelReader::ReadTrainingInfo(const Place& place, std::uint32_t position) {
  GraphId graphs[2] = {kNo<GraphId>, kNo<GraphId>};
  FieldReader reader(place.bytes, place.depth);
  for (Field field; reader.Next(field);) {
    const bool algorithm = Is(field, onnx::TrainingInfoProto::kAlgorithm);
    if (!algorithm && !Is(field, onnx::TrainingInfoProto::kInitialization)) {
      model::CheckField(field, MessageType::kTrainingInfoProto, place.depth);
      continue;
    }
    GraphId& id = graphs[algorithm ? 1 : 0];
    if (id == kNo<GraphId>) {
      id = AddGraph(GraphKind::kTraining);
      model_.graphs_[id].position = position;
      model_.graphs_[id].training_algorithm = algorithm;
    }
    ReadGraph(Enter(place, field), id);
  }
}

MetadataEntry ModelReader::ReadEntry(const Field& field, int depth) const {
  return model::ReadEntry(field, Deeper(field, depth));
}

std::string ModelReader::WhereAmI(const char* at) const {
  std::string byte = fmt::format("at byte {}", Offset(at));
  if (model_.nodes_.empty()) return byte;
  const Node& node = model_.nodes_[MakeId<NodeId>(model_.nodes_.size() - 1)];
  return fmt::format("{}, near node {}", byte, node.index);
}

Model ReadModel(Bytes bytes, const Release& release, const Fetch& fetch) {
  return ModelReader(bytes, release, fetch).Read();
}

// Recognises other kinds of files that have the name model.onnx, for a helpful
// error message.
std::string WhatElseItIs(Bytes bytes) {
  const Bytes head = bytes.substr(0, 512);
  const Bytes text = head.substr(head.starts_with("\xef\xbb\xbf") ? 3 : 0);
  static constexpr struct {
    std::size_t at;
    std::string_view mark;
    const char* what;
  } kMarks[] = {
      {0, "version https://git-lfs",
       "a Git LFS pointer\n  download the file: git lfs pull"},
      {0, "PK\x03\x04",
       "a zip archive\n  unpack it and give the .onnx file inside"},
      {0, "\x1f\x8b", "a gzip archive\n  unpack it first: gunzip"},
      {4, "ORTM", "an ONNX Runtime .ort file\n  give the original .onnx file"},
      {0, "\x80\x02",
       "a Python pickle (a PyTorch checkpoint?)\n  give the exported .onnx "
       "file"},
      {0, "GGUF", "a GGUF file"},
      {0, "\x93NUMPY", "a NumPy array (.npy)"},
      {0, "\x89HDF", "an HDF5 file (Keras weights?)"},
      {4, "TFL3", "a TensorFlow Lite model"},
  };
  // The name of the first file in a zip archive.
  const Bytes zipped =
      head.starts_with("PK\x03\x04") && head.size() > 30
          ? head.substr(30, static_cast<unsigned char>(head[26]))
          : Bytes();
  if (zipped.ends_with("data.pkl")) {
    return "a PyTorch checkpoint\n  it has weights and no graph; give the "
           "exported .onnx file";
  }
  if (zipped.ends_with(".npy")) return "NumPy arrays (.npz)";
  for (const auto& [at, mark, what] : kMarks) {
    if (head.size() >= at && head.substr(at).starts_with(mark)) return what;
  }
  // Safetensors: the size of a JSON text, the text, and numbers.
  if (head.size() > 9 && head.substr(5, 5).starts_with(Bytes("\0\0\0{\"", 5))) {
    return "a safetensors file\n  it has weights and no graph; give the "
           "exported .onnx file";
  }
  const std::size_t start = text.find_first_not_of(" \t\r\n");
  const Bytes word = start == Bytes::npos ? Bytes() : text.substr(start);
  if (word.starts_with("<")) {
    return "an HTML or XML page (a failed download?)";
  }
  if (word.starts_with("{") || word.starts_with("[")) return "JSON text";
  if (text.size() != head.size()) {
    return "it starts with a UTF-8 byte order mark: something rewrote it as "
           "text";
  }
  std::size_t printable = 0;
  for (const char c : head) {
    printable += (c >= ' ' && c <= '~') || c == '\n' || c == '\r' || c == '\t';
  }
  if (!head.empty() && printable == head.size()) return "a text file";
  return "";
}

}  // namespace onnx_tag
