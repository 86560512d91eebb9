// Tested by tests/uses/edit/private_fields_test.cc.
#include "uses/edit/private_fields.h"

#include <optional>
#include <set>

#include "base/text.h"
#include "core/tagging/tag_format.h"
#include "file/model/attributes.h"
#include "file/model/message_walk.h"
#include "file/model/onnx_fields.h"
#include "file/wire/field_reader.h"

namespace onnx_tag::edit {
namespace {

using onnx::MessageType;
using wire::Field;

// What people call a message.
std::string_view WordFor(MessageType message) {
  static constexpr std::pair<MessageType, std::string_view> kWords[] = {
      {MessageType::kModelProto, "model"},
      {MessageType::kGraphProto, "graph"},
      {MessageType::kFunctionProto, "function"},
      {MessageType::kTrainingInfoProto, "training"},
      {MessageType::kNodeProto, "node"},
      {MessageType::kAttributeProto, "attribute"},
      {MessageType::kTensorProto, "tensor"},
      {MessageType::kSparseTensorProto, "tensor"},
      {MessageType::kValueInfoProto, "value"},
      {MessageType::kOperatorSetIdProto, "opset"},
      {MessageType::kTensorAnnotation, "annotation"},
  };
  for (const auto& [type, word] : kWords) {
    if (type == message) return word;
  }
  return "type";
}

}  // namespace

class PrivateFields::Visitor {
 public:
  Visitor(Bytes file, const Release& release, PrivateFields& result)
      : file_(file), release_(release), result_(result) {
    result_.tree_.push_back({.begin = 0, .size = file.size(), .parent = 0});
    open_.push_back(
        {.field = {}, .id = 0, .message = MessageType::kModelProto});
    model::Walk(file_, MessageType::kModelProto, *this);
    for (auto& [key, field] : removed_) result_.removed_.push_back(field);
    for (auto& [key, field] : kept_) result_.kept_.push_back(field);
  }

  bool Visit(const Field& field, const onnx::FieldInfo& info) {
    constexpr std::size_t kLarge = 64 * 1024;
    if (open_.back().message == MessageType::kTensorProto && release_ &&
        field.bytes.size() >= kLarge) {
      const std::uint64_t begin = OffsetIn(file_, field.bytes);
      release_(begin, begin + field.bytes.size());
    }
    const std::string_view name = info.field;
    if (info.holds == onnx::Holds::kUnknown ||
        info.holds == onnx::Holds::kNumber) {
      Count(kept_, "field " + std::to_string(field.number), field, "");
    } else if (info.holds == onnx::Holds::kText && name != "raw_data") {
      if (name == "doc_string" || info.in == MessageType::kModelProto) {
        Remove(field, name, field.bytes);
      } else {
        Count(kept_, name, field, field.bytes);
      }
    }
    if (info.child == MessageType::kNone) return false;
    if (info.child == MessageType::kStringStringEntryProto) {
      Entry(field, name);
      return false;
    }
    open_.push_back({.field = field, .message = info.child});
    return true;
  }
  void Leave() { open_.pop_back(); }

 private:
  // A message around the field at hand.
  struct Open {
    Field field;
    std::optional<wire::MessageId> id = {};  // in the tree, once it is needed
    MessageType message;
    std::optional<std::set<std::string_view>> wrote = {};  // of a node
  };
  using Key = std::pair<std::string_view, std::string>;
  using Fields = std::map<Key, TextField>;

  void Entry(const Field& field, std::string_view name) {
    const auto [key, value, whole] = model::ReadEntry(field);
    if (name != "metadata_props") {
      Count(kept_, name, field, value);
    } else if (IsOurs(key)) {
      Count(kept_, key, field, value);
    } else {
      Remove(field, key, value);
    }
  }

  // A line of code names a file of the person who wrote the model. Keys of
  // other programs that we wrote are on the node's list, which may be forged.
  bool IsOurs(std::string_view key) {
    if (keys::IsOurs(key)) return key != keys::kSourceLine;
    Open& open = open_.back();
    if (open.message != MessageType::kNodeProto ||
        !IsOneOf(key, {keys::kNamespace, keys::kLayerAnn, keys::kNameScopes,
                       keys::kClassHierarchy})) {
      return false;
    }
    if (!open.wrote) {
      open.wrote.emplace();
      model::ForEach(
          open.field.bytes, onnx::NodeProto::kMetadataProps,
          [&](const Field& field) {
            const auto entry = model::ReadEntry(field);
            if (entry.key != keys::kWrote) return;
            for (const std::string_view one : Split(entry.value, ',')) {
              open.wrote->insert(one);
            }
          });
    }
    return open.wrote->contains(key);
  }

  void Remove(const Field& field, std::string_view name,
              std::string_view text) {
    Count(removed_, name, field, text);
    result_.removed_bytes_ += field.whole.size();
    result_.removals_.push_back({IdOfOpen(open_.size() - 1), field.whole});
  }

  // The message at `depth`, with those around it.
  wire::MessageId IdOfOpen(std::size_t depth) {
    Open& open = open_[depth];
    if (open.id) return *open.id;
    const wire::MessageId parent = IdOfOpen(depth - 1);
    result_.tree_.push_back(wire::MessageIn(file_, open.field, parent));
    open.id = static_cast<wire::MessageId>(result_.tree_.size() - 1);
    return *open.id;
  }

  void Count(Fields& fields, std::string_view name, const Field& field,
             std::string_view text) const {
    constexpr std::size_t kMostFields = 1000;
    constexpr std::size_t kLongest = 200;
    Key key{WordFor(open_.back().message),
            std::string(name.substr(0, kLongest))};
    if (fields.size() >= kMostFields && !fields.contains(key)) {
      key.second = "...";
    }
    const auto [at, first] = fields.try_emplace(key);
    if (first) {
      at->second = {std::string(key.first), key.second, 0, 0,
                    std::string(text.substr(0, kLongest))};
    }
    ++at->second.count;
    at->second.bytes += field.whole.size();
  }

  const Bytes file_;
  const Release& release_;
  PrivateFields& result_;
  std::vector<Open> open_;
  Fields removed_, kept_;
};

PrivateFields::PrivateFields(const Model& model, const Release& release) {
  const Visitor visitor(model.bytes(), release, *this);
}

PrivateWriter::PrivateWriter(const Model& model, const PrivateFields& fields)
    : rewrite_(model.bytes(), fields.tree()) {
  for (const PrivateFields::Removal& removal : fields.removals()) {
    rewrite_.Erase(removal.message, removal.whole);
  }
  rewrite_.Layout();
}

void PrivateWriter::Write(wire::Rewrite::Sink& sink) const {
  rewrite_.Write(sink, [](std::uint64_t, std::string&) {});
}

}  // namespace onnx_tag::edit
