// Names of nodes that say the module: `encoder.layer.0.query/MatMul_1`.
#ifndef ONNX_TAG_CORE_TAGGING_NODE_NAMES_H_
#define ONNX_TAG_CORE_TAGGING_NODE_NAMES_H_

#include <cstdint>

#include "onnx_tag/tagging.h"

namespace onnx_tag {

// Gives each node of `model` with a sure tag the name `<module>/<Op>[_k]`. A
// node without a name becomes `<Op>_<k>`; others get the exporter's name. All
// names differ, over all graphs and functions, also after characters, or runs
// of them, that are no letter and no digit became `_`: of two that would not,
// the second is named as if it had none. TagWriter writes the names. Returns
// how many differ from the exporter's.
std::uint64_t RenameNodes(const Tagging& tagging, Model& model);

}  // namespace onnx_tag

#endif  // ONNX_TAG_CORE_TAGGING_NODE_NAMES_H_
