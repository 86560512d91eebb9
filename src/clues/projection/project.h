// Projects a recorded run onto the nodes of a file: finds the operation, and so
// the module, of each node.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "clues/projection/run_steps.h"
#include "core/graph/graph_facts.h"
#include "onnx_tag/model.h"
#include "onnx_tag/recording.h"
#include "onnx_tag/tagging.h"

namespace onnx_tag {

struct ProjectedNode {
  NodeId node;
  std::string_view module;  // lives as long as the recording
  Confidence confidence;
  std::string_view because;
  // Of its operation; kNo: unknown, also if it only runs between operations.
  TracebackId traceback = kNo<TracebackId>;
};

struct Projection {
  // In the order in which they run. The main node of an operation is certain,
  // the other nodes that it became are high.
  std::vector<ProjectedNode> nodes;
  double file_share = 0;      // share of the file's operations that were found
  double recorded_share = 0;  // share of the recorded operations
  double score = 0;           // of the matches
  // Of the file's matrices, those of a shape that the recording has as often;
  // none if the file has few.
  std::optional<double> weight_share;
};

struct ProjectionOptions {
  // Whether names of FX nodes in names of nodes and values may be used.
  bool names = false;
  // By node: its module, where the file says it; null: it does not. Empty:
  // nothing is to be known but what the recording says.
  std::vector<const std::string*> known;
};

Projection Project(const GraphFacts& facts, const RecordedProgram& recorded,
                   const ProjectionOptions& options = {});

// Finds the nodes of modules from the order in which modules were called.
//
// A module map knows no operations. But the class of a module of torch.nn says
// what it becomes, the shapes of its parameters say which product is its own,
// and all of them run in the order of their calls.

struct CalledModule {
  static constexpr std::size_t kNobody = static_cast<std::size_t>(-1);

  std::string module;            // dotted path
  std::string kind;              // its class
  std::vector<Shape> weights;    // of its own parameters
  std::size_t caller = kNobody;  // an earlier item
  bool has_table = false;        // a buffer of several numbers
  bool calls_others = false;
  bool only_calls = false;  // a Sequential: it has no operations of its own
  // Calls its items `0`, `1`, `2` in this order, as classes derived from
  // Sequential do: each reads the result of the one before it.
  bool in_turn = false;
};

// `known`: by node, the module where the file says it, or null.
Projection ProjectCalls(const GraphFacts& facts,
                        const std::vector<CalledModule>& calls,
                        const std::vector<const std::string*>& known);

}  // namespace onnx_tag
