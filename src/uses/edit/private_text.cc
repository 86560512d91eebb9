// Tested by tests/uses/edit/private_text_test.cc.
#include "uses/edit/private_text.h"

#include <algorithm>
#include <optional>
#include <tuple>

#include "base/text.h"
#include "core/tagging/tag_format.h"
#include "file/model/field_kinds.h"
#include "file/model/metadata_entry.h"
#include "file/model/onnx_fields.h"
#include "file/wire/field_reader.h"

namespace onnx_tag::edit {
namespace {

using wire::Field;
using wire::FieldReader;

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
class PrivateTexts::Walk {
 public:
  // Without `result` only users are gathered.
  Walk(Bytes file, Options options, const Release& release,
       std::set<std::string>& users, PrivateTexts* result)
      : file_(file),
        options_(options),
        release_(release),
        users_(users),
        result_(result) {
    if (result_ == nullptr) return;
    result_->tree_.push_back({.begin = 0, .size = file.size(), .parent = 0});
  }

  void Run() {
    open_.push_back({{}, 0, "model", {}, 0});
    Model(file_);
    if (result_ == nullptr) return;
    for (auto& [key, group] : groups_) {
      result_->groups_.push_back(std::move(group));
    }
  }

 private:
  // A message around the field at hand.
  struct Open {
    Field field;
    std::optional<wire::MessageId> id;  // in the tree, once it is needed
    std::string_view what;
    std::string_view name;
    std::uint64_t index;
  };

  void Model(Bytes bytes) {
    using onnx::ModelProto;
    FieldReader reader(bytes);
    std::uint64_t functions = 0;
    for (Field field; reader.Next(field);) {
      if (!field.IsBytes()) continue;
      switch (field.number) {
        case ModelProto::kProducerName:
          Producer(field, "producer_name");
          break;
        case ModelProto::kProducerVersion:
          Producer(field, "producer_version");
          break;
        case ModelProto::kDomain:
          Producer(field, "domain");
          break;
        case ModelProto::kDocString:
          DocString(field);
          break;
        case ModelProto::kMetadataProps:
          Metadata(field);
          break;
        case ModelProto::kGraph:
          In(field, "graph", 0, [&] { Graph(field.bytes); });
          break;
        case ModelProto::kFunctions:
          In(field, "function", functions++, [&] { Function(field.bytes); });
          break;
        case ModelProto::kTrainingInfo:
          In(field, "training", 0, [&] { Training(field.bytes); });
          break;
        default:
          break;
      }
    }
  }

  void Graph(Bytes bytes) {
    using onnx::GraphProto;
    FieldReader reader(bytes);
    std::uint64_t nodes = 0;
    std::uint64_t tensors = 0;
    std::uint64_t values = 0;
    for (Field field; reader.Next(field);) {
      if (!field.IsBytes()) continue;
      switch (field.number) {
        case GraphProto::kNode:
          In(field, "node", nodes++, [&] { Node(field.bytes); });
          break;
        case GraphProto::kName:
          Kept(field.bytes, "name");
          break;
        case GraphProto::kInitializer:
          In(field, "tensor", tensors++, [&] { Tensor(field.bytes); });
          break;
        case GraphProto::kSparseInitializer:
          In(field, "tensor", tensors++, [&] { Sparse(field.bytes); });
          break;
        case GraphProto::kInput:
        case GraphProto::kOutput:
        case GraphProto::kValueInfo:
          In(field, "value", values++, [&] { ValueInfo(field.bytes); });
          break;
        case GraphProto::kDocString:
          DocString(field);
          break;
        case GraphProto::kMetadataProps:
          Metadata(field);
          break;
        default:
          break;
      }
    }
  }

  void Node(Bytes bytes) {
    using onnx::NodeProto;
    FieldReader reader(bytes);
    for (Field field; reader.Next(field);) {
      if (!field.IsBytes()) continue;
      switch (field.number) {
        case NodeProto::kName:
          open_.back().name = field.bytes;
          Kept(field.bytes, "name");
          break;
        case NodeProto::kOutput:
          Kept(field.bytes, "output");
          break;
        case NodeProto::kAttribute:
          In(field, "attribute", 0, [&] { Attribute(field.bytes); });
          break;
        case NodeProto::kDocString:
          DocString(field);
          break;
        case NodeProto::kMetadataProps:
          Metadata(field);
          break;
        default:
          break;
      }
    }
  }

