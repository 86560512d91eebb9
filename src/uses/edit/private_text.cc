// Tested by tests/uses/edit/private_text_test.cc.
#include "uses/edit/private_text.h"

#include <algorithm>
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

using onnx::AttributeProto;
using onnx::MessageType;
using onnx::NodeProto;
using wire::Field;

constexpr std::string_view kStackTrace = "pkg.torch.onnx.stack_trace";

bool IsLetter(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}
bool IsDigit(char c) { return c >= '0' && c <= '9'; }
bool IsWord(char c) { return IsLetter(c) || IsDigit(c) || c == '_'; }

// A byte of a path that needs no quotation marks.
bool IsPathByte(char c) {
  return IsWord(c) || c == '/' || c == '\\' || c == '.' || c == '-' ||
         c == '+' || c == '~' || c == '@' || c == '%' || c == '#' ||
         static_cast<unsigned char>(c) >= 0x80;
}

// Folders at the root of Unix, macOS, clusters and clouds, where people and
// programs keep files.
bool IsTopFolder(std::string_view name) {
  return IsOneOf(name,
                 {"home",    "Users",   "root",    "usr",        "opt",
                  "tmp",     "var",     "mnt",     "media",      "srv",
                  "etc",     "private", "Volumes", "Library",    "Applications",
                  "nix",     "scratch", "work",    "workspace",  "workspaces",
                  "content", "kaggle",  "dbfs",    "databricks", "gpfs",
                  "lustre",  "nfs",     "proc",    "dev",        "run",
                  "builds",  "__w",     "github",  "cygdrive"});
}

bool IsFileEnding(std::string_view ending) {
  return IsOneOf(ending,
                 {"py",     "pyc",    "pyi",  "pyx",         "ipynb", "so",
                  "cc",     "cpp",    "cu",   "cuh",         "h",     "hpp",
                  "onnx",   "ort",    "pt",   "pth",         "ckpt",  "bin",
                  "data",   "json",   "yaml", "yml",         "toml",  "txt",
                  "cfg",    "npz",    "npy",  "pkl",         "whl",   "pb",
                  "tflite", "engine", "plan", "safetensors", "mlir",  "log"});
}

// "/home/me/x.py" at the start of `text`; 0 if it is no path.
std::size_t UnixPath(std::string_view text) {
  if (text.size() < 3 || text[0] != '/' || !IsPathByte(text[1])) return 0;
  std::size_t end = 1;
  while (end < text.size() && IsPathByte(text[end])) ++end;
  const std::string_view path = text.substr(0, end);
  const std::size_t slash = path.find('/', 1);
  if (slash == path.npos) return 0;
  if (slash + 1 < path.size() && IsTopFolder(path.substr(1, slash - 1))) {
    return end;
  }
  const std::size_t dot = path.rfind('.');
  if (dot == path.npos || dot < path.rfind('/')) return 0;
  std::size_t last = dot + 1;
  while (last < path.size() && IsWord(path[last])) ++last;
  return IsFileEnding(path.substr(dot + 1, last - dot - 1)) ? last : 0;
}

// "C:\Users\me\x.py", "\\server\share"
std::size_t WindowsPath(std::string_view text) {
  const bool drive = text.size() > 3 && IsLetter(text[0]) && text[1] == ':' &&
                     (text[2] == '\\' || text[2] == '/') && IsWord(text[3]);
  const bool share = text.size() > 5 && text.starts_with("\\\\") &&
                     IsLetter(text[2]) &&
                     text.substr(3, 64).find('\\') != text.npos;
  if (!drive && !share) return 0;
  std::size_t end = 3;
  while (end < text.size() && (IsPathByte(text[end]))) ++end;
  return end;
}

// "~/models", "~me/models"
std::size_t HomePath(std::string_view text) {
  if (text.size() < 3 || text[0] != '~') return 0;
  std::size_t at = 1;
  while (at < text.size() && IsWord(text[at])) ++at;
  if (at + 1 >= text.size() || text[at] != '/' || !IsWord(text[at + 1])) {
    return 0;
  }
  while (at < text.size() && IsPathByte(text[at])) ++at;
  return at;
}

