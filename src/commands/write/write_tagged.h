// A model and its tags, written where the options say.
#ifndef ONNX_TAG_COMMANDS_WRITE_WRITE_TAGGED_H_
#define ONNX_TAG_COMMANDS_WRITE_WRITE_TAGGED_H_

#include "commands/options.h"
#include "commands/output/destinations.h"
#include "commands/read/tag_summary.h"
#include "io/inputs.h"
#include "io/terminal.h"
#include "model/model_file.h"

namespace onnx_tag {

// Writes the tagged model, the sidecar or both, all or nothing, and notes in
// `summary` what became of them, also where it throws. `inputs` are the files
// that the command read besides `file`. True if an output went to standard
// output.
bool WriteTagged(const ModelFile& file, const Tagging& tagging, Inputs inputs,
                 const Destinations& destinations, const TagOptions& options,
                 Terminal& terminal, TagSummary& summary);

}  // namespace onnx_tag

#endif  // ONNX_TAG_COMMANDS_WRITE_WRITE_TAGGED_H_
