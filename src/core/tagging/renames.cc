#include "core/tagging/renames.h"

#include <fmt/core.h>

#include <algorithm>
#include <stdexcept>
#include <unordered_set>

#include "base/text.h"
#include "core/tagging/tag_format.h"
#include "file/json/reader.h"
#include "file/json/writer.h"
#include "file/model/field_kinds.h"
#include "file/model/onnx_fields.h"
#include "file/wire/field_reader.h"
#include "onnx_tag/error.h"

namespace onnx_tag {
namespace {

using model::Is;
using wire::Field;
using wire::FieldReader;
using wire::MessageId;

// Of GraphProto, and of TensorAnnotation in it.
constexpr onnx::BytesField kQuantizationAnnotation{14};
constexpr onnx::BytesField kTensorName{1};
constexpr onnx::BytesField kParameterNames{2};

bool IsMinimal(const Field& field) {
  return field.prefix_width == wire::VarintSize(field.bytes.size());
}

bool IsUtf8(std::string_view text) {
  while (!text.empty()) {
    const std::size_t length = Utf8Length(text);
    if (length == 0) return false;
    text.remove_prefix(length);
  }
  return true;
}

bool HoldsGraph(Bytes attribute) {
  FieldReader reader(attribute);
  for (Field part; reader.Next(part);) {
    if (Is(part, onnx::AttributeProto::kG) ||
        Is(part, onnx::AttributeProto::kGraphs)) {
      return true;
    }
  }
  return false;
}

}  // namespace

RenameRules::RenameRules(const Model& model) : model_(model) {
  for (const ValueId id : AllIds<ValueId>(model.value_count())) {
    const std::size_t name = Index(model[id].name);
    if (name >= uses_of_name_.size()) uses_of_name_.resize(name + 1, 0);
    ++uses_of_name_[name];
  }
  for (const GraphId graph : model.Graphs()) {
    has_training_ |= model[graph].kind == GraphKind::kTraining;
  }
}

std::string_view RenameRules::WhyNot(const Initializer& tensor) const {
  const Value& value = model_[tensor.value];
  const std::string_view name = model_.ValueName(tensor.value);
  if (value.is_output && value.graph == GraphId{0}) {
    return "it is an output of the graph";
  }
  if (has_training_) return "graphs for training may mention it";
  if (value.producer != kNo<NodeId>) return "a node makes it, too";
  if (tensor.sparse) return "it is sparse";
  if (name.empty() || !IsUtf8(name)) return "its name is not UTF-8";
  if (Uses(name) > 1) return "several values have its name";
  return "";
}

std::uint32_t RenameRules::Uses(std::string_view name) const {
  const NameId id = model_.FindName(name);
  return id == kNo<NameId> || Index(id) >= uses_of_name_.size()
             ? 0
             : uses_of_name_[Index(id)];
}

namespace {

// By new name, in the order of the record; throws Error if it is malformed.
std::vector<std::pair<std::string, std::string>> ParseRenames(
    std::string_view record) {
  std::vector<std::pair<std::string, std::string>> renames;
  json::Reader reader(record);
  reader.BeginObject();
  std::string_view name;
  while (reader.NextMember(name)) renames.emplace_back(name, reader.String());
  return renames;
}

// Names that can be put back, and `fault` if one cannot.
NewNames Undoable(
    const Model& model,
    const std::vector<std::pair<std::string, std::string>>& record,
    std::string& fault) {
  const RenameRules rules(model);
  std::unordered_map<std::string_view, const Initializer*> initializers;
  for (const Initializer& tensor : model.initializers()) {
    initializers.emplace(model.ValueName(tensor.value), &tensor);
  }
  NewNames names;
  std::unordered_set<std::string_view> old_names;
  for (const auto& [name, old_name] : record) {
    const std::uint32_t uses = rules.Uses(name);
    if (uses == 0) continue;
    const auto found = initializers.find(name);
    std::string_view why;
    if (found == initializers.end()) {
      why = "it is not an initializer";
    } else if (rules.Uses(old_name) > 0 || !old_names.insert(old_name).second) {
      why = "that name is taken";
    } else if (old_name.empty()) {
      why = "that name is empty";
    } else {
      why = rules.WhyNot(*found->second);
    }
    if (why.empty()) {
      names.emplace(name, old_name);
      continue;
    }
    fault = Message("'{}' cannot be named '{}' again: {}", name, old_name, why);
    return {};
  }
  const RenameTree tree(model, names);
  if (tree.fixed().empty()) return names;
  fault =
      Message("'{}' stands where it cannot be replaced", tree.fixed().front());
  return {};
}

}  // namespace

RecordedRenames ReadRenames(const Model& model) {
  RecordedRenames renames;
  int records = 0;
  for (const MetadataEntry& entry : model.metadata()) {
    if (entry.key != keys::kRenamed) continue;
    if (++records > 1) return {{}, "the model has two such records"};
    try {
      renames.names = Undoable(model, ParseRenames(entry.value), renames.fault);
    } catch (const wire::WireError&) {
      throw;
    } catch (const Error& error) {
      renames.fault = error.what();
    }
  }
  return renames;
}

std::string EncodeRenames(const NewNames& renames) {
  // In the order of the new names: the same input gives the same bytes.
  std::vector<std::pair<std::string_view, std::string_view>> pairs;
  for (const auto& [old_name, new_name] : renames) {
    pairs.emplace_back(new_name, old_name);
  }
  std::sort(pairs.begin(), pairs.end());
  JsonWriter json;
  json.BeginObject();
  for (const auto& [new_name, old_name] : pairs) {
    json.Key(new_name).String(old_name);
  }
  json.EndObject();
  return json.Take();
}

// The reader's walk again: messages of the spine are met in the same order.
class RenameTree::Walk {
 public:
  Walk(const Model& model, const NewNames& names, RenameTree& result)
      : file_(model.bytes()), names_(names), result_(result) {}

