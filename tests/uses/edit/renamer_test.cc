// strip(rename(file)) == file, byte for byte.
#include "uses/edit/renamer.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/tagging/tag_writer.h"
#include "support/generated_model.h"
#include "support/onnx_models.h"

namespace onnx_tag::edit {
namespace {

std::string Renamed(const std::string& bytes,
                    const std::vector<Rename>& renames) {
  const Model model = ReadModel(bytes);
  const Renamer renamer(model, renames);
  test::StringSink sink(bytes);
  renamer.Write(sink);
  EXPECT_EQ(sink.text().size(), renamer.new_size());
  return sink.text();
}

std::string Stripped(const std::string& bytes) {
  const Model model = ReadModel(bytes);
  TagWriter writer(model);
  test::StringSink sink(bytes);
  writer.Write(sink);
  EXPECT_EQ(sink.text().size(), writer.new_size());
  return sink.text();
}

constexpr const char* kModel = R"pb(
  ir_version: 8
  graph {
    node {
      op_type: "MatMul"
      name: "a"
      input: "x"
      input: "onnx::MatMul_1"
      output: "v"
    }
    node {
      op_type: "If"
      input: "c"
      output: "y"
      attribute {
        name: "then_branch"
        type: 5
        g {
          node { op_type: "Add" input: "v" input: "onnx::MatMul_1" output: "t" }
          output { name: "t" }
        }
      }
      attribute {
        name: "else_branch"
        type: 5
        g {
          node { op_type: "Relu" input: "onnx::MatMul_1" output: "e" }
          output { name: "e" }
        }
      }
    }
    initializer {
      name: "onnx::MatMul_1"
      data_type: 1
      dims: 4
      raw_data: "0123456789abcdef"
    }
    initializer { name: "taken" data_type: 1 }
    input { name: "x" }
    input { name: "onnx::MatMul_1" }
    output { name: "y" }
    value_info { name: "onnx::MatMul_1" }
  })pb";

TEST(RenamerTest, EveryMentionFollows) {
  const std::string bytes = test::BytesFromText(kModel);
  const std::string renamed = Renamed(bytes, {{0, "fc.weight"}});
  // Protobuf is the oracle: the same text with the name replaced.
  std::string text = kModel;
  for (std::size_t at = 0;
       (at = text.find("onnx::MatMul_1", at)) != std::string::npos;) {
    text.replace(at, 14, "fc.weight");
  }
  schema::ModelProto expected = test::ModelFromText(text);
  test::AddMetadata(expected, "pkg.onnx_tag.renamed",
                    R"({"fc.weight": "onnx::MatMul_1"})");
  EXPECT_EQ(renamed, expected.SerializeAsString());
  EXPECT_EQ(Stripped(renamed), bytes);
}

// Past 127 bytes a length prefix grows, and with it the messages outside.
TEST(RenamerTest, StripGivesTheFileBackAtEveryLength) {
  const std::string bytes = test::BytesFromText(kModel);
  for (std::size_t size = 1; size < 400; size += 3) {
    SCOPED_TRACE(size);
    EXPECT_EQ(Stripped(Renamed(bytes, {{0, std::string(size, 'w')}})), bytes);
  }
}

TEST(RenamerTest, TakenNamesAreSettled) {
  const std::string bytes = test::BytesFromText(kModel);
  const Model model = ReadModel(bytes);
  const Renamer renamer(model, {{0, "taken"}, {1, "taken"}});
  EXPECT_EQ(renamer.names().at("onnx::MatMul_1"), "taken~2");
  EXPECT_EQ(renamer.names().size(), 1u);
}

TEST(RenamerTest, OutputsOfTheGraphKeepTheirNames) {
  const std::string bytes = test::BytesFromText(R"pb(graph {
                                                       initializer { name: "w" }
                                                       output { name: "w" }
                                                     })pb");
  const Model model = ReadModel(bytes);
  const Renamer renamer(model, {{0, "other"}});
  EXPECT_TRUE(renamer.names().empty());
  ASSERT_EQ(renamer.refused().size(), 1u);
}

