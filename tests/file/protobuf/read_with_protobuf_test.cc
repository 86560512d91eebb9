#include "file/protobuf/read_with_protobuf.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>

#include "support/generated_model.h"
#include "support/onnx_models.h"
#include "support/temporary_folder.h"

namespace onnx_tag::test {
namespace {

using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

// What the comparison says of `file` and of our reading of `other`.
std::vector<std::string> Differences(const std::string& file,
                                     const std::string& other) {
  std::vector<std::string> texts;
  for (const ReadingDifference& difference :
       CompareWithProtobuf(file, ReadModel(other))) {
    texts.push_back(difference.what);
  }
  return texts;
}

TEST(ReadWithProtobufTest, BothReadingsAgreeOnGeneratedModels) {
  for (std::uint32_t seed = 1; seed < 60; ++seed) {
    Random random(seed);
    const std::string bytes = GeneratedModel(random, false).SerializeAsString();
    EXPECT_THAT(Differences(bytes, bytes), IsEmpty()) << seed;
  }
}

TEST(ReadWithProtobufTest, BothReadingsAgreeOnAllModelsOfTheTests) {
  std::size_t models = 0;
  for (const auto& entry :
       std::filesystem::recursive_directory_iterator(ONNX_TAG_TEST_MODELS)) {
    const std::string kind = entry.path().extension().string();
    if (kind != ".onnx" && kind != ".textproto") continue;
    const std::string text = ReadFile(entry.path());
    const std::string bytes = kind == ".onnx" ? text : BytesFromText(text);
    EXPECT_THAT(Differences(bytes, bytes), IsEmpty()) << entry.path();
    ++models;
  }
  EXPECT_GT(models, 10u);
}

constexpr const char* kText = R"(
  ir_version: 8 producer_name: 'p'
  opset_import { domain: '' version: 17 }
  graph {
    name: 'g'
    node { op_type: 'If' name: 'n' input: 'x' output: 'y'
           metadata_props { key: 'k' value: 'v' }
           attribute { name: 'then_branch' g { name: 'b' node { op_type: 'A' output: 'z' } } } }
    initializer { name: 'w' data_type: 1 dims: 2 dims: 3 }
    sparse_initializer { values { name: 's' data_type: 1 } dims: 4 }
    input { name: 'x' type { tensor_type { elem_type: 1
      shape { dim { dim_value: 2 } dim { dim_param: 'n' } } } } }
    output { name: 'y' }
  }
  functions { name: 'f' domain: 'd' node { op_type: 'B' } }
  training_info { algorithm { node { op_type: 'T' } } }
)";

TEST(ReadWithProtobufTest, BothReadingsAgree) {
  const std::string bytes = BytesFromText(kText);
  EXPECT_THAT(Differences(bytes, bytes), IsEmpty());
}

TEST(ReadWithProtobufTest, EveryPartThatDiffersIsNamed) {
  const std::string bytes = BytesFromText(kText);
  struct Case {
    void (*change)(schema::ModelProto&);
    const char* what;
  };
  const Case cases[] = {
      {[](schema::ModelProto& m) { m.set_ir_version(9); }, "ir_version"},
      {[](schema::ModelProto& m) { m.set_producer_name("q"); },
       "producer_name: onnx-tag reads \"p\", protobuf \"q\""},
      {[](schema::ModelProto& m) { m.mutable_opset_import(0)->set_version(1); },
       "version of an opset"},
      {[](schema::ModelProto& m) {
         m.mutable_graph()->mutable_node(0)->set_op_type("Loop");
       },
       "operator"},
      {[](schema::ModelProto& m) {
         m.mutable_graph()->mutable_node(0)->set_input(0, "q");
       },
       "input: onnx-tag reads \"x\""},
      {[](schema::ModelProto& m) {
         m.mutable_graph()->mutable_node(0)->add_output("q");
       },
       "number of outputs"},
      {[](schema::ModelProto& m) {
         m.mutable_graph()
             ->mutable_node(0)
             ->mutable_metadata_props(0)
             ->set_value("w");
       },
       "value of metadata"},
      {[](schema::ModelProto& m) {
         m.mutable_graph()
             ->mutable_node(0)
             ->mutable_attribute(0)
             ->mutable_g()
             ->mutable_node(0)
             ->set_name("q");
       },
       "name: onnx-tag reads \"\""},
      {[](schema::ModelProto& m) {
         m.mutable_graph()->mutable_node(0)->mutable_attribute(0)->set_name(
             "e");
       },
       "only protobuf finds the graph \"0:e\""},
      {[](schema::ModelProto& m) {
         m.mutable_graph()->mutable_initializer(0)->set_dims(1, 4);
       },
       "shape of the initializer \"w\""},
      {[](schema::ModelProto& m) {
         m.mutable_graph()->mutable_sparse_initializer(0)->set_dims(0, 5);
       },
       "shape of the initializer \"s\""},
      {[](schema::ModelProto& m) {
         m.mutable_graph()
             ->mutable_input(0)
             ->mutable_type()
             ->mutable_tensor_type()
             ->mutable_shape()
             ->mutable_dim(1)
             ->set_dim_value(7);
       },
       "type of the value \"x\""},
      {[](schema::ModelProto& m) {
         m.mutable_functions(0)->mutable_node(0)->set_op_type("C");
       },
       "operator: onnx-tag reads \"B\", protobuf \"C\""},
      {[](schema::ModelProto& m) { m.clear_training_info(); },
       "protobuf does not find the graph \"train[0]:algorithm\""},
  };
  for (const Case& one : cases) {
    schema::ModelProto changed = ModelFromText(kText);
    one.change(changed);
    EXPECT_THAT(Differences(changed.SerializeAsString(), bytes),
                Contains(HasSubstr(one.what)));
  }
}

TEST(ReadWithProtobufTest, AFileThatProtobufRefusesIsADifference) {
  const std::string bytes = BytesFromText(kText);
  EXPECT_THAT(Differences(bytes.substr(0, bytes.size() - 1), bytes),
              Contains(HasSubstr("protobuf refuses the file")));
}

}  // namespace
}  // namespace onnx_tag::test
