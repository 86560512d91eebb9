// Scopes that say the name of a module, and not where it stands.
//
// A container that nobody calls is missing in a scope, and a module that
// several parents call stands where it was registered first. The parameters of
// a module tell its place. For a module without parameters, the modules beside
// it tell whether containers are missing, and in which of them a module of the
// same kind of name stands: `conv0_0` stands beside `grid.conv0_1`.
#pragma once

#include "clues/exporters/scopes.h"
#include "core/graph/graph_facts.h"
#include "onnx_tag/hierarchy.h"

namespace onnx_tag {

// Marks the doubtful scopes, and moves those into a container whose namesakes
// all stand there. All scopes have their modules.
void FindDoubtful(const GraphFacts& graph, ScopeFacts& facts,
                  ModuleTree& modules);

}  // namespace onnx_tag
