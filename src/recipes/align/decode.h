// From an alignment to module paths: list indices are counted along the way,
// not copied.
#ifndef ONNX_TAG_RECIPES_ALIGN_DECODE_H_
#define ONNX_TAG_RECIPES_ALIGN_DECODE_H_

#include <optional>
#include <vector>

#include "recipes/align/align.h"

namespace onnx_tag::recipes {

// By step of the file; nothing where it matches nothing.
std::vector<std::optional<Path>> Decode(const Program& program,
                                        const Alignment& alignment);

}  // namespace onnx_tag::recipes

#endif  // ONNX_TAG_RECIPES_ALIGN_DECODE_H_
