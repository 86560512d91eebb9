#include "onnx_tag/source_lines.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/tagging/node_json.h"
#include "core/tagging/sidecar.h"
#include "core/tagging/tag_writer.h"
#include "file/json/reader.h"
#include "onnx_tag/error.h"
#include "support/onnx_models.h"

namespace onnx_tag::test {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

constexpr SourceLine kHostile{"a\"\n\x1b[31m\xff.py", 4000000000, "<b>&",
                              "x = '\xfe'"};

class SourceLinesTest : public testing::Test {
 protected:
  SourceLinesTest()
      : bytes_(BytesFromText(R"pb(graph {
                                    node { op_type: "Add" }
                                    node { op_type: "Mul" }
                                    node { op_type: "Sub" }
                                  })pb")),
        model_(ReadModel(bytes_)) {
    tagging_.roles.Add(Role());
    tagging_.tags.resize(3);
    tagging_.tags[NodeId{0}].module = tagging_.modules.Add("a");
    tagging_.lines.Set(NodeId{0}, {"net.py", 7, "forward", ""});
    tagging_.lines.Set(NodeId{2}, kHostile);
    tagging_.lines.SetFrames(
        NodeId{2},
        std::vector<SourceLine>{{"torch/a.py", 1, "f", ""}, kHostile});
  }

  void ExpectLines(const SourceLines& lines) {
    EXPECT_EQ(lines.Of(NodeId{0}), tagging_.lines.Of(NodeId{0}));
    EXPECT_FALSE(lines.Of(NodeId{1}));
    EXPECT_EQ(lines.Of(NodeId{2}), kHostile) << "also of an untagged node";
  }

  std::string bytes_;
  Model model_;
  Tagging tagging_;
};

TEST_F(SourceLinesTest, EqualLinesAreStoredOnce) {
  SourceLines lines;
  EXPECT_TRUE(lines.empty());
  for (std::uint32_t i = 0; i < 100; ++i) {
    lines.Set(NodeId{i}, {"net.py", i / 50, "forward", "x"});
  }
  EXPECT_EQ(lines.line_count(), 2U);
  EXPECT_EQ(lines.IdOf(NodeId{0}), lines.IdOf(NodeId{49}));
  EXPECT_NE(lines.IdOf(NodeId{49}), lines.IdOf(NodeId{50}));
  EXPECT_FALSE(lines.Of(NodeId{100}));
}

TEST_F(SourceLinesTest, ASidecarHasThem) {
  std::string text;
  WriteSidecar(model_, tagging_, AboutModel("m.onnx", model_, tagging_),
               [&](Bytes bytes) { text.append(bytes); });
  EXPECT_THAT(text, HasSubstr("\"source_line\": null"));
  const Sidecar sidecar = ReadSidecar(text);
  ExpectLines(sidecar.tagging.lines);
  EXPECT_EQ(sidecar.tagging.lines.FramesOf(NodeId{2}),
            tagging_.lines.FramesOf(NodeId{2}));
  EXPECT_THAT(sidecar.tagging.lines.FramesOf(NodeId{0}), IsEmpty());
}

TEST_F(SourceLinesTest, ATaggedModelHasThemOnRequestOnly) {
  const auto written = [&](const KeyChoice& keys) {
    StringSink sink(bytes_);
    TagWriter(model_, tagging_, keys).Write(sink);
    return sink.text();
  };
  EXPECT_EQ(written({}).find("net.py"), std::string::npos);
  const std::string with_lines = written({.source_line = true});
  const Model model = ReadModel(with_lines);
  ExpectLines(ReadTagging(model).lines);
  StringSink stripped(with_lines);
  TagWriter(model).Write(stripped);
  EXPECT_EQ(stripped.text(), bytes_);
}

TEST_F(SourceLinesTest, ADamagedEntryIsNoLine) {
  for (const char* const value :
       {"", "net.py:7", "{\"file\": 3}", "{\"line\": 3}", "[1, 2",
        "{\"file\": \"a\", \"line\": -1}"}) {
    schema::ModelProto proto = ModelFromText("graph { node { op_type: 'A' } }");
    AddMetadata(*proto.mutable_graph()->mutable_node(0),
                "pkg.onnx_tag.source_line", value);
    const std::string bytes = proto.SerializeAsString();
    EXPECT_TRUE(ReadTagging(ReadModel(bytes)).lines.empty()) << value;
  }
}

}  // namespace
}  // namespace onnx_tag::test
