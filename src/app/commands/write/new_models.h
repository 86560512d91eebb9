// Models made out of another: tapped, extracted, split, renamed.
#ifndef ONNX_TAG_APP_COMMANDS_WRITE_NEW_MODELS_H_
#define ONNX_TAG_APP_COMMANDS_WRITE_NEW_MODELS_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "app/commands/commands.h"
#include "app/commands/output/pending_outputs.h"
#include "app/commands/read/tagged_model.h"
#include "file/io/terminal.h"
#include "file/model/model_file.h"
#include "file/wire/rewrite.h"
#include "uses/edit/part.h"

namespace onnx_tag {

struct NewWeights {
  std::string path;
  std::uint64_t size;
  Produce produce;
};

struct NewModel {
  std::string path;
  std::uint64_t size;
  Produce produce;
  // Weights that are made for it; `packs` where no others go beside it.
  std::vector<NewWeights> data = {};
  bool packs = false;
  std::vector<std::string> left = {};  // weights of an older output
  PendingOutputs::Fate fate = PendingOutputs::Fate::kUnknown;
};

// Writes `models`, made out of `model`, which must all go to one folder, with
// the weights that lie outside the file: all or nothing. Notes in each what
// became of it, and in `result` whether one went to standard output. `read`:
// files that the command read beside those of `model`.
void WriteNewModels(const TaggedModel& model, const WriteOptions& options,
                    Terminal& terminal, std::vector<NewModel>& models,
                    Result& result, const Inputs& read = {});

// Tells the system that the pages of a file will not be read again soon.
Release ReleaserOf(const ModelFile& file);

// The files whose weights are packed for parts that are written to the folder
// of `path`; none where they are not copied, or where a subgraph has some: that
// is copied as it stands.
edit::WeightPacker::Files FilesToPack(const ModelFile& file,
                                      const std::string& path,
                                      DataChoice choice);

sizes::Shapes ShapesOf(const ModelFile& file);

// The model of a command that writes. Throws Error(kUsage) for a sidecar.
const ModelFile& ModelToWrite(const TaggedModel& model,
                              const std::string& path);

// Says which inputs and outputs have no type or rank.
void WarnOfUntyped(const std::string& model,
                   const std::vector<edit::PartValue>& values,
                   Terminal& terminal);

// "  wrote out.onnx"
void AddDeed(const NewModel& model, const WriteOptions& options,
             Result& result);

// Writes a model with some of its bytes changed: strip, scrub.
struct ChangedModel {
  std::string_view word;  // MODEL.stripped.onnx, unless the user names a file
  std::uint64_t size = 0;
  std::function<void(wire::Rewrite::Sink&)> write;
};

// Writes `changed`, a version of the model in `file`, with its external data,
// and says so in a line of `result`. Returns the path.
std::string WriteChanged(const std::string& model, const ModelFile& file,
                         const ChangedModel& changed,
                         const WriteOptions& options, Terminal& terminal,
                         Result& result);

// slots.cc: `weights --lora-slots`, the model with optional inputs for
// adapters.
Result LoraSlots(const WeightsOptions& options, Terminal& terminal);

// refit.cc: `weights --refit`, the model with the weights of another
// checkpoint.
Result Refit(const WeightsOptions& options,
             const std::shared_ptr<const TaggedModel>& model,
             Terminal& terminal);

}  // namespace onnx_tag

#endif  // ONNX_TAG_APP_COMMANDS_WRITE_NEW_MODELS_H_