  void Run() {
    result_.tree_.push_back({.begin = 0, .size = file_.size(), .parent = 0});
    result_.ids_.push_back(0);
    FieldReader reader(file_);
    for (Field field; reader.Next(field);) {
      if (Is(field, onnx::ModelProto::kGraph)) {
        WalkGraph(field.bytes, Enter(0, field), true);
      } else if (Is(field, onnx::ModelProto::kFunctions)) {
        WalkFunction(field.bytes, Enter(0, field));
      } else if (Is(field, onnx::ModelProto::kTrainingInfo)) {
        WalkTraining(field.bytes, Enter(0, field));
      }
    }
    if (!padded_spine_) return;
    for (const Mention& mention : result_.mentions_) {
      result_.fixed_.push_back(mention.name);
    }
  }

 private:
  MessageId Add(MessageId parent, const Field& field) {
    result_.tree_.push_back(
        {.begin = static_cast<std::uint64_t>(field.bytes.data() - file_.data()),
         .size = field.bytes.size(),
         .parent = parent,
         .prefix_width = field.prefix_width});
    return static_cast<MessageId>(result_.tree_.size() - 1);
  }

  // A message of the spine.
  MessageId Enter(MessageId parent, const Field& field) {
    const MessageId id = Add(parent, field);
    result_.ids_.push_back(id);
    padded_spine_ |= !IsMinimal(field);
    return id;
  }

  void WalkGraph(Bytes graph, MessageId id, bool mentions) {
    FieldReader reader(graph);
    for (Field field; reader.Next(field);) {
      if (!field.IsBytes()) continue;
      switch (field.number) {
        case onnx::GraphProto::kNode:
          WalkNode(field.bytes, Enter(id, field), mentions);
          break;
        case onnx::GraphProto::kInitializer:
          if (mentions) Inside(id, field, onnx::TensorProto::kName);
          break;
        case onnx::GraphProto::kInput:
        case onnx::GraphProto::kOutput:
        case onnx::GraphProto::kValueInfo:
          if (mentions) Inside(id, field, onnx::ValueInfoProto::kName);
          break;
        case kQuantizationAnnotation:
          if (mentions) Fix(field.bytes);
          break;
        default:
          break;
      }
    }
  }

  // Every text in an annotation: its tensor, and those with its parameters.
  void Fix(Bytes annotation) {
    FieldReader reader(annotation);
    for (Field field; reader.Next(field);) {
      if (Is(field, kTensorName)) {
        FixName(field.bytes);
      } else if (Is(field, kParameterNames)) {
        FieldReader entry(field.bytes);
        for (Field part; entry.Next(part);) {
          if (Is(part, onnx::StringStringEntryProto::kValue)) {
            FixName(part.bytes);
          }
        }
      }
    }
  }
  void FixName(std::string_view name) {
    if (names_.contains(std::string(name))) result_.fixed_.push_back(name);
  }

  void WalkNode(Bytes node, MessageId id, bool mentions) {
    FieldReader reader(node);
    for (Field field; reader.Next(field);) {
      if (mentions && Is(field, onnx::NodeProto::kInput)) {
        Mentioned(id, field, IsMinimal(field));
      } else if (Is(field, onnx::NodeProto::kAttribute) &&
                 HoldsGraph(field.bytes)) {
        const MessageId attribute = Enter(id, field);
        FieldReader graphs(field.bytes);
        for (Field part; graphs.Next(part);) {
          if (Is(part, onnx::AttributeProto::kG) ||
              Is(part, onnx::AttributeProto::kGraphs)) {
            WalkGraph(part.bytes, Enter(attribute, part), mentions);
          }
        }
      }
    }
  }

  void WalkFunction(Bytes function, MessageId id) {
    FieldReader reader(function);
    for (Field field; reader.Next(field);) {
      if (Is(field, onnx::FunctionProto::kNode)) {
        WalkNode(field.bytes, Enter(id, field), false);
      }
    }
  }

  void WalkTraining(Bytes training, MessageId id) {
    FieldReader reader(training);
    for (Field field; reader.Next(field);) {
      if (Is(field, onnx::TrainingInfoProto::kInitialization) ||
          Is(field, onnx::TrainingInfoProto::kAlgorithm)) {
        WalkGraph(field.bytes, Enter(id, field), false);
      }
    }
  }

  // A message with a name in field `number`.
  void Inside(MessageId parent, const Field& outer, onnx::BytesField number) {
    Field found;
    int times = 0;
    FieldReader reader(outer.bytes);
    for (Field field; reader.Next(field);) {
      if (!Is(field, number)) continue;
      found = field;
      ++times;
    }
    if (times == 0 || !names_.contains(std::string(found.bytes))) return;
    const MessageId id = Add(parent, outer);
    Mentioned(id, found, times == 1 && IsMinimal(found) && IsMinimal(outer));
  }

  void Mentioned(MessageId parent, const Field& field, bool exact) {
    const std::string_view name = field.bytes;
    if (!names_.contains(std::string(name))) return;
    if (!exact) result_.fixed_.push_back(name);
    result_.mentions_.push_back({Add(parent, field), name});
  }

  Bytes file_;
  const NewNames& names_;
  RenameTree& result_;
  bool padded_spine_ = false;
};

RenameTree::RenameTree(const Model& model, const NewNames& names) {
  Walk(model, names, *this).Run();
  if (ids_.size() != model.spine().size()) {
    throw std::logic_error("two walks over one file differ");
  }
}

}  // namespace onnx_tag
