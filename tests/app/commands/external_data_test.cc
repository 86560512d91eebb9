#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>

#include "support/onnx_models.h"
#include "support/run_cli.h"
#include "support/temporary_folder.h"

namespace onnx_tag::test {
namespace {

namespace fs = std::filesystem;
using ::testing::HasSubstr;
using ::testing::Not;

std::string ModelWithData(const std::vector<std::string>& locations) {
  schema::ModelProto model =
      ModelFromText("graph { node { op_type: 'Relu' name: '/a/Relu' } }");
  for (const std::string& location : locations) {
    schema::TensorProto& tensor = *model.mutable_graph()->add_initializer();
    tensor.set_data_location(1);
    schema::StringStringEntryProto& entry = *tensor.add_external_data();
    entry.set_key("location");
    entry.set_value(location);
  }
  return model.SerializeAsString();
}

class ExternalDataTest : public testing::Test {
 protected:
  ExternalDataTest() {
    fs::create_directories(folder_ / "in/sub");
    fs::create_directories(folder_ / "out");
    folder_.Write("in/w.bin", "weights");
    folder_.Write("in/sub/v.bin", "more weights");
    folder_.Write("in/m.onnx", ModelWithData({"w.bin", "sub/v.bin"}));
  }

  int Tag(std::vector<std::string> args) {
    args.insert(args.begin(), {"tag", folder_ / "in/m.onnx"});
    last_ = RunCli(args);
    return last_.exit;
  }

