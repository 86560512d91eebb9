#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "onnx_tag/error.h"
#include "onnx_tag/recording.h"

namespace onnx_tag {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

std::string ErrorOf(std::string_view json) {
  try {
    ReadRecording(json);
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::kUsage);
    return error.what();
  }
  return "";
}

TEST(Recording, HasOperationsWithModulesAndFlows) {
  const Recording recording = ReadRecording(R"({
    "format": "onnx-tag-recording/1", "modules": {"": "Net"},
    "inputs": [{"name": "x", "value": 1}],
    "values": [{"dtype": "float32", "shape": [4, 2], "kind": "parameter",
                "name": "up.weight"},
               {"dtype": "float32", "shape": [1, 2], "kind": "input"},
               {"dtype": "float32", "shape": [1, 4]}],
    "functions": [{"name": "torch.nn.functional.linear", "call": 0,
                   "inputs": [1, 0], "outputs": [2], "events": [0, 1]}],
    "events": [{"op": "aten.mm.default", "module": "up", "call": 0,
                "inputs": [1, [0], {"const": 3}, null], "outputs": [2]},
               {"op": "aten.relu_.default", "module": null, "call": null,
                "inputs": [2], "outputs": [2]}]})");
  const RecordedProgram& trace = recording.trace;
  ASSERT_EQ(trace.operations.size(), 2u);
  EXPECT_EQ(trace.operations[0].op, "mm");
  EXPECT_EQ(trace.operations[0].module, "up");
  EXPECT_THAT(trace.operations[0].inputs, ElementsAre(FlowId{1}, FlowId{0}));
  EXPECT_EQ(trace.operations[1].module, "");
  EXPECT_EQ(trace.flows[FlowId{0}].kind, FlowKind::kParameter);
  EXPECT_EQ(trace.flows[FlowId{1}].kind, FlowKind::kInput);
  EXPECT_THAT(trace.flows[FlowId{2}].shape, ElementsAre(1, 4));
  ASSERT_EQ(trace.functions.size(), 1u);
  EXPECT_EQ(trace.functions[0].name, "linear");
  EXPECT_TRUE(recording.fx.empty());
}

TEST(Recording, HasFxNodesByName) {
  const Recording recording = ReadRecording(R"({
    "modules": {}, "fx": [
    {"name": "p_w", "op": "placeholder", "target": "p_w", "inputs": [],
     "parameter": "up.weight", "shape": [4, 2]},
    {"name": "x", "op": "placeholder", "target": "x", "inputs": [],
     "shape": ["s0", 2]},
    {"name": "linear", "op": "call_function", "target": "aten.linear.default",
     "inputs": ["x", "p_w", {"const": null}], "module": "up",
     "stack": [["", "Net"], ["up", "Linear"]]},
    {"name": "output", "op": "output", "target": "output",
     "inputs": [["linear"]]}]})");
  const RecordedProgram& fx = recording.fx;
  ASSERT_EQ(fx.operations.size(), 1u);
  EXPECT_EQ(fx.operations[0].op, "linear");
  EXPECT_EQ(fx.operations[0].name, "linear");
  ASSERT_EQ(fx.operations[0].inputs.size(), 2u);
  EXPECT_EQ(fx.flows[fx.operations[0].inputs[0]].kind, FlowKind::kInput);
  EXPECT_THAT(fx.flows[fx.operations[0].inputs[0]].shape, ElementsAre(-1, 2));
  EXPECT_EQ(fx.flows[fx.operations[0].inputs[1]].kind, FlowKind::kParameter);
}

TEST(Recording, SaysWhereOperationsRan) {
  const Recording recording = ReadRecording(R"({
    "modules": {"": "Net"}, "tracebacks": ["File \"a.py\", line 1, in f"],
    "events": [{"op": "aten.mm.default", "traceback": 0},
               {"op": "aten.mm.default", "traceback": 7},
               {"op": "aten.mm.default"}],
    "fx": [{"name": "mm", "op": "call_function", "target": "aten.mm.default",
            "inputs": [], "traceback": 0}]})");
  const auto traceback_of = [&](const RecordedOperation& operation) {
    return recording.Traceback(operation.traceback);
  };
  EXPECT_EQ(traceback_of(recording.trace.operations[0]),
            "File \"a.py\", line 1, in f");
  EXPECT_EQ(traceback_of(recording.trace.operations[1]), "");
  EXPECT_EQ(traceback_of(recording.trace.operations[2]), "");
  EXPECT_EQ(traceback_of(recording.fx.operations[0]),
            "File \"a.py\", line 1, in f");
  EXPECT_THAT(ErrorOf(R"({"modules": {}, "events": [{"traceback": "a"}]})"),
              HasSubstr("number"));
}

TEST(Recording, RefusesWhatIsNone) {
  EXPECT_THAT(ErrorOf("[]"), HasSubstr("line 1"));
  EXPECT_THAT(ErrorOf("{}"), HasSubstr("modules"));
  EXPECT_THAT(ErrorOf(R"({"format": "onnx-tag/1"})"),
              HasSubstr("onnx-tag-recording/1"));
  EXPECT_THAT(ErrorOf(R"({"modules": {}, "events": [)"),
              HasSubstr("unexpected end of input"));
}

TEST(Recording, HoldsNoValueThatItsSizeForbids) {
  EXPECT_THAT(ErrorOf(R"({"modules": {}, "events": [
    {"op": "aten.relu.default", "inputs": [4000000000], "outputs": []}]})"),
              HasSubstr("4000000000"));
}

TEST(Recording, DropsFunctionsThatOverlap) {
  const Recording recording = ReadRecording(R"({"modules": {},
    "functions": [{"name": "a", "events": [0, 9]},
                  {"name": "b", "events": [0, 1]},
                  {"name": "c", "events": [0, 1]}],
    "events": [{"op": "aten.relu.default", "inputs": [], "outputs": []}]})");
  ASSERT_EQ(recording.trace.functions.size(), 1u);
  EXPECT_EQ(recording.trace.functions[0].name, "b");
}

}  // namespace
}  // namespace onnx_tag
