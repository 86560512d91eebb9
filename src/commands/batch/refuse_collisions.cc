// Tested by tests/commands/collisions_test.cc.
#include "commands/batch/refuse_collisions.h"

#include <filesystem>
#include <unordered_map>

#include "base/text.h"
#include "commands/write/output_paths.h"
#include "io/folder.h"
#include "io/paths.h"
#include "onnx_tag/error.h"

namespace onnx_tag {
namespace {

namespace fs = std::filesystem;

// One word for all names of a file, whether it is there yet or not.
class FileKeys {
 public:
  std::string Of(const std::string& path) {
    const std::string parent = ParentFolder(path);
    const auto [at, added] = folders_.try_emplace(parent);
    if (added) {
      std::error_code error;
      const fs::path real = fs::weakly_canonical(parent, error);
      at->second = error ? parent : real.string();
    }
    return JoinPath(at->second, FileName(path));
  }

 private:
  std::unordered_map<std::string, std::string> folders_;
};

}  // namespace

TagOptions OptionsFor(const FoundModel& model, const TagOptions& options) {
  TagOptions own = options;
  if (!own.write.folder.empty()) {
    own.write.folder = JoinPath(own.write.folder, model.folder);
  }
  return own;
}

void RefuseCollisions(const std::vector<FoundModel>& models,
                      const TagOptions& options) {
  FileKeys keys;
  std::unordered_map<std::string, const FoundModel*> inputs;
  for (const FoundModel& model : models) {
    inputs.emplace(keys.Of(model.path), &model);
  }
  std::unordered_map<std::string, const FoundModel*> outputs;
  TagOptions own = options;
  const auto add = [&](const FoundModel& model, const std::string& output) {
    std::string key = keys.Of(output);
    if (options.write.follow) {
      // Two links may lead to one file.
      std::error_code error;
      const fs::path real = fs::canonical(output, error);
      if (!error) key = real.string();
    }
    const auto [at, added] = outputs.emplace(key, &model);
    if (!added) {
      Fail(ErrorKind::kUsage,
           "{} and {} would both be written to {}\n  tag them in two runs, or "
           "mirror their folders with --recursive",
           Printable(at->second->path), Printable(model.path),
           Printable(output));
    }
    const auto input = inputs.find(key);
    if (input != inputs.end() && input->second != &model) {
      Fail(ErrorKind::kUsage,
           "{} is both an input and the output of {}\n  exclude it, for "
           "example with --exclude '*.tagged.onnx'",
           Printable(output), Printable(model.path));
    }
  };
  for (const FoundModel& model : models) {
    if (!options.write.folder.empty()) {
      own.write.folder = JoinPath(options.write.folder, model.folder);
    }
    if (!options.sidecar_only) {
      add(model, OutputName(model.path, own.write, "tagged"));
    }
    const std::string sidecar = SidecarName(model.path, own);
    if (!sidecar.empty()) add(model, sidecar);
  }
}

}  // namespace onnx_tag
