// Models made to hurt: what they cost is in proportion to their size.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <functional>

#include "support/memory.h"
#include "support/onnx_models.h"
#include "support/run_cli.h"
#include "support/temporary_folder.h"

namespace onnx_tag::test {
namespace {

namespace fs = std::filesystem;
using ::testing::HasSubstr;
using ::testing::Not;

class HostileTest : public testing::Test {
 protected:
  // Tags the model; returns the bytes of model and sidecar for each byte of
  // the input.
  double Growth(const schema::ModelProto& model) {
    const std::string path = folder_.Write("m.onnx", model.SerializeAsString());
    const CliResult result = RunCli({path, "--force", "-q"});
    EXPECT_EQ(result.exit, 0) << result.err.substr(0, 500);
    const auto out = fs::file_size(folder_ / "m.tagged.onnx") +
                     fs::file_size(folder_ / "m.tags.json");
    return static_cast<double>(out) / static_cast<double>(fs::file_size(path));
  }
  static schema::ModelProto Empty() {
    schema::ModelProto model;
    model.set_ir_version(8);
    model.set_producer_name("pytorch");
    return model;
  }
  static std::string V(int i) { return "v" + std::to_string(i); }

  TemporaryFolder folder_;
};

// Neighbours take the module of a named node: one long name must not become
// 10,000 long tags.
TEST_F(HostileTest, ALongScopeIsNoEvidence) {
  schema::ModelProto model = Empty();
  const std::string name(1'000'000, 'x');
  for (int i = 0; i < 10'000; ++i) {
    const bool scoped = i % 100 == 0;
    AddNode(*model.mutable_graph(), "Relu",
            scoped ? "/" + (i == 0 ? name : std::string("y")) + "/Relu" : "",
            {V(i)}, {V(i + 1)});
  }
  EXPECT_LT(Growth(model), 10);
}

TEST_F(HostileTest, ALongParameterNameIsNoEvidence) {
  schema::ModelProto model = Empty();
  std::string name(1'000'000, 'x');
  name += ".weight";
  model.mutable_graph()->add_initializer()->set_name(name);
  for (int i = 0; i < 10'000; ++i) {
    AddNode(*model.mutable_graph(), "MatMul", "MatMul_" + std::to_string(i),
            {V(i), i == 0 ? name : "w"}, {V(i + 1)});
  }
  EXPECT_LT(Growth(model), 10);
}

TEST_F(HostileTest, LongMetadataIsNoEvidence) {
  schema::ModelProto model = Empty();
  for (int i = 0; i < 1'000; ++i) {
    schema::NodeProto* const node =
        AddNode(*model.mutable_graph(), "Relu", "", {V(i)}, {V(i + 1)});
    if (i != 0) continue;
    AddMetadata(*node, "pkg.torch.onnx.name_scopes",
                "['', '" + std::string(500'000, 'x') + "', 'relu']");
    AddMetadata(*node, "pkg.torch.onnx.class_hierarchy",
                "['M', '" + std::string(500'000, 'C') + "', 'relu']");
  }
  EXPECT_LT(Growth(model), 10);
}

// 10^5 modules, 1,000 deep: each path would stand in the sidecar.
TEST_F(HostileTest, DeepModulesCostWhatTheyWeigh) {
  schema::ModelProto model = Empty();
  for (int chain = 0; chain < 100; ++chain) {
    std::string path = "c" + std::to_string(chain);
    for (int i = 0; i < 1000; ++i) path += ".m";
    path += ".weight";
    model.mutable_graph()->add_initializer()->set_name(path);
    AddNode(*model.mutable_graph(), "MatMul", "", {V(chain), path},
            {V(chain + 1)});
    std::string scope = "/c" + std::to_string(chain);
    for (int i = 0; i < 1000; ++i) scope += "/m";
    AddNode(*model.mutable_graph(), "Relu", scope + "/Relu", {V(chain)}, {});
  }
  EXPECT_LT(Growth(model), 10);
}

TEST_F(HostileTest, TheDeepestPathThatIsEvidenceIsUsed) {
  schema::ModelProto model = Empty();
  std::string path = "m0";
  for (int i = 1; i < 100; ++i) path += ".m" + std::to_string(i);
  model.mutable_graph()->add_initializer()->set_name(path + ".weight");
  model.mutable_graph()->mutable_initializer(0)->add_dims(2);
  AddNode(*model.mutable_graph(), "MatMul", "", {"x", path + ".weight"}, {"y"});
  folder_.Write("m.onnx", model.SerializeAsString());
  EXPECT_THAT(RunCli({folder_ / "m.onnx", "--json-nodes", "--dry-run"}).out,
              HasSubstr("\"module\": \"" + path + "\""));
}

TEST_F(HostileTest, AMillionInputsAndAMillionConsumers) {
  schema::ModelProto model = Empty();
  schema::NodeProto* const wide =
      AddNode(*model.mutable_graph(), "Concat", "/a/Concat", {}, {"o"});
  for (int i = 0; i < 1'000'000; ++i) wide->add_input(V(i % 1000));
  for (int i = 0; i < 50'000; ++i) {
    AddNode(*model.mutable_graph(), "Neg", "", {"o"}, {"n" + V(i)});
  }
  ResetPeak();
  const std::size_t before = PeakBytes();
  EXPECT_LT(Growth(model), 30);
  EXPECT_LT(PeakBytes() - before, std::size_t{200} << 20);
}

// One name in every place, as a text that would compress to nothing.
TEST_F(HostileTest, RepetitionIsNotMultiplied) {
  schema::ModelProto model = Empty();
  std::string name;
  for (int i = 0; i < 60; ++i) name += "/abcdefgh";
  for (int i = 0; i < 5'000; ++i) {
    schema::NodeProto* const node =
        AddNode(*model.mutable_graph(), "Relu", name + "/Relu", {name}, {name});
    for (int k = 0; k < 20; ++k) node->add_input(name);
  }
  EXPECT_LT(Growth(model), 5);
}

// `explain` says who reads a value behind quantizers.
TEST_F(HostileTest, QuantizersThatReadOneAnotherEnd) {
  schema::ModelProto model = Empty();
  schema::GraphProto& graph = *model.mutable_graph();
  AddNode(graph, "QuantizeLinear", "/a/Q", {"x", "d"}, {"q"});
  AddNode(graph, "DequantizeLinear", "/a/D", {"q", "x"}, {"d"});
  for (int i = 0; i < 60; ++i) {
    AddNode(graph, "DequantizeLinear", "/a/" + V(i), {V(i), V(i)}, {V(i + 1)});
  }
  const std::string path = folder_.Write("m.onnx", model.SerializeAsString());
  for (const std::string node : {"/a/Q", "/a/D", "/a/v0"}) {
    EXPECT_EQ(RunCli({"explain", path, node}).exit, 0) << node;
  }
}

TEST_F(HostileTest, NamesAreHarmlessOnEveryStream) {
  using std::string_literals::operator""s;
  const std::string evil = "\x1b]0;x\x07<script>\"'\n\r\0\x9b"s;
  schema::ModelProto model = Empty();
  AddNode(*model.mutable_graph(), evil, "/" + evil + "/Relu", {evil}, {evil});
  const std::string path = folder_.Write("m.onnx", model.SerializeAsString());
  const std::vector<std::vector<std::string>> commands = {
      {path, "--dry-run"},
      {path, "--dry-run", "--json-nodes", "--json"},
      {path, "--dry-run", "--format", "junit", "--require-module", evil},
      {path, "--dry-run", "--format", "github", "--require-module", evil},
      {"show", path, "--nodes"}};
  for (const auto& command : commands) {
    const CliResult result = RunCli(command);
    for (const std::string& said : {result.out, result.err}) {
      EXPECT_THAT(said, Not(HasSubstr("\x1b")));
      EXPECT_THAT(said, Not(HasSubstr("\x07")));
      EXPECT_EQ(said.find('\0'), std::string::npos);
    }
  }
}

// Weights elsewhere are a warning, and are neither read, linked nor copied.
TEST_F(HostileTest, ExternalDataLeadsNowhere) {
  schema::ModelProto model = Empty();
  AddNode(*model.mutable_graph(), "Relu", "/a/Relu", {"x"}, {"y"});
  for (const char* const place :
       {"/etc/passwd", "../../secret", "a/../../b", "/proc/self/mem"}) {
    schema::TensorProto* const tensor =
        model.mutable_graph()->add_initializer();
    tensor->set_name(place);
    tensor->set_data_location(1);  // EXTERNAL
    auto* const entry = tensor->add_external_data();
    entry->set_key("location");
    entry->set_value(place);
  }
  const std::string path = folder_.Write("m.onnx", model.SerializeAsString());
  for (const char* const data : {"link", "copy"}) {
    const CliResult result =
        RunCli({path, "--out-dir", folder_ / "out", "--data", data, "--force"});
    EXPECT_EQ(result.exit, 0) << result.err;
    EXPECT_THAT(result.err, HasSubstr("weights are outside the model's folder: "
                                      "/etc/passwd and 3 more"));
  }
  std::vector<std::string> names;
  for (const auto& entry : fs::recursive_directory_iterator(folder_ / "out")) {
    names.push_back(entry.path().filename().string());
  }
  EXPECT_THAT(names,
              testing::UnorderedElementsAre("m.tagged.onnx", "m.tags.json"));
}

}  // namespace
}  // namespace onnx_tag::test
