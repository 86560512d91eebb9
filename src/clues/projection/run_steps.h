// A recorded run as steps to find in a file. A composite operation is one step.
// Each step has the sources of its data.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "clues/projection/torch_ops.h"
#include "onnx_tag/ids.h"
#include "onnx_tag/recording.h"

namespace onnx_tag {

enum class StepId : std::uint32_t {};

using Shape = std::vector<std::int64_t>;

struct RunStep {
  TorchPattern pattern;     // empty: unknown, or it becomes no operator
  std::string_view module;  // dotted path
  std::string_view name;    // of an FX node
  TracebackId traceback = kNo<TracebackId>;  // of its first operation
  bool known = false;      // its operation is in src/data/torch_ops.txt
  bool is_module = false;  // all that a module does, not one operation
  bool depends_on_input = false;
  bool has_shape = false;
  Shape shape;                  // of its first result
  std::vector<StepId> sources;  // steps whose results it reads, as it does
  std::vector<Shape> weights;   // of the parameters it reads, dims sorted
  // Its main operator reads one of `weights`, and nothing else is it.
  bool asks_weights = false;
};

using RunSteps = IdVector<StepId, RunStep>;

// `recorded` must outlive the program.
RunSteps MakeRunSteps(const RecordedProgram& recorded, const TorchOps& ops);

// The items of `order`, in that order; their sources are numbered anew.
template <typename Id, typename Item>
IdVector<Id, Item> InOrder(const IdVector<Id, Item>& items,
                           const std::vector<Id>& order) {
  IdVector<Id, Item> sorted;
  IdVector<Id, Id> moved(items.size(), kNo<Id>);
  for (const Id id : order) moved[id] = sorted.Add(items[id]);
  for (Item& item : sorted) {
    for (Id& source : item.sources) source = moved[source];
  }
  return sorted;
}

// The same as it runs when its results are asked for.
RunSteps SortDepthFirst(const RunSteps& program);

}  // namespace onnx_tag
