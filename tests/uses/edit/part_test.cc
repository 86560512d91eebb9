// Parts of models: protobuf reads them back and says what they hold.
#include "uses/edit/part.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "support/generated_model.h"
#include "support/onnx_models.h"

namespace onnx_tag::edit {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::UnorderedElementsAre;

// x -> a -> b -> y, a function, a branch that captures a weight, and more
// weights than any part needs.
constexpr const char* kWholeModel = R"pb(
  ir_version: 8
  opset_import { version: 17 }
  opset_import { domain: "local" version: 1 }
  graph {
    name: "g"
    node { op_type: "MatMul" name: "a" input: "x" input: "wa" output: "va" }
    node {
      op_type: "If"
      name: "b"
      input: "flag"
      output: "vb"
      attribute {
        name: "then_branch"
        type: 5
        g {
          node { op_type: "Add" input: "va" input: "wb" output: "t" }
          output { name: "t" }
        }
      }
      attribute {
        name: "else_branch"
        type: 5
        g { output { name: "wc" } }
      }
    }
    node { op_type: "F" domain: "local" name: "c" input: "vb" output: "y" }
    initializer {
      name: "wa"
      data_type: 1
      dims: 2
      dims: 2
      raw_data: "0123456789abcdef"
    }
    initializer { name: "wb" data_type: 1 dims: 2 }
    initializer { name: "wc" data_type: 1 dims: 2 dims: 2 }
    initializer { name: "unused" data_type: 1 dims: 2 }
    input {
      name: "x"
      type {
        tensor_type {
          elem_type: 1
          shape {
            dim { dim_param: "n" }
            dim { dim_value: 2 }
          }
        }
      }
    }
    input {
      name: "flag"
      type {
        tensor_type {
          elem_type: 9
          shape {}
        }
      }
    }
    input { name: "wa" }
    output { name: "y" }
    value_info {
      name: "va"
      type {
        tensor_type {
          elem_type: 1
          shape {
            dim {}
            dim {}
          }
        }
      }
    }
  }
  functions {
    name: "F"
    domain: "local"
    input: "i"
    output: "o"
    node { op_type: "G" domain: "local" input: "i" output: "o" }
  }
  functions {
    name: "G"
    domain: "local"
    input: "i"
    output: "o"
    node { op_type: "Relu" input: "i" output: "o" }
  }
  functions { name: "H" domain: "local" }
  metadata_props { key: "author" value: "us" }
  metadata_props { key: "pkg.onnx_tag.layout" value: "3:2" }
)pb";

schema::ModelProto Cut(const std::string& bytes, const Part& part) {
  const Model model = ReadModel(bytes);
  const sizes::Shapes shapes(model, {});
  const PartSource source(model);
  const PartWriter writer(source, shapes, part);
  test::StringSink sink(bytes);
  writer.Write(sink);
  EXPECT_EQ(sink.text().size(), writer.new_size());
  schema::ModelProto result;
  EXPECT_TRUE(result.ParseFromString(sink.text()));
  return result;
}

template <typename Items>
std::vector<std::string> Names(const Items& items) {
  std::vector<std::string> names;
  for (const auto& item : items) names.push_back(item.name());
  return names;
}

TEST(PartTest, KeepsWhatItsNodesNeedAndNoMore) {
  const schema::ModelProto part =
      Cut(test::BytesFromText(kWholeModel), {{0}, {"x"}, {"va"}});
  EXPECT_THAT(Names(part.graph().node()), ElementsAre("a"));
  EXPECT_THAT(Names(part.graph().initializer()), ElementsAre("wa"));
  EXPECT_EQ(part.graph().initializer(0).raw_data(), "0123456789abcdef");
  // Old files list weights among the inputs.
  EXPECT_THAT(Names(part.graph().input()), UnorderedElementsAre("wa", "x"));
  EXPECT_THAT(Names(part.graph().output()), ElementsAre("va"));
  EXPECT_THAT(Names(part.graph().value_info()), IsEmpty());
  EXPECT_THAT(Names(part.functions()), IsEmpty());
  ASSERT_EQ(part.metadata_props_size(), 1);
  EXPECT_EQ(part.metadata_props(0).key(), "author");
}

TEST(PartTest, BranchesBringTheWeightsTheyCaptureOrReturn) {
  const schema::ModelProto part =
      Cut(test::BytesFromText(kWholeModel), {{1}, {"flag", "va"}, {"vb"}});
  EXPECT_THAT(Names(part.graph().initializer()), ElementsAre("wb", "wc"));
  EXPECT_THAT(Names(part.graph().input()), ElementsAre("flag", "va"));
}

TEST(PartTest, FunctionsThatAreCalledComeAlongWithThoseTheyCall) {
  const schema::ModelProto part =
      Cut(test::BytesFromText(kWholeModel), {{2}, {"vb"}, {"y"}});
  EXPECT_THAT(Names(part.functions()), ElementsAre("F", "G"));
}

TEST(PartTest, InputsAndOutputsHaveTheTypesOfTheFileOrOfTheOperators) {
  const schema::ModelProto part =
      Cut(test::BytesFromText(kWholeModel), {{0, 1}, {"x", "flag"}, {"vb"}});
  for (const schema::ValueInfoProto& input : part.graph().input()) {
    if (input.name() != "x") continue;
    // As the file says, names of dimensions included.
    EXPECT_EQ(input.type().tensor_type().shape().dim(0).dim_param(), "n");
  }
  // Worked out: the sum of a matrix and a list.
  const auto& output = part.graph().output(0).type().tensor_type();
  EXPECT_EQ(output.elem_type(), 1);
  EXPECT_EQ(output.shape().dim_size(), 2);
}

// Whatever is kept of whatever model, protobuf reads what is written.
TEST(PartTest, EveryPartOfGeneratedModelsIsAModel) {
  for (std::uint32_t seed = 0; seed < 60; ++seed) {
    SCOPED_TRACE(seed);
    test::Random random(seed);
    const std::string bytes =
        test::GeneratedModel(random, false).SerializeAsString();
    const Model model = ReadModel(bytes);
    Part part;
    for (std::uint32_t i = 0; i < model[GraphId{0}].nodes.size(); ++i) {
      if (test::Below(random, 2) == 0) part.nodes.push_back(i);
    }
    const schema::ModelProto result = Cut(bytes, part);
    EXPECT_EQ(static_cast<std::size_t>(result.graph().node_size()),
              part.nodes.size());
    EXPECT_EQ(result.graph().output_size(), 0);
  }
}

TEST(PartTest, NothingLeftOutGivesTheFileBack) {
  const std::string bytes = test::BytesFromText(kWholeModel);
  const Model model = ReadModel(bytes);
  GraphEdit edit(model);
  edit.Keep([](const GraphEdit::Part&) { return true; });
  edit.Finish();
  test::StringSink sink(bytes);
  edit.Write(sink);
  EXPECT_EQ(sink.text(), bytes);
}

}  // namespace
}  // namespace onnx_tag::edit
