// Models made out of another: tapped, extracted, split, renamed.
#ifndef ONNX_TAG_COMMANDS_WRITE_NEW_MODELS_H_
#define ONNX_TAG_COMMANDS_WRITE_NEW_MODELS_H_

#include <string>
#include <vector>

#include "commands/options.h"
#include "commands/output/pending_outputs.h"
#include "commands/read/tag_source.h"
#include "edit/part.h"
#include "io/terminal.h"
#include "json/writer.h"
#include "model/model_file.h"

namespace onnx_tag {

struct NewModel {
  std::string path;
  std::uint64_t size;
  Produce produce;
  PendingOutputs::Fate fate = PendingOutputs::Fate::kUnknown;
};

// Writes `models`, made out of `model`, which must all go to one folder, with
// the weights that lie outside the file: all or nothing. Notes in each what
// became of it.
void WriteNewModels(const TaggedModel& model, const WriteOptions& options,
                    Terminal& terminal, std::vector<NewModel>& models);

// Tells the system that the pages of a file will not be read again soon.
Release ReleaserOf(const ModelFile& file);

// The module called `path`. Throws Error(kUsage) that names the nearest where
// there is none.
ModuleId FindModule(const ModuleTree& modules, const std::string& path);

// The model of a command that writes. Throws Error(kUsage) for a sidecar.
const ModelFile& ModelToWrite(const ModelFile* file, const std::string& path);

// "  inputs   hidden_states float32 [?, ?, ?]", a line for each
std::string ValueLines(std::string_view title,
                       const std::vector<edit::PartValue>& values);
// A list of {"name", "type", "rank"}.
void AddValues(JsonWriter& json, std::string_view key,
               const std::vector<edit::PartValue>& values);
// Says which inputs and outputs have no type or rank.
void WarnOfUntyped(const std::string& model,
                   const std::vector<edit::PartValue>& values,
                   Terminal& terminal);

// "wrote out.onnx", indented, with a line's end.
std::string DeedLine(const NewModel& model, bool dry_run);

// Prints results where they do not mix with a model on standard output.
void PrintResult(const std::string& text, const WriteOptions& options,
                 Terminal& terminal);

}  // namespace onnx_tag

#endif  // ONNX_TAG_COMMANDS_WRITE_NEW_MODELS_H_
