#include "uses/edit/graph_edit.h"

#include <limits>

#include "file/model/field_kinds.h"
#include "file/model/onnx_fields.h"
#include "file/wire/field_reader.h"
#include "onnx_tag/error.h"

namespace onnx_tag::edit {
namespace {

using model::Is;
using onnx::GraphProto;
using onnx::MessageType;
using onnx::ModelProto;
using wire::Field;
using wire::FieldReader;

constexpr std::uint64_t kReleaseStep = 256 * 1024;

GraphEdit::Kind KindOf(onnx::MessageType in, const Field& field) {
  using Kind = GraphEdit::Kind;
  static constexpr struct {
    onnx::MessageType in;
    std::uint32_t number;
    Kind kind;
  } kKinds[] = {
      {MessageType::kGraphProto, GraphProto::kNode, Kind::kNode},
      {MessageType::kGraphProto, GraphProto::kInitializer, Kind::kInitializer},
      {MessageType::kGraphProto, GraphProto::kSparseInitializer,
       Kind::kInitializer},
      {MessageType::kGraphProto, GraphProto::kInput, Kind::kInput},
      {MessageType::kGraphProto, GraphProto::kOutput, Kind::kOutput},
      {MessageType::kGraphProto, GraphProto::kValueInfo, Kind::kValueInfo},
      {MessageType::kGraphProto, GraphProto::kQuantizationAnnotation,
       Kind::kAnnotation},
      {MessageType::kModelProto, ModelProto::kFunctions, Kind::kFunction},
      {MessageType::kModelProto, ModelProto::kTrainingInfo, Kind::kTraining},
      {MessageType::kModelProto, ModelProto::kMetadataProps, Kind::kMetadata},
  };
  for (const auto& row : kKinds) {
    if (field.IsBytes() && row.in == in && row.number == field.number) {
      return row.kind;
    }
  }
  return Kind::kOther;
}

bool HasName(GraphEdit::Kind kind) {
  return kind != GraphEdit::Kind::kNode &&
         kind != GraphEdit::Kind::kInitializer &&
         kind != GraphEdit::Kind::kTraining && kind != GraphEdit::Kind::kOther;
}

}  // namespace

std::string FreeNames::Take(const std::string& wanted) {
  const auto is_taken = [&](const std::string& name) {
    return model_.FindName(name) != kNo<NameId> || given_.contains(name);
  };
  std::string name = wanted;
  if (is_taken(name)) {
    std::uint32_t& last = last_.try_emplace(wanted, 1).first->second;
    while (is_taken(name)) name = wanted + "~" + std::to_string(++last);
  }
  given_.insert(name);
  return name;
}

bool GraphEdit::IsInfo(Kind kind) {
  return kind == Kind::kInput || kind == Kind::kOutput ||
         kind == Kind::kValueInfo;
}

GraphEdit::GraphEdit(const Model& model) : model_(model) {
  const Bytes file = model.bytes();
  tree_.push_back({.begin = 0, .size = file.size(), .parent = 0});
  model::ForEach(file, ModelProto::kGraph, [&](const Field& field) {
    tree_.push_back(wire::MessageIn(file, field, 0));
  });
  rewrite_.emplace(file, tree_);
}

void GraphEdit::ForEach(const Model& model,
                        const std::function<void(const Part&)>& use,
                        const Release& release) {
  std::uint32_t counts[Index(Kind::kOther) + 1] = {};
  std::uint64_t released = 0;
  const auto give = [&](const Field& field, MessageType message,
                        wire::MessageId in) {
    const Kind kind = KindOf(message, field);
    // Messages have their name or key in field 1.
    use({kind, counts[Index(kind)]++,
         HasName(kind) ? model::LastOf(field.bytes, onnx::BytesField{1}) : "",
         field.bytes, field.whole, in});
    if (!release || kind != Kind::kInitializer) return;
    const std::uint64_t end =
        OffsetIn(model.bytes(), field.whole) + field.whole.size();
    if (end - released < kReleaseStep) return;
    release(released, end);
    released = end;
  };
  wire::MessageId graph = 0;
  FieldReader reader(model.bytes());
  for (Field field; reader.Next(field);) {
    if (!Is(field, ModelProto::kGraph)) {
      give(field, MessageType::kModelProto, 0);
      continue;
    }
    ++graph;
    FieldReader inner(field.bytes);
    for (Field part; inner.Next(part);) {
      give(part, MessageType::kGraphProto, graph);
    }
  }
}

void GraphEdit::Keep(const std::function<bool(const Part&)>& keep,
                     const Release& release) {
  ForEach(
      model_,
      [&](const Part& part) {
        if (part.kind == Kind::kOther) return;
        // An input may have the type that an output or value_info leaves out;
        // the first that says one counts.
        if (IsInfo(part.kind)) infos_.try_emplace(part.name, part.bytes);
        if (!keep(part)) rewrite_->Erase(part.message, part.whole);
      },
      release);
}

void GraphEdit::Insert(const Part& part, std::string encoded_graph_fields) {
  inserted_.push_back(std::move(encoded_graph_fields));
  rewrite_->Insert(part.message,
                   OffsetIn(model_.bytes(), part.whole) + part.whole.size(),
                   inserted_.back().size(), inserted_.size());
}

Bytes GraphEdit::InfoOf(std::string_view value) const {
  const auto at = infos_.find(value);
  return at == infos_.end() ? Bytes() : at->second;
}

void GraphEdit::Append(std::string encoded_graph_fields) {
  appended_ += encoded_graph_fields;
}

void GraphEdit::Finish() {
  if (appended_.size() > std::numeric_limits<std::uint32_t>::max()) {
    Fail(ErrorKind::kOutput, "the new fields take more than 4 GiB");
  }
  if (!appended_.empty()) {
    rewrite_->Append(static_cast<wire::MessageId>(tree_.size() - 1),
                     appended_.size(), 0);
  }
  rewrite_->Layout();
}

void GraphEdit::Write(wire::Rewrite::Sink& sink) const {
  rewrite_->Write(sink, [this](std::uint64_t token, std::string& out) {
    out += token == 0 ? appended_ : inserted_[token - 1];
  });
}

}  // namespace onnx_tag::edit
