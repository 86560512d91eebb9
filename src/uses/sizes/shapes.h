// The shape and element type of every value, as formulas of the dimensions that
// the file names: what the file says, and what follows from it.
//
// Shapes come from initializers and from the graph's inputs; the rest is
// inferred node by node, with the small numbers that compute shapes. What the
// file records of other values fills what cannot be inferred. Where it
// contradicts what was inferred, the inferred shape counts, and the
// contradiction is listed.
//
//   const Shapes shapes(model);
//   if (shapes.Of(value)) Use(*shapes.Of(value));
//   Print(FormulaText(shapes.formulas(), shapes.Flops(node)));
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "core/graph/function_calls.h"
#include "core/graph/operators.h"
#include "onnx_tag/model.h"
#include "uses/sizes/attributes.h"
#include "uses/sizes/value_facts.h"

namespace onnx_tag::sizes {

// `--shape name=1,128`: an input or a dimension.
struct GivenShape {
  std::string name;
  std::vector<std::int64_t> dims;
};

struct Contradiction {
  ValueId value;
  Shape recorded;
  Shape inferred;
};

class Shapes {
 public:
  // One inference of a graph: the main graph, a body, or a function with some
  // shapes.
  enum class RunId : std::uint32_t {};
  struct Run {
    GraphId graph;
    // By index of the node; empty where it was not inferred.
    std::vector<Dim> flops = {}, written = {};
    // The runs inside, how often they happen, and the node that runs them.
    struct Inside {
      RunId run;
      Dim times;
      NodeId node;
    };
    std::vector<Inside> inside = {};
    Facts results = {};
  };

  // Shapes are given only for inputs that have none in the file. `model` must
  // outlive it.
  explicit Shapes(const Model& model, std::span<const GivenShape> given = {});

  // No value: not even the rank is known. A dimension may be unknown.
  const std::optional<Shape>& Of(ValueId value) const {
    return facts_[value].shape;
  }
  // A number of TensorProto.DataType; 0 where it is unknown.
  std::int32_t TypeOf(ValueId value) const { return facts_[value].type; }
  // Null if it is a tensor, or its type is unknown.
  const Sequence* SequenceOf(ValueId value) const {
    return facts_[value].sequence.get();
  }
  // Of a tensor; unknown where a dimension or the type is.
  Dim BytesOf(ValueId value);

  // Floating-point operations of a node when the model runs once: nodes of a
  // function count each call, nodes of a loop each round.
  Dim Flops(NodeId node) const { return flops_[node]; }
  // Those of the bodies and functions that a node of the main graph runs.
  Dim FlopsInside(NodeId node) const {
    const auto found = inside_flops_.find(node);
    return found == inside_flops_.end() ? Dim(0) : found->second;
  }
  // Bytes that the node writes when the model runs once.
  Dim Written(NodeId node) const { return written_[node]; }
  // The runs that these sums are of, each after the runs inside it.
  const std::vector<RunId>& order() const { return order_; }
  const Run& operator[](RunId run) const { return runs_[run]; }

  const Formulas& formulas() const { return facts_.formulas(); }
  // For sums of what these formulas say.
  Formulas& formulas() { return facts_.formulas(); }
  const std::vector<ValueFacts::Equality>& equalities() const {
    return facts_.equalities();
  }
  // The first hundred.
  const std::vector<Contradiction>& contradictions() const {
    return contradictions_;
  }
  std::size_t contradiction_count() const { return contradiction_count_; }

 private:
  // Places of names that belong to no axis of an output.
  static constexpr std::size_t kTrips = 100;
  static constexpr std::size_t kLength = 65;
  static constexpr std::size_t kAfter = 70;

  // Where a node is inferred.
  struct Scope {
    RunId run;
    const Call* call;
    int depth;
  };

  void ReadInputs(std::span<const GivenShape> given);
  void ReadWeights();
  // False if too much was inferred already: functions and bodies are inferred
  // again where their shapes differ.
  bool InferGraph(GraphId graph, const Scope& scope);
  bool MayInfer(GraphId graph);
  std::size_t WorkOf(GraphId graph);
  bool IsInOrder(GraphId graph) const;
  void InferNode(NodeId node, const Scope& scope);
  void InferCall(NodeId node, GraphId body, const Scope& scope);
  void InferBodies(NodeId node, Op op, const Scope& scope);
  void InferIf(NodeId node, const Scope& scope);
  void InferLoop(NodeId node, GraphId body, const Scope& scope);
  void InferScan(NodeId node, GraphId body, const Scope& scope);
  void InferSequenceMap(NodeId node, GraphId body, const Scope& scope);
  // Starts a run of a graph inside the scope's by `node`, so many times.
  RunId AddRun(GraphId graph, const Scope& scope, Dim times, NodeId node);
  // The same, and infers it.
  void InferBody(GraphId graph, const Scope& scope, Dim times, NodeId node);
  void Learn(ValueId value, Fact fact);
  void LearnOutputs(NodeId node, Facts facts);
  // What a body's parameter gets; what the file records if that is nothing.
  void SetParameter(ValueId value, Fact fact);
  Fact Recorded(ValueId value);
  // Of one of these values; nothing is known where there is none.
  Fact FactAt(std::span<const ValueId> values, std::size_t i) const;
  // The same without its numbers, which change from round to round.
  Fact FactOfRound(std::span<const ValueId> values, std::size_t i) const;
  Shape Reconciled(ValueId value, const Shape& inferred, const Shape& recorded);
  std::vector<std::int64_t> Signature(NodeId node, GraphId body) const;
  const std::vector<ValueId>& ValuesWithin(GraphId body);
  void AddUp();
  void AddUpInside();

  const Model& model_;
  const Operators ops_;
  ValueFacts facts_;
  const FunctionCalls functions_;
  IdVector<RunId, Run> runs_;
  std::vector<RunId> order_;
  std::vector<RunId> first_run_;  // by graph, of functions
  std::vector<bool> inferred_;    // by graph: once at least
  std::vector<bool> open_;        // by graph: being inferred
  std::vector<bool> uncounted_;   // by graph: a call was not followed
  std::map<std::vector<std::int64_t>, RunId> calls_;  // by signature
  std::vector<std::vector<ValueId>> within_;          // by graph
  std::vector<std::size_t> work_of_;  // by graph, in bytes; 0: not yet known
  std::size_t work_left_ = 0;
  bool dynamic_ = false;  // an input has a dimension without a number
  IdVector<NodeId, Dim> flops_, written_;
  std::map<NodeId, Dim> inside_flops_;
  std::vector<Contradiction> contradictions_;
  std::size_t contradiction_count_ = 0;
};

}  // namespace onnx_tag::sizes
