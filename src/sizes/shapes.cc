#include "sizes/shapes.h"

#include <fmt/core.h>

#include <algorithm>

#include "model/element_count.h"
#include "onnx_tag/error.h"
#include "sizes/attributes.h"
#include "sizes/graph_text.h"
#include "sizes/infer.h"

namespace onnx_tag::sizes {
namespace {

Shape Tidied(Shape shape) {
  for (std::int64_t& dim : shape) {
    if (dim < 0 || dim > kMostDim) dim = kUnknownDim;
  }
  return shape;
}

// Functions that call functions can multiply without end.
constexpr std::uint64_t kMostRuns = std::uint64_t{1} << 40;

// Calls nested deeper than this are not followed.
constexpr int kMostDepth = 64;

std::string FunctionKey(std::string_view domain, std::string_view name) {
  return fmt::format("{}::{}", domain, name);
}

}  // namespace

Shapes::Shapes(const Model& model, std::span<const GivenShape> given)
    : model_(model),
      shapes_(model.value_count()),
      types_(model.value_count()),
      entered_(model.graph_count()),
      mixed_(model.graph_count()),
      runs_(model.graph_count()) {
  FindFunctions();
  const GraphText text(model, !given.empty());
  BindInputs(text, given);
  ReadStatedShapes(text);
  for (const GraphId graph : model.Graphs()) {
    if (model[graph].kind == GraphKind::kMain) InferGraph(graph, 0);
  }
  CountRuns();
}

std::optional<std::uint64_t> Shapes::Elements(ValueId value) const {
  const std::optional<Shape>& shape = shapes_[Index(value)];
  if (!shape) return std::nullopt;
  if (std::find(shape->begin(), shape->end(), kUnknownDim) != shape->end()) {
    return std::nullopt;
  }
  return CountElements(*shape);
}

const Numbers* Shapes::NumbersOf(ValueId value) const {
  const auto found = numbers_.find(static_cast<std::uint32_t>(Index(value)));
  return found == numbers_.end() ? nullptr : &found->second;
}

void Shapes::FindFunctions() {
  for (const onnx_tag::Function& function : model_.functions()) {
    const auto [at, added] = functions_.try_emplace(
        FunctionKey(function.domain == "ai.onnx" ? "" : function.domain,
                    function.name),
        function.body);
    // Overloads: a node's choice among them is not read.
    if (!added) at->second = kNo<GraphId>;
  }
}

GraphId Shapes::CalledBody(NodeId node) const {
  if (functions_.empty()) return kNo<GraphId>;
  const auto found =
      functions_.find(FunctionKey(model_.Domain(node), model_.OpType(node)));
  return found == functions_.end() ? kNo<GraphId> : found->second;
}

void Shapes::BindInputs(const GraphText& text,
                        std::span<const GivenShape> given) {
  const std::vector<ValueId>& inputs = model_[GraphId{0}].inputs;
  for (const GivenShape& shape : given) {
    const auto input = std::find_if(
        inputs.begin(), inputs.end(),
        [&](ValueId value) { return model_.ValueName(value) == shape.input; });
    if (input == inputs.end()) {
      std::string names;
      for (const ValueId value : inputs) {
        if (model_.InitializerOf(value) != nullptr) continue;
        names += fmt::format("{}{}", names.empty() ? "" : ", ",
                             model_.ValueName(value).substr(0, 60));
        if (names.size() > 400) break;
      }
      Fail(ErrorKind::kUsage,
           "--shape {}: the model has no such input\n  its inputs: {}",
           shape.input, names);
    }
    const ValueInfo* const info = model_.InfoOf(*input);
    if (info != nullptr && info->has_shape) {
      const auto dims = model_.Dims(*info);
      if (dims.size() != shape.dims.size()) {
        Fail(ErrorKind::kUsage,
             "--shape {}: {} dimensions given, but the input has {}",
             shape.input, shape.dims.size(), dims.size());
      }
      for (std::size_t i = 0; i < dims.size(); ++i) {
        const std::string_view name = text.DimName(*input, i);
        if (!name.empty()) bound_.try_emplace(name, shape.dims[i]);
        if (dims[i] >= 0 && dims[i] != shape.dims[i]) {
          Fail(ErrorKind::kUsage,
               "--shape {}: dimension {} is {} in the model, not {}",
               shape.input, i, dims[i], shape.dims[i]);
        }
      }
    }
    shapes_[Index(*input)] = Tidied(shape.dims);
  }
}

void Shapes::ReadStatedShapes(const GraphText& text) {
  for (std::size_t i = 0; i < shapes_.size(); ++i) {
    const auto value = MakeId<ValueId>(i);
    if (const Initializer* const weight = model_.InitializerOf(value)) {
      const auto dims = model_.Dims(*weight);
      types_[i] = weight->data_type;
      shapes_[i] = Tidied(Shape(dims.begin(), dims.end()));
      const Bytes small = text.SmallTensorOf(value);
      if (!small.empty()) {
        SmallTensor tensor = ReadSmallTensor(small);
        if (tensor.numbers) {
          numbers_[static_cast<std::uint32_t>(i)] = std::move(*tensor.numbers);
        }
      }
      continue;
    }
    const ValueInfo* const info = model_.InfoOf(value);
    if (info == nullptr) continue;
    types_[i] = info->data_type;
    if (!info->has_shape) continue;
    const auto dims = model_.Dims(*info);
    Shape shape = Tidied(Shape(dims.begin(), dims.end()));
    for (std::size_t axis = 0; axis < shape.size(); ++axis) {
      if (shape[axis] >= 0) continue;
      const auto bound = bound_.find(text.DimName(value, axis));
      if (bound != bound_.end()) shape[axis] = bound->second;
    }
    Learn(value, shape);
  }
}

// What is known stays; an unknown dimension is filled in.
void Shapes::Learn(ValueId value, const Shape& shape) {
  std::optional<Shape>& known = shapes_[Index(value)];
  if (!known) {
    known = shape;
    return;
  }
  if (known->size() != shape.size()) return;
  for (std::size_t i = 0; i < shape.size(); ++i) {
    if ((*known)[i] == kUnknownDim) (*known)[i] = shape[i];
  }
}

void Shapes::LearnType(ValueId value, std::int32_t type) {
  if (types_[Index(value)] == 0) types_[Index(value)] = type;
}

void Shapes::CopyTo(ValueId from, ValueId to) {
  if (from == kNo<ValueId> || to == kNo<ValueId>) return;
  if (shapes_[Index(from)]) Learn(to, *shapes_[Index(from)]);
  LearnType(to, types_[Index(from)]);
  const Numbers* const numbers = NumbersOf(from);
  if (numbers != nullptr) {
    numbers_.try_emplace(static_cast<std::uint32_t>(Index(to)), *numbers);
  }
}

void Shapes::InferGraph(GraphId graph, int depth) {
  if (depth > kMostDepth) return;
  entered_[Index(graph)] = true;
  for (const NodeId node : model_[graph].nodes) InferNode(node, depth);
}

void Shapes::InferNode(NodeId node, int depth) {
  if (!model_.Subgraphs(node).empty()) return InferBodies(node, depth);
  const GraphId body = CalledBody(node);
  if (body != kNo<GraphId>) return InferCall(node, body, depth);
  Inferred inferred = Infer(model_, *this, node);
  const auto outputs = model_.Outputs(node);
  for (std::size_t i = 0; i < outputs.size(); ++i) {
    if (outputs[i] == kNo<ValueId>) continue;
    if (i < inferred.types.size()) LearnType(outputs[i], inferred.types[i]);
    if (i < inferred.outputs.size() && inferred.outputs[i]) {
      Learn(outputs[i], Tidied(*inferred.outputs[i]));
    }
  }
  if (inferred.numbers && !outputs.empty() && outputs[0] != kNo<ValueId>) {
    numbers_.try_emplace(static_cast<std::uint32_t>(Index(outputs[0])),
                         std::move(*inferred.numbers));
  }
}

void Shapes::InferBodies(NodeId node, int depth) {
  const bool loop = model_.OpType(node) == "Loop";
  for (const GraphId body : model_.Subgraphs(node)) {
    if (loop) EnterLoop(node, body);
    InferGraph(body, depth + 1);
    if (loop) LeaveLoop(node, body);
  }
  if (model_.OpType(node) == "If") InferBranches(node);
}

// A loop hands over a count, a condition, and what is carried from round to
// round. Sizes of what is carried may change, so only its rank is taken.
void Shapes::EnterLoop(NodeId node, GraphId body) {
  const std::vector<ValueId>& parameters = model_[body].inputs;
  const auto inputs = model_.Inputs(node);
  const std::size_t count = std::min(inputs.size(), parameters.size());
  for (std::size_t i = 2; i < count; ++i) CopyRank(inputs[i], parameters[i], 0);
}

// What is not carried is stacked over the rounds.
void Shapes::LeaveLoop(NodeId node, GraphId body) {
  const std::size_t parameters = model_[body].inputs.size();
  const std::size_t carried = parameters < 2 ? 0 : parameters - 2;
  const std::vector<ValueId>& results = model_[body].outputs;
  const auto outputs = model_.Outputs(node);
  for (std::size_t i = 0; i < outputs.size() && i + 1 < results.size(); ++i) {
    CopyRank(results[i + 1], outputs[i], i < carried ? 0 : 1);
  }
}

void Shapes::CopyRank(ValueId from, ValueId to, std::size_t more) {
  if (from == kNo<ValueId> || to == kNo<ValueId>) return;
  LearnType(to, types_[Index(from)]);
  const std::optional<Shape>& shape = shapes_[Index(from)];
  if (shape) Learn(to, Shape(shape->size() + more, kUnknownDim));
}

// An If gives what its branches give where they agree.
void Shapes::InferBranches(NodeId node) {
  const auto outputs = model_.Outputs(node);
  for (std::size_t i = 0; i < outputs.size(); ++i) {
    if (outputs[i] == kNo<ValueId>) continue;
    std::optional<Shape> common;
    bool agree = true;
    for (const GraphId branch : model_.Subgraphs(node)) {
      const std::vector<ValueId>& given = model_[branch].outputs;
      if (i >= given.size() || given[i] == kNo<ValueId>) return;
      LearnType(outputs[i], types_[Index(given[i])]);
      const std::optional<Shape>& shape = shapes_[Index(given[i])];
      if (!common) common = shape;
      agree = agree && shape && common->size() == shape->size();
      if (!agree) break;
      for (std::size_t axis = 0; axis < shape->size(); ++axis) {
        if ((*common)[axis] != (*shape)[axis]) (*common)[axis] = kUnknownDim;
      }
    }
    if (agree && common) Learn(outputs[i], *common);
  }
}

// The body's shapes are those of the first call; a call with others makes it
// unknown what the body costs.
void Shapes::InferCall(NodeId node, GraphId body, int depth) {
  const auto inputs = model_.Inputs(node);
  const std::vector<ValueId>& parameters = model_[body].inputs;
  const std::size_t count = std::min(inputs.size(), parameters.size());
  if (!entered_[Index(body)]) {
    for (std::size_t i = 0; i < count; ++i) CopyTo(inputs[i], parameters[i]);
    InferGraph(body, depth + 1);
  } else {
    for (std::size_t i = 0; i < count; ++i) {
      if (inputs[i] == kNo<ValueId> || parameters[i] == kNo<ValueId>) continue;
      if (shapes_[Index(inputs[i])] != shapes_[Index(parameters[i])] ||
          types_[Index(inputs[i])] != types_[Index(parameters[i])]) {
        mixed_[Index(body)] = true;
        return;
      }
    }
  }
  const auto outputs = model_.Outputs(node);
  const std::vector<ValueId>& results = model_[body].outputs;
  for (std::size_t i = 0; i < std::min(outputs.size(), results.size()); ++i) {
    CopyTo(results[i], outputs[i]);
  }
}

void Shapes::CountRuns() {
  // Calls from graph to graph, and how many callers each body still waits for.
  std::vector<std::vector<GraphId>> calls(model_.graph_count());
  std::vector<std::uint32_t> waiting(model_.graph_count());
  for (const NodeId node : model_.Nodes()) {
    if (functions_.empty()) break;
    const GraphId body = CalledBody(node);
    if (body == kNo<GraphId>) continue;
    calls[Index(model_[node].graph)].push_back(body);
    ++waiting[Index(body)];
  }
  std::vector<std::vector<GraphId>> inside(model_.graph_count());
  for (const GraphId graph : model_.Graphs()) {
    if (model_[graph].kind == GraphKind::kSubgraph) {
      inside[Index(model_[graph].parent)].push_back(graph);
    }
  }
  std::vector<GraphId> ready;
  for (const GraphId graph : model_.Graphs()) {
    const GraphKind kind = model_[graph].kind;
    if (kind == GraphKind::kSubgraph || waiting[Index(graph)] > 0) continue;
    runs_[Index(graph)] = kind == GraphKind::kMain ? 1 : 0;
    ready.push_back(graph);
  }
  // A graph that calls itself is never ready: its runs stay unknown.
  while (!ready.empty()) {
    const GraphId graph = ready.back();
    ready.pop_back();
    if (mixed_[Index(graph)]) runs_[Index(graph)] = 0;
    const std::uint64_t runs = runs_[Index(graph)];
    for (const GraphId body : inside[Index(graph)]) {
      const bool branch = model_.OpType(model_[body].parent_node) == "If";
      runs_[Index(body)] = branch ? runs : 0;
      ready.push_back(body);
    }
    for (const GraphId body : calls[Index(graph)]) {
      runs_[Index(body)] = std::min(runs_[Index(body)] + runs, kMostRuns);
      if (--waiting[Index(body)] == 0) ready.push_back(body);
    }
  }
}

}  // namespace onnx_tag::sizes
