// The modules of a tagged model as one entry of its metadata: what a sidecar
// says of modules and of the root, and no node can say.
// docs/reference/tag-format.md describes the format.
#ifndef ONNX_TAG_CORE_TAGGING_MODULE_TABLE_H_
#define ONNX_TAG_CORE_TAGGING_MODULE_TABLE_H_

#include <cstdint>
#include <string>
#include <string_view>

#include "onnx_tag/tagging.h"

namespace onnx_tag {

// The place of each module in All(). Ids also count modules that a mapping left
// out, places are the same whatever the tree was read from.
IdVector<ModuleId, std::uint32_t> PlacesOf(const ModuleTree& tree);

// 20 to 25 bytes for a usual module.
std::string WriteModuleTable(const Tagging& tagging);

// Adds what the entry says to an empty tagging. Returns what is wrong with a
// malformed entry, of which nothing is added; "" if nothing is.
std::string ReadModuleTable(std::string_view entry, Tagging& tagging);

// The same for the entry of a model that has one.
std::string ReadModuleTable(const Model& model, Tagging& tagging);

}  // namespace onnx_tag

#endif  // ONNX_TAG_CORE_TAGGING_MODULE_TABLE_H_
