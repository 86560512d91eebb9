#include "uses/edit/part.h"

#include <optional>
#include <unordered_set>

#include "base/lists.h"
#include "base/parse_number.h"
#include "core/tagging/tag_format.h"
#include "file/model/attributes.h"
#include "file/model/field_kinds.h"
#include "file/model/onnx_fields.h"
#include "file/wire/encoding.h"
#include "file/wire/field_reader.h"

namespace onnx_tag::edit {

// Tested by tests/app/commands/external_data_test.cc.

namespace {

using model::Is;
using model::IsInt;
using onnx::TensorProto;
using wire::Field;
using wire::FieldReader;

// Of small pieces, and of those that readers map into memory: a page.
constexpr std::uint64_t kSmallAlignment = 64;
constexpr std::uint64_t kPage = 4096;

}  // namespace

std::uint64_t WeightPacker::Place(const File& file, std::uint64_t offset,
                                  std::uint64_t size) {
  const auto [at, is_new] = places_.try_emplace({file.path, {offset, size}}, 0);
  if (!is_new) return at->second;
  const std::uint64_t alignment = size < kPage ? kSmallAlignment : kPage;
  const std::uint64_t end =
      pieces_.empty() ? 0 : pieces_.back().at + pieces_.back().size;
  at->second = (end + alignment - 1) / alignment * alignment;
  pieces_.push_back({file.path, offset, size, at->second});
  return at->second;
}

std::string WeightPacker::Move(Bytes tensor) {
  std::string kept;
  bool external = false;
  std::string_view location;
  std::optional<std::uint64_t> offset = 0;
  std::optional<std::uint64_t> size;
  bool sized = false;
  FieldReader reader(tensor);
  for (Field field; reader.Next(field);) {
    if (IsInt(field, TensorProto::kDataLocation)) external = field.varint == 1;
    if (!Is(field, TensorProto::kExternalData)) {
      // What holds its numbers is not external, and may be large.
      if (Is(field, TensorProto::kRawData)) return "";
      kept += field.whole;
      continue;
    }
    const MetadataEntry entry = model::ReadEntry(field);
    if (entry.key == "location") location = entry.value;
    if (entry.key == "offset") offset = ParseWhole<std::uint64_t>(entry.value);
    if (entry.key == "length") {
      size = ParseWhole<std::uint64_t>(entry.value);
      sized = true;
    }
  }
  if (!external || !offset) return "";
  const auto file = files_.find(location);
  if (file == files_.end() || *offset > file->second.size) return "";
  const std::uint64_t rest = file->second.size - *offset;
  if (!sized) size = rest;
  if (!size || *size > rest) return "";
  const std::uint64_t at = Place(file->second, *offset, *size);
  const auto add = [&](std::string_view key, const std::string& value) {
    wire::AppendLengthDelimited(kept, TensorProto::kExternalData,
                                protobuf::BuildMetadataEntry(key, value));
  };
  add("location", location_);
  add("offset", std::to_string(at));
  add("length", std::to_string(*size));
  return kept;
}

namespace {

bool IsOfMain(const Model& model, ValueId value) {
  return value != kNo<ValueId> && model[value].graph == GraphId{0};
}

// Calls `use` with a node and with those of the graphs in it, which follow it.
template <typename Use>
void ForEachInside(const Model& model, NodeId node, Use&& use) {
  use(node);
  if (model.Subgraphs(node).empty()) return;
  for (std::size_t i = Index(node) + 1; i < model.node_count(); ++i) {
    const NodeId inner = MakeId<NodeId>(i);
    if (model[inner].graph == model[node].graph ||
        model[model[inner].graph].kind != GraphKind::kSubgraph) {
      break;
    }
    use(inner);
  }
}

// Calls `use` with what these nodes read, and then with what the outputs of
// graphs in them hand on without a node in between.
template <typename Use>
void ForEachRead(const Model& model, NodeId node, const Use& use) {
  ForEachInside(model, node, [&](NodeId inner) {
    for (const ValueId input : model.Inputs(inner)) use(input);
  });
  ForEachInside(model, node, [&](NodeId inner) {
    for (const GraphId graph : model.Subgraphs(inner)) {
      for (const ValueId output : model[graph].outputs) use(output);
    }
  });
}

}  // namespace

std::vector<ValueId> ReadsOf(const Model& model, NodeId node) {
  std::vector<ValueId> reads;
  ForEachRead(model, node, [&](ValueId value) {
    if (IsOfMain(model, value)) reads.push_back(value);
  });
  return reads;
}

protobuf::TensorType TensorTypeOf(const sizes::Shapes& shapes, ValueId value) {
  protobuf::TensorType type{.element = shapes.TypeOf(value)};
  std::optional<sizes::Shape> shape = shapes.Of(value);
  if (const sizes::Sequence* const sequence = shapes.SequenceOf(value)) {
    type.sequence = true;
    shape = sequence->element;
  }
  if (!shape) return type;
  type.dims.emplace();
  for (const sizes::Dim dim : *shape) {
    protobuf::TensorDim open;
    const sizes::SymbolId symbol = shapes.formulas().OnlySymbol(dim);
    if (dim.IsNumber()) {
      open.number = dim.number();
    } else if (symbol != kNo<sizes::SymbolId> &&
               shapes.formulas()[symbol].in_file) {
      open.name = shapes.formulas()[symbol].name;
    }
    type.dims->push_back(std::move(open));
  }
  return type;
}

PartSource::PartSource(const Model& model, const Release& release)
    : model_(model) {
  using Kind = GraphEdit::Kind;
  wire::FieldReader reader(model.bytes());
  for (wire::Field field; reader.Next(field);) {
    if (!model::Is(field, onnx::ModelProto::kGraph)) continue;
    graph_begin_ = OffsetIn(model.bytes(), field.whole);
    break;
  }
  GraphEdit::ForEach(
      model,
      [&](const GraphEdit::Part& field) {
        if (GraphEdit::IsInfo(field.kind)) {
          infos_.try_emplace(field.name, field.bytes);
        }
        const auto& [kind, index, name, bytes, whole, message] = field;
        if (kind == Kind::kNode) nodes_.push_back(whole);
        if (kind == Kind::kInitializer) initializers_.push_back(whole);
        if (kind == Kind::kFunction) functions_.push_back(whole);
        if (kind == Kind::kInput) inputs_.emplace(name, whole);
        if (kind == Kind::kValueInfo) value_infos_.emplace(name, whole);
        if (kind == Kind::kAnnotation) annotations_.emplace(name, whole);
        // That record counts messages of the whole file.
        if (kind == Kind::kMetadata && name != keys::kLayout) {
          rest_.push_back(whole);
        }
        if (kind == Kind::kOther) {
          (message == 0 ? rest_ : rest_of_graph_).push_back(whole);
        }
      },
      release);
  calls_ = FunctionCalls(model);
  for (const ValueId id : AllIds<ValueId>(model.value_count())) {
    if (!IsOfMain(model, id)) continue;
    named_.Grown(model[id].name, kNo<ValueId>) = id;
  }
  constexpr std::uint32_t kNone = 0xffffffff;
  first_weight_.assign(model.value_count(), kNone);
  for (const Initializer& tensor : model.initializers()) {
    if (!IsOfMain(model, tensor.value)) continue;
    std::uint32_t& first = first_weight_[Index(tensor.value)];
    const auto own = static_cast<std::uint32_t>(next_weight_.size());
    next_weight_.push_back(std::exchange(first, own));
  }
}

ValueId PartSource::ValueNamed(std::string_view name) const {
  const NameId id = model_.FindName(name);
  return id == kNo<NameId> || Index(id) >= named_.size() ? kNo<ValueId>
                                                         : named_[id];
}

// What the nodes of a part use and make.
struct PartWriter::Uses {
  Uses(const PartSource& source, const Part& part) : source_(source) {
    const Model& model = source.model_;
    const auto add = [](std::vector<ValueId>& values, ValueId value) {
      if (value != kNo<ValueId>) values.push_back(value);
    };
    for (const std::uint32_t index : part.nodes) {
      const NodeId node = model[GraphId{0}].nodes[index];
      ForEachRead(model, node, [&](ValueId value) { add(used, value); });
      ForEachInside(model, node, [&](NodeId inner) { Call(inner); });
      for (const ValueId output : model.Outputs(node)) add(made, output);
    }
    // A weight may be an output itself.
    for (const std::string& name : part.outputs) {
      add(used, source.ValueNamed(name));
    }
    SortUnique(used);
    SortUnique(made);
  }

