// The files with facts for the mapping: --hierarchy, --rules, --trace, --fx.
#ifndef ONNX_TAG_COMMANDS_READ_FACT_FILES_H_
#define ONNX_TAG_COMMANDS_READ_FACT_FILES_H_

#include <cstddef>
#include <string>

#include "io/inputs.h"
#include "io/terminal.h"
#include "onnx_tag/mapping.h"

namespace onnx_tag {

// Reads the files that `options` name. Throws Error(kUsage), with the file's
// name, if a file cannot be read or its contents are wrong; for a recording,
// also with the command that makes one. Call it once for many models.
MappingFacts ReadFacts(const MappingOptions& options);

// The files that `options` name.
void AddFactFiles(const MappingOptions& options, Inputs& inputs);

// A note may name modules, and those may be long.
constexpr std::size_t kLongestNote = 4000;

// Says the notes of a mapping of the file `input` on stderr.
void SayNotes(const std::string& input, const Tagging& tagging,
              Terminal& terminal);

}  // namespace onnx_tag

#endif  // ONNX_TAG_COMMANDS_READ_FACT_FILES_H_
