// Tested by tests/clues/exporters/traceback_test.cc.
#include "clues/exporters/traceback.h"

#include <algorithm>
#include <optional>
#include <string>
#include <unordered_map>

#include "base/parse_number.h"
#include "base/text.h"
#include "clues/exporters/words.h"
#include "core/tagging/tag_format.h"

namespace onnx_tag {
namespace {

// Longer ones are no file names, functions or lines of code that people wrote.
constexpr std::size_t kLongestFile = 4096;
constexpr std::size_t kLongestFunction = 1024;
constexpr std::size_t kLongestText = 400;
// Python indents the code below a frame by four blanks.
constexpr std::size_t kCodeIndent = 4;

std::string_view Trim(std::string_view text) {
  constexpr std::string_view kBlanks = " \t\r";
  const std::size_t begin = text.find_first_not_of(kBlanks);
  if (begin == std::string_view::npos) return {};
  return text.substr(begin, text.find_last_not_of(kBlanks) + 1 - begin);
}

// A prefix of at most `limit` bytes that does not end inside a character.
std::string_view Cut(std::string_view text, std::size_t limit) {
  if (text.size() <= limit) return text;
  while (limit > 0 &&
         (static_cast<unsigned char>(text[limit]) & 0xc0) == 0x80) {
    --limit;
  }
  return text.substr(0, limit);
}

std::optional<SourceLine> MakeFrame(std::string_view file,
                                    std::string_view digits,
                                    std::string_view function) {
  const auto number = ParseWhole<decltype(SourceLine::line)>(digits);
  if (file.empty() || file.size() > kLongestFile ||
      function.size() > kLongestFunction || !number) {
    return std::nullopt;
  }
  return SourceLine{file, *number, function, {}};
}

// `File "/x/model.py", line 25, in forward`, without its indentation.
std::optional<SourceLine> ParsePythonFrame(std::string_view line) {
  constexpr std::string_view kStart = "File \"";
  constexpr std::string_view kNumber = "\", line ";
  constexpr std::string_view kFunction = ", in ";
  if (!line.starts_with(kStart)) return std::nullopt;
  line.remove_prefix(kStart.size());
  // The name of a file may contain a quote, a function's name does not.
  const std::size_t number = line.rfind(kNumber);
  if (number == std::string_view::npos) return std::nullopt;
  const std::string_view rest = line.substr(number + kNumber.size());
  const std::size_t function = rest.find(kFunction);
  return MakeFrame(line.substr(0, number), rest.substr(0, function),
                   function == std::string_view::npos
                       ? std::string_view()
                       : Trim(rest.substr(function + kFunction.size())));
}

// `/x/model.py(25): forward`
std::optional<SourceLine> ParseTorchScriptFrame(std::string_view line) {
  constexpr std::string_view kFunction = "): ";
  const std::size_t close = line.rfind(kFunction);
  if (close == std::string_view::npos) return std::nullopt;
  const std::size_t open = line.rfind('(', close);
  if (open == std::string_view::npos) return std::nullopt;
  const std::string_view file = line.substr(0, open);
  if (!file.ends_with(".py") && !file.starts_with('<')) return std::nullopt;
  return MakeFrame(file, line.substr(open + 1, close - open - 1),
                   Trim(line.substr(close + kFunction.size())));
}

bool IsSeparator(char c) { return c == '/' || c == '\\'; }

char Lower(char c) {
  return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
}

// With '/' between folders. A backslash separates only on Windows.
std::string Normalize(std::string_view file) {
  std::string name(file);
  const bool drive = file.size() > 2 && file[1] == ':' && IsSeparator(file[2]);
  if (drive || file.starts_with("\\\\")) {
    std::replace(name.begin(), name.end(), '\\', '/');
  }
  return name;
}

// What follows the folder of installed packages; nothing if there is none.
std::optional<std::string_view> InPackages(std::string_view name) {
  for (const std::string_view folder : {"/site-packages/", "/dist-packages/"}) {
    const std::size_t at = name.rfind(folder);
    if (at != std::string_view::npos) return name.substr(at + folder.size());
  }
  return std::nullopt;
}

// The part of `name` from the folder `torch` of a torch that was built from
// source; empty if it has none. A user's own folder may have that name, too.
std::string_view InTorchSource(std::string_view name) {
  constexpr std::string_view kFolder = "torch/";
  if (name.starts_with(kFolder)) return name;
  const std::size_t at = name.rfind("/torch/");
  if (at == std::string_view::npos) return {};
  const std::string_view rest = name.substr(at + 1 + kFolder.size());
  static const hierarchy::WordList known("torch");
  return known.HasStartOf(rest) ? name.substr(at + 1) : std::string_view();
}

CodeOwner OwnerInTorch(std::string_view name) {
  // A model may call torch.onnx.ops.
  const bool entry = (name.starts_with("torch/onnx/") &&
                      !name.starts_with("torch/onnx/ops/")) ||
                     name.starts_with("torch/export/") ||
                     IsOneOf(name, {"torch/jit/_trace.py",
                                    "torch/jit/__init__.py", "torch/jit.py"});
  return entry ? CodeOwner::kEntry : CodeOwner::kTools;
}

// The standard library: `lib/python3.11/contextlib.py`, and on Windows
// `Python311\Lib\contextlib.py`, also of a conda environment.
bool IsStandardLibrary(std::string_view name) {
  const std::size_t unix_folder = name.rfind("/lib/python");
  if (unix_folder != std::string_view::npos) {
    const std::string_view version = name.substr(unix_folder + 11);
    return !version.empty() && version.front() >= '2' && version.front() <= '9';
  }
  std::string lower(name);
  std::transform(lower.begin(), lower.end(), lower.begin(), Lower);
  const std::size_t windows_folder = lower.rfind("/lib/");
  if (lower.size() < 2 || lower[1] != ':' ||
      windows_folder == std::string::npos) {
    return false;
  }
  const std::string_view home =
      std::string_view(lower).substr(0, windows_folder);
  const std::size_t last = home.rfind('/');
  const std::string_view folder =
      last == std::string_view::npos ? home : home.substr(last + 1);
  const bool environment =
      last != std::string_view::npos && home.substr(0, last).ends_with("/envs");
  return environment || folder.starts_with("python") ||
         folder.starts_with("miniconda") || folder.starts_with("anaconda") ||
         folder.starts_with("miniforge");
}

std::string_view FolderOf(std::string_view name) {
  const std::size_t slash = name.rfind('/');
  return slash == std::string_view::npos ? std::string_view()
                                         : name.substr(0, slash + 1);
}

}  // namespace

void ParseTraceback(std::string_view text, std::vector<SourceLine>& frames) {
  bool outermost_first = false;
  bool wants_code = false;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    const std::string_view line = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    const std::size_t indent =
        std::min(line.find_first_not_of(' '), line.size());
    std::optional<SourceLine> frame;
    if (indent < kCodeIndent) {
      frame = ParsePythonFrame(line.substr(indent));
      if (frame) {
        outermost_first = wants_code = true;
      } else if (!outermost_first) {
        frame = ParseTorchScriptFrame(line);
      }
    }
    if (frame) {
      frames.push_back(*frame);
    } else if (wants_code && indent >= kCodeIndent) {
      frames.back().text = Cut(Trim(line), kLongestText);
      wants_code = frames.back().text.empty();
    }
  }
  if (outermost_first) std::reverse(frames.begin(), frames.end());
}

