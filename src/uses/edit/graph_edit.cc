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
using onnx::ModelProto;
using wire::Field;
using wire::FieldReader;

constexpr std::uint32_t kQuantizationAnnotation = 14;  // of GraphProto
constexpr std::uint64_t kReleaseStep = 256 * 1024;

// The text in field 1, where messages have their name or key.
std::string_view FirstText(Bytes message) {
  std::string_view text;
  FieldReader reader(message);
  for (Field field; reader.Next(field);) {
    if (Is(field, onnx::BytesField{1})) text = field.bytes;
  }
  return text;
}

GraphEdit::Kind KindInGraph(std::uint32_t number) {
  switch (number) {
    case GraphProto::kNode:
      return GraphEdit::Kind::kNode;
    case GraphProto::kInitializer:
    case GraphProto::kSparseInitializer:
      return GraphEdit::Kind::kInitializer;
    case GraphProto::kInput:
      return GraphEdit::Kind::kInput;
    case GraphProto::kOutput:
      return GraphEdit::Kind::kOutput;
    case GraphProto::kValueInfo:
      return GraphEdit::Kind::kValueInfo;
    case kQuantizationAnnotation:
      return GraphEdit::Kind::kAnnotation;
    default:
      return GraphEdit::Kind::kOther;
  }
}

GraphEdit::Kind KindInModel(std::uint32_t number) {
  switch (number) {
    case ModelProto::kFunctions:
      return GraphEdit::Kind::kFunction;
    case ModelProto::kTrainingInfo:
      return GraphEdit::Kind::kTraining;
    case ModelProto::kMetadataProps:
      return GraphEdit::Kind::kMetadata;
    default:
      return GraphEdit::Kind::kOther;
  }
}

bool HasName(GraphEdit::Kind kind) {
  return kind != GraphEdit::Kind::kNode &&
         kind != GraphEdit::Kind::kInitializer &&
         kind != GraphEdit::Kind::kTraining && kind != GraphEdit::Kind::kOther;
}

}  // namespace

bool GraphEdit::IsInfo(Kind kind) {
  return kind == Kind::kInput || kind == Kind::kOutput ||
         kind == Kind::kValueInfo;
}

GraphEdit::GraphEdit(const Model& model) : model_(model) {
  const Bytes file = model.bytes();
  tree_.push_back({.begin = 0, .size = file.size(), .parent = 0});
  FieldReader reader(file);
  for (Field field; reader.Next(field);) {
    if (!Is(field, ModelProto::kGraph)) continue;
    tree_.push_back(
        {.begin = static_cast<std::uint64_t>(field.bytes.data() - file.data()),
         .size = field.bytes.size(),
         .parent = 0,
         .prefix_width = field.prefix_width});
  }
  rewrite_.emplace(file, tree_);
}

void GraphEdit::ForEach(const Model& model,
                        const std::function<void(const Part&)>& use,
                        const Release& release) {
  std::uint32_t counts[static_cast<std::size_t>(Kind::kOther) + 1] = {};
  std::uint64_t released = 0;
  const auto give = [&](const Field& field, Kind kind, wire::MessageId in) {
    if (!field.IsBytes()) kind = Kind::kOther;
    use({kind, counts[static_cast<std::size_t>(kind)]++,
         HasName(kind) ? FirstText(field.bytes) : "", field.bytes, field.whole,
         in});
    if (!release || kind != Kind::kInitializer) return;
    const auto end = static_cast<std::uint64_t>(
        field.whole.data() + field.whole.size() - model.bytes().data());
    if (end - released < kReleaseStep) return;
    release(released, end);
    released = end;
  };
  wire::MessageId graph = 0;
  FieldReader reader(model.bytes());
  for (Field field; reader.Next(field);) {
    if (!Is(field, ModelProto::kGraph)) {
      give(field, KindInModel(field.number), 0);
      continue;
    }
    ++graph;
    FieldReader inner(field.bytes);
    for (Field part; inner.Next(part);) {
      give(part, KindInGraph(part.number), graph);
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
                     static_cast<std::uint32_t>(appended_.size()), 0);
  }
  rewrite_->Layout();
}

void GraphEdit::Write(wire::Rewrite::Sink& sink) const {
  rewrite_->Write(
      sink, [this](std::uint64_t, std::string& out) { out += appended_; });
}

}  // namespace onnx_tag::edit
