// Tested by tests/uses/edit/private_text_test.cc.
#include "uses/edit/private_text.h"

#include <optional>
#include <tuple>

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

constexpr std::string_view kStackTrace = "pkg.torch.onnx.stack_trace";

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
      {MessageType::kStringStringEntryProto, "entry"},
      {MessageType::kOperatorSetIdProto, "opset"},
      {MessageType::kTensorAnnotation, "annotation"},
  };
  for (const auto& [type, word] : kWords) {
    if (type == message) return word;
  }
  return "type";
}

// A text, and why it is private.
struct Private {
  PrivateKind kind;
  std::string text;  // "": it is not
};

Private Search(std::string_view text, const std::set<std::string>& users) {
  Private found = {PrivateKind::kTraceback, std::string(FindFrame(text))};
  if (found.text.empty()) found = {PrivateKind::kPath, FindPath(text)};
  const auto or_else = [&](PrivateKind kind, const auto& find) {
    if (found.text.empty()) found = {kind, std::string(find(text))};
  };
  or_else(PrivateKind::kEmail, FindEmail);
  or_else(PrivateKind::kAddress, FindAddress);
  or_else(PrivateKind::kUser,
          [&](std::string_view all) { return FindUser(all, users); });
  return found;
}

}  // namespace

class PrivateTexts::Visitor {
 public:
  // Without `result` only users are gathered.
  Visitor(Bytes file, Options options, const Release& release,
          std::set<std::string>& users, PrivateTexts* result)
      : file_(file),
        options_(options),
        release_(release),
        users_(users),
        result_(result) {
    if (result_ != nullptr) {
      result_->tree_.push_back({.begin = 0, .size = file.size(), .parent = 0});
    }
    open_.push_back(
        {.field = {}, .id = 0, .message = MessageType::kModelProto});
    model::Walk(file_, MessageType::kModelProto, *this);
    if (result_ == nullptr) return;
    for (auto& [key, group] : groups_) {
      result_->groups_.push_back(std::move(group));
    }
  }

  bool Visit(const Field& field, const onnx::FieldInfo& info) {
    constexpr std::size_t kLarge = 64 * 1024;
    if (open_.back().message == MessageType::kTensorProto && release_ &&
        field.bytes.size() >= kLarge) {
      const std::uint64_t begin = OffsetIn(file_, field.bytes);
      release_(begin, begin + field.bytes.size());
    }
    if (info.holds == onnx::Holds::kUnknown ||
        info.holds == onnx::Holds::kNumber) {
      Unknown(field);
    } else if (info.holds == onnx::Holds::kText) {
      Text(field, info);
    }
    if (info.child == MessageType::kNone ||
        (info.child == MessageType::kStringStringEntryProto &&
         Entry(field, info))) {
      return false;
    }
    std::uint64_t& nodes = open_.back().nodes;
    open_.push_back(
        {.field = field,
         .message = info.child,
         .index = info.child == MessageType::kNodeProto ? nodes++ : 0});
    return true;
  }
  void Leave() { open_.pop_back(); }

 private:
  // A message around the field at hand.
  struct Open {
    Field field;
    std::optional<wire::MessageId> id = {};  // in the tree, once it is needed
    MessageType message;
    std::string_view name = {};
    std::uint64_t index = 0;  // of a node
    std::uint64_t nodes = 0;  // in a graph or function
  };

  void Text(const Field& field, const onnx::FieldInfo& info) {
    const std::string_view name = info.field;
    // Entries are judged as a whole, and numbers are no text.
    if (info.in == MessageType::kStringStringEntryProto || name == "raw_data") {
      return;
    }
    if (name == "doc_string") {
      return Judged(PrivateKind::kDocString, field, name);
    }
    if (info.in == MessageType::kModelProto) {
      return Judged(PrivateKind::kProducer, field, name);
    }
    if (name == "name" && info.in != MessageType::kGraphProto) {
      open_.back().name = field.bytes;
    }
    Kept(field.bytes, IsOneOf(name, {"s", "strings"}) ? "string" : name);
  }

  // Whether the entry goes.
  bool Entry(const Field& field, const onnx::FieldInfo& info) {
    const std::string_view name = info.field;
    if (name == "metadata_props") return Metadata(field);
    if (name == "external_data") return ExternalData(field);
    const auto [key, value, whole] = model::ReadEntry(field);
    Kept(key, name);
    Kept(value, name);
    return false;
  }

  // The schema leaves out types of maps, and where nodes run on several
  // devices: parts of the model.
  void Unknown(const Field& field) {
    constexpr std::uint32_t kConfiguration = 26;
    constexpr std::uint32_t kDeviceConfigurations = 10;
    const MessageType in = open_.back().message;
    const bool needed =
        (in == MessageType::kModelProto && field.number == kConfiguration) ||
        (in == MessageType::kNodeProto &&
         field.number == kDeviceConfigurations) ||
        in == MessageType::kTypeProto;
    const std::string name = "field " + std::to_string(field.number);
    if (needed) {
      Kept(field.bytes, name);
    } else {
      Judge(field, name, field.bytes);
    }
  }

  // ---------------------------------------------------------------- fields
  // One that says nothing private goes, too, if all are to go.
  void Judged(PrivateKind kind, const Field& field, std::string_view name) {
    if (Judge(field, name, field.bytes) || !options_.all) return;
    if (!field.bytes.empty()) Remove(kind, field, name, field.bytes);
  }

