#include "clues/exporters/traceback.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace onnx_tag {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

std::vector<std::string> Places(std::string_view traceback) {
  std::vector<SourceLine> frames;
  ParseTraceback(traceback, frames);
  std::vector<std::string> places;
  for (const SourceLine& frame : frames) {
    places.push_back(
        std::string(frame.file) + ":" + std::to_string(frame.line) + " " +
        std::string(frame.function) + "|" + std::string(frame.text));
  }
  return places;
}

TEST(TracebackTest, DynamoWritesTheOutermostFrameFirst) {
  EXPECT_THAT(Places("File \"/x/net.py\", line 418, in forward\n"
                     "    y = self.tcn(x)\n"
                     "  File \"/x/tcn.py\", line 9, in <lambda>\n"
                     "    return a(\n"
                     "           ~~^\n"
                     "        b)\n"
                     "  [Previous line repeated 1 more time]"),
              ElementsAre("/x/tcn.py:9 <lambda>|return a(",
                          "/x/net.py:418 forward|y = self.tcn(x)"));
}

TEST(TracebackTest, TorchScriptWritesTheInnermostFrameFirst) {
  EXPECT_THAT(Places("/lib/torch/nn/modules/linear.py(134): forward\n"
                     "/home/me (old)/net.py(7): forward\n"),
              ElementsAre("/lib/torch/nn/modules/linear.py:134 forward|",
                          "/home/me (old)/net.py:7 forward|"));
}

TEST(TracebackTest, CodeIsNoFrame) {
  // A line of code may look like a frame; only its indentation tells.
  EXPECT_THAT(Places("File \"a.py\", line 1, in f\n"
                     "    File \"b.py\", line 2, in g\n"
                     "  File \"c\", line 3.py\", line 3, in h\n"),
              ElementsAre("c\", line 3.py:3 h|",
                          "a.py:1 f|File \"b.py\", line 2, in g"));
}

TEST(TracebackTest, OtherTextHasNoFrames) {
  for (const char* const text :
       {"", "\n\n", "fused LayerNorm subgraphs ", "File \"a.py\", line x, in f",
        "File \"a.py\", line 99999999999, in f", "File \"\", line 1, in f",
        "_softmax_backward_data:1:(2,2,1024,1024)", "a(1): b", "x.py(): f",
        "File \"a.py"}) {
    EXPECT_THAT(Places(text), IsEmpty()) << text;
  }
}

TEST(TracebackTest, LongTextsAreCutOrRefused) {
  const std::string long_text(10 << 20, 'x');
  EXPECT_THAT(Places("File \"" + long_text + "\", line 1, in f"), IsEmpty());
  EXPECT_THAT(Places("File \"a.py\", line 1, in " + long_text), IsEmpty());
  // The cut is between two characters, each of which takes two bytes.
  std::string umlauts = "x";
  while (umlauts.size() < 2000) umlauts += "\u00e4";
  const std::string cut =
      Places("File \"a.py\", line 1, in f\n    " + umlauts).at(0);
  EXPECT_EQ(cut, "a.py:1 f|" + umlauts.substr(0, 399));
}

TEST(TracebackTest, OnlyTheModelsCodeIsItsOwn) {
  struct Case {
    const char* file;
    CodeOwner owner;
  };
  constexpr auto kModel = CodeOwner::kModel;
  constexpr auto kTools = CodeOwner::kTools;
  constexpr auto kEntry = CodeOwner::kEntry;
  constexpr auto kInterpreter = CodeOwner::kInterpreter;
  for (const Case& each : {
           Case{"/home/me/net.py", kModel},
           {"net.py", kModel},
           {"E:\\NEST\\net.py", kModel},
           {"/home/me/lib/net.py", kModel},
           {"C:\\work\\lib\\net.py", kModel},
           {"/home/me/torch/net.py", kModel},
           {"/v/lib/python3.11/site-packages/transformers/activations.py",
            kModel},
           {"/usr/lib/python3/dist-packages/timm/layers/mlp.py", kModel},
           {"C:\\Python\\Lib\\site-packages\\torchvision\\models\\resnet.py",
            kModel},
           {"<ipython-input-3-5a>", kModel},
           {"/tmp/ipykernel_17/2381.py", kModel},
           {"/v/lib/python3.11/site-packages/torch/nn/modules/linear.py",
            kTools},
           {"C:\\Python\\Lib\\site-packages\\torch\\nn\\functional.py", kTools},
           {"/src/pytorch/torch/nn/modules/conv.py", kTools},
           {"torch/fx/passes/runtime_assert.py", kTools},
           {"/v/site-packages/torch/onnx/ops/__init__.py", kTools},
           {"/v/site-packages/onnxscript/function_libs/torch_lib/ops/core.py",
            kTools},
           {"/v/site-packages/torch/onnx/utils.py", kEntry},
           {"/v/site-packages/torch/jit/_trace.py", kEntry},
           {"/v/site-packages/torch/export/_trace.py", kEntry},
           {"/usr/lib/python3.11/contextlib.py", kInterpreter},
           {"C:\\Users\\me\\Python311\\Lib\\contextlib.py", kInterpreter},
           {"C:\\conda\\envs\\x\\Lib\\functools.py", kInterpreter},
           {"<eval_with_key>.12", kInterpreter},
           {"<frozen importlib._bootstrap>", kInterpreter},
       }) {
    EXPECT_EQ(OwnerOf(each.file), each.owner) << each.file;
  }
}

TEST(TracebackTest, FilesAreShortenedToPackagesOrTheSharedFolder) {
  FileNames names;
  names.Learn("/home/me/shop/models/net.py");
  names.Learn("/v/lib/site-packages/timm/layers/mlp.py");
  EXPECT_EQ(names.Shorten("/home/me/shop/models/net.py"), "net.py");
  // "model" is the start of "models", but no folder of both.
  names.Learn("/home/me/shop/model/head.py");
  EXPECT_EQ(names.Shorten("/home/me/shop/models/net.py"), "models/net.py");
  EXPECT_EQ(names.Shorten("/home/me/shop/model/head.py"), "model/head.py");
  EXPECT_EQ(names.Shorten("/v/lib/site-packages/timm/layers/mlp.py"),
            "timm/layers/mlp.py");
  EXPECT_EQ(names.Shorten("/v/site-packages/torch/nn/modules/linear.py"),
            "torch/nn/modules/linear.py");
  // A frame that is not the model's own tells nothing of other folders.
  EXPECT_EQ(names.Shorten("/usr/lib/python3.11/contextlib.py"),
            "contextlib.py");
}

TEST(TracebackTest, WindowsFoldersAreWrittenWithSlashes) {
  FileNames names;
  names.Learn("E:\\ai\\net\\model.py");
  names.Learn("E:\\ai\\head.py");
  EXPECT_EQ(names.Shorten("E:\\ai\\net\\model.py"), "net/model.py");
}

}  // namespace
}  // namespace onnx_tag
