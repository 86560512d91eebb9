#include "clues/projection/project.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>

#include "clues/projection/node_tokens.h"
#include "clues/projection/torch_ops.h"
#include "support/model_builder.h"

namespace onnx_tag {
namespace {

using test::AddNode;
using ::testing::ElementsAre;

// A recorded run, written down step by step.
class Rehearsal {
 public:
  Rehearsal() { Flow(FlowKind::kInput, {1, 2}); }

  FlowId Weight(std::vector<std::int64_t> shape) {
    return Flow(FlowKind::kParameter, std::move(shape));
  }
  FlowId Do(const std::string& op, const std::string& module,
            std::vector<FlowId> inputs) {
    const FlowId output = program_.flows.Add(RecordedFlow());
    RecordedOperation operation;
    operation.op = op;
    operation.module = module;
    operation.name = op + "_" + std::to_string(program_.operations.size());
    operation.inputs = std::move(inputs);
    operation.outputs = {output};
    operation.traceback = MakeId<TracebackId>(program_.operations.size());
    program_.operations.push_back(std::move(operation));
    return output;
  }
  static constexpr FlowId kInput = FlowId{0};
  const RecordedProgram& program() const { return program_; }

 private:
  FlowId Flow(FlowKind kind, std::vector<std::int64_t> shape) {
    RecordedFlow flow;
    flow.kind = kind;
    flow.has_shape = true;
    flow.shape = std::move(shape);
    return program_.flows.Add(std::move(flow));
  }
  RecordedProgram program_;
};

void AddInput(schema::ModelProto& model, const std::string& name) {
  model.mutable_graph()->add_input()->set_name(name);
}

void AddWeight(schema::ModelProto& model, const std::string& name,
               const std::vector<int>& dims) {
  schema::TensorProto* tensor = model.mutable_graph()->add_initializer();
  tensor->set_name(name);
  tensor->set_data_type(1);
  for (const int dim : dims) tensor->add_dims(dim);
}

// The modules of the main graph's nodes; "-" where none was found.
std::vector<std::string> Modules(const schema::ModelProto& proto,
                                 const RecordedProgram& program,
                                 bool names = false) {
  const std::string bytes = proto.SerializeAsString();
  const Model model = ReadModel(bytes);
  std::vector<std::string> modules(model.node_count(), "-");
  const Projection projection =
      Project(GraphFacts(model), program, ProjectionOptions{.names = names});
  for (const ProjectedNode& node : projection.nodes) {
    modules[Index(node.node)] = node.module;
  }
  return modules;
}

TEST(TorchOps, KnowsPatterns) {
  const TorchOps& ops = BuiltInTorchOps();
  ASSERT_NE(ops.Find("addmm"), nullptr);
  EXPECT_EQ(ops.Find("add_"), ops.Find("add"));
  EXPECT_EQ(ops.Find("__add__"), ops.Find("add"));
  EXPECT_EQ(ops.Find("detach")->size, 0u);
  EXPECT_EQ(ops.Find("no_such_operation"), nullptr);
  EXPECT_GT(ops.WeightOf(Op::kMatMul), ops.WeightOf(Op::kReshape));
}

TEST(TorchOps, EveryPatternHasOneHead) {
  const TorchOps& ops = BuiltInTorchOps();
  for (const char* name : {"linear", "layer_norm", "gelu", "expand", "conv2d",
                           "scaled_dot_product_attention"}) {
    const TorchPattern* const pattern = ops.Find(name);
    ASSERT_NE(pattern, nullptr) << name;
    int heads = 0;
    for (std::uint32_t i = 0; i < pattern->size; ++i) {
      heads +=
          ops.elements()[MakeId<ElementId>(Index(pattern->first) + i)].heads;
    }
    EXPECT_EQ(heads, 1) << name;
  }
}

// A cast to the type that a tensor has is recorded nowhere.
TEST(Project, SaysWhereTheOperationOfANodeRan) {
  Rehearsal run;
  const FlowId soft = run.Do("softmax", "a", {Rehearsal::kInput});
  const FlowId product = run.Do("matmul", "a", {soft, run.Weight({2, 2})});
  run.Do("mul", "a", {product, run.Weight({2})});

  schema::ModelProto model;
  AddInput(model, "x");
  AddWeight(model, "w", {2, 2});
  AddWeight(model, "v", {2});
  schema::GraphProto* const graph = model.mutable_graph();
  AddNode(graph, "Softmax", {"x"}, {"s"});
  AddNode(graph, "Cast", {"s"}, {"c"});
  AddNode(graph, "MatMul", {"c", "w"}, {"p"});
  AddNode(graph, "Cast", {"p"}, {"d"});
  AddNode(graph, "Mul", {"v", "d"}, {"y"});
  const std::string bytes = model.SerializeAsString();
  const Model read = ReadModel(bytes);
  std::vector<std::size_t> steps;
  for (const ProjectedNode& node :
       Project(GraphFacts(read), run.program()).nodes) {
    steps.push_back(Index(node.traceback));
  }
  // softmax(x).to(t), but v * p.to(t)
  EXPECT_THAT(steps, ElementsAre(0, 0, 1, 2, 2));
}

TEST(Project, TakesOperationsApart) {
  Rehearsal run;
  const FlowId up =
      run.Do("linear", "up", {Rehearsal::kInput, run.Weight({4, 2})});
  const FlowId norm = run.Do("layer_norm", "norm", {up});
  run.Do("gelu", "act", {norm});

  schema::ModelProto model;
  auto* graph = model.mutable_graph();
  AddInput(model, "x");
  AddWeight(model, "w", {2, 4});
  AddWeight(model, "b", {4});
  AddNode(graph, "MatMul", {"x", "w"}, {"1"});
  AddNode(graph, "Add", {"1", "b"}, {"2"});
  AddNode(graph, "ReduceMean", {"2"}, {"3"});
  AddNode(graph, "Sub", {"2", "3"}, {"4"});
  AddNode(graph, "Pow", {"4", "two"}, {"5"});
  AddNode(graph, "ReduceMean", {"5"}, {"6"});
  AddNode(graph, "Add", {"6", "eps"}, {"7"});
  AddNode(graph, "Sqrt", {"7"}, {"8"});
  AddNode(graph, "Div", {"4", "8"}, {"9"});
  AddNode(graph, "Erf", {"9"}, {"10"});
  AddNode(graph, "Mul", {"9", "10"}, {"11"});
  EXPECT_THAT(Modules(model, run.program()),
              ElementsAre("up", "up", "norm", "norm", "norm", "norm", "norm",
                          "norm", "norm", "act", "act"));
}

// Four equal layers in the recording; in the file one operation is missing
// from the first and one is added to the second.
TEST(Project, FindsItsWayAgainAfterAMiss) {
  Rehearsal run;
  schema::ModelProto model;
  auto* graph = model.mutable_graph();
  AddInput(model, "x");
  AddWeight(model, "w", {2, 2});
  FlowId flow = Rehearsal::kInput;
  std::string value = "x";
  std::vector<std::string> expected;
  const auto add = [&](const std::string& op, const std::string& module,
                       const std::vector<std::string>& inputs) {
    const std::string output = "v" + std::to_string(expected.size());
    AddNode(graph, op, inputs, {output});
    expected.push_back(module);
    value = output;
  };
  for (int i = 0; i < 4; ++i) {
    const std::string layer = "layers." + std::to_string(i);
    const FlowId in = flow;
    const std::string residual = value;
    flow = run.Do("linear", layer + ".up", {flow, run.Weight({2, 2})});
    flow = run.Do("relu", layer + ".act", {flow});
    flow = run.Do("tanh", layer, {flow});
    flow = run.Do("add", layer, {flow, in});
    add("MatMul", layer + ".up", {value, "w"});
    add("Relu", layer + ".act", {value});
    if (i != 0) add("Tanh", layer, {value});
    if (i == 1) add("Floor", layer, {value});
    add("Add", layer, {value, residual});
  }
  EXPECT_EQ(Modules(model, run.program()), expected);
}

// Quantizers move nodes. What is moved between two operations of a module and
// has nothing to do with them is not the module's.
TEST(Project, LeavesOutWhatIsOnlyMovedBetweenOperations) {
  Rehearsal run;
  const FlowId a = run.Do("relu", "act", {Rehearsal::kInput});
  const FlowId b = run.Do("tanh", "act", {a});
  run.Do("sigmoid", "gate", {b});
  schema::ModelProto model;
  auto* graph = model.mutable_graph();
  AddInput(model, "x");
  AddInput(model, "other");
  AddNode(graph, "Relu", {"x"}, {"a"});
  AddNode(graph, "Floor", {"a"}, {"b"});
  AddNode(graph, "Floor", {"other"}, {"moved"});
  AddNode(graph, "Tanh", {"b"}, {"c"});
  AddNode(graph, "Sigmoid", {"c"}, {"d"});
  EXPECT_THAT(Modules(model, run.program()),
              ElementsAre("act", "act", "-", "act", "gate"));
}

TEST(Project, AsksWhereDataComeFrom) {
  // Two branches of equal operations, and what joins them.
  Rehearsal run;
  const FlowId a = run.Do("relu", "left", {Rehearsal::kInput});
  const FlowId b = run.Do("relu", "right", {a});
  run.Do("add", "join", {a, b});
  schema::ModelProto model;
  auto* graph = model.mutable_graph();
  AddInput(model, "x");
  AddNode(graph, "Relu", {"x"}, {"a"});
  AddNode(graph, "Relu", {"a"}, {"b"});
  AddNode(graph, "Add", {"a", "b"}, {"c"});
  EXPECT_THAT(Modules(model, run.program()),
              ElementsAre("left", "right", "join"));
}

TEST(Project, TellsWeightsByTheirShapes) {
  // The first was folded away: order alone would give its module.
  Rehearsal run;
  const FlowId a =
      run.Do("linear", "a", {Rehearsal::kInput, run.Weight({8, 2})});
  run.Do("linear", "b", {a, run.Weight({3, 8})});
  schema::ModelProto model;
  AddInput(model, "x");
  AddWeight(model, "w", {8, 3});
  AddNode(model.mutable_graph(), "MatMul", {"x", "w"}, {"y"});
  EXPECT_THAT(Modules(model, run.program()), ElementsAre("b"));
}

// A tool has fused what is around an operation. Of two operations of the kind,
// order alone would choose either.
TEST(Project, TellsALinearLayerFromAProductOfData) {
  for (const bool linear_first : {true, false}) {
    Rehearsal run;
    const FlowId a = run.Do("relu", "a", {Rehearsal::kInput});
    const FlowId weight = run.Weight({4, 4});
    const FlowId b = run.Do(linear_first ? "linear" : "matmul",
                            linear_first ? "v" : "scores",
                            {a, linear_first ? weight : Rehearsal::kInput});
    run.Do(linear_first ? "matmul" : "linear", linear_first ? "scores" : "v",
           {b, linear_first ? a : weight});
    schema::ModelProto model;
    AddInput(model, "x");
    AddNode(model.mutable_graph(), "Relu", {"x"}, {"a"});
    AddNode(model.mutable_graph(), "MatMul", {"x", "a"}, {"y"});
    EXPECT_THAT(Modules(model, run.program()), ElementsAre("a", "scores"))
        << linear_first;
  }
}

TEST(Project, TellsAResidualSumFromAConstant) {
  for (const bool sum_first : {true, false}) {
    Rehearsal run;
    const FlowId a = run.Do("relu", "a", {Rehearsal::kInput});
    const FlowId b = run.Do("tanh", "b", {a});
    if (sum_first) {
      run.Do("add", "norm", {run.Do("add", "sum", {a, b})});
    } else {
      run.Do("add", "sum", {run.Do("add", "norm", {b}), a});
    }
    schema::ModelProto model;
    AddInput(model, "x");
    AddNode(model.mutable_graph(), "Relu", {"x"}, {"a"});
    AddNode(model.mutable_graph(), "Tanh", {"a"}, {"b"});
    AddNode(model.mutable_graph(), "Add", {"a", "b"}, {"y"});
    EXPECT_THAT(Modules(model, run.program()), ElementsAre("a", "b", "sum"))
        << sum_first;
  }
}

TEST(Project, UsesNamesOfFxNodesOnlyWhenAsked) {
  Rehearsal run;
  const FlowId a = run.Do("relu", "a", {Rehearsal::kInput});
  run.Do("relu", "b", {a});
  schema::ModelProto model;
  AddInput(model, "x");
  AddNode(model.mutable_graph(), "Relu", {"x"}, {"relu_1"});
  EXPECT_THAT(Modules(model, run.program(), true), ElementsAre("b"));
}

TEST(Project, SaysHowMuchWasFound) {
  Rehearsal run;
  run.Do("conv2d", "a", {Rehearsal::kInput});
  schema::ModelProto model;
  AddInput(model, "x");
  AddNode(model.mutable_graph(), "LSTM", {"x"}, {"y"});
  const std::string bytes = model.SerializeAsString();
  const Model read = ReadModel(bytes);
  const Projection projection = Project(GraphFacts(read), run.program());
  EXPECT_EQ(projection.file_share, 0);
  EXPECT_EQ(projection.recorded_share, 0);
}

// The Add of sizes is not the Add of the bias, and the state of the next LSTM
// no part of this one.
TEST(Project, LeavesOutWhatComputesNoDataOfItsOperation) {
  Rehearsal run;
  const FlowId up =
      run.Do("linear", "up", {Rehearsal::kInput, run.Weight({4, 2})});
  run.Do("relu", "act", {run.Do("view", "flat", {up})});

  schema::ModelProto model;
  auto* graph = model.mutable_graph();
  AddInput(model, "x");
  AddWeight(model, "w", {2, 4});
  AddWeight(model, "b", {4});
  AddNode(graph, "Gemm", {"x", "w", "b"}, {"1"});
  AddNode(graph, "Shape", {"1"}, {"2"});
  AddNode(graph, "Add", {"2", "2"}, {"3"});
  AddNode(graph, "Reshape", {"1", "3"}, {"4"});
  AddNode(graph, "Relu", {"4"}, {"5"});
  EXPECT_THAT(Modules(model, run.program()),
              ElementsAre("up", "-", "-", "flat", "act"));
}

// ONNX Runtime fuses a residual sum with the norm behind it, and the sums of
// the experts come last.
TEST(Project, TakesASumWithinAModuleForNoResidualSum) {
  Rehearsal run;
  const FlowId x = run.Do("relu", "layer", {Rehearsal::kInput});
  const FlowId a = run.Do("linear", "layer.moe", {x, run.Weight({2, 2})});
  const FlowId b = run.Do("tanh", "layer.moe", {a});
  const FlowId sum = run.Do("add", "layer.moe", {a, b});
  const FlowId c = run.Do("softmax", "layer.moe", {a});
  const FlowId all = run.Do("add", "layer.moe", {sum, c});
  run.Do("exp", "head", {run.Do("add", "layer", {x, all})});

  schema::ModelProto model;
  auto* graph = model.mutable_graph();
  AddInput(model, "x");
  AddWeight(model, "w", {2, 2});
  AddNode(graph, "Relu", {"x"}, {"0"});
  AddNode(graph, "MatMul", {"0", "w"}, {"1"});
  AddNode(graph, "Tanh", {"1"}, {"2"});
  AddNode(graph, "Softmax", {"1"}, {"3"});
  AddNode(graph, "Add", {"1", "2"}, {"4"});
  AddNode(graph, "Add", {"4", "3"}, {"5"});
  AddNode(graph, "SkipSum", {"0", "5"}, {"6"});
  AddNode(graph, "Exp", {"6"}, {"7"});
  EXPECT_THAT(Modules(model, run.program()),
              ElementsAre("layer", "layer.moe", "layer.moe", "layer.moe",
                          "layer.moe", "layer.moe", "layer", "head"));
}

// A layer transposes its weight. Tools have moved a Transpose of the caller.
TEST(Project, GivesALayerNoTransposeOfData) {
  Rehearsal run;
  const FlowId a = run.Do("relu", "a", {Rehearsal::kInput});
  const FlowId product = run.Do("mm", "key", {a, run.Weight({2, 2})});
  run.Do("tanh", "b", {product});

  schema::ModelProto model;
  auto* graph = model.mutable_graph();
  AddInput(model, "x");
  AddWeight(model, "w", {2, 2});
  AddNode(graph, "Relu", {"x"}, {"0"});
  AddNode(graph, "Transpose", {"0"}, {"1"});
  AddNode(graph, "MatMul", {"1", "w"}, {"2"});
  AddNode(graph, "Tanh", {"2"}, {"3"});
  EXPECT_THAT(Modules(model, run.program()), ElementsAre("a", "-", "key", "b"));
}

// Each Slice of a split stands where its part is read.
TEST(Project, KnowsAllSlicesOfASplit) {
  Rehearsal run;
  const FlowId whole = run.Do("relu", "outer", {Rehearsal::kInput});
  const FlowId parts = run.Do("chunk", "outer", {whole});
  const FlowId product = run.Do("linear", "inner", {parts, run.Weight({2, 2})});
  const FlowId soft = run.Do("softmax", "inner", {product});
  run.Do("add", "inner", {soft, parts});

  schema::ModelProto model;
  auto* graph = model.mutable_graph();
  AddInput(model, "x");
  AddWeight(model, "w", {2, 2});
  AddNode(graph, "Relu", {"x"}, {"0"});
  AddNode(graph, "Slice", {"0", "a", "b"}, {"1"});
  AddNode(graph, "MatMul", {"1", "w"}, {"2"});
  AddNode(graph, "Softmax", {"2"}, {"3"});
  AddNode(graph, "Slice", {"0", "b", "c"}, {"4"});
  AddNode(graph, "Add", {"3", "4"}, {"5"});
  EXPECT_THAT(
      Modules(model, run.program()),
      ElementsAre("outer", "outer", "inner", "inner", "outer", "inner"));
}

TEST(Project, LongRunsCostNoMoreThanTheirLength) {
  // Past the size of a window several times over.
  Rehearsal run;
  schema::ModelProto model;
  auto* graph = model.mutable_graph();
  AddInput(model, "x");
  FlowId flow = Rehearsal::kInput;
  std::string value = "x";
  std::vector<std::string> expected;
  for (int i = 0; i < 3000; ++i) {
    const std::string layer = "layers." + std::to_string(i);
    flow = run.Do("relu", layer, {flow});
    flow = run.Do("neg", layer, {flow});
    for (const char* op : {"Relu", "Neg"}) {
      const std::string output = "v" + std::to_string(expected.size());
      AddNode(graph, op, {value}, {output});
      value = output;
      expected.push_back(layer);
    }
  }
  EXPECT_EQ(Modules(model, run.program()), expected);
}

// The weight of a file whose weights are inputs is a weight all the same.
TEST(NodeTokens, TakeAnInputThatStandsForAWeightForOne) {
  schema::ModelProto proto;
  AddInput(proto, "x");
  AddInput(proto, "fc.weight");
  schema::GraphProto* const graph = proto.mutable_graph();
  AddNode(graph, "Transpose", {"fc.weight"}, {"t"});
  AddNode(graph, "MatMul", {"x", "t"}, {"y"});
  const std::string bytes = proto.SerializeAsString();
  const Model model = ReadModel(bytes);
  const ValueId weight = model.Inputs(NodeId{0})[0];
  const NodeTokens table = MakeNodeTokens(GraphFacts(model, {weight}));
  EXPECT_EQ(table.by_node[NodeId{0}], kNo<NodeTokenId>);
  ASSERT_EQ(table.tokens.size(), 1u);
  EXPECT_EQ(table.tokens[NodeTokenId{0}].op, Op::kMatMul);
  EXPECT_TRUE(table.tokens[NodeTokenId{0}].depends_on_input);
}

void AddOverload(schema::ModelProto& model, const std::string& overload,
                 const std::string& op) {
  schema::FunctionProto* const function =
      test::AddFunction(model, "local", "f", {"a"}, {"b"});
  function->set_overload(overload);
  AddNode(function, op, {"a"}, {"b"});
}

// The body of the overload that is called runs where the call stands.
TEST(Project, FindsTheOverloadThatANodeCalls) {
  Rehearsal run;
  run.Do("tanh", "b", {run.Do("relu", "a", {Rehearsal::kInput})});
  schema::ModelProto model;
  AddInput(model, "x");
  schema::NodeProto* const call =
      AddNode(model.mutable_graph(), "f", {"x"}, {"y"});
  call->set_domain("local");
  call->set_overload("second");
  AddNode(model.mutable_graph(), "Tanh", {"y"}, {"z"});
  AddOverload(model, "first", "Sigmoid");
  AddOverload(model, "second", "Relu");
  EXPECT_THAT(Modules(model, run.program()), ElementsAre("-", "b", "-", "a"));
}

}  // namespace
}  // namespace onnx_tag