  bool Metadata(const Field& field) {
    const auto [key, value, whole] = model::ReadEntry(field);
    if (key == kStackTrace || key == keys::kSourceLine) {
      NoteUsers(value);
      const std::string_view frame = FindFrame(value);
      Remove(PrivateKind::kTraceback, field, key,
             frame.empty() ? value : frame);
      return true;
    }
    return Judge(field, key, value) || Judge(field, key, key);
  }

  // Removes `field` if `text`, which it holds, is private.
  bool Judge(const Field& field, std::string_view name, std::string_view text) {
    NoteUsers(text);
    if (result_ == nullptr) return false;
    const auto [kind, found] = Search(text, users_);
    if (found.empty()) return false;
    Remove(kind, field, name, found);
    return true;
  }

  bool ExternalData(const Field& field) {
    const auto [key, value, whole] = model::ReadEntry(field);
    if (key != "location") {
      return Judge(field, key, value) || Judge(field, key, key);
    }
    if (result_ == nullptr || Kept(value, key)) return false;
    Count(PrivateKind::kExternalData, key, value, value.size(), false);
    return false;
  }

  // A part of the model's meaning.
  bool Kept(std::string_view text, std::string_view field) {
    NoteUsers(text);
    if (result_ == nullptr) return false;
    const auto [kind, found] = Search(text, users_);
    if (found.empty()) return false;
    Count(kind, field, found, text.size(), false);
    ++result_->kept_;
    return true;
  }

  void NoteUsers(std::string_view text) {
    constexpr std::size_t kMostUsers = 100;
    if (result_ != nullptr) return;  // the first walk has found them
    ForEachPath(text, [&](const std::string& path) {
      const std::string user = UserOf(path);
      if (!user.empty() && users_.size() < kMostUsers) users_.insert(user);
    });
  }

  // ---------------------------------------------------------------- results
  void Remove(PrivateKind kind, const Field& field, std::string_view name,
              std::string_view example) {
    if (result_ == nullptr) return;
    Count(kind, name, example, field.whole.size(), true);
    ++result_->removable_;
    result_->removable_bytes_ += field.whole.size();
    result_->removals_.push_back({IdOfOpen(open_.size() - 1), field.whole});
  }

  // The message at `depth`, with those around it.
  wire::MessageId IdOfOpen(std::size_t depth) {
    Open& open = open_[depth];
    if (open.id) return *open.id;
    const wire::MessageId parent = IdOfOpen(depth - 1);
    result_->tree_.push_back(wire::MessageIn(file_, open.field, parent));
    open.id = static_cast<wire::MessageId>(result_->tree_.size() - 1);
    return *open.id;
  }

  void Count(PrivateKind kind, std::string_view field, std::string_view example,
             std::size_t bytes, bool removable) {
    constexpr std::size_t kMostGroups = 1000;
    constexpr std::size_t kLongestKey = 200;
    const std::string_view what = WordFor(open_.back().message);
    std::tuple key{kind, std::string(what),
                   std::string(field.substr(0, kLongestKey)), !removable};
    if (groups_.size() >= kMostGroups && !groups_.contains(key)) {
      std::get<2>(key) = "...";
    }
    PrivateGroup& group = groups_[key];
    if (group.count++ == 0) {
      constexpr std::size_t kLongest = 200;
      group.kind = kind;
      group.message = what;
      group.field = std::get<2>(key);
      group.removable = removable;
      group.example = example.substr(0, kLongest);
      group.first_place = Place();
    }
    group.bytes += bytes;
  }

  // "node 17 '/encoder/MatMul'": the innermost node, value or function.
  std::string Place() const {
    for (std::size_t i = open_.size(); --i > 0;) {
      const Open& open = open_[i];
      if (open.message == MessageType::kAttributeProto) continue;
      std::string place(WordFor(open.message));
      if (open.message == MessageType::kNodeProto) {
        place += " " + std::to_string(open.index);
      }
      if (!open.name.empty()) place += Message(" '{}'", Short{open.name, 100});
      return place;
    }
    return "model";
  }

  const Bytes file_;
  const Options options_;
  const Release& release_;
  std::set<std::string>& users_;
  PrivateTexts* const result_;
  std::vector<Open> open_;
  std::map<std::tuple<PrivateKind, std::string, std::string, bool>,
           PrivateGroup>
      groups_;
};

PrivateTexts::PrivateTexts(const Model& model, Options options,
                           const Release& release) {
  // Names of users are known before texts are judged.
  for (PrivateTexts* const result :
       {static_cast<PrivateTexts*>(nullptr), this}) {
    const Visitor visitor(model.bytes(), options, release, users_, result);
  }
}

ScrubWriter::ScrubWriter(const Model& model, const PrivateTexts& texts)
    : rewrite_(model.bytes(), texts.tree()) {
  for (const PrivateTexts::Removal& removal : texts.removals()) {
    rewrite_.Erase(removal.message, removal.whole);
  }
  rewrite_.Layout();
}

void ScrubWriter::Write(wire::Rewrite::Sink& sink) const {
  rewrite_.Write(sink, [](std::uint64_t, std::string&) {});
}

}  // namespace onnx_tag::edit