  // Marks the functions that `node` and their bodies call.
  void Call(NodeId node) {
    const Model& model = source_.model_;
    if (source_.calls_.empty()) return;
    std::vector<NodeId> open = {node};
    while (!open.empty()) {
      const NodeId at = open.back();
      open.pop_back();
      const FunctionId function = source_.calls_.Of(at);
      if (function == kNo<FunctionId> ||
          !called.insert(Index(function)).second) {
        continue;
      }
      for (const NodeId inside :
           model[model.functions()[Index(function)].body].nodes) {
        ForEachInside(model, inside,
                      [&](NodeId inner) { open.push_back(inner); });
      }
    }
  }

  const PartSource& source_;
  std::vector<ValueId> used;
  std::vector<ValueId> made;
  std::unordered_set<std::size_t> called;
};

PartWriter::PartWriter(const PartSource& source, const sizes::Shapes& shapes,
                       const Part& part, WeightPacker* packer)
    : source_(source) {
  const Uses uses(source, part);
  std::vector<Bytes> file = source.rest_;
  for (const std::size_t function : uses.called) {
    file.push_back(source.functions_[function]);
  }
  spans_ = SpansOf(std::move(file));
  std::vector<Bytes> graph = source.rest_of_graph_;
  for (const std::uint32_t index : part.nodes) {
    graph.push_back(source.nodes_[index]);
  }
  KeepWeights(uses, graph, packer);
  KeepInfos(uses, part, graph);
  graph_spans_ = SpansOf(std::move(graph));
  inputs_ = AppendValues(onnx::GraphProto::kInput, part.inputs, shapes);
  outputs_ = AppendValues(onnx::GraphProto::kOutput, part.outputs, shapes);

  std::uint64_t size = appended_.size();
  for (const Span& span : graph_spans_) size += span.size;

  wire::AppendVarint(graph_head_,
                     wire::MakeTag(onnx::ModelProto::kGraph,
                                   wire::WireType::kLengthDelimited));
  wire::AppendVarint(graph_head_, size);
  new_size_ = graph_head_.size() + size;
  for (const Span& span : spans_) new_size_ += span.size;
}

void PartWriter::KeepWeights(const Uses& uses, std::vector<Bytes>& kept,
                             WeightPacker* packer) {
  for (const ValueId value : uses.used) {
    for (std::uint32_t i = source_.first_weight_[Index(value)];
         i < source_.initializers_.size(); i = source_.next_weight_[i]) {
      ++weights_;
      const Bytes whole = source_.initializers_[i];
      wire::Field field;
      wire::FieldReader(whole).Next(field);
      const std::string moved =
          packer == nullptr ? "" : packer->Move(field.bytes);
      if (moved.empty()) {
        kept.push_back(whole);
      } else {
        wire::AppendLengthDelimited(appended_, onnx::GraphProto::kInitializer,
                                    moved);
      }
    }
  }
}

// What the file says of the values inside.
void PartWriter::KeepInfos(const Uses& uses, const Part& part,
                           std::vector<Bytes>& kept) {
  const Model& model = source_.model_;
  const auto keep = [&](const PartSource::Fields& fields,
                        std::string_view name) {
    const auto [begin, end] = fields.equal_range(name);
    for (auto at = begin; at != end; ++at) kept.push_back(at->second);
  };
  std::unordered_set<std::string_view> ends(part.inputs.begin(),
                                            part.inputs.end());
  ends.insert(part.outputs.begin(), part.outputs.end());
  // A value may have two makers; it is told of once, by its name.
  std::unordered_set<std::string_view> told;
  for (const ValueId value : uses.used) {
    if (!IsOfMain(model, value) || model.InitializerOf(value) == nullptr) {
      continue;
    }
    const std::string_view name = model.ValueName(value);
    if (!told.insert(name).second) continue;
    // Old files list weights among the inputs.
    keep(source_.inputs_, name);
    keep(source_.value_infos_, name);
    keep(source_.annotations_, name);
  }
  for (const ValueId value : uses.made) {
    const std::string_view name = model.ValueName(value);
    if (!told.insert(name).second) continue;
    if (!ends.contains(name)) keep(source_.value_infos_, name);
    keep(source_.annotations_, name);
  }
}

std::vector<PartWriter::Span> PartWriter::SpansOf(
    std::vector<Bytes> fields) const {
  SortBy(fields, [](Bytes field) { return field.data(); });
  std::vector<Span> spans;
  for (const Bytes field : fields) {
    const std::uint64_t begin = OffsetIn(source_.model_.bytes(), field);
    if (!spans.empty() && spans.back().begin + spans.back().size == begin) {
      spans.back().size += field.size();
    } else {
      spans.push_back({begin, field.size()});
    }
  }
  return spans;
}

void PartWriter::Write(wire::Rewrite::Sink& sink) const {
  std::size_t i = 0;
  const auto copy = [&](std::uint64_t end) {
    for (; i < spans_.size() && spans_[i].begin < end; ++i) {
      sink.Copy(spans_[i].begin, spans_[i].size);
    }
  };
  copy(source_.graph_begin_);
  sink.Write(graph_head_);
  for (const Span& span : graph_spans_) sink.Copy(span.begin, span.size);
  sink.Write(appended_);
  copy(source_.model_.bytes().size());
}

std::vector<PartValue> PartWriter::AppendValues(
    std::uint32_t field, const std::vector<std::string>& names,
    const sizes::Shapes& shapes) {
  std::vector<PartValue> values;
  std::string encoded;
  for (const std::string& name : names) {
    const ValueId value = source_.ValueNamed(name);
    const protobuf::TensorType type = value != kNo<ValueId>
                                          ? TensorTypeOf(shapes, value)
                                          : protobuf::TensorType();
    const auto said = source_.infos_.find(name);
    const Bytes info = said == source_.infos_.end() ? Bytes() : said->second;
    wire::AppendLengthDelimited(encoded, field,
                                protobuf::BuildValueInfo(name, info, type));
    values.push_back({name, type, protobuf::IsCompleteInfo(info, type)});
  }
  appended_ += encoded;
  return values;
}

}  // namespace onnx_tag::edit