  TemporaryFolder folder_;
  CliResult last_;
};

TEST_F(ExternalDataTest, BesideTheInputNothingNeedsToBeSaid) {
  EXPECT_EQ(Tag({}), 0);
  EXPECT_EQ(last_.err, "");
}

TEST_F(ExternalDataTest, AnotherFolderNeedsAChoice) {
  EXPECT_EQ(Tag({"--out-dir", folder_ / "out"}), 4);
  EXPECT_THAT(last_.err, HasSubstr("the weights are in w.bin and 1 more; a "
                                   "model in " +
                                   (folder_ / "out")));
  EXPECT_THAT(last_.err, HasSubstr("--data keep"));
  EXPECT_TRUE(fs::is_empty(folder_ / "out"));
  EXPECT_EQ(Tag({"--sidecar-only", "--out-dir", folder_ / "out"}), 0)
      << "a sidecar needs no weights";
}

TEST_F(ExternalDataTest, KeepLeavesTheReferences) {
  EXPECT_EQ(Tag({"--out-dir", folder_ / "out", "--data", "keep"}), 0);
  EXPECT_FALSE(fs::exists(folder_ / "out/w.bin"));
}

// A second name of the weights would make others refuse both.
TEST_F(ExternalDataTest, LinkSharesBytesOrIsRefusedWithTheOtherChoices) {
  const int exit = Tag({"--out-dir", folder_ / "out", "--data", "link"});
  EXPECT_EQ(fs::hard_link_count(folder_ / "in/w.bin"), 1u);
  if (exit == 0) {  // this file system has reflinks
    EXPECT_EQ(ReadFile(folder_ / "out/w.bin"), "weights");
    EXPECT_FALSE(fs::is_symlink(folder_ / "out/w.bin"));
    return;
  }
  EXPECT_EQ(exit, 4);
  EXPECT_THAT(last_.err, HasSubstr("cannot share the 7 bytes of "));
  EXPECT_THAT(last_.err, HasSubstr("--data copy"));
  EXPECT_THAT(last_.err, HasSubstr("--data keep"));
  EXPECT_TRUE(fs::is_empty(folder_ / "out"));
}

TEST_F(ExternalDataTest, CopyCopies) {
  EXPECT_EQ(Tag({"--out-dir", folder_ / "out", "--data", "copy"}), 0);
  EXPECT_FALSE(fs::equivalent(folder_ / "in/w.bin", folder_ / "out/w.bin"));
  EXPECT_EQ(ReadFile(folder_ / "out/w.bin"), "weights");
  EXPECT_EQ(ReadFile(folder_ / "out/sub/v.bin"), "more weights");
}

// Three weights of two files; the part reads two of them, one of which is the
// rest of its file.
TEST_F(ExternalDataTest, APartTakesTheWeightsAlongThatItNeeds) {
  folder_.Write("in/p.onnx", BytesFromText(R"(
    ir_version: 8 opset_import { version: 17 }
    graph {
      node { op_type: 'Add' name: '/a/Add' input: 'x' input: 'a.weight'
             output: 'y' }
      node { op_type: 'Mul' name: '/a/Mul' input: 'y' input: 'a.bias'
             output: 'u' }
      node { op_type: 'Add' name: '/b/Add' input: 'u' input: 'b.weight'
             output: 'z' }
      initializer { name: 'b.weight' dims: 1 data_type: 1 data_location: 1
        external_data { key: 'location' value: 'w.bin' }
        external_data { key: 'length' value: '4' } }
      initializer { name: 'a.weight' dims: 3 data_type: 3 data_location: 1
        external_data { key: 'location' value: 'w.bin' }
        external_data { key: 'offset' value: '4' } }
      initializer { name: 'a.bias' dims: 4 data_type: 3 data_location: 1
        external_data { key: 'location' value: 'sub/v.bin' }
        external_data { key: 'offset' value: '5' }
        external_data { key: 'length' value: '4' } }
      input { name: 'x' type { tensor_type { elem_type: 3 shape {} } } }
      output { name: 'z' type { tensor_type { elem_type: 3 shape {} } } }
    })"));
  const std::string out = folder_ / "out/a.onnx";
  const CliResult cut = RunCli({"extract", folder_ / "in/p.onnx", "--module",
                                "a", "-o", out, "--data", "copy"});
  EXPECT_EQ(cut.exit, 0) << cut.err;
  EXPECT_EQ(ReadFile(out + ".data"), "hts" + std::string(61, '\0') + "weig");
  EXPECT_FALSE(fs::exists(folder_ / "out/w.bin"));
  const std::string part = ReadFile(out);
  EXPECT_THAT(part, HasSubstr("a.onnx.data"));
  EXPECT_THAT(part, Not(HasSubstr("w.bin")));
  EXPECT_THAT(part, Not(HasSubstr("b.weight")));
  // Again: equal bytes are left alone.
  EXPECT_EQ(RunCli({"extract", folder_ / "in/p.onnx", "--module", "a", "-o",
                    out, "--data", "copy"})
                .exit,
            0);
}

TEST_F(ExternalDataTest, OtherWeightsAreNotReplaced) {
  folder_.Write("out/w.bin", "somebody's");
  for (const std::string choice : {"link", "copy"}) {
    EXPECT_EQ(Tag({"--out-dir", folder_ / "out", "--data", choice}), 4);
    EXPECT_THAT(last_.err, HasSubstr("differs from the input's weights"));
    EXPECT_EQ(ReadFile(folder_ / "out/w.bin"), "somebody's");
    EXPECT_FALSE(fs::exists(folder_ / "out/m.tagged.onnx"));
  }
  EXPECT_EQ(Tag({"--out-dir", folder_ / "out", "--data", "copy", "--force"}),
            0);
  EXPECT_EQ(ReadFile(folder_ / "out/w.bin"), "weights");
}

TEST_F(ExternalDataTest, EqualWeightsAreLeftAlone) {
  folder_.Write("out/w.bin", "weights");
  EXPECT_EQ(Tag({"--out-dir", folder_ / "out", "--data", "copy"}), 0);
}

TEST_F(ExternalDataTest, MissingAndOutsideWeightsAreAWarning) {
  folder_.Write("secret", "s");
  std::vector<std::string> weights = {"gone.bin", "../secret", "/etc/passwd",
                                      "sub/../../secret"};
  if (CanMakeLinks()) {
    fs::create_symlink(folder_ / "secret", folder_ / "in/link.bin");
    weights.push_back("link.bin");
  }
  folder_.Write("in/m.onnx", ModelWithData(weights));
  EXPECT_EQ(Tag({"--out-dir", folder_ / "out", "--data", "copy"}), 0);
  EXPECT_THAT(last_.err, HasSubstr("weights are missing: gone.bin\n"));
  EXPECT_THAT(last_.err,
              HasSubstr("weights are outside the model's folder: "
                        "../secret and " +
                        std::to_string(weights.size() - 2) + " more\n"));
  EXPECT_FALSE(fs::exists(folder_ / "out/link.bin"));
  EXPECT_FALSE(fs::exists(folder_ / "out/secret"));
}

// As the Hugging Face cache lays models out.
TEST_F(ExternalDataTest, LinksIntoTheRealModelsFolderAreInside) {
  if (!CanMakeLinks()) GTEST_SKIP() << "no symbolic links";
  fs::create_directories(folder_ / "blobs");
  fs::create_directories(folder_ / "snapshot");
  folder_.Write("blobs/aaa", ModelWithData({"w.bin"}));
  folder_.Write("blobs/bbb", "weights");
  fs::create_symlink("../blobs/aaa", folder_ / "snapshot/m.onnx");
  fs::create_symlink("../blobs/bbb", folder_ / "snapshot/w.bin");
  const CliResult result = RunCli({folder_ / "snapshot/m.onnx", "--out-dir",
                                   folder_ / "out", "--data", "copy"});
  EXPECT_EQ(result.exit, 0);
  EXPECT_EQ(result.err, "");
  EXPECT_EQ(ReadFile(folder_ / "out/w.bin"), "weights");
  EXPECT_FALSE(fs::is_symlink(folder_ / "out/w.bin"));
}

TEST_F(ExternalDataTest, WeightsAreNeverWrittenOver) {
  EXPECT_EQ(Tag({"-o", folder_ / "in/w.bin", "--force"}), 4);
  EXPECT_THAT(last_.err, HasSubstr("is an input of this command (weights of "));
  EXPECT_EQ(Tag({"--sidecar", folder_ / "in/w.bin", "--force"}), 4);
  EXPECT_EQ(ReadFile(folder_ / "in/w.bin"), "weights");
}

TEST_F(ExternalDataTest, FromStandardInputTheyCannotBeFound) {
  const std::string bytes = ModelWithData({"w.bin"});
  EXPECT_EQ(RunCli({"-"}, bytes).exit, 0);
  EXPECT_EQ(
      RunCli({"-", "-o", folder_ / "out/x.onnx", "--data", "copy"}, bytes).exit,
      2);
}

}  // namespace
}  // namespace onnx_tag::test
