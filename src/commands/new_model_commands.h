// The commands that make new models, and what the user asked of them.
#ifndef ONNX_TAG_COMMANDS_NEW_MODEL_COMMANDS_H_
#define ONNX_TAG_COMMANDS_NEW_MODEL_COMMANDS_H_

#include <string>
#include <vector>

#include "commands/options.h"
#include "io/terminal.h"

namespace onnx_tag {

// The module outputs, or inputs, that `tap` adds to the graph's outputs.
struct TapOptions {
  std::string model;
  std::vector<std::string> modules;  // patterns
  bool inputs = false;
  TagSourceOptions source;
  WriteOptions write;
  bool json = false;
  bool quiet = false;
};

struct ExtractOptions {
  std::string model;
  std::string module;
  TagSourceOptions source;
  WriteOptions write;
  bool json = false;
  bool quiet = false;
};

struct SplitOptions {
  std::string model;
  std::vector<std::string> at;  // modules that begin a part
  TagSourceOptions source;
  WriteOptions write;
  bool json = false;
  bool quiet = false;
};

struct WeightsOptions {
  std::string model;
  TagSourceOptions source;
  std::string check;    // a .safetensors file or a module map; empty: none
  bool rename = false;  // write the model with restored names
  WriteOptions write;
  bool tsv = false;
  bool json = false;
  bool quiet = false;
};

ExitCode RunTap(const TapOptions& options, Terminal& terminal);
ExitCode RunExtract(const ExtractOptions& options, Terminal& terminal);
ExitCode RunSplit(const SplitOptions& options, Terminal& terminal);
ExitCode RunWeights(const WeightsOptions& options, Terminal& terminal);

}  // namespace onnx_tag

#endif  // ONNX_TAG_COMMANDS_NEW_MODEL_COMMANDS_H_
