// Writes a model with some of its bytes changed: strip, scrub.
#ifndef ONNX_TAG_COMMANDS_WRITE_WRITE_CHANGED_H_
#define ONNX_TAG_COMMANDS_WRITE_WRITE_CHANGED_H_

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

#include "commands/commands.h"
#include "model/model_file.h"
#include "wire/rewrite.h"

namespace onnx_tag {

struct ChangedModel {
  std::string_view word;  // MODEL.stripped.onnx, unless the user names a file
  std::uint64_t size = 0;
  std::function<void(wire::Rewrite::Sink&)> write;
};

// Writes `changed`, a version of the model in `file`, with its external data,
// and says so in a line of `result`. Returns the path.
std::string WriteChanged(const std::string& model, const ModelFile& file,
                         const ChangedModel& changed,
                         const WriteOptions& options, Terminal& terminal,
                         Result& result);

}  // namespace onnx_tag

#endif  // ONNX_TAG_COMMANDS_WRITE_WRITE_CHANGED_H_