// The owner of the home folder that `path` is in.
std::string_view UserOf(std::string_view path) {
  for (const std::string_view home :
       {"/home/", "/Users/", ":\\Users\\", ":/Users/", ":\\\\Users\\\\"}) {
    const std::size_t at = path.find(home);
    if (at == path.npos) continue;
    const std::string_view rest = path.substr(at + home.size());
    const std::string_view user = rest.substr(0, rest.find_first_of("/\\"));
    return user;
  }
  return {};
}

// Other texts are searched for the name. Accounts of machines, and names as
// short as words, say nothing about a person.
bool IsTelling(std::string_view user) {
  constexpr std::size_t kShortest = 3;
  return user.size() >= kShortest &&
         !IsOneOf(user,
                  {"root", "user", "ubuntu", "runner", "admin", "public",
                   "Public", "Shared", "default", "work", "model", "models"});
}

bool HasWord(std::string_view text, std::string_view word) {
  for (std::size_t at = text.find(word); at != text.npos;
       at = text.find(word, at + 1)) {
    const std::size_t end = at + word.size();
    if ((at == 0 || !IsWord(text[at - 1])) &&
        (end == text.size() || !IsWord(text[end]))) {
      return true;
    }
  }
  return false;
}

}  // namespace

// A path begins where a run of its bytes begins, so each byte is read once.
std::string_view FindPath(std::string_view text) {
  for (std::size_t at = 0; at < text.size();) {
    if (!IsPathByte(text[at])) {
      ++at;
      continue;
    }
    std::size_t end = at;
    while (end < text.size() && IsPathByte(text[end])) ++end;
    // "file:///home/me": the slashes of the address come first.
    if (at > 0 && text[at - 1] == ':' && text.substr(at).starts_with("///")) {
      at += 2;
    }
    const std::string_view rest = text.substr(at);
    const bool drive = end == at + 1 && end < text.size() && text[end] == ':';
    const std::size_t size = text[at] == '/'             ? UnixPath(rest)
                             : text[at] == '~'           ? HomePath(rest)
                             : drive || text[at] == '\\' ? WindowsPath(rest)
                                                         : 0;
    if (size > 0) return rest.substr(0, size);
    at = end;
  }
  return {};
}

std::string_view FindFrame(std::string_view text) {
  // File "models.py", line 258, in forward
  constexpr std::string_view kFile = "File \"";
  for (std::size_t at = text.find(kFile); at != text.npos;
       at = text.find(kFile, at + 1)) {
    const std::size_t quote = text.find('"', at + kFile.size());
    if (quote == text.npos) break;
    const std::string_view rest = text.substr(quote);
    if (rest.starts_with("\", line ") && rest.size() > 8 && IsDigit(rest[8])) {
      return text.substr(at, std::min(text.find('\n', at), text.size()) - at);
    }
    at = quote;
  }
  // models.py(258): forward
  constexpr std::string_view kPython = ".py(";
  for (std::size_t at = text.find(kPython); at != text.npos;
       at = text.find(kPython, at + 1)) {
    std::size_t end = at + kPython.size();
    while (end < text.size() && IsDigit(text[end])) ++end;
    if (end == at + kPython.size() || !text.substr(end).starts_with("): ")) {
      continue;
    }
    const std::size_t line = text.rfind('\n', at);
    const std::size_t begin = line == text.npos ? 0 : line + 1;
    return text.substr(begin,
                       std::min(text.find('\n', at), text.size()) - begin);
  }
  return {};
}

