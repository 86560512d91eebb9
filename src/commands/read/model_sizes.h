// The sizes of a command's model, and their text.
#ifndef ONNX_TAG_COMMANDS_READ_MODEL_SIZES_H_
#define ONNX_TAG_COMMANDS_READ_MODEL_SIZES_H_

#include <optional>
#include <span>
#include <string>

#include "commands/read/tagged_model.h"
#include "render/result.h"
#include "sizes/module_sizes.h"

namespace onnx_tag {

// No value if the tags came from a sidecar without its model. Throws
// Error(kUsage) if a shape matches no input of the model.
std::optional<sizes::ModelSizes> SizesOf(
    const TaggedModel& model, std::span<const sizes::GivenShape> shapes);

// At least 19 of 20 nodes have a count. Shares of a smaller part of the model
// would mislead.
bool FlopsKnown(const sizes::ModelSizes& sizes);

// "17.5 MB (float32 17.4 MB, int64 12.0 kB)"
std::string WeightsText(const sizes::ModelSizes& sizes);

// "23.0 G, unknown for 12 nodes"
std::string FlopsText(const sizes::ModelSizes& sizes);

// `bytes`, `bytes_by_type`, `flops` and `unknown_flops`; nothing without sizes.
Datum::Members SizeMembers(const std::optional<sizes::ModelSizes>& sizes);

}  // namespace onnx_tag

#endif  // ONNX_TAG_COMMANDS_READ_MODEL_SIZES_H_
