#include "app/commands/output/destinations.h"

#include <algorithm>
#include <filesystem>

#include "app/render/render.h"
#include "file/io/paths.h"
#include "onnx_tag/error.h"

namespace onnx_tag {
namespace {

constexpr std::string_view kTagged = ".tagged";

// What names of outputs start with: the input's name without its end, in
// --out-dir.
std::string Stem(const std::string& input, const WriteOptions& options,
                 const std::string& subfolder) {
  std::string stem = input == "-" ? "stdin" : WithoutOnnx(input);
  if (options.folder.empty()) return stem;
  // Of what we wrote ourselves: no x.tagged.tagged.onnx.
  if (stem.ends_with(kTagged)) stem.resize(stem.size() - kTagged.size());
  return JoinPath(JoinPath(options.folder, subfolder), FileName(stem));
}

std::string SidecarDestination(const std::string& input,
                               const TagOptions& options,
                               const std::string& subfolder) {
  if (options.no_sidecar) return "";
  if (!options.sidecar.empty()) return options.sidecar;
  const WriteOptions& write = options.write;
  if (write.path == "-") return "";
  if (!write.path.empty()) return WithoutOnnx(write.path) + ".tags.json";
  if (input == "-" && write.folder.empty()) {
    return options.sidecar_only ? "-" : "";
  }
  return Stem(input, write, subfolder) + ".tags.json";
}

}  // namespace

std::string ModelDestination(const std::string& input,
                             const WriteOptions& options, std::string_view word,
                             const std::string& subfolder) {
  if (options.in_place && input == "-") {
    Fail(ErrorKind::kUsage, "--in-place needs a file, not standard input");
  }
  if (options.in_place) return input;
  if (!options.path.empty()) return options.path;
  if (input == "-" && options.folder.empty()) return "-";
  if (options.folder.empty() && kTagged.substr(1) == word &&
      WithoutOnnx(input).ends_with(kTagged)) {
    Fail(ErrorKind::kUsage,
         "{}: has the name of an output\n  replace it with --in-place, or name "
         "the output with -o or --out-dir",
         input);
  }
  return Stem(input, options, subfolder) + "." + std::string(word) + ".onnx";
}

Destinations DestinationsOf(const std::string& input, const TagOptions& options,
                            const std::string& subfolder) {
  Destinations result;
  if (!options.sidecar_only) {
    result.model = ModelDestination(input, options.write, "tagged", subfolder);
  }
  result.sidecar = SidecarDestination(input, options, subfolder);
  return result;
}

namespace {

namespace fs = std::filesystem;

enum class Reach { kInside, kMissing, kOutside };

struct DataFile {
  std::string location;  // as the model names it
  std::string path;
  Reach reach;
};

bool IsUnder(const fs::path& folder, const fs::path& file) {
  const auto [end, unused] =
      std::mismatch(folder.begin(), folder.end(), file.begin(), file.end());
  return end == folder.end();
}

Reach ReachOf(const std::string& model, const std::string& location,
              const std::string& path) {
  const fs::path named = ToPath(location);
  if (location.find('\0') != std::string::npos || named.has_root_path() ||
      std::find(named.begin(), named.end(), "..") != named.end()) {
    return Reach::kOutside;
  }
  if (!IsRegularFile(path)) return Reach::kMissing;
  const std::optional<std::string> found = RealPath(path);
  if (!found) return Reach::kMissing;
  const fs::path real = ToPath(*found);
  // Where a cache holds model and weights as links into one folder of blobs,
  // that folder is the model's, too.
  const std::optional<std::string> folder = RealPath(ParentFolder(model));
  const std::optional<std::string> target = RealPath(model);
  const bool inside = (folder && IsUnder(ToPath(*folder), real)) ||
                      (target && IsUnder(ToPath(*target).parent_path(), real));
  return inside ? Reach::kInside : Reach::kOutside;
}

std::vector<DataFile> FindData(const ModelFile& file) {
  std::vector<DataFile> found;
  const std::string folder = ParentFolder(file.path());
  for (const std::string_view name : file.model().external_files()) {
    const std::string location(name);
    const std::string path = ToText(ToPath(folder) / ToPath(location));
    found.push_back({location, path, ReachOf(file.path(), location, path)});
  }
  return found;
}

}  // namespace

std::vector<std::string> ExternalDataWarnings(const ModelFile& file) {
  std::vector<std::string> warnings;
  if (file.path() == "-") return warnings;
  std::vector<std::string> missing;
  std::vector<std::string> outside;
  for (const DataFile& data : FindData(file)) {
    if (data.reach == Reach::kMissing) missing.push_back(data.location);
    if (data.reach == Reach::kOutside) outside.push_back(data.location);
  }
  if (!missing.empty()) {
    warnings.push_back("weights are missing: " + FirstOf(missing, 1, 200));
  }
  if (!outside.empty()) {
    warnings.push_back("weights are outside the model's folder: " +
                       FirstOf(outside, 1, 200));
  }
  return warnings;
}

void WarnOfExternalData(const ModelFile& file, Terminal& terminal) {
  for (const std::string& warning : ExternalDataWarnings(file)) {
    terminal.Note("{}: warning: {}", file.path(), warning);
  }
}

void AddModelInputs(const ModelFile& file, Inputs& inputs) {
  inputs.Add(file.file(), "the model");
  if (file.path() == "-") return;
  const std::string what = Message("weights of {}", file.path());
  for (const DataFile& data : FindData(file)) inputs.Add(data.path, what);
}

void CarryExternalData(const ModelFile& file, const std::string& output,
                       DataChoice choice, PendingOutputs& outputs) {
  if (file.model().external_files().empty() || output == "-" ||
      choice == DataChoice::kKeep) {
    return;
  }
  if (file.path() == "-") {
    if (choice == DataChoice::kUnsaid) return;
    Fail(ErrorKind::kUsage,
         "--data {}: the weights of a model from standard input cannot be "
         "found\n  give the file name, or use --data keep",
         choice == DataChoice::kLink ? "link" : "copy");
  }
  const std::string folder = ParentFolder(output);
  if (SameFile(ParentFolder(file.path()), folder)) return;
  const std::vector<DataFile> found = FindData(file);
  if (choice == DataChoice::kUnsaid) {
    const auto names = Mapped(found, &DataFile::location);
    Fail(ErrorKind::kOutput,
         "{}: the weights are in {}; a model in {}/ cannot find them\n  write "
         "the output beside the input, or add --data keep (do not change the "
         "references), --data link or --data copy",
         output, Ours{FirstOf(names, 1, 200)}, folder);
  }
  for (const DataFile& data : found) {
    if (data.reach != Reach::kInside) continue;  // warned of
    outputs.AddData(data.path, JoinPath(folder, data.location),
                    choice == DataChoice::kLink);
  }
}

std::unordered_map<std::string, std::string> CopiedData(
    const ModelFile& file, const std::string& output, DataChoice choice) {
  std::unordered_map<std::string, std::string> copied;
  if (choice != DataChoice::kCopy || output == "-" || file.path() == "-" ||
      SameFile(ParentFolder(file.path()), ParentFolder(output))) {
    return copied;
  }
  for (const DataFile& data : FindData(file)) {
    if (data.reach == Reach::kInside) copied.emplace(data.location, data.path);
  }
  return copied;
}

}  // namespace onnx_tag
