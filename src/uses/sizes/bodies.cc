// Calls of local functions, and the graphs of If, Loop, Scan and SequenceMap.
#include <algorithm>

#include "file/model/element_types.h"
#include "file/model/field_kinds.h"
#include "file/model/onnx_fields.h"
#include "file/wire/field_reader.h"
#include "uses/sizes/rules/rules.h"
#include "uses/sizes/shapes.h"

namespace onnx_tag::sizes {
namespace {

// Calls and bodies nested deeper than this are not followed.
constexpr int kMostDepth = 64;

void AppendBytes(Bytes bytes, std::vector<std::int64_t>& key) {
  key.push_back(static_cast<std::int64_t>(bytes.size()));
  for (const char c : bytes) key.push_back(c);
}

void AppendShape(const std::optional<Shape>& shape,
                 std::vector<std::int64_t>& key) {
  key.push_back(shape ? static_cast<std::int64_t>(shape->size()) : -1);
  if (!shape) return;
  for (const Dim dim : *shape) key.push_back(dim.bits());
}

// What two branches give in common.
Fact Common(const Fact& a, const Fact& b) {
  Fact fact;
  fact.type = a.type != 0 ? a.type : b.type;
  fact.sequence = a.sequence;
  if (a.numbers == b.numbers) fact.numbers = a.numbers;
  fact.shape = Common(a.shape, b.shape);
  return fact;
}

}  // namespace

Fact Shapes::FactAt(std::span<const ValueId> values, std::size_t i) const {
  return i < values.size() ? facts_[values[i]] : Fact();
}

Fact Shapes::FactOfRound(std::span<const ValueId> values, std::size_t i) const {
  Fact fact = FactAt(values, i);
  fact.numbers.reset();
  return fact;
}

void Shapes::InferBody(GraphId graph, const Scope& scope, Dim times,
                       NodeId node) {
  InferGraph(graph, {.run = AddRun(graph, scope, times, node),
                     .call = scope.call,
                     .depth = scope.depth});
}

Shapes::RunId Shapes::AddRun(GraphId graph, const Scope& scope, Dim times,
                             NodeId node) {
  const RunId run = runs_.Add({.graph = graph});
  runs_[scope.run].inside.push_back({run, times, node});
  return run;
}

void Shapes::SetParameter(ValueId value, Fact fact) {
  if (value == kNo<ValueId>) return;
  if (!fact.shape && !fact.sequence) {
    Fact recorded = Recorded(value);
    fact.shape = std::move(recorded.shape);
    fact.sequence = std::move(recorded.sequence);
    if (fact.type == 0) fact.type = recorded.type;
  }
  facts_.Set(value, std::move(fact));
}

// What a call depends on: the shapes, types and numbers it hands over, and its
// attributes.
std::vector<std::int64_t> Shapes::Signature(NodeId node, GraphId body) const {
  std::vector<std::int64_t> key = {static_cast<std::int64_t>(Index(body))};
  for (const ValueId input : model_.Inputs(node)) {
    if (input == kNo<ValueId>) {
      key.push_back(-2);
      continue;
    }
    const auto& [shape, numbers, type, sequence] = facts_[input];
    key.push_back(type);
    AppendShape(shape, key);
    if (numbers) {
      key.push_back(numbers->uniform ? 1 : 0);
      key.push_back(static_cast<std::int64_t>(numbers->elements.size()));
      for (const Number& number : numbers->elements) {
        key.push_back(number.over.bits());
        key.push_back(number.under.bits());
      }
    }
    if (sequence != nullptr) {
      key.push_back(sequence->length.bits());
      AppendShape(sequence->element, key);
      for (const Shape& item : sequence->items) AppendShape(item, key);
    }
  }
  wire::FieldReader reader(model_.NodeBytes(node));
  for (wire::Field field; reader.Next(field);) {
    if (!model::Is(field, onnx::NodeProto::kAttribute)) continue;
    constexpr std::size_t kLongest = 512;
    // Large tensors are told apart by their place.
    if (field.bytes.size() > kLongest) {
      key.push_back(field.bytes.data() - model_.bytes().data());
    } else {
      AppendBytes(field.bytes, key);
    }
  }
  return key;
}

// The values of a function's body, those of the graphs in it included.
const std::vector<ValueId>& Shapes::ValuesWithin(GraphId body) {
  if (within_.empty()) {
    within_.resize(model_.graph_count());
    for (std::size_t i = 0; i < model_.value_count(); ++i) {
      GraphId graph = model_[MakeId<ValueId>(i)].graph;
      while (model_[graph].kind == GraphKind::kSubgraph) {
        graph = model_[graph].parent;
      }
      if (model_[graph].kind == GraphKind::kFunction) {
        within_[Index(graph)].push_back(MakeId<ValueId>(i));
      }
    }
  }
  return within_[Index(body)];
}

void Shapes::InferCall(NodeId node, GraphId body, const Scope& scope) {
  if (open_[Index(body)] || scope.depth > kMostDepth) {  // it calls itself
    uncounted_[Index(body)] = true;
    return LearnOutputs(node, {});
  }
  const auto [known, added] = calls_.try_emplace(Signature(node, body));
  if (!added) {
    runs_[scope.run].inside.push_back({known->second, 1, node});
    return LearnOutputs(node, runs_[known->second].results);
  }
  const bool again = first_run_[Index(body)] != kNo<RunId>;
  const RunId run = AddRun(body, scope, 1, node);
  known->second = run;
  if (again && !MayInfer(body)) return LearnOutputs(node, {});
  // The body keeps the shapes of its first call.
  std::vector<std::pair<ValueId, Fact>> saved;
  if (again) {
    for (const ValueId value : ValuesWithin(body)) {
      saved.emplace_back(value, facts_[value]);
    }
  } else {
    first_run_[Index(body)] = run;
  }
  const std::vector<ValueId>& parameters = model_[body].inputs;
  const auto inputs = model_.Inputs(node);
  for (std::size_t i = 0; i < parameters.size(); ++i) {
    SetParameter(parameters[i], FactAt(inputs, i));
  }
  const std::uint32_t outside = facts_.call();
  facts_.SetCall(static_cast<std::uint32_t>(run));
  const Call call(model_.NodeBytes(node),
                  model_.functions()[model_[body].function].bytes, scope.call);
  const bool inferred =
      InferGraph(body, {.run = run, .call = &call, .depth = scope.depth + 1});
  facts_.SetCall(outside);
  Facts results;
  for (std::size_t i = 0; inferred && i < model_[body].outputs.size(); ++i) {
    results.push_back(FactAt(model_[body].outputs, i));
  }
  runs_[run].results = results;
  for (auto& [value, fact] : saved) facts_.Set(value, std::move(fact));
  LearnOutputs(node, std::move(results));
}

void Shapes::InferBodies(NodeId node, Op op, const Scope& scope) {
  const Scope inside{
      .run = scope.run, .call = scope.call, .depth = scope.depth + 1};
  if (inside.depth > kMostDepth) return LearnOutputs(node, {});
  const auto bodies = model_.Subgraphs(node);
  switch (op) {
    case Op::kIf:
      return InferIf(node, inside);
    case Op::kLoop:
      return InferLoop(node, bodies[0], inside);
    case Op::kScan:
      return InferScan(node, bodies[0], inside);
    case Op::kSequenceMap:
      return InferSequenceMap(node, bodies[0], inside);
    default:
      break;
  }
  // What it hands over is not known; the graphs may record it. How often they
  // run, only running tells.
  for (std::size_t i = 0; i < bodies.size(); ++i) {
    for (const ValueId value : model_[bodies[i]].inputs) {
      if (model_.InitializerOf(value) == nullptr) SetParameter(value, {});
    }
    InferBody(bodies[i], inside, facts_.OwnDim(node, kTrips, i), node);
  }
  const NodeView view(model_, facts_, node, op, scope.call);
  LearnOutputs(node, Infer(view));
}

void Shapes::InferIf(NodeId node, const Scope& scope) {
  const NodeView view(model_, facts_, node, Op::kIf, scope.call);
  const Dim condition = view.InputSize(0);
  Facts facts(view.outputs());
  bool first = true;
  std::vector<bool> differ(view.outputs());
  for (const GraphId branch : model_.Subgraphs(node)) {
    const bool is_then = model_[branch].attribute == "then_branch";
    // A branch that never runs costs nothing.
    const bool runs = !condition.IsNumber() || condition.Is(0) != is_then;
    InferBody(branch, scope, runs ? 1 : 0, node);
    if (!runs) continue;
    const std::vector<ValueId>& given = model_[branch].outputs;
    for (std::size_t i = 0; i < facts.size(); ++i) {
      Fact fact = FactAt(given, i);
      if (!first && facts[i].shape != fact.shape) differ[i] = true;
      facts[i] = first ? std::move(fact) : Common(facts[i], fact);
    }
    first = false;
  }
  for (std::size_t i = 0; i < facts.size(); ++i) {
    if (differ[i] && facts[i].shape) view.NameUnknown(*facts[i].shape, i);
  }
  LearnOutputs(node, std::move(facts));
}

// A loop hands over a count, a condition, and what is carried from round to
// round; what is not carried is stacked over the rounds.
void Shapes::InferLoop(NodeId node, GraphId body, const Scope& scope) {
  const NodeView view(model_, facts_, node, Op::kLoop, scope.call);
  const std::vector<ValueId>& parameters = model_[body].inputs;
  const std::vector<ValueId>& results = model_[body].outputs;
  const auto inputs = model_.Inputs(node);
  const std::size_t carried = parameters.size() < 2 ? 0 : parameters.size() - 2;
  const bool begins = !view.Has(1) || view.InputSize(1).Is(1);

  std::vector<Fact> before(carried);
  for (std::size_t i = 0; i < carried; ++i) {
    before[i] = FactOfRound(inputs, i + 2);
  }
  const RunId run = AddRun(body, scope, kUnknownDim, node);
  const auto infer = [&] {
    if (!parameters.empty() && parameters[0] != kNo<ValueId>) {
      SetParameter(parameters[0], {.shape = Shape(), .type = kInt64});
    }
    if (parameters.size() > 1) {
      Fact condition{.shape = Shape(), .type = kBool};
      if (begins) condition.numbers = OneNumber({1});
      SetParameter(parameters[1], std::move(condition));
    }
    for (std::size_t i = 0; i < carried; ++i) {
      SetParameter(parameters[i + 2], before[i]);
    }
    return InferGraph(body,
                      {.run = run, .call = scope.call, .depth = scope.depth});
  };
  bool spent = !infer();
  // Sizes that change from round to round get a name of their own.
  std::vector<Fact> start = before;
  bool changes = false;
  for (std::size_t i = 0; i < carried; ++i) {
    const Fact after = FactAt(results, i + 1);
    std::optional<Shape>& shape = before[i].shape;
    if (after.sequence != nullptr) {
      changes = true;
      before[i].sequence =
          Sequence::Of(after.sequence->element, view.Own(i, kLength));
    }
    if (!shape) continue;
    if (!after.shape || after.shape->size() != shape->size()) {
      shape.reset();
      changes = true;
      continue;
    }
    for (std::size_t axis = 0; axis < shape->size(); ++axis) {
      if ((*shape)[axis] == (*after.shape)[axis]) continue;
      (*shape)[axis] = view.Own(i, axis);
      changes = true;
    }
  }
  if (changes && !spent) spent = !infer();

  // How often: the count, if the condition stays true.
  const Fact condition = FactAt(results, 0);
  const bool goes_on =
      begins && condition.numbers && *condition.numbers == OneNumber({1});
  Dim trips = goes_on ? view.InputSize(0) : kUnknownDim;
  constexpr std::int64_t kForever = std::int64_t{1} << 31;
  if (trips.IsNumber() && trips.number() >= kForever) trips = kUnknownDim;
  trips = trips.known() ? formulas().Max(trips, 0) : view.Own(kTrips, 0);
  runs_[scope.run].inside.back().times = spent ? kUnknownDim : trips;

  Facts facts;
  for (std::size_t i = 0; i < view.outputs(); ++i) {
    Fact fact = spent ? Fact() : FactOfRound(results, i + 1);
    if (i >= carried && fact.shape) {
      fact.shape->insert(fact.shape->begin(), trips);
    } else if (i < carried && before[i].shape && start[i].shape && fact.shape) {
      for (std::size_t axis = 0; axis < fact.shape->size(); ++axis) {
        Dim& dim = (*fact.shape)[axis];
        const Dim inside = (*before[i].shape)[axis];
        const Dim first = (*start[i].shape)[axis];
        if (inside == first) continue;
        // What grows by the same each round.
        const Dim growth = formulas().Minus(dim, inside);
        dim = growth.IsNumber()
                  ? formulas().Plus(first, formulas().Times(trips, growth))
                  : view.Own(i, kAfter + axis);
      }
    } else if (i < carried && fact.sequence != nullptr) {
      fact.sequence = Sequence::Of(fact.sequence->element, view.Own(i, kAfter));
    }
    facts.push_back(std::move(fact));
  }
  LearnOutputs(node, std::move(facts));
}

// States, then inputs of which each round gets one slice.
void Shapes::InferScan(NodeId node, GraphId body, const Scope& scope) {
  const NodeView view(model_, facts_, node, Op::kScan, scope.call);
  const auto scanned = static_cast<std::size_t>(
      std::clamp<std::int64_t>(view.Int("num_scan_inputs", 1), 0, 1 << 20));
  auto inputs = model_.Inputs(node);
  const std::vector<ValueId>& parameters = model_[body].inputs;
  const std::vector<ValueId>& results = model_[body].outputs;
  // Opset 8: the first input has the lengths, and all others have a batch as
  // their first axis, which the body does not see.
  const bool batched = inputs.size() == parameters.size() + 1;
  if (batched) inputs = inputs.subspan(1);
  Dim batch;
  const std::size_t states =
      inputs.size() < scanned ? 0 : inputs.size() - scanned;
  const auto in_axes = view.attributes().IntList("scan_input_axes");
  const auto out_axes = view.attributes().IntList("scan_output_axes");
  Dim trips;
  for (std::size_t i = 0; i < parameters.size(); ++i) {
    Fact fact = FactOfRound(inputs, i);
    if (batched && fact.shape) {
      if (fact.shape->empty()) {
        fact.shape.reset();
      } else {
        batch = view.SameDim(batch, fact.shape->front());
        fact.shape->erase(fact.shape->begin());
      }
    }
    if (i >= states && fact.shape) {
      const std::size_t k = i - states;
      const auto axis = Axis(in_axes && k < in_axes->size() ? (*in_axes)[k] : 0,
                             fact.shape->size());
      if (axis) {
        trips = view.SameDim(trips, (*fact.shape)[*axis]);
        fact.shape->erase(At(*fact.shape, *axis));
      } else {
        fact.shape.reset();
      }
    }
    SetParameter(parameters[i], std::move(fact));
  }
  trips = view.OwnIfUnknown(trips, 0, kTrips);
  const Dim rounds = batched ? view.formulas().Times(trips, batch) : trips;
  InferBody(body, scope, rounds, node);
  Facts facts;
  for (std::size_t i = 0; i < view.outputs(); ++i) {
    Fact fact = FactOfRound(results, i);
    if (i >= states && fact.shape) {
      const std::size_t k = i - states;
      const auto axis =
          Axis(out_axes && k < out_axes->size() ? (*out_axes)[k] : 0,
               fact.shape->size() + 1);
      if (axis) fact.shape->insert(At(*fact.shape, *axis), trips);
    }
    if (batched && fact.shape) fact.shape->insert(fact.shape->begin(), batch);
    facts.push_back(std::move(fact));
  }
  LearnOutputs(node, std::move(facts));
}

// The body runs once for each element of a sequence.
void Shapes::InferSequenceMap(NodeId node, GraphId body, const Scope& scope) {
  const NodeView view(model_, facts_, node, Op::kSequenceMap, scope.call);
  const auto inputs = model_.Inputs(node);
  const std::vector<ValueId>& parameters = model_[body].inputs;
  Dim length;
  for (std::size_t i = 0; i < parameters.size(); ++i) {
    Fact fact = FactAt(inputs, i);
    if (fact.sequence != nullptr) {
      if (!length.known()) length = fact.sequence->length;
      fact.shape = fact.sequence->element;
      fact.sequence = nullptr;
    }
    SetParameter(parameters[i], std::move(fact));
  }
  length = view.OwnIfUnknown(length, 0, kTrips);
  InferBody(body, scope, length, node);
  Facts facts;
  for (const ValueId result : model_[body].outputs) {
    facts.emplace_back();
    if (result == kNo<ValueId>) continue;
    facts.back() = {.type = facts_[result].type,
                    .sequence = Sequence::Of(facts_[result].shape, length)};
  }
  LearnOutputs(node, std::move(facts));
}

}  // namespace onnx_tag::sizes