TEST(RenamerTest, TagsMadeAfterwardsAreStrippedToo) {
  const std::string bytes = test::BytesFromText(kModel);
  const std::string renamed = Renamed(bytes, {{0, "fc.weight"}});
  const Model model = ReadModel(renamed);
  const Tagging tagging = test::HostileTagging(model, 7);
  TagWriter writer(model, tagging, {});
  test::StringSink sink(renamed);
  writer.Write(sink);
  EXPECT_EQ(Stripped(sink.text()), bytes);
}

// Anyone can write a record, and other programs change files that have one.
TEST(RenamerTest, ARecordThatDoesNotFitIsNotUndone) {
  struct Case {
    const char* record;
    const char* fault;
  };
  for (const auto& [record, fault] : std::vector<Case>{
           {R"({"onnx::MatMul_1": "taken"})", "that name is taken"},
           {R"({"onnx::MatMul_1": "v"})", "that name is taken"},
           {R"({"onnx::MatMul_1": "x"})", "that name is taken"},
           {R"({"onnx::MatMul_1": "w", "taken": "w"})", "that name is taken"},
           {R"({"onnx::MatMul_1": "a1", "onnx::MatMul_1": "a2"})",
            "a second time"},
           {R"({"v": "old"})", "not an initializer"},
           {R"({"x": "old"})", "not an initializer"},
           {R"({"taken": ""})", "that name is empty"},
           {R"({"taken": 1})", "line 1"},
           {R"(["taken"])", "line 1"},
           {R"({"taken": "old")", "line 1"}}) {
    SCOPED_TRACE(record);
    schema::ModelProto model = test::ModelFromText(kModel);
    test::AddMetadata(model, "pkg.onnx_tag.renamed", record);
    const std::string bytes = model.SerializeAsString();
    const RecordedRenames renames = ReadRenames(ReadModel(bytes));
    EXPECT_THAT(renames.fault, testing::HasSubstr(fault));
    EXPECT_TRUE(renames.names.empty());
    EXPECT_EQ(Stripped(bytes), test::BytesFromText(kModel));
  }
  schema::ModelProto twice = test::ModelFromText(kModel);
  test::AddMetadata(twice, "pkg.onnx_tag.renamed", R"({"taken": "old"})");
  test::AddMetadata(twice, "pkg.onnx_tag.renamed", R"({"taken": "other"})");
  EXPECT_NE(ReadRenames(ReadModel(twice.SerializeAsString())).fault, "");
}

TEST(RenamerTest, NamesThatTheFileLostAreLeftOut) {
  schema::ModelProto model = test::ModelFromText(kModel);
  test::AddMetadata(model, "pkg.onnx_tag.renamed",
                    R"({"gone": "old", "taken": "onnx::Add_7"})");
  const std::string bytes = model.SerializeAsString();
  const RecordedRenames renames = ReadRenames(ReadModel(bytes));
  EXPECT_EQ(renames.fault, "");
  EXPECT_EQ(renames.names, (NewNames{{"taken", "onnx::Add_7"}}));
}

// A law, with names nobody would give, padded lengths, and shadowed names.
TEST(RenamerTest, StripUndoesRenamingOfGeneratedModels) {
  int renamed_some = 0;
  for (std::uint32_t seed = 0; seed < 200; ++seed) {
    SCOPED_TRACE(seed);
    test::Random random(seed);
    std::string bytes = test::GeneratedModel(random, false).SerializeAsString();
    if (seed % 4 == 0) {
      bytes = test::WithPaddedLengths(*schema::ModelProto::descriptor(), bytes,
                                      random);
    }
    std::vector<Rename> renames;
    const Model model = ReadModel(bytes);
    for (std::uint32_t i = 0; i < model.initializers().size(); ++i) {
      renames.push_back({i, std::string(test::Below(random, 300) + 1, 'n')});
    }
    const Renamer renamer(model, renames);
    if (renamer.names().empty()) continue;
    ++renamed_some;
    test::StringSink sink(bytes);
    renamer.Write(sink);
    EXPECT_EQ(Stripped(sink.text()), bytes);
  }
  EXPECT_GT(renamed_some, 20);
}

}  // namespace
}  // namespace onnx_tag::edit
