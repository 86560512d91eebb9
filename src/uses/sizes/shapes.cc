#include "uses/sizes/shapes.h"

#include <fmt/core.h>

#include <algorithm>

#include "base/text.h"
#include "core/graph/order.h"
#include "file/model/element_types.h"
#include "uses/sizes/rules/rules.h"

namespace onnx_tag::sizes {
namespace {

constexpr GraphId kMain{0};

// Functions and loops are inferred again where their shapes differ: in all at
// most so many times what the file says of nodes.
constexpr std::size_t kMostAgain = 8;
constexpr std::size_t kSmallWork = 1'000'000;  // bytes

constexpr std::size_t kMostContradictions = 100;

// The domains whose operators src/data/operators.txt describes.
bool IsDescribed(std::string_view domain) {
  return domain.empty() || domain == "ai.onnx.ml" ||
         domain.starts_with("ai.onnx.preview") ||
         domain.starts_with("com.microsoft") || domain.starts_with("com.ms.");
}

bool AreNumbers(const Shape& shape, std::span<const std::int64_t> numbers) {
  return std::equal(shape.begin(), shape.end(), numbers.begin(), numbers.end(),
                    [](Dim dim, std::int64_t number) {
                      return number >= 0 && dim.Is(number);
                    });
}

}  // namespace

Shapes::Shapes(const Model& model, std::span<const GivenShape> given)
    : model_(model),
      ops_(model),
      facts_(model),
      functions_(model),
      first_run_(model.graph_count(), kNo<RunId>),
      inferred_(model.graph_count()),
      open_(model.graph_count()),
      uncounted_(model.graph_count()),
      work_of_(model.graph_count(), 0),
      work_left_(kSmallWork),
      flops_(model.node_count()),
      written_(model.node_count()) {
  ReadInputs(given);
  ReadWeights();
  for (const GraphId graph : model.Graphs()) {
    if (model[graph].kind != GraphKind::kSubgraph) {
      work_left_ += kMostAgain * WorkOf(graph);
    }
  }
  for (const GraphId graph : model.Graphs()) {
    if (model[graph].kind != GraphKind::kMain) continue;
    InferGraph(
        graph,
        {.run = runs_.Add({.graph = graph}), .call = nullptr, .depth = 0});
  }
  AddUp();
}

Dim Shapes::BytesOf(ValueId value) {
  const auto& [shape, numbers, type, sequence] = facts_[value];
  const std::uint32_t bits = BitsPerElement(type);
  if (bits == 0 || !shape) return kUnknownDim;
  const Dim elements = formulas().ProductOf(*shape);
  return bits % 8 == 0 ? formulas().Times(elements, bits / 8)
                       : formulas().Ceil(formulas().Times(elements, bits), 8);
}

void Shapes::ReadInputs(std::span<const GivenShape> given) {
  Formulas& formulas = facts_.formulas();
  const std::vector<ValueId>& inputs = model_[kMain].inputs;
  for (const ValueId input : inputs) {
    const ValueInfo* const info = model_.InfoOf(input);
    if (info != nullptr) LearnNames(formulas, info->type);
  }
  for (const ValueId input : inputs) {
    if (model_.InitializerOf(input) != nullptr) continue;
    Fact fact = Recorded(input);
    const std::string_view name = model_.ValueName(input);
    if (!fact.shape) {
      if (const GivenShape* const shape = FindNamed(given, name)) {
        fact.shape = Shape(shape->dims.begin(), shape->dims.end());
      }
    }
    if (fact.shape) {
      for (std::size_t i = 0; i < fact.shape->size(); ++i) {
        Dim& dim = (*fact.shape)[i];
        if (!dim.known()) {
          dim = formulas.Unnamed(fmt::format("{}[{}]", name.substr(0, 200), i));
        }
        dynamic_ = dynamic_ || !dim.IsNumber();
      }
    } else {
      dynamic_ = true;
    }
    facts_.Set(input, std::move(fact));
  }
}

void Shapes::ReadWeights() {
  for (const Initializer& weight : model_.initializers()) {
    Fact fact;
    const auto dims = model_.Dims(weight);
    fact.shape.emplace();
    for (const std::int64_t dim : dims) {
      fact.shape->push_back(dim < 0 ? kUnknownDim : Dim(dim));
    }
    fact.type = weight.data_type;
    if (!weight.small.empty()) {
      fact.numbers = ReadSmallTensor(weight.small).numbers;
    }
    facts_.Set(weight.value, std::move(fact));
  }
}

Fact Shapes::Recorded(ValueId value) {
  const ValueInfo* const info = model_.InfoOf(value);
  return info == nullptr ? Fact() : ReadRecorded(facts_.formulas(), info->type);
}

// What was inferred, and what the file records where nothing was.
Shape Shapes::Reconciled(ValueId value, const Shape& inferred,
                         const Shape& recorded) {
  // Exporters write the sizes of their example for the graph's outputs.
  const bool example =
      dynamic_ && model_[value].is_output && model_[value].graph == kMain;
  // Where the branches of an If differ, no one name holds for both: exporters
  // that merge two decoders record that of one.
  const bool branches = ops_[model_.Producer(value)] == Op::kIf;
  bool contradicts = inferred.size() != recorded.size();
  Shape shape = inferred;
  for (std::size_t i = 0; i < shape.size() && !contradicts; ++i) {
    const Dim ours = inferred[i];
    const Dim theirs = recorded[i];
    if (ours == theirs || !theirs.known() || ours.IsOver()) continue;
    if (branches && ours.known() && formulas().HasData(ours)) continue;
    if (!ours.known() || formulas().HasData(ours)) {
      // A name tells more than "some size that depends on data".
      if (!theirs.IsNumber() || !example) shape[i] = theirs;
    } else if (theirs.IsNumber()) {
      contradicts = true;
    } else {
      facts_.NoteEqual(ours, theirs);
    }
  }
  if (contradicts) {
    ++contradiction_count_;
    if (contradictions_.size() < kMostContradictions) {
      contradictions_.push_back({value, recorded, inferred});
    }
    return inferred;
  }
  return shape;
}

void Shapes::Learn(ValueId value, Fact fact) {
  if (value == kNo<ValueId>) return;
  // No initializer changes, whatever node claims to make it.
  if (model_.InitializerOf(value) != nullptr) return;
  const ValueInfo* const info = model_.InfoOf(value);
  if (info != nullptr) {
    const bool settled = fact.shape && fact.type != 0 && info->has_shape &&
                         AreNumbers(*fact.shape, model_.Dims(*info));
    if (!settled) {
      Fact recorded = Recorded(value);
      if (fact.type == 0) fact.type = recorded.type;
      if (!fact.sequence) {
        fact.sequence = recorded.sequence;
      } else if (!fact.sequence->element && recorded.sequence) {
        fact.sequence = recorded.sequence;
      }
      if (!fact.shape) {
        fact.shape = std::move(recorded.shape);
      } else if (recorded.shape) {
        fact.shape = Reconciled(value, *fact.shape, *recorded.shape);
      }
    }
  }
  facts_.Set(value, std::move(fact));
}

void Shapes::LearnOutputs(NodeId node, Facts facts) {
  const auto outputs = model_.Outputs(node);
  facts.resize(outputs.size());
  for (std::size_t i = 0; i < outputs.size(); ++i) {
    Learn(outputs[i], std::move(facts[i]));
  }
}

// What inferring a graph reads: a node may have as many inputs, outputs and
// numbers as the file has nodes.
std::size_t Shapes::WorkOf(GraphId graph) {
  std::size_t& work = work_of_[Index(graph)];
  if (work > 0) return work;
  if (model_[graph].kind == GraphKind::kFunction) {
    return work = model_.functions()[model_[graph].function].bytes.size() + 1;
  }
  work = 1;
  const auto add = [&](ValueId value) {
    const ValueInfo* const info = model_.InfoOf(value);
    if (info != nullptr) work += info->type.size();
  };
  for (const ValueId input : model_[graph].inputs) add(input);
  for (const NodeId node : model_[graph].nodes) {
    work += model_.NodeBytes(node).size();
    for (const ValueId output : model_.Outputs(node)) add(output);
  }
  return work;
}

bool Shapes::MayInfer(GraphId graph) {
  if (!inferred_[Index(graph)] || WorkOf(graph) <= work_left_) return true;
  work_left_ = 0;
  uncounted_[Index(graph)] = true;
  return false;
}

bool Shapes::InferGraph(GraphId graph, const Scope& scope) {
  const std::size_t count = model_[graph].nodes.size();
  Run& run = runs_[scope.run];
  run.inside.clear();
  run.flops.clear();
  run.written.clear();
  if (!MayInfer(graph)) return false;
  if (inferred_[Index(graph)]) work_left_ -= WorkOf(graph);
  run.flops.assign(count, kUnknownDim);
  run.written.assign(count, kUnknownDim);
  inferred_[Index(graph)] = true;
  open_[Index(graph)] = true;
  if (IsInOrder(graph)) {
    for (const NodeId node : model_[graph].nodes) InferNode(node, scope);
  } else {
    for (const NodeId node : DepthFirstOrder(model_, graph)) {
      InferNode(node, scope);
    }
  }
  open_[Index(graph)] = false;
  return true;
}

// Whether each node comes after what it reads, as ONNX asks for.
bool Shapes::IsInOrder(GraphId graph) const {
  for (const NodeId node : model_[graph].nodes) {
    for (const ValueId input : model_.Inputs(node)) {
      if (input == kNo<ValueId> || model_[input].graph != graph) continue;
      const NodeId producer = model_.Producer(input);
      if (producer != kNo<NodeId> && producer > node) return false;
    }
  }
  return true;
}

void Shapes::InferNode(NodeId node, const Scope& scope) {
  const GraphId body = functions_.BodyOf(model_, node);
  Dim flops = 0;
  Op op = Op::kNone;
  if (body != kNo<GraphId>) {
    InferCall(node, body, scope);
  } else {
    if (IsDescribed(model_.Domain(node))) op = ops_[node];
    if (!model_.Subgraphs(node).empty()) {
      InferBodies(node, op, scope);
    } else {
      const NodeView view(model_, facts_, node, op, scope.call);
      LearnOutputs(node, Infer(view));
      flops = CountFlops(view);
    }
  }
  Dim written = 0;
  for (const ValueId output : model_.Outputs(node)) {
    // ONNX Runtime makes weights of constants.
    if (output == kNo<ValueId> || op == Op::kConstant) continue;
    written = formulas().Plus(written, BytesOf(output));
  }
  Run& run = runs_[scope.run];
  const std::uint32_t index = model_[node].index;
  run.flops[index] = flops;
  run.written[index] = body == kNo<GraphId> ? written : Dim(0);
}

// What each node of the main graph runs.
void Shapes::AddUpInside() {
  IdVector<RunId, Dim> whole(runs_.size());
  for (const RunId at : order_) {
    const Run& run = runs_[at];
    const bool main = model_[run.graph].kind == GraphKind::kMain;
    FormulaSum sum(formulas());
    for (std::size_t i = 0; i < run.flops.size() && !main; ++i) {
      sum.Add(uncounted_[Index(run.graph)] ? kUnknownDim : run.flops[i]);
    }
    if (run.flops.empty() && uncounted_[Index(run.graph)]) sum.Add(kUnknownDim);
    for (const auto& [inside, repeated, node] : run.inside) {
      const Dim flops = formulas().Times(whole[inside], repeated);
      sum.Add(flops);
      if (!main) continue;
      const auto [place, added] = inside_flops_.try_emplace(node, flops);
      if (!added) place->second = formulas().Plus(place->second, flops);
    }
    whole[at] = main ? Dim(0) : sum.Total();
  }
}

// How often each run happens, from the outermost inwards.
void Shapes::AddUp() {
  for (const NodeId node : model_.Nodes()) {
    // A graph that nothing runs: an unused function, training.
    flops_[node] = written_[node] = kUnknownDim;
  }
  std::vector<RunId> roots;
  for (const RunId run : AllIds<RunId>(runs_.size())) {
    if (model_[runs_[run].graph].kind == GraphKind::kMain) roots.push_back(run);
  }
  order_ = DepthFirst<RunId>(
      runs_.size(),
      roots, [&](RunId run) -> auto& { return runs_[run].inside; },
      [](const Run::Inside& inside) { return inside.run; });
  AddUpInside();
  IdVector<RunId, Dim> times(runs_.size(), 0);
  std::vector<bool> seen(model_.graph_count());
  for (auto at = order_.rbegin(); at != order_.rend(); ++at) {
    const Run& run = runs_[*at];
    if (model_[run.graph].kind == GraphKind::kMain) times[*at] = 1;
    const Dim count = times[*at];
    for (const auto& [inside, repeated, node] : run.inside) {
      times[inside] =
          formulas().Plus(times[inside], formulas().Times(count, repeated));
    }
    if (run.flops.empty()) continue;  // not inferred, or without nodes
    const bool first = !seen[Index(run.graph)];
    seen[Index(run.graph)] = true;
    const bool unknown = uncounted_[Index(run.graph)];
    const auto add = [&](Dim& sum, Dim once) {
      const Dim more =
          unknown && !once.Is(0) ? kUnknownDim : formulas().Times(once, count);
      sum = first ? more : formulas().Plus(sum, more);
    };
    for (const NodeId node : model_[run.graph].nodes) {
      add(flops_[node], run.flops[model_[node].index]);
      add(written_[node], run.written[model_[node].index]);
    }
  }
}

}  // namespace onnx_tag::sizes
