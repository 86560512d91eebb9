// What a command's model costs, and how it is printed.
#ifndef ONNX_TAG_COMMANDS_READ_MODEL_SIZES_H_
#define ONNX_TAG_COMMANDS_READ_MODEL_SIZES_H_

#include <optional>
#include <span>
#include <string>

#include "commands/read/tag_source.h"
#include "commands/report/json_writer.h"
#include "sizes/module_sizes.h"

namespace onnx_tag {

// Nothing where only a sidecar is at hand. Throws Error(kUsage) where a shape
// fits no input of the model.
std::optional<sizes::ModelSizes> SizesOf(
    const TaggedModel& model, std::span<const sizes::GivenShape> shapes);

// "17.5 MB"
std::string BytesText(std::uint64_t bytes);
// "23.0 GFLOPs"
std::string FlopsText(std::uint64_t flops);

// "17.5 MB of weights (float32 17.4 MB, int64 12.0 kB); 23.0 GFLOPs, 12 nodes
// unknown"
std::string SizesText(const sizes::ModelSizes& sizes);

// The keys `bytes`, `bytes_by_type`, `flops` and `unknown_flops`.
void AddSizes(JsonWriter& json, const std::optional<sizes::ModelSizes>& sizes);

}  // namespace onnx_tag

#endif  // ONNX_TAG_COMMANDS_READ_MODEL_SIZES_H_
