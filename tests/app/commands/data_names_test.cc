// A model and its weights are replaced at one moment: what the present model
// reads is never touched, and what nothing reads any longer goes.
#include "app/commands/output/data_names.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>

#include "app/commands/output/pending_outputs.h"
#include "file/io/mapped_file.h"
#include "support/onnx_models.h"
#include "support/run_cli.h"
#include "support/temporary_folder.h"

namespace onnx_tag::test {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

std::string ModelOf(const std::string& location) {
  return BytesFromText(R"(
    ir_version: 8 opset_import { version: 17 }
    graph {
      node { op_type: 'Add' name: '/a/Add' input: 'x' input: 'a.weight'
             output: 'y' }
      initializer { name: 'a.weight' dims: 1 data_type: 1 data_location: 1
        external_data { key: 'location' value: ')" +
                       location + R"(' }
        external_data { key: 'length' value: '4' } }
      input { name: 'x' type { tensor_type { elem_type: 1 shape {} } } }
      output { name: 'y' type { tensor_type { elem_type: 1 shape {} } } }
    })");
}

class DataNamesTest : public testing::Test {
 protected:
  // What a run writes whose weights have these bytes.
  std::string Write(const std::string& bytes) {
    const Produce produce = [&](wire::Rewrite::Sink& sink) {
      sink.Write(bytes);
    };
    DataNames names(folder_ / "out.onnx", options_);
    const std::string name = names.Take("m.data", bytes.size(), produce);
    const std::string model = ModelOf(name);
    PendingOutputs outputs(source_, inputs_, options_, terminal_);
    outputs.AddWeights(folder_ / name, bytes.size(), produce);
    outputs.AddModel(folder_ / "out.onnx", model.size(),
                     [&](wire::Rewrite::Sink& sink) { sink.Write(model); });
    for (const std::string& left : names.Left()) outputs.AddLeftover(left);
    outputs.Finish();
    return name;
  }

  const TemporaryFolder folder_;
  const MappedFile source_ = MappedFile::Open(folder_.Write("in", "input"));
  Inputs inputs_;
  WriteOptions options_{.force = true};
  Terminal terminal_;
};

TEST_F(DataNamesTest, NewWeightsNeverReplaceThoseOfThePresentModel) {
  EXPECT_EQ(Write("1111"), "m.data");
  EXPECT_EQ(Write("2222"), "out.onnx.1.data");
  EXPECT_EQ(Write("2222"), "out.onnx.1.data") << "equal bytes stay";
  EXPECT_THAT(folder_.Names(),
              ElementsAre("in", "out.onnx", "out.onnx.1.data"));
  EXPECT_EQ(Write("3333"), "m.data");
  EXPECT_THAT(folder_.Names(), ElementsAre("in", "m.data", "out.onnx"));
  EXPECT_EQ(Write("3333"), "m.data") << "equal bytes stay";
  EXPECT_EQ(ReadFile(folder_ / "m.data"), "3333");
}

// Killed before the model had its name, or before the old weights went.
TEST_F(DataNamesTest, WhatAKilledRunLeftGoesWithTheNextOne) {
  folder_.Write("m.data", "1111");
  folder_.Write("out.onnx", ModelOf("m.data"));
  folder_.Write("out.onnx.1.data", "22");
  folder_.Write("out.onnx.data", "22");
  folder_.Write("out.onnx.1data", "no name of ours");
  EXPECT_EQ(Write("3333"), "out.onnx.1.data");
  EXPECT_EQ(ReadFile(folder_ / "out.onnx.1.data"), "3333");
  EXPECT_THAT(folder_.Names(), ElementsAre("in", "out.onnx", "out.onnx.1.data",
                                           "out.onnx.1data"));
}

TEST_F(DataNamesTest, WhatAnotherModelReadsStays) {
  Write("1111");
  folder_.Write("other.onnx", ModelOf("m.data"));
  Write("2222");
  EXPECT_EQ(ReadFile(folder_ / "m.data"), "1111");
}

TEST_F(DataNamesTest, AnInputStays) {
  Write("1111");
  inputs_.Add(folder_ / "m.data", "an input");
  Write("2222");
  EXPECT_EQ(ReadFile(folder_ / "m.data"), "1111");
}

// A copy has the name that the model has for it. The model that reads the old
// one goes first.
TEST_F(DataNamesTest, ACopyReplacesNothingBeforeAllIsWritten) {
  std::filesystem::create_directories(folder_ / "in_folder");
  std::filesystem::create_directories(folder_ / "out");
  folder_.Write("in_folder/m.onnx", ModelOf("m.data"));
  folder_.Write("in_folder/m.data", "2222");
  folder_.Write("out/m.onnx", ModelOf("m.data") + "\x92\x03\x01x");
  folder_.Write("out/m.data", "1111");
  const auto copy = [&](bool fails) {
    PendingOutputs outputs(source_, inputs_, options_, terminal_);
    outputs.AddData(folder_ / "in_folder/m.data", folder_ / "out/m.data",
                    false);
    const std::string model = ModelOf("m.data");
    outputs.AddModel(folder_ / "out/m.onnx", model.size(),
                     [&](wire::Rewrite::Sink& sink) {
                       if (fails) sink.Write(model.substr(0, 9));
                       if (fails) Fail(ErrorKind::kOutput, "full");
                       sink.Write(model);
                     });
    outputs.Finish();
  };
  EXPECT_THROW(copy(true), Error);
  EXPECT_EQ(ReadFile(folder_ / "out/m.data"), "1111");
  copy(false);
  EXPECT_EQ(ReadFile(folder_ / "out/m.data"), "2222");
  EXPECT_EQ(ReadFile(folder_ / "out/m.onnx"), ModelOf("m.data"));
}

}  // namespace
}  // namespace onnx_tag::test