CodeOwner OwnerOf(std::string_view file) {
  if (file.starts_with('<')) {
    // What a person types into a shell or a notebook is a model's code.
    return file.starts_with("<stdin>") || file.starts_with("<ipython-input")
               ? CodeOwner::kModel
               : CodeOwner::kInterpreter;
  }
  const std::string name = Normalize(file);
  if (const std::optional<std::string_view> in = InPackages(name)) {
    if (in->starts_with("torch/")) return OwnerInTorch(*in);
    static const hierarchy::WordList tools("tool");
    return tools.HasStartOf(*in) ? CodeOwner::kTools : CodeOwner::kModel;
  }
  const std::string_view source = InTorchSource(name);
  if (!source.empty()) return OwnerInTorch(source);
  return IsStandardLibrary(name) ? CodeOwner::kInterpreter : CodeOwner::kModel;
}

void FileNames::Learn(std::string_view file) {
  const std::string name = Normalize(file);
  if (InPackages(name)) return;
  const std::string_view folder = FolderOf(name);
  if (!any_) {
    folder_ = folder;
    any_ = true;
    return;
  }
  std::size_t common = 0;
  const std::size_t most = std::min(folder.size(), folder_.size());
  while (common < most && folder[common] == folder_[common]) ++common;
  folder_ = FolderOf(folder.substr(0, common));
}

