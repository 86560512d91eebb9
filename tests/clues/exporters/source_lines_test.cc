#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "clues/exporters/traceback.h"
#include "support/onnx_models.h"

namespace onnx_tag::test {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

constexpr const char* kKey = "pkg.torch.onnx.stack_trace";
constexpr const char* kLinear =
    "File \"/home/me/shop/net.py\", line 12, in forward\n"
    "    return self.head(x)\n"
    "  File \"/home/me/shop/parts/head.py\", line 5, in forward\n"
    "    return self.proj(x)\n"
    "  File \"/v/site-packages/torch/nn/modules/linear.py\", line 134, in "
    "forward\n"
    "    return F.linear(input, self.weight, self.bias)\n";

struct Read {
  std::string bytes;
  Model model;
  SourceLines lines;
};

Read ReadLines(const schema::ModelProto& proto, bool frames = false) {
  Read read{proto.SerializeAsString(), {}, {}};
  read.model = ReadModel(read.bytes);
  AddSourceLines(read.model, frames, read.lines);
  return read;
}

std::string PlaceOf(const Read& read, std::uint32_t node) {
  const std::optional<SourceLine> line = read.lines.Of(NodeId{node});
  return line ? std::string(line->file) + ":" + std::to_string(line->line)
              : "-";
}

TEST(SourceLinesTest, TheInnermostFrameOfTheModelIsTheLine) {
  schema::ModelProto proto;
  auto& graph = *proto.mutable_graph();
  AddMetadata(*AddNode(graph, "Gemm", "a"), kKey, kLinear);
  AddMetadata(*AddNode(graph, "Add", "b"), kKey,
              "File \"/v/site-packages/torch/nn/modules/container.py\", line "
              "253, in forward");
  AddNode(graph, "Add", "c");
  const Read read = ReadLines(proto);
  EXPECT_EQ(PlaceOf(read, 0), "parts/head.py:5");
  EXPECT_EQ(read.lines.Of(NodeId{0})->function, "forward");
  EXPECT_EQ(read.lines.Of(NodeId{0})->text, "return self.proj(x)");
  EXPECT_EQ(PlaceOf(read, 1), "-") << "torch's frames alone are no line";
  EXPECT_EQ(PlaceOf(read, 2), "-");
  EXPECT_THAT(read.lines.FramesOf(NodeId{0}), IsEmpty());
}

TEST(SourceLinesTest, AllFramesComeOnRequest) {
  schema::ModelProto proto;
  AddMetadata(*AddNode(*proto.mutable_graph(), "Gemm", "a"), kKey, kLinear);
  std::vector<std::string> places;
  const Read read = ReadLines(proto, true);
  for (const SourceLine& frame : read.lines.FramesOf(NodeId{0})) {
    places.push_back(ShortPlace(frame));
  }
  EXPECT_THAT(places, ElementsAre("linear.py:134", "head.py:5", "net.py:12"));
}

TEST(SourceLinesTest, ADocStringOfTorchScriptIsATraceback) {
  schema::ModelProto proto;
  auto& graph = *proto.mutable_graph();
  AddNode(graph, "Gemm", "a")
      ->set_doc_string(
          "/v/site-packages/torch/nn/modules/linear.py(134): forward\n"
          "/v/site-packages/torch/nn/modules/module.py(1789): _call_impl\n"
          "/home/me/net.py(7): forward\n"
          "/v/site-packages/torch/jit/_trace.py(131): wrapper\n"
          "/v/site-packages/torch/onnx/utils.py(547): export\n"
          "/home/me/scripts/export.py(18): <module>\n");
  AddNode(graph, "Add", "b")
      ->set_doc_string(
          "/v/site-packages/torch/nn/modules/container.py(253): forward\n"
          "/v/site-packages/torch/jit/_trace.py(131): wrapper\n"
          "/home/me/scripts/export.py(18): <module>\n");
  AddNode(graph, "Add", "c")->set_doc_string("fused Matmul and Add");
  const Read read = ReadLines(proto);
  EXPECT_EQ(PlaceOf(read, 0), "net.py:7");
  EXPECT_EQ(PlaceOf(read, 1), "-") << "the script that exports is no model";
  EXPECT_EQ(PlaceOf(read, 2), "-");
}

TEST(SourceLinesTest, NodesInsideBranchesHaveLines) {
  schema::ModelProto proto;
  schema::NodeProto& outer = *AddNode(*proto.mutable_graph(), "If", "if");
  outer.set_doc_string("/home/me/net.py(1): forward");
  auto& attribute = *outer.add_attribute();
  attribute.set_name("then_branch");
  AddNode(*attribute.mutable_g(), "Add", "inner")
      ->set_doc_string("/home/me/net.py(2): forward");
  const Read read = ReadLines(proto);
  EXPECT_EQ(PlaceOf(read, 0), "net.py:1");
  EXPECT_EQ(PlaceOf(read, 1), "net.py:2");
}

TEST(SourceLinesTest, ANodeThatHasALineKeepsIt) {
  schema::ModelProto proto;
  AddMetadata(*AddNode(*proto.mutable_graph(), "Gemm", "a"), kKey, kLinear);
  const std::string bytes = proto.SerializeAsString();
  SourceLines lines;
  lines.Set(NodeId{0}, {"known.py", 3, "", ""});
  AddSourceLines(ReadModel(bytes), false, lines);
  EXPECT_EQ(lines.Of(NodeId{0})->file, "known.py");
}

// A traceback of 10 MB, of frames and of anything else, in linear time.
TEST(SourceLinesTest, HostileTracebacksAreText) {
  std::string deep = "File \"/m/a.py\", line 1, in f\n";
  while (deep.size() < (10 << 20)) {
    deep += "  File \"/m/\x1b[31m<script>\xff.py\", line 7, in \xfe\n    x\n";
  }
  std::string noise;
  while (noise.size() < (10 << 20)) noise += "File \"/m/a.py\", line ";
  schema::ModelProto proto;
  auto& graph = *proto.mutable_graph();
  // Protobuf's setters check UTF-8 in debug builds only; files need not be.
  AddMetadata(*AddNode(graph, "Add", "a"), kKey, deep);
  AddMetadata(*AddNode(graph, "Add", "b"), kKey, noise);
  AddMetadata(*AddNode(graph, "Add", "c"), kKey, std::string(10 << 20, '\n'));
  const Read read = ReadLines(proto, true);
  EXPECT_EQ(PlaceOf(read, 0), "\x1b[31m<script>\xff.py:7");
  EXPECT_EQ(PlaceOf(read, 1), "-");
  EXPECT_EQ(PlaceOf(read, 2), "-");
}

}  // namespace
}  // namespace onnx_tag::test
