// Tested by tests/commands/batch_test.cc.
#include "commands/batch/refuse_collisions.h"

#include <algorithm>
#include <filesystem>
#include <unordered_map>

#include "base/text.h"
#include "io/inputs.h"
#include "io/paths.h"
#include "onnx_tag/error.h"

namespace onnx_tag {
namespace {

// --force replaces a file of any kind, and it may hold the weights of another
// model. The models are read only if there is a file to replace.
void RefuseWeights(const std::vector<FoundModel>& models,
                   const std::vector<std::string>& outputs) {
  std::error_code error;
  if (std::none_of(outputs.begin(), outputs.end(), [&](const auto& output) {
        return std::filesystem::is_regular_file(output, error);
      })) {
    return;
  }
  Inputs inputs;
  AddModelInputs(models, inputs);
  for (const std::string& output : outputs) {
    const std::string_view what = inputs.Find(output);
    if (what.empty()) continue;
    Fail(ErrorKind::kUsage,
         "{} would be replaced, but it holds the {}\n  write to another "
         "folder with --out-dir",
         Printable(output), what);
  }
}

}  // namespace

void RefuseCollisions(const std::vector<FoundModel>& models,
                      const std::vector<Destinations>& destinations,
                      const TagOptions& options) {
  Inputs inputs;
  for (const FoundModel& model : models) inputs.Add(model.path, model.path);
  FileKeys keys;
  std::unordered_map<std::string, const FoundModel*> outputs;
  std::vector<std::string> written;  // but for models in place
  const auto add = [&](const FoundModel& model, const std::string& output) {
    if (output.empty() || output == "-") return;
    const auto [at, added] = outputs.emplace(keys.Of(output), &model);
    if (!added) {
      Fail(ErrorKind::kUsage,
           "{} and {} would both be written to {}\n  tag them in two runs, or "
           "mirror their folders with --recursive",
           Printable(at->second->path), Printable(model.path),
           Printable(output));
    }
    if (options.write.in_place && output == model.path) return;
    if (inputs.Find(output).empty()) {
      written.push_back(output);
      return;
    }
    Fail(ErrorKind::kUsage,
         "{} is both an input and the output of {}\n  exclude it, for "
         "example with --exclude '*.tagged.onnx'",
         Printable(output), Printable(model.path));
  };
  for (std::size_t i = 0; i < models.size(); ++i) {
    add(models[i], destinations[i].model);
    add(models[i], destinations[i].sidecar);
  }
  if (options.write.force && models.size() > 1) RefuseWeights(models, written);
}

}  // namespace onnx_tag
