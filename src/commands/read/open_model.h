// Opens a model for a command: one reading, one verdict, one warning.
#ifndef ONNX_TAG_COMMANDS_READ_OPEN_MODEL_H_
#define ONNX_TAG_COMMANDS_READ_OPEN_MODEL_H_

#include <string>
#include <vector>

#include "io/terminal.h"
#include "model/model_file.h"

namespace onnx_tag {

// Warns of weights and constants that cannot be read. Throws Error(kInput).
ModelFile OpenModel(const std::string& path, Terminal& terminal);

// The warnings, for a command that has its own place for them.
std::vector<std::string> ReadingWarnings(const Model& model);

}  // namespace onnx_tag

#endif  // ONNX_TAG_COMMANDS_READ_OPEN_MODEL_H_
