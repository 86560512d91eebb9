// The files with facts that a mapping may use: a recording, a module map,
// rules.
#pragma once

#include <string>
#include <string_view>

#include "file/io/inputs.h"
#include "onnx_tag/mapping.h"

namespace onnx_tag {

// Reads the files with facts for the mapping: --recording,
// --hierarchy, --rules, --trace, --fx. Throws Error(kUsage), with the file's
// name, if a file cannot be read or its contents are wrong; for a recording,
// also with the command that makes one. Call it once for many models.
MappingFacts ReadFacts(const MappingOptions& options);
void AddFactFiles(const MappingOptions& options, Inputs& inputs);

// A short text for a long one: equal for equal bytes.
std::string DigestOf(std::string_view bytes);

}  // namespace onnx_tag
