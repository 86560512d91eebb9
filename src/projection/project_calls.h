// Finds the nodes of modules from the order in which modules were called.
//
// A module map knows no operations. But the class of a module of torch.nn says
// what it becomes, the shapes of its parameters say which product is its own,
// and all of them run in the order of their calls.
#ifndef ONNX_TAG_PROJECTION_PROJECT_CALLS_H_
#define ONNX_TAG_PROJECTION_PROJECT_CALLS_H_

#include <cstddef>
#include <string>
#include <vector>

#include "projection/project.h"
#include "projection/run_steps.h"

namespace onnx_tag {

struct CalledModule {
  static constexpr std::size_t kNobody = static_cast<std::size_t>(-1);

  std::string module;            // dotted path
  std::string kind;              // its class
  std::vector<Shape> weights;    // of its own parameters
  std::size_t caller = kNobody;  // an earlier item
  bool calls_others = false;
  bool only_calls = false;  // a Sequential: it has no operations of its own
  // Calls its items `0`, `1`, `2` in this order, as classes derived from
  // Sequential do: each reads the result of the one before it.
  bool in_turn = false;
};

// `known`: by node, the module where the file says it, or null.
Projection ProjectCalls(const Model& model,
                        const std::vector<CalledModule>& calls,
                        const std::vector<const std::string*>& known);

}  // namespace onnx_tag

#endif  // ONNX_TAG_PROJECTION_PROJECT_CALLS_H_
