// Weights that lie in files of their own, beside the model.
#ifndef ONNX_TAG_COMMANDS_OUTPUT_EXTERNAL_DATA_H_
#define ONNX_TAG_COMMANDS_OUTPUT_EXTERNAL_DATA_H_

#include <string>
#include <vector>

#include "commands/options.h"
#include "commands/output/pending_outputs.h"
#include "io/terminal.h"
#include "model/model_file.h"

namespace onnx_tag {

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

}  // namespace onnx_tag

#endif  // ONNX_TAG_COMMANDS_OUTPUT_EXTERNAL_DATA_H_
