// Scopes that are made of classes: `/BertModel/BertEncoder/BertLayer.0/Add`.
// Our own hierarchy tags have this form, and tools that write it into names.
#pragma once

#include "mapping/evidence/evidence.h"

namespace onnx_tag {

// By node: its scope of classes, or kNo. Takes these scopes away from `facts`,
// because their words are no attributes. Empty if the names have none, or if
// neither parameters nor a map can say which attributes they are.
IdVector<NodeId, ScopeId> TakeClassScopes(const ParameterFacts& parameters,
                                          bool has_map,
                                          const ModuleTree& modules,
                                          ScopeFacts& facts);

struct ClassClaims {
  Claims named;
  // Nothing says the attribute, so that the class stands in for it. Whoever
  // knows the attribute knows better.
  Claims unnamed;
};

// The modules of these nodes, and their classes. The hierarchy says which
// modules have a class path; without one parameters and the scopes of values
// do, and last `paths`. Drops what a recording says against the class in a
// node's name.
ClassClaims PlaceClassScopes(const GraphFacts& graph,
                             const ParameterFacts& parameters,
                             const ScopeFacts& facts,
                             const IdVector<NodeId, ScopeId>& scope_of,
                             KnownModules& known, const PathsToPart& paths,
                             Clues& said, ModuleTree& modules);

}  // namespace onnx_tag