std::string FileNames::Shorten(std::string_view file) const {
  const std::string name = Normalize(file);
  if (const std::optional<std::string_view> in = InPackages(name)) {
    return std::string(*in);
  }
  if (const std::string_view source = InTorchSource(name); !source.empty()) {
    return std::string(source);
  }
  if (!folder_.empty() && name.starts_with(folder_)) {
    return name.substr(folder_.size());
  }
  return name.substr(FolderOf(name).size());
}

// Tested by tests/clues/exporters/source_lines_test.cc.

namespace {

constexpr std::string_view kStackTrace = "pkg.torch.onnx.stack_trace";

// Files are asked for often, and there are few of them. Their names are views
// of the tracebacks.
class KnownFiles {
 public:
  CodeOwner Owner(std::string_view file) {
    const auto [at, added] = owners_.try_emplace(file);
    if (added) {
      at->second = OwnerOf(file);
      if (at->second == CodeOwner::kModel) names_.Learn(file);
    }
    return at->second;
  }

  std::string_view Shorten(std::string_view file) {
    const auto [at, added] = short_.try_emplace(file);
    if (added) at->second = names_.Shorten(file);
    return at->second;
  }

 private:
  FileNames names_;
  std::unordered_map<std::string_view, CodeOwner> owners_;
  std::unordered_map<std::string_view, std::string> short_;
};

std::string_view TracebackOf(const Model& model, NodeId node) {
  if (model[node].metadata_count > 0) {
    const std::string_view trace = ForeignMetadata(model, node, kStackTrace);
    if (!trace.empty()) return trace;
  }
  return model.has_doc_strings() ? model.DocString(node) : std::string_view();
}

}  // namespace

void AddSourceLines(std::size_t node_count, const FramesOfNode& frames_of,
                    bool all_frames, SourceLines& lines) {
  KnownFiles files;
  struct Found {
    NodeId node;
    SourceLine line;
  };
  // Names of files are shortened when all of them are known.
  std::vector<Found> found;
  std::vector<SourceLine> frames;
  for (const NodeId node : AllIds<NodeId>(node_count)) {
    if (lines.IdOf(node) != kNo<LineId>) continue;
    frames.clear();
    frames_of(node, frames);
    // What is around the entry of an export is not read.
    const SourceLine* own = nullptr;
    for (const SourceLine& frame : frames) {
      const CodeOwner owner = files.Owner(frame.file);
      if (owner == CodeOwner::kEntry) break;
      if (own == nullptr && owner == CodeOwner::kModel) own = &frame;
    }
    if (own != nullptr) found.push_back({node, *own});
  }
  for (Found& each : found) {
    each.line.file = files.Shorten(each.line.file);
    lines.Set(each.node, each.line);
    if (!all_frames) continue;
    frames.clear();
    frames_of(each.node, frames);
    for (SourceLine& frame : frames) frame.file = files.Shorten(frame.file);
    lines.SetFrames(each.node, frames);
  }
}

void AddSourceLines(const Model& model, bool all_frames, SourceLines& lines) {
  bool any = model.has_doc_strings();
  for (const NodeId node : model.Nodes()) {
    any = any || model[node].metadata_count > 0;
  }
  if (!any) return;
  AddSourceLines(
      model.node_count(),
      [&](NodeId node, std::vector<SourceLine>& frames) {
        ParseTraceback(TracebackOf(model, node), frames);
      },
      all_frames, lines);
}

}  // namespace onnx_tag
