// A recorded run as evidence beside names.
#include <gtest/gtest.h>

#include <memory>

#include "onnx_tag/error.h"
#include "onnx_tag/recording.h"
#include "support/model_builder.h"

namespace onnx_tag {
namespace {

using test::AddNode;
using test::Mapped;

// conv, act, conv of a block, as recorded.
std::shared_ptr<const Recording> BlockRun(std::int64_t width) {
  auto recording = std::make_shared<Recording>();
  recording->file = "recording.json";
  RecordedProgram& program = recording->trace;
  const auto flow = [&](FlowKind kind, std::vector<std::int64_t> shape) {
    RecordedFlow made;
    made.kind = kind;
    made.has_shape = !shape.empty();
    made.shape = std::move(shape);
    return program.flows.Add(std::move(made));
  };
  FlowId at = flow(FlowKind::kInput, {1, 3, 8, 8});
  const auto step = [&](const std::string& op, const std::string& module,
                        std::vector<FlowId> inputs) {
    const FlowId out = flow(FlowKind::kMade, {});
    program.operations.push_back({.op = op,
                                  .module = module,
                                  .name = {},
                                  .inputs = std::move(inputs),
                                  .outputs = {out}});
    return out;
  };
  at = step("convolution", "block.conv_a",
            {at, flow(FlowKind::kParameter, {width, 3, 3, 3})});
  at = step("relu", "block.act", {at});
  at = step("convolution", "block.conv_b",
            {at, flow(FlowKind::kParameter, {width, width, 3, 3})});
  step("relu", "block.act", {at});
  return recording;
}

schema::ModelProto Convolutions(const std::string& prefix) {
  schema::ModelProto model;
  schema::GraphProto* const graph = model.mutable_graph();
  graph->add_input()->set_name("x");
  const auto weight = [&](const std::string& name, int in) {
    schema::TensorProto* const tensor = graph->add_initializer();
    tensor->set_name(prefix + name);
    tensor->set_data_type(1);
    for (const int dim : {16, in, 3, 3}) tensor->add_dims(dim);
  };
  weight("conv_a.weight", 3);
  weight("conv_b.weight", 16);
  AddNode(graph, "Conv", {"x", prefix + "conv_a.weight"}, {"1"});
  AddNode(graph, "Relu", {"1"}, {"2"});
  AddNode(graph, "Conv", {"2", prefix + "conv_b.weight"}, {"3"});
  AddNode(graph, "Relu", {"3"}, {"y"});
  graph->add_output()->set_name("y");
  return model;
}

TEST(Recorded, TheDefaultStrategyTakesARun) {
  MappingOptions options;
  options.recipes = false;
  MappingFacts facts;
  facts.trace = BlockRun(16);
  for (const std::string prefix : {"block.", "onnx::Conv_"}) {
    const Mapped mapped(Convolutions(prefix), options, facts);
    EXPECT_EQ(mapped.Module("", 0), "block.conv_a") << prefix;
    EXPECT_EQ(mapped.Module("", 1), "block.act") << prefix;
    EXPECT_EQ(mapped.Module("", 2), "block.conv_b") << prefix;
    EXPECT_EQ(mapped.Module("", 3), "block.act") << prefix;
  }
}

TEST(Recorded, UsageBasedTakesItToo) {
  MappingOptions options;
  options.strategy = "usage_based";
  MappingFacts facts;
  facts.trace = BlockRun(16);
  const Mapped mapped(Convolutions("onnx::Conv_"), options, facts);
  EXPECT_EQ(mapped.Module("", 0), "-");  // torch.nn's classes alone
}

TEST(Recorded, ARunOfAnotherModelIsRefused) {
  schema::ModelProto model;
  schema::GraphProto* const graph = model.mutable_graph();
  graph->add_input()->set_name("x");
  test::AddParameters(model, {"a.weight", "b.weight"});
  AddNode(graph, "MatMul", {"x", "a.weight"}, {"1"});
  AddNode(graph, "Softmax", {"1"}, {"2"});
  AddNode(graph, "MatMul", {"2", "b.weight"}, {"3"});
  AddNode(graph, "Tanh", {"3"}, {"y"});
  graph->add_output()->set_name("y");
  MappingFacts facts;
  facts.trace = BlockRun(16);
  const auto map = [&] { const Mapped mapped(model, facts); };
  EXPECT_THROW(map(), Error);
}

}  // namespace
}  // namespace onnx_tag
