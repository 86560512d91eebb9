// Tested by tests/app/commands/find_models_test.cc.
#include "app/commands/read/find_models.h"

#include <algorithm>
#include <filesystem>
#include <set>
#include <unordered_set>

#include "app/commands/output/destinations.h"
#include "base/glob.h"
#include "base/text.h"
#include "file/io/folder.h"
#include "file/io/mapped_file.h"
#include "file/io/paths.h"
#include "file/model/model_file.h"
#include "onnx_tag/error.h"

namespace onnx_tag {
namespace {

namespace fs = std::filesystem;

// A pattern without a slash is about the name, one with a slash about the
// whole path.
bool MatchesAny(const std::vector<std::string>& globs, std::string_view path) {
  const std::size_t slash = path.rfind('/');
  const std::string_view name =
      slash == std::string_view::npos ? path : path.substr(slash + 1);
  return std::any_of(globs.begin(), globs.end(), [&](const std::string& glob) {
    const bool whole = glob.find('/') != std::string::npos;
    return MatchesPattern(glob, whole ? path : name, '/');
  });
}

// What we wrote ourselves, and would write again as x.tagged.tagged.onnx.
bool IsOurOutput(std::string_view name) {
  return name.ends_with(".tagged.onnx") || name.ends_with(".stripped.onnx");
}

// "../a/./b" -> "a/b", "/a/b" -> "a/b": never out of --out-dir.
std::string Mirrored(const std::string& folder) {
  fs::path inside;
  for (const fs::path& part : ToPath(folder).lexically_normal()) {
    if (part == ".." || part == "." || part.empty()) continue;
    // "/", and a drive of Windows.
    if (part == part.root_directory() || part == part.root_name()) continue;
    inside /= part;
  }
  return ToText(inside);
}

class Finder {
 public:
  explicit Finder(const TagOptions& options) : options_(options) {}

  std::vector<FoundModel> Run() {
    for (const std::string& path : options_.models) Add(path, false);
    if (!options_.inputs.files_from.empty()) AddListed();
    return std::move(found_);
  }

 private:
  void AddListed() {
    const std::string& list = options_.inputs.files_from;
    std::vector<std::string> paths;
    try {
      paths = SplitFileList(list == "-" ? MappedFile::FromStdin().bytes()
                                        : ReadWholeFile(list));
    } catch (const Error& error) {
      throw Error(ErrorKind::kUsage, error.In("--files-from").what());
    }
    for (const std::string& path : paths) Add(path, true);
  }

  // What a list names is mirrored from where we stand, as `cp --parents` does
  // it; what the user names, from the folder that was named.
  void Add(const std::string& path, bool listed) {
    if (Excluded(path)) return;
    // Alone, it is a mistyped argument, not a model of many that failed.
    if (options_.inputs.recursive && !listed && options_.models.size() == 1 &&
        options_.inputs.files_from.empty() && path != "-" && !Exists(path)) {
      Fail(ErrorKind::kInput, "{}: no such file or folder", path);
    }
    if (options_.inputs.recursive && IsFolder(path)) {
      const std::size_t before = found_.size();
      Walk(path, listed ? Mirrored(path) : "");
      if (found_.size() == before && !listed) {
        Fail(ErrorKind::kInput, "{}: this folder contains no model\n  {}", path,
             options_.inputs.include.empty()
                 ? "searched for *.onnx; choose other names with --include GLOB"
                 : "no file matches --include");
      }
    } else {
      AddModel(path, listed ? Mirrored(ParentFolder(path)) : "");
    }
  }

  void AddModel(const std::string& path, const std::string& folder) {
    // By name, not by file: two links to one model are two models.
    const std::string key = ToText(ToPath(path).lexically_normal());
    if (!seen_.insert(key).second) return;
    io::RefuseAsStandardOutput(io::StatusOf(path), path);
    found_.push_back({path, folder, ""});
  }

  bool Excluded(std::string_view path) const {
    return MatchesAny(options_.inputs.exclude, path);
  }

  bool Wanted(const std::string& name, const std::string& inside) const {
    if (IsOurOutput(name)) return false;
    return options_.inputs.include.empty()
               ? name.ends_with(".onnx")
               : MatchesAny(options_.inputs.include, inside);
  }

  // A folder yet to be read: as it is opened, and as it is called from the
  // folder that was named.
  struct Pending {
    std::string path;
    std::string inside;
  };

  // Depth first and by name, without recursion: a tree may be deep.
  void Walk(const std::string& top, const std::string& folder) {
    std::vector<Pending> pending = {{top, ""}};
    while (!pending.empty()) {
      const Pending at = std::move(pending.back());
      pending.pop_back();
      // Through links a folder can hold itself.
      if (options_.write.follow &&
          !visited_.insert(io::StatusOf(at.path).value_or(io::FileStatus()).id)
               .second) {
        continue;
      }
      std::vector<Pending> below;
      try {
        ReadOne(at, folder, below);
      } catch (const Error& error) {
        found_.push_back({at.path, "", error.what()});
      }
      pending.insert(pending.end(), below.rbegin(), below.rend());
    }
  }

  // Adds the models of one folder, and to `below` the folders in it.
  void ReadOne(const Pending& at, const std::string& folder,
               std::vector<Pending>& below) {
    for (const FolderEntry& entry : ReadFolder(at.path)) {
      if (entry.name.starts_with('.')) continue;
      std::string path = JoinPath(at.path, entry.name);
      std::string inside = JoinPath(at.inside, entry.name);
      if (Excluded(inside)) continue;
      if (entry.kind == EntryKind::kFolder ||
          (entry.kind == EntryKind::kLinkToFolder && options_.write.follow)) {
        below.push_back({std::move(path), std::move(inside)});
      } else if ((entry.kind == EntryKind::kFile ||
                  entry.kind == EntryKind::kBrokenLink) &&
                 Wanted(entry.name, inside)) {
        AddModel(path, JoinPath(folder, at.inside));
      }
    }
  }

  const TagOptions& options_;
  std::vector<FoundModel> found_;
  std::unordered_set<std::string> seen_;
  std::set<io::FileId> visited_;
};

}  // namespace

std::vector<std::string> SplitFileList(std::string_view list) {
  const bool lines = list.find('\0') == std::string_view::npos;
  std::vector<std::string> names;
  for (const std::string_view name : lines ? Lines(list) : Split(list, '\0')) {
    if (!name.empty()) names.emplace_back(name);
  }
  return names;
}

std::vector<FoundModel> FindModels(const TagOptions& options) {
  return Finder(options).Run();
}

void AddModelInputs(const std::vector<FoundModel>& models, Inputs& inputs) {
  for (const FoundModel& model : models) {
    try {
      AddModelInputs(ModelFile::Open(model.path), inputs);
    } catch (const Error&) {
      // Reported when it is its turn.
    }
  }
}

}  // namespace onnx_tag
