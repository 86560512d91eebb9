#include "edit/part.h"

#include "model/onnx_fields.h"
#include "tagging/tag_format.h"
#include "wire/encoding.h"

namespace onnx_tag::edit {
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

// What the outputs of a node's subgraphs hand on without a node in between.
template <typename Use>
void ForEachReturned(const Model& model, NodeId node, Use&& use) {
  for (const GraphId graph : model.Subgraphs(node)) {
    for (const ValueId output : model[graph].outputs) use(output);
  }
}

}  // namespace

std::vector<ValueId> ReadsOf(const Model& model, NodeId node) {
  std::vector<ValueId> reads;
  const auto add = [&](ValueId value) {
    if (IsOfMain(model, value)) reads.push_back(value);
  };
  ForEachInside(model, node, [&](NodeId inner) {
    for (const ValueId input : model.Inputs(inner)) add(input);
    ForEachReturned(model, inner, add);
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

PartWriter::PartWriter(const Model& model, const sizes::Shapes& shapes,
                       const Part& part, const Release& release)
    : model_(model), edit_(model) {
  FindUses(part);
  edit_.Keep([&](const GraphEdit::Part& field) { return Keeps(field, part); },
             release);
  inputs_ = AppendValues(onnx::GraphProto::kInput, part.inputs, shapes);
  outputs_ = AppendValues(onnx::GraphProto::kOutput, part.outputs, shapes);
  edit_.Finish();
}

void PartWriter::FindUses(const Part& part) {
  used_.assign(model_.value_count(), false);
  made_.assign(model_.value_count(), false);
  called_.assign(model_.functions().size(), false);
  for (std::size_t i = 0; i < called_.size(); ++i) {
    functions_[model_.functions()[i].name].push_back(i);
  }
  const std::vector<NodeId>& nodes = model_[GraphId{0}].nodes;
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    if (!part.nodes[i]) continue;
    UseNode(nodes[i]);
    for (const ValueId output : model_.Outputs(nodes[i])) {
      if (output != kNo<ValueId>) made_[Index(output)] = true;
    }
  }
  for (const ValueId id : AllIds<ValueId>(model_.value_count())) {
    const std::size_t name = Index(model_[id].name);
    if (!IsOfMain(model_, id)) continue;
    if (name >= named_.size()) named_.resize(name + 1, kNo<ValueId>);
    named_[name] = id;
  }
  ends_.assign(named_.size(), false);
  for (const auto* names : {&part.inputs, &part.outputs}) {
    for (const std::string& name : *names) {
      const NameId id = model_.FindName(name);
      if (id == kNo<NameId> || Index(id) >= ends_.size()) continue;
      ends_[Index(id)] = true;
    }
  }
  // A weight may be an output itself.
  for (const std::string& name : part.outputs) {
    const ValueId value = ValueNamed(name);
    if (value != kNo<ValueId>) used_[Index(value)] = true;
  }
  for (const Initializer& tensor : model_.initializers()) {
    if (!IsOfMain(model_, tensor.value)) continue;
    const bool kept = used_[Index(tensor.value)];
    kept_.push_back(kept);
    weights_ += kept;
  }
}

void PartWriter::UseNode(NodeId node) {
  ForEachInside(model_, node, [&](NodeId inner) {
    for (const ValueId input : model_.Inputs(inner)) {
      if (input != kNo<ValueId>) used_[Index(input)] = true;
    }
    ForEachReturned(model_, inner, [&](ValueId value) {
      if (value != kNo<ValueId>) used_[Index(value)] = true;
    });
    Call(inner);
  });
}

// Marks the functions that `node` and their bodies call.
void PartWriter::Call(NodeId node) {
  if (called_.empty()) return;
  std::vector<NodeId> open = {node};
  while (!open.empty()) {
    const NodeId at = open.back();
    open.pop_back();
    const auto named = functions_.find(model_.OpType(at));
    if (named == functions_.end()) continue;
    for (const std::size_t i : named->second) {
      const Function& function = model_.functions()[i];
      if (called_[i] || function.domain != model_.Domain(at)) continue;
      called_[i] = true;
      for (const NodeId inside : model_[function.body].nodes) {
        ForEachInside(model_, inside,
                      [&](NodeId inner) { open.push_back(inner); });
      }
    }
  }
}

ValueId PartWriter::ValueNamed(std::string_view name) const {
  const NameId id = model_.FindName(name);
  return id == kNo<NameId> || Index(id) >= named_.size() ? kNo<ValueId>
                                                         : named_[Index(id)];
}

bool PartWriter::Keeps(const GraphEdit::Part& field, const Part& part) const {
  const auto value = [&] { return ValueNamed(field.name); };
  const auto is_kept_weight = [&](ValueId id) {
    return id != kNo<ValueId> && used_[Index(id)] &&
           model_.InitializerOf(id) != nullptr;
  };
  switch (field.kind) {
    case GraphEdit::Kind::kNode:
      return part.nodes[field.index];
    case GraphEdit::Kind::kInitializer:
      return kept_[field.index];
    case GraphEdit::Kind::kInput:
      // Old files list weights among the inputs.
      return is_kept_weight(value());
    case GraphEdit::Kind::kOutput:
    case GraphEdit::Kind::kTraining:
      return false;
    case GraphEdit::Kind::kValueInfo:
    case GraphEdit::Kind::kAnnotation: {
      const ValueId id = value();
      if (id == kNo<ValueId>) return false;
      if (is_kept_weight(id)) return true;
      return made_[Index(id)] && (field.kind == GraphEdit::Kind::kAnnotation ||
                                  !ends_[Index(model_[id].name)]);
    }
    case GraphEdit::Kind::kFunction:
      return called_[field.index];
    case GraphEdit::Kind::kMetadata:
      // It counts messages of the whole file.
      return field.name != keys::kLayout;
  }
  return true;
}

std::vector<PartValue> PartWriter::AppendValues(
    std::uint32_t field, const std::vector<std::string>& names,
    const sizes::Shapes& shapes) {
  std::vector<PartValue> values;
  std::string encoded;
  for (const std::string& name : names) {
    const ValueId value = ValueNamed(name);
    const protobuf::TensorType type = value != kNo<ValueId>
                                          ? TensorTypeOf(shapes, value)
                                          : protobuf::TensorType();
    const Bytes info = edit_.InfoOf(name);
    wire::AppendLengthDelimited(encoded, field,
                                protobuf::BuildValueInfo(name, info, type));
    values.push_back({name, type, protobuf::IsCompleteInfo(info, type)});
  }
  edit_.Append(std::move(encoded));
  return values;
}

}  // namespace onnx_tag::edit