// ---------------------------------------------------------------- the walk
namespace {

// What people call a message; "": the walk does not go into it.
std::string_view WordFor(MessageType message) {
  switch (message) {
    case MessageType::kModelProto:
      return "model";
    case MessageType::kGraphProto:
      return "graph";
    case MessageType::kFunctionProto:
      return "function";
    case MessageType::kTrainingInfoProto:
      return "training";
    case MessageType::kNodeProto:
      return "node";
    case MessageType::kAttributeProto:
      return "attribute";
    case MessageType::kTensorProto:
    case MessageType::kSparseTensorProto:
      return "tensor";
    case MessageType::kValueInfoProto:
      return "value";
    default:
      return "";
  }
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
    if (info.holds == onnx::Holds::kText) Text(field, info);
    if (info.child == MessageType::kStringStringEntryProto) Entry(field, info);
    constexpr std::size_t kLarge = 64 * 1024;
    if (open_.back().message == MessageType::kTensorProto && release_ &&
        field.bytes.size() >= kLarge) {
      release_(Offset(field.bytes), Offset(field.bytes) + field.bytes.size());
    }
    if (WordFor(info.child).empty()) return false;
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
    if (name == "doc_string") return DocString(field);
    if (info.in == MessageType::kModelProto) return Producer(field, name);
    const bool of_attribute = info.in == MessageType::kAttributeProto;
    if (name == "name") {
      if (info.in != MessageType::kGraphProto) open_.back().name = field.bytes;
      if (!of_attribute) Kept(field.bytes, name);
    } else if (of_attribute && info.number != AttributeProto::kRefAttrName) {
      Kept(field.bytes, "string");
    } else if (name == "string_data" || (info.in == MessageType::kNodeProto &&
                                         info.number == NodeProto::kOutput)) {
      Kept(field.bytes, name);
    }
  }

  void Entry(const Field& field, const onnx::FieldInfo& info) {
    const std::string_view name = info.field;
    if (name == "metadata_props") Metadata(field);
    if (name == "external_data") ExternalData(field);
  }

  // ---------------------------------------------------------------- fields
  void Producer(const Field& field, std::string_view name) {
    if (Judge(field, name, field.bytes) || !options_.all) return;
    if (field.bytes.empty()) return;
    Remove(PrivateKind::kProducer, field, name, field.bytes);
  }

  void DocString(const Field& field) {
    if (Judge(field, "doc_string", field.bytes) || !options_.all) return;
    if (field.bytes.empty()) return;
    Remove(PrivateKind::kDocString, field, "doc_string", field.bytes);
  }

  void Metadata(const Field& field) {
    const auto [key, value, whole] = model::ReadEntry(field);
    if (key == kStackTrace || key == keys::kSourceLine) {
      NoteUser(FindPath(value));
      const std::string_view frame = FindFrame(value);
      Remove(PrivateKind::kTraceback, field, key,
             frame.empty() ? value : frame);
      return;
    }
    // Tags begin with a slash, as paths do, and are not private. A list of
    // modules that names a file is not ours.
    if (keys::IsOurs(key) &&
        (key != keys::kModules ||
         (FindPath(value).empty() && FindFrame(value).empty()))) {
      return;
    }
    if (!Judge(field, key, value)) Judge(field, key, key);
  }

  // Removes `field` if `text`, which it holds, is private.
  bool Judge(const Field& field, std::string_view name, std::string_view text) {
    const std::string_view path = FindPath(text);
    NoteUser(path);
    if (result_ == nullptr) return false;
    if (const std::string_view frame = FindFrame(text); !frame.empty()) {
      Remove(PrivateKind::kTraceback, field, name, frame);
      return true;
    }
    if (!path.empty()) {
      Remove(PrivateKind::kPath, field, name, path);
      return true;
    }
    for (const std::string& user : users_) {
      if (!IsTelling(user) || !HasWord(text, user)) continue;
      Remove(PrivateKind::kUser, field, name, user);
      return true;
    }
    return false;
  }

  void ExternalData(const Field& field) {
    const auto [key, value, whole] = model::ReadEntry(field);
    if (result_ == nullptr || key != "location") return;
    const std::string_view path = FindPath(value);
    if (!path.empty()) {
      Kept(value, "location");
      return;
    }
    Count(PrivateKind::kExternalData, "location", value, value.size(), false);
  }

  // A part of the model's meaning.
  void Kept(std::string_view text, std::string_view field) {
    const std::string_view path = FindPath(text);
    if (path.empty()) return;
    NoteUser(path);
    if (result_ == nullptr) return;
    Count(PrivateKind::kPath, field, path, text.size(), false);
    ++result_->kept_;
  }

  void NoteUser(std::string_view path) {
    constexpr std::size_t kMostUsers = 100;
    const std::string_view user = UserOf(path);
    if (!user.empty() && users_.size() < kMostUsers) users_.emplace(user);
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

  std::uint64_t Offset(Bytes bytes) const {
    return static_cast<std::uint64_t>(bytes.data() - file_.data());
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