  void Attribute(Bytes bytes) {
    using onnx::AttributeProto;
    FieldReader reader(bytes);
    for (Field field; reader.Next(field);) {
      if (!field.IsBytes()) continue;
      switch (field.number) {
        case AttributeProto::kName:
          open_.back().name = field.bytes;
          break;
        case AttributeProto::kS:
        case AttributeProto::kStrings:
          Kept(field.bytes, "string");
          break;
        case AttributeProto::kT:
        case AttributeProto::kTensors:
          In(field, "tensor", 0, [&] { Tensor(field.bytes); });
          break;
        case AttributeProto::kSparseTensor:
        case AttributeProto::kSparseTensors:
          In(field, "tensor", 0, [&] { Sparse(field.bytes); });
          break;
        case AttributeProto::kG:
        case AttributeProto::kGraphs:
          In(field, "graph", 0, [&] { Graph(field.bytes); });
          break;
        case AttributeProto::kDocString:
          DocString(field);
          break;
        default:
          break;
      }
    }
  }

  void Tensor(Bytes bytes) {
    using onnx::TensorProto;
    constexpr std::size_t kLarge = 64 * 1024;
    FieldReader reader(bytes);
    for (Field field; reader.Next(field);) {
      if (!field.IsBytes()) continue;
      switch (field.number) {
        case TensorProto::kName:
          open_.back().name = field.bytes;
          Kept(field.bytes, "name");
          break;
        case TensorProto::kStringData:
          Kept(field.bytes, "string_data");
          break;
        case TensorProto::kExternalData:
          ExternalData(field);
          break;
        case TensorProto::kDocString:
          DocString(field);
          break;
        case TensorProto::kMetadataProps:
          Metadata(field);
          break;
        default:
          if (field.bytes.size() < kLarge || !release_) break;
          release_(Offset(field.bytes),
                   Offset(field.bytes) + field.bytes.size());
          break;
      }
    }
  }

  void Sparse(Bytes bytes) {
    using onnx::SparseTensorProto;
    FieldReader reader(bytes);
    for (Field field; reader.Next(field);) {
      if (!model::Is(field, SparseTensorProto::kValues) &&
          !model::Is(field, SparseTensorProto::kIndices)) {
        continue;
      }
      In(field, "tensor", 0, [&] { Tensor(field.bytes); });
    }
  }

  void ValueInfo(Bytes bytes) {
    using onnx::ValueInfoProto;
    FieldReader reader(bytes);
    for (Field field; reader.Next(field);) {
      if (model::Is(field, ValueInfoProto::kName)) {
        open_.back().name = field.bytes;
        Kept(field.bytes, "name");
      } else if (model::Is(field, ValueInfoProto::kDocString)) {
        DocString(field);
      } else if (model::Is(field, ValueInfoProto::kMetadataProps)) {
        Metadata(field);
      }
    }
  }

  void Function(Bytes bytes) {
    using onnx::FunctionProto;
    FieldReader reader(bytes);
    std::uint64_t nodes = 0;
    for (Field field; reader.Next(field);) {
      if (!field.IsBytes()) continue;
      switch (field.number) {
        case FunctionProto::kName:
          open_.back().name = field.bytes;
          Kept(field.bytes, "name");
          break;
        case FunctionProto::kNode:
          In(field, "node", nodes++, [&] { Node(field.bytes); });
          break;
        case FunctionProto::kAttributeProto:
          In(field, "attribute", 0, [&] { Attribute(field.bytes); });
          break;
        case FunctionProto::kValueInfo:
          In(field, "value", 0, [&] { ValueInfo(field.bytes); });
          break;
        case FunctionProto::kDocString:
          DocString(field);
          break;
        case FunctionProto::kMetadataProps:
          Metadata(field);
          break;
        default:
          break;
      }
    }
  }

  void Training(Bytes bytes) {
    using onnx::TrainingInfoProto;
    FieldReader reader(bytes);
    for (Field field; reader.Next(field);) {
      if (model::Is(field, TrainingInfoProto::kInitialization) ||
          model::Is(field, TrainingInfoProto::kAlgorithm)) {
        In(field, "graph", 0, [&] { Graph(field.bytes); });
      }
    }
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
  template <typename Body>
  void In(const Field& field, std::string_view what, std::uint64_t index,
          const Body& body) {
    open_.push_back({field, std::nullopt, what, {}, index});
    body();
    open_.pop_back();
  }

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
    result_->tree_.push_back({.begin = Offset(open.field.bytes),
                              .size = open.field.bytes.size(),
                              .parent = parent,
                              .prefix_width = open.field.prefix_width});
    open.id = static_cast<wire::MessageId>(result_->tree_.size() - 1);
    return *open.id;
  }

  void Count(PrivateKind kind, std::string_view field, std::string_view example,
             std::size_t bytes, bool removable) {
    constexpr std::size_t kMostGroups = 1000;
    constexpr std::size_t kLongestKey = 200;
    const std::string_view what = open_.back().what;
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
      if (open.what == "attribute") continue;
      std::string place(open.what);
      if (open.what == "node") place += " " + std::to_string(open.index);
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
  Walk(model.bytes(), options, release, users_, nullptr).Run();
  Walk(model.bytes(), options, release, users_, this).Run();
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
