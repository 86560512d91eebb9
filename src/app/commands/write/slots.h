// `weights --lora-slots`: the model with optional inputs for adapters.
#ifndef ONNX_TAG_APP_COMMANDS_WRITE_SLOTS_H_
#define ONNX_TAG_APP_COMMANDS_WRITE_SLOTS_H_

#include "app/commands/commands.h"
#include "file/io/terminal.h"

namespace onnx_tag {

Result LoraSlots(const WeightsOptions& options, Terminal& terminal);

}  // namespace onnx_tag

#endif  // ONNX_TAG_APP_COMMANDS_WRITE_SLOTS_H_
