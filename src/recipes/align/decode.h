// Turns an alignment into module paths. List indices are counted, not copied.
#ifndef ONNX_TAG_RECIPES_ALIGN_DECODE_H_
#define ONNX_TAG_RECIPES_ALIGN_DECODE_H_

#include <optional>
#include <vector>

#include "recipes/align/align.h"

namespace onnx_tag::recipes {

// By step of the file; nullopt if it has no match.
std::vector<std::optional<Path>> Decode(const Program& program,
                                        const Alignment& alignment);

}  // namespace onnx_tag::recipes

#endif  // ONNX_TAG_RECIPES_ALIGN_DECODE_H_
