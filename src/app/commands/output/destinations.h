// Where the results for an input go, and the weights that lie beside it in
// files of their own. Whether a file stands there already is the business of
// PendingOutputs.
#pragma once

#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "app/commands/commands.h"
#include "app/commands/output/pending_outputs.h"
#include "file/io/terminal.h"
#include "file/model/model_file.h"

namespace onnx_tag {

// "" is none, "-" standard output.
struct Destinations {
  std::string model;
  std::string sidecar;
};

// Of `tag` and `transfer`. `subfolder` is where outputs go below --out-dir.
// Throws Error(kUsage) for --in-place on standard input.
Destinations DestinationsOf(const std::string& input, const TagOptions& options,
                            const std::string& subfolder = "");

// The model that a command writes for `input`; `word` goes into its name where
// the options give none: "stripped".
std::string ModelDestination(const std::string& input,
                             const WriteOptions& options, std::string_view word,
                             const std::string& subfolder = "");

// The names of files in texts for people.
inline std::string_view ShownInput(std::string_view path) {
  return path == "-" ? "standard input" : path;
}
inline std::string_view ShownOutput(std::string_view path) {
  return path == "-" ? "standard output" : path;
}

// One sentence for weights that are missing, one for those that lie outside
// the model's folder; nothing we do needs them, but whoever runs the model
// will.
std::vector<std::string> ExternalDataWarnings(const ModelFile& file);
void WarnOfExternalData(const ModelFile& file, Terminal& terminal);

// The model and its weights.
void AddModelInputs(const ModelFile& file, Inputs& inputs);

// Sees to it that a model written to `output` finds its weights, as --data
// says. Throws Error(kOutput) if it would not and nobody said what to do.
void CarryExternalData(const ModelFile& file, const std::string& output,
                       DataChoice choice, PendingOutputs& outputs);

// The files of weights that are copied for `output`, by the name that the model
// has for them. None where nothing is copied.
std::unordered_map<std::string, std::string> CopiedData(
    const ModelFile& file, const std::string& output, DataChoice choice);

}  // namespace onnx_tag
