#include "core/tagging/renames.h"

#include <algorithm>
#include <stdexcept>
#include <unordered_set>

#include "base/text.h"
#include "core/tagging/tag_format.h"
#include "file/json/reader.h"
#include "file/json/writer.h"
#include "file/model/attributes.h"
#include "file/model/field_kinds.h"
#include "file/model/message_walk.h"
#include "file/model/onnx_fields.h"
#include "file/wire/field_reader.h"
#include "onnx_tag/error.h"

namespace onnx_tag {
namespace {

using onnx::MessageType;
using wire::Field;
using wire::MessageId;

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

}  // namespace

RenameRules::RenameRules(const Model& model) : model_(model) {
  for (const ValueId id : AllIds<ValueId>(model.value_count())) {
    ++uses_of_name_.Grown(model[id].name);
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
             : uses_of_name_[id];
}

namespace {

// Names that can be put back, and `fault` if one cannot. Throws Error if the
// record is malformed.
NewNames Undoable(const Model& model, std::string_view record,
                  std::string& fault) {
  std::vector<std::pair<std::string, std::string>> renames;  // by new name
  json::Reader reader(record);
  reader.ForEachMember([&](std::string_view name) {
    renames.emplace_back(name, reader.String());
  });
  const RenameRules rules(model);
  std::unordered_map<std::string_view, const Initializer*> initializers;
  for (const Initializer& tensor : model.initializers()) {
    initializers.emplace(model.ValueName(tensor.value), &tensor);
  }
  NewNames names;
  std::unordered_set<std::string_view> old_names;
  for (const auto& [name, old_name] : renames) {
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
  fault = Message("'{}' is in a field that cannot be replaced",
                  tree.fixed().front());
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
      renames.names = Undoable(model, entry.value, renames.fault);
    } catch (const wire::WireError&) {
      throw;
    } catch (const Error& error) {
      renames.fault = error.what();
    }
  }
  return renames;
}

// The reader's walk again: messages of the spine are met in the same order.
class RenameTree::Visitor {
 public:
  Visitor(const Model& model, const NewNames& names, bool node_names,
          RenameTree& result)
      : file_(model.bytes()),
        names_(names),
        node_names_(node_names),
        result_(result) {
    result_.tree_.push_back({.begin = 0, .size = file_.size(), .parent = 0});
    result_.ids_.push_back(0);
    model::Walk(file_, MessageType::kModelProto, *this);
    if (!padded_spine_) return;
    for (const Mention& mention : result_.mentions_) {
      result_.fixed_.push_back(mention.name);
    }
  }

  bool Visit(const Field& field, const onnx::FieldInfo& info) {
    // Functions and graphs for training have names of their own.
    if (info.in == MessageType::kModelProto) {
      mentions_ = info.child == MessageType::kGraphProto;
    }
    const bool of_graph = mentions_ && info.in == MessageType::kGraphProto;
    switch (info.child) {
      case MessageType::kGraphProto:
      case MessageType::kFunctionProto:
      case MessageType::kTrainingInfoProto:
      case MessageType::kNodeProto:
        break;
      case MessageType::kAttributeProto:
        if (info.in != MessageType::kNodeProto || !HoldsGraph(field.bytes)) {
          return false;
        }
        break;
      case MessageType::kTensorProto:
        if (of_graph) Inside(field, onnx::TensorProto::kName);
        return false;
      case MessageType::kValueInfoProto:
        if (of_graph) Inside(field, onnx::ValueInfoProto::kName);
        return false;
      case MessageType::kTensorAnnotation:
        if (of_graph) Fix(field.bytes);
        return false;
      default:
        if (mentions_ && info.in == MessageType::kNodeProto &&
            info.number == onnx::NodeProto::kInput) {
          Mentioned(open_.back(), field, IsMinimal(field));
        } else if (node_names_ && info.in == MessageType::kNodeProto &&
                   info.number == onnx::NodeProto::kName) {
          const MessageId node = result_.Number(open_.back());
          result_.node_names_.insert_or_assign(
              node,
              NodeName{Add(open_.back(), field), field.bytes, field.whole});
        }
        return false;
    }
    // A message of the spine.
    open_.push_back(Add(open_.back(), field));
    result_.ids_.push_back(open_.back());
    padded_spine_ |= !IsMinimal(field);
    return true;
  }
  void Leave() { open_.pop_back(); }

 private:
  MessageId Add(MessageId parent, const Field& field) {
    result_.tree_.push_back(wire::MessageIn(file_, field, parent));
    return static_cast<MessageId>(result_.tree_.size() - 1);
  }

  // Every text in an annotation: its tensor, and those with its parameters.
  void Fix(Bytes annotation) {
    using onnx::TensorAnnotation;
    FixName(model::LastOf(annotation, TensorAnnotation::kTensorName));
    model::ForEach(
        annotation, TensorAnnotation::kQuantParameterTensorNames,
        [&](const Field& entry) { FixName(model::ReadEntry(entry).value); });
  }
  void FixName(std::string_view name) {
    if (names_.contains(std::string(name))) result_.fixed_.push_back(name);
  }

  // A message with a name in field `number`.
  void Inside(const Field& outer, onnx::BytesField number) {
    Field found;
    int times = 0;
    model::ForEach(outer.bytes, number, [&](const Field& field) {
      found = field;
      ++times;
    });
    if (times == 0 || !names_.contains(std::string(found.bytes))) return;
    const MessageId id = Add(open_.back(), outer);
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
  const bool node_names_;
  RenameTree& result_;
  std::vector<MessageId> open_ = {0};
  bool mentions_ = false;
  bool padded_spine_ = false;
};

RenameTree::RenameTree(const Model& model, const NewNames& names,
                       bool node_names) {
  const Visitor visitor(model, names, node_names, *this);
  if (ids_.size() != model.spine().size()) {
    throw std::logic_error("two walks over one file differ");
  }
}

MessageId RenameTree::Id(MessageId number) const {
  if (number < ids_.size()) return ids_[number];
  const NodeName* const name =
      NameAt(number - static_cast<MessageId>(ids_.size()));
  return name == nullptr ? 0 : name->message;
}

MessageId RenameTree::Number(MessageId in_tree) const {
  const auto at = std::lower_bound(ids_.begin(), ids_.end(), in_tree);
  if (at != ids_.end() && *at == in_tree) {
    return static_cast<MessageId>(at - ids_.begin());
  }
  return Number(tree_[in_tree].parent) + static_cast<MessageId>(ids_.size());
}

const RenameTree::NodeName* RenameTree::NameAt(MessageId in_spine) const {
  const auto at = node_names_.find(in_spine);
  return at == node_names_.end() ? nullptr : &at->second;
}

}  // namespace onnx_tag
