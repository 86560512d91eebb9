// `tag` over many models: found, done by several threads, told one by one.
#ifndef ONNX_TAG_COMMANDS_BATCH_BATCH_H_
#define ONNX_TAG_COMMANDS_BATCH_BATCH_H_

#include "commands/options.h"
#include "io/terminal.h"

namespace onnx_tag {

// Several models are named, or one that is to be found, or told about in a
// format for many.
bool IsBatch(const TagOptions& options);

// One model that fails does not stop the others unless the options say so.
// Throws Error(kUsage) for models that would be written to one file, before
// anything is written.
ExitCode RunBatch(const TagOptions& options, const MappingFacts& facts,
                  Terminal& terminal);

}  // namespace onnx_tag

#endif  // ONNX_TAG_COMMANDS_BATCH_BATCH_H_
