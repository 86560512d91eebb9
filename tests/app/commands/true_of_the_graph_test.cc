// What commands say of modules is true of the graph, also where constants,
// copies and guessed nodes stand around the modules.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "onnx_tag_schema.pb.h"
#include "support/graph_text.h"
#include "support/run_cli.h"
#include "support/temporary_folder.h"

namespace onnx_tag::test {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

// The model of a text; `weights` are initializers of two rows and columns.
std::string ModelOf(const std::string& text,
                    const std::vector<std::string>& weights) {
  schema::ModelProto model;
  model.set_ir_version(8);
  model.add_opset_import()->set_version(17);
  GraphText::Read(text, model);
  schema::GraphProto& graph = *model.mutable_graph();
  for (const std::string& name : weights) {
    schema::TensorProto& tensor = *graph.add_initializer();
    tensor.set_name(name);
    tensor.set_data_type(1);
    tensor.add_dims(2);
    tensor.add_dims(2);
    tensor.set_raw_data("0123456789abcdef");
  }
  for (auto* ends : {graph.mutable_input(), graph.mutable_output()}) {
    for (schema::ValueInfoProto& end : *ends) {
      auto* const type = end.mutable_type()->mutable_tensor_type();
      type->set_elem_type(1);
      type->mutable_shape()->add_dim()->set_dim_value(2);
      type->mutable_shape()->add_dim()->set_dim_value(2);
    }
  }
  return model.SerializeAsString();
}

// The third block shares its weight with the first: the exporter copies it at
// the start of the file.
std::string SharedWeights() {
  return ModelOf(R"(main (x) => (y) {
      [Identity_0] blocks.2.fc.weight = Identity (blocks.0.fc.weight)
      [/blocks.0/fc/MatMul] a = MatMul (x, blocks.0.fc.weight)
      [/blocks.0/act/Relu] b = Relu (a)
      [/blocks.1/fc/MatMul] c = MatMul (b, blocks.1.fc.weight)
      [/blocks.1/act/Relu] d = Relu (c)
      [/blocks.2/fc/MatMul] e = MatMul (d, blocks.2.fc.weight)
      [/blocks.2/act/Relu] y = Relu (e)
    })",
                 {"blocks.0.fc.weight", "blocks.1.fc.weight"});
}

class TrueOfTheGraphTest : public testing::Test {
 protected:
  TemporaryFolder folder_;
};

TEST_F(TrueOfTheGraphTest, ModulesAreSplitWhereTheirWorkBegins) {
  const std::string model = folder_.Write("m.onnx", SharedWeights());
  const CliResult result = RunCli({"split", model, "--at", "blocks.1",
                                   "blocks.2", "--out-dir", folder_ / "parts"});
  EXPECT_EQ(result.exit, 0) << result.err;
  EXPECT_THAT(result.out, AllOf(HasSubstr("2 nodes, 1 weight, from the start"),
                                HasSubstr("2 nodes, 1 weight, from blocks.1"),
                                HasSubstr("3 nodes, 1 weight, from blocks.2")));
}

TEST_F(TrueOfTheGraphTest, AModuleOfConstantsBeginsNoPart) {
  const std::string model = folder_.Write("m.onnx", ModelOf(R"(main (x) => (y) {
      [/table/Mul] t = Mul (table.weight, table.weight)
      [/fc/MatMul] y = MatMul (x, t)
    })",
                                                            {"table.weight"}));
  const CliResult result =
      RunCli({"split", model, "--at", "table", "--out-dir", folder_ / "parts"});
  EXPECT_EQ(result.exit, 2);
  EXPECT_THAT(result.err, HasSubstr("no node in the main graph that depends "
                                    "on an input"));
}

TEST_F(TrueOfTheGraphTest, ProductsThatAQuantizerSkipsAreListed) {
  const std::string model = folder_.Write("m.onnx", SharedWeights());
  for (const std::string tool : {"ort-quant", "olive"}) {
    const CliResult all = RunCli({"select", model, "op=MatMul", "--for", tool});
    EXPECT_EQ(all.exit, 0) << all.err;
    EXPECT_THAT(all.err, AllOf(HasSubstr("skips 1 product"),
                               HasSubstr("/blocks.2/fc/MatMul: its weight is "
                                         "behind Identity")));
  }
  for (const std::vector<std::string>& none :
       {std::vector<std::string>{"under=blocks.0 and op=MatMul", "--for",
                                 "ort-quant"},
        {"op=MatMul", "--for", "ort-quant", "--exclude"},
        {"op=MatMul", "--for", "names"}}) {
    std::vector<std::string> args = {"select", model};
    args.insert(args.end(), none.begin(), none.end());
    EXPECT_THAT(RunCli(args).err, Not(HasSubstr("skips"))) << none[0];
  }
}

// `enc` is called twice; nothing says whose the Split between the calls is.
TEST_F(TrueOfTheGraphTest, AGuessedSplitBehindAModuleIsNotItsResult) {
  const std::string scope = " @ pkg.torch.onnx.name_scopes = ";
  const std::string fc =
      scope + "['', 'enc', 'enc.fc', 'linear']\n" +
      " @ pkg.torch.onnx.class_hierarchy = ['Net', 'Enc', "
      "'torch.nn.modules.linear.Linear', 'aten.linear.default']\n";
  const std::string root =
      scope +
      "['', 'add']\n @ pkg.torch.onnx.class_hierarchy = ['Net', "
      "'aten.add.Tensor']\n";
  const std::string model = folder_.Write(
      "m.onnx", ModelOf("main (x) => (y) {\n"
                        "[node_linear] a = MatMul (x, enc.fc.weight)\n" +
                            fc +
                            "[node_Split] b, c = Split <axis = 1> (a)\n"
                            "[node_linear_1] d = MatMul (b, enc.fc.weight)\n" +
                            fc +
                            "[node_Split_1] e, f = Split <axis = 1> (d)\n"
                            "[node_add] g = Add (e, f)\n" +
                            root + "[node_add_1] y = Add (g, c)\n" + root + "}",
                        {"enc.fc.weight"}));
  const CliResult split = RunCli({"query", model, "name=node_Split", "--tsv"});
  ASSERT_THAT(split.out, HasSubstr("\tenc\t")) << "the case needs a guess";
  const CliResult result =
      RunCli({"tap", model, "--module", "enc", "-o", folder_ / "t.onnx"});
  EXPECT_EQ(result.exit, 0) << result.err;
  schema::ModelProto tapped;
  ASSERT_TRUE(tapped.ParseFromString(ReadFile(folder_ / "t.onnx")));
  const auto makes = [&](const std::string& output, const std::string& op) {
    return std::any_of(tapped.graph().node().begin(),
                       tapped.graph().node().end(), [&](const auto& node) {
                         return node.op_type() == op &&
                                std::count(node.output().begin(),
                                           node.output().end(), output) > 0;
                       });
  };
  ASSERT_EQ(tapped.graph().output_size(), 3) << result.out;
  for (const int i : {1, 2}) {
    const std::string& output = tapped.graph().output(i).name();
    EXPECT_FALSE(makes(output, "Split")) << output;
  }
}

}  // namespace
}  // namespace onnx_tag::test
