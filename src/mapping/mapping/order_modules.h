// The order in which modules are listed.
#pragma once

#include "core/graph/graph_facts.h"
#include "mapping/evidence/evidence.h"
#include "onnx_tag/recording.h"
#include "onnx_tag/tagging.h"

namespace onnx_tag {

// By module of the evidence: the place of its first call in the recording;
// 0xffffffff: none is known.
using CallPlaces = IdVector<ModuleId, std::uint32_t>;
constexpr std::uint32_t kNotCalled = 0xffffffff;

// The calls of the module map. Empty if the model was not run for it.
CallPlaces PlacesOfCalls(const KnownModules& known, const ModuleTree& modules);

// By module: its new id.
using ModuleIds = IdVector<ModuleId, ModuleId>;

// Numbers the modules in the order in which they compute: by the recording's
// calls, else by the first node with data. Nodes that compute only with
// constants or sizes count for modules that have no others, at the place where
// their result is read. `calls` may be empty, or shorter than the tree.
ModuleIds OrderModules(const GraphFacts& graph, const CallPlaces& calls,
                       Tagging& tagging);

}  // namespace onnx_tag
