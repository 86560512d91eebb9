// Tested by tests/commands/batch_test.cc.
#include "commands/batch/refuse_collisions.h"

#include <unordered_map>

#include "base/text.h"
#include "io/inputs.h"
#include "io/paths.h"
#include "onnx_tag/error.h"

namespace onnx_tag {

void RefuseCollisions(const std::vector<FoundModel>& models,
                      const std::vector<Destinations>& destinations,
                      const TagOptions& options) {
  Inputs inputs;
  for (const FoundModel& model : models) inputs.Add(model.path, model.path);
  FileKeys keys;
  std::unordered_map<std::string, const FoundModel*> outputs;
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
    const std::string_view input = inputs.Find(output);
    if (input.empty() || (options.write.in_place && output == model.path)) {
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
}

}  // namespace onnx_tag
