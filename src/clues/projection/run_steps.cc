#include "clues/projection/run_steps.h"

#include <algorithm>
#include <functional>

#include "base/lists.h"
#include "core/graph/order.h"

namespace onnx_tag {
namespace {

// An operation that uses only the shape of its argument depends on no data.
bool ReadsShapeOnly(std::string_view op) {
  return op.ends_with("_like") || op.starts_with("new_") ||
         op.starts_with("sym_");
}

// Facts about a tensor.
struct Flow {
  StepId step = kNo<StepId>;  // that made it
  bool depends_on_input = false;
  bool weight = false;  // a parameter, possibly transposed
};

class StepMaker {
 public:
  StepMaker(const RecordedProgram& recorded, const TorchOps& ops)
      : recorded_(recorded), ops_(ops) {
    for (const FlowId id : AllIds<FlowId>(flows_.size())) {
      flows_[id].depends_on_input = recorded.flows[id].kind == FlowKind::kInput;
      flows_[id].weight = recorded.flows[id].kind == FlowKind::kParameter;
    }
  }

  RunSteps Make() {
    const auto count = static_cast<std::uint32_t>(recorded_.operations.size());
    std::size_t function = 0;
    for (std::uint32_t at = 0; at < count;) {
      const auto& functions = recorded_.functions;
      while (function < functions.size() && functions[function].last <= at) {
        ++function;
      }
      const bool inside =
          function < functions.size() && functions[function].first == at;
      const std::uint32_t last = inside ? functions[function].last : at + 1;
      const std::string_view name =
          inside ? std::string_view(functions[function].name) : "";
      // A function of several operations is one step if exporters translate it
      // as a whole.
      const TorchPattern* const whole =
          last - at > 1 ? ops_.Find(name) : nullptr;
      if (whole != nullptr && whole->size > 0) {
        AddStep(at, last, name);
      } else {
        for (std::uint32_t i = at; i < last; ++i) {
          const bool known = ops_.Find(recorded_.operations[i].op) != nullptr;
          AddStep(i, i + 1,
                  known || last - at > 1 ? recorded_.operations[i].op : name);
        }
      }
      at = last;
    }
    return std::move(program_);
  }

 private:
  void AddStep(std::uint32_t first, std::uint32_t last, std::string_view name) {
    const StepId id = MakeId<StepId>(program_.size());
    const RecordedOperation& operation = recorded_.operations[first];
    RunStep step;
    step.module = operation.module;
    step.name = operation.name;
    step.traceback = operation.traceback;
    if (const TorchPattern* const pattern = ops_.Find(name)) {
      step.pattern = *pattern;
      step.known = true;
    }
    for (std::uint32_t i = first; i < last; ++i) {
      Read(recorded_.operations[i], id, step);
    }
    Describe(recorded_.operations[last - 1], step);
    program_.Add(std::move(step));
  }

  void Read(const RecordedOperation& operation, StepId id, RunStep& step) {
    const bool shape_only = ReadsShapeOnly(operation.op);
    bool depends_on_input = false;
    bool only_weights = !operation.inputs.empty();
    for (const FlowId input : operation.inputs) {
      Read(input, id, step);
      const Flow& flow = flows_[input];
      depends_on_input =
          depends_on_input || (!shape_only && DependsOnInput(input));
      only_weights = only_weights && flow.weight;
    }
    step.depends_on_input = step.depends_on_input || depends_on_input;
    for (const FlowId output : operation.outputs) {
      flows_[output] = {id, depends_on_input, only_weights};
    }
  }

  void Read(FlowId input, StepId id, RunStep& step) {
    const Flow& flow = flows_[input];
    const RecordedFlow& recorded = recorded_.flows[input];
    if (flow.weight && recorded.has_shape && !recorded.shape.empty()) {
      step.weights.push_back(recorded.shape);
      std::sort(step.weights.back().begin(), step.weights.back().end());
    }
    AddSource(flow.step, id, step);
    for (const FlowId part : recorded.merges) {
      AddSource(flows_[part].step, id, step);
    }
  }

  void AddSource(StepId source, StepId id, RunStep& step) {
    if (source == kNo<StepId> || source == id || reader_[source] == id) return;
    reader_[source] = id;
    step.sources.push_back(source);
  }

  bool DependsOnInput(FlowId id) const {
    return flows_[id].depends_on_input ||
           AnyIn(recorded_.flows[id].merges,
                 [&](FlowId part) { return flows_[part].depends_on_input; });
  }

  void Describe(const RecordedOperation& operation, RunStep& step) const {
    if (operation.outputs.empty()) return;
    const RecordedFlow& result = recorded_.flows[operation.outputs.front()];
    step.has_shape = result.has_shape;
    step.shape = result.shape;
  }

  const RecordedProgram& recorded_;
  const TorchOps& ops_;
  IdVector<FlowId, Flow> flows_{recorded_.flows.size()};
  // The last step that read a step.
  IdVector<StepId, StepId> reader_{recorded_.operations.size(), kNo<StepId>};
  RunSteps program_;
};

}  // namespace

RunSteps MakeRunSteps(const RecordedProgram& recorded, const TorchOps& ops) {
  return StepMaker(recorded, ops).Make();
}

RunSteps SortDepthFirst(const RunSteps& program) {
  IdVector<StepId, bool> read(program.size(), false);
  for (const RunStep& step : program) {
    for (const StepId source : step.sources) read[source] = true;
  }
  // The main result first: what takes the longest way.
  IdVector<StepId, std::uint32_t> depth(program.size(), 0);
  std::vector<StepId> results;
  for (const StepId id : AllIds<StepId>(program.size())) {
    for (const StepId source : program[id].sources) {
      if (source < id) depth[id] = std::max(depth[id], depth[source] + 1);
    }
    if (!read[id]) results.push_back(id);
  }
  std::stable_sort(results.begin(), results.end(),
                   [&](StepId a, StepId b) { return depth[a] > depth[b]; });
  const auto sources_of = [&](StepId id) -> const std::vector<StepId>& {
    return program[id].sources;
  };
  return InOrder(program, DepthFirst<StepId>(program.size(), results,
                                             sources_of, std::identity()));
}

}  // namespace onnx_tag
