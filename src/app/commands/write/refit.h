// `weights --refit`: the model with the weights of another checkpoint.
#ifndef ONNX_TAG_APP_COMMANDS_WRITE_REFIT_H_
#define ONNX_TAG_APP_COMMANDS_WRITE_REFIT_H_

#include <memory>

#include "app/commands/commands.h"
#include "app/commands/read/tagged_model.h"
#include "file/io/terminal.h"

namespace onnx_tag {

Result Refit(const WeightsOptions& options,
             const std::shared_ptr<const TaggedModel>& model,
             Terminal& terminal);

}  // namespace onnx_tag

#endif  // ONNX_TAG_APP_COMMANDS_WRITE_REFIT_H_
