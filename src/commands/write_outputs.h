// The written files: whole or not at all, and only where they may be.
#ifndef ONNX_TAG_COMMANDS_WRITE_OUTPUTS_H_
#define ONNX_TAG_COMMANDS_WRITE_OUTPUTS_H_

#include <functional>
#include <string>

#include "commands/options.h"
#include "io/terminal.h"
#include "model/model_file.h"
#include "tagging/tag_writer.h"

namespace onnx_tag {

// Writes what `writer` makes of `file` to `path` ("-": standard output).
// Equal bytes that are already there are left alone.
void WriteModel(const ModelFile& file, TagWriter& writer,
                const std::string& path, const OutputOptions& options,
                Terminal& terminal);

// Writes what `generate` hands over, piece by piece. It is called twice where
// something of that name exists: first to compare.
void WriteText(const std::string& path, const OutputOptions& options,
               const std::function<void(const std::function<void(Bytes)>&)>&
                   generate);

// Warns of weights that cannot be reached, and sees to it that a model in
// another folder finds its own, as --data says.
void CarryExternalData(const ModelFile& file, const std::string& output,
                       const OutputOptions& options, Terminal& terminal);

}  // namespace onnx_tag

#endif  // ONNX_TAG_COMMANDS_WRITE_OUTPUTS_H_
