#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "onnx_tag/error.h"
#include "onnx_tag/model.h"
#include "support/onnx_models.h"
#include "support/wire_builder.h"

namespace onnx_tag::test {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

constexpr NodeId N(std::uint32_t index) { return NodeId{index}; }

std::vector<std::string> Addresses(const Model& model) {
  std::vector<std::string> addresses;
  for (const NodeId node : model.Nodes()) {
    addresses.push_back(model.GraphPath(model[node].graph) + "#" +
                        std::to_string(model[node].index));
  }
  return addresses;
}

std::string Refusal(Bytes bytes) {
  try {
    ReadModel(bytes);
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::kInput);
    return error.what();
  }
  return "read";
}

TEST(ModelReaderTest, ReadsNamesOperatorsAndHeader) {
  const std::string bytes = BytesFromText(R"pb(
    ir_version: 8
    producer_name: "pytorch"
    producer_version: "2.1"
    opset_import { version: 17 }
    opset_import { domain: "com.microsoft" version: 1 }
    metadata_props { key: "k" value: "v" }
    graph {
      name: "g"
      node { op_type: "Relu" name: "r" domain: "ai.onnx" }
      node { op_type: "Gelu" domain: "com.microsoft" }
    })pb");
  const Model model = ReadModel(bytes);
  EXPECT_EQ(model.ir_version(), 8);
  EXPECT_EQ(model.producer_name(), "pytorch");
  EXPECT_EQ(model.producer_version(), "2.1");
  ASSERT_EQ(model.opset_imports().size(), 2u);
  EXPECT_EQ(model.opset_imports()[1].domain, "com.microsoft");
  EXPECT_EQ(model.metadata()[0].value, "v");
  ASSERT_EQ(model.node_count(), 2u);
  EXPECT_EQ(model[N(0)].name, "r");
  EXPECT_EQ(model.OpType(N(0)), "Relu");
  EXPECT_EQ(model.Domain(N(0)), "") << "ai.onnx is the domain without a name";
  EXPECT_EQ(model[N(1)].name, "");
  EXPECT_EQ(model.Domain(N(1)), "com.microsoft");
}

TEST(ModelReaderTest, FindsGraphsInAnyAttributeOfAnyOperator) {
  const std::string bytes = BytesFromText(R"pb(
    graph {
      node {
        op_type: "Whatever"
        attribute { name: "i" i: 3 }
        attribute {
          name: "one"
          g { node { op_type: "A" } }
        }
        attribute {
          name: "many"
          graphs { node { op_type: "B" } }
          graphs {
            node {
              op_type: "If"
              attribute {
                name: "else_branch"
                g { node { op_type: "C" } }
              }
            }
          }
        }
      }
      node { op_type: "Last" }
    })pb");
  const Model model = ReadModel(bytes);
  EXPECT_THAT(Addresses(model),
              ElementsAre("#0", "0:one#0", "0:many[0]#0", "0:many[1]#0",
                          "0:many[1]/0:else_branch#0", "#1"));
  EXPECT_EQ(model.Subgraphs(N(0)).size(), 3u);
  EXPECT_EQ(model.Subgraphs(N(3)).size(), 1u);
  EXPECT_THAT(model.Subgraphs(N(5)), IsEmpty());
}

TEST(ModelReaderTest, FunctionsAreToldApartByOverload) {
  const std::string bytes = BytesFromText(R"pb(
    graph { node { op_type: "F" domain: "d" } }
    functions {
      name: "F"
      domain: "d"
      node { op_type: "A" }
    }
    functions {
      name: "F"
      domain: "d"
      overload: "x"
      node { op_type: "B" }
    }
  )pb");
  const Model model = ReadModel(bytes);
  EXPECT_THAT(Addresses(model), ElementsAre("#0", "fn:d::F#0", "fn:d::F:x#0"));
  EXPECT_EQ(model.functions()[1].overload, "x");
}

TEST(ModelReaderTest, TrainingGraphsSeeTheMainGraph) {
  const std::string bytes = BytesFromText(R"pb(
    graph {
      initializer { name: "w" dims: 2 }
      node { op_type: "Mul" input: "w" output: "y" }
    }
    training_info {
      initialization { node { op_type: "Rand" output: "w0" } }
      algorithm { node { op_type: "Sub" input: "w" output: "w1" } }
    }
    training_info { algorithm { node { op_type: "Sub" input: "w" } } }
  )pb");
  const Model model = ReadModel(bytes);
  EXPECT_THAT(Addresses(model),
              ElementsAre("#0", "train[0]:initialization#0",
                          "train[0]:algorithm#0", "train[1]:algorithm#0"));
  const ValueId w = model.Inputs(N(0))[0];
  EXPECT_EQ(model.Inputs(N(2))[0], w);
  EXPECT_THAT(model.Consumers(w), ElementsAre(N(0), N(2), N(3)));
  EXPECT_NE(model.InitializerOf(w), nullptr);
}

TEST(ModelReaderTest, AGraphGivenTwiceIsOneGraph) {
  schema::ModelProto first = ModelFromText("graph { node { op_type: 'A' } }");
  schema::ModelProto second = ModelFromText("graph { node { op_type: 'B' } }");
  const std::string bytes =
      first.SerializeAsString() + second.SerializeAsString();
  const Model model = ReadModel(bytes);
  EXPECT_THAT(Addresses(model), ElementsAre("#0", "#1"));
}

TEST(ModelReaderTest, AnAttributesGraphGivenTwiceIsOneGraph) {
  schema::AttributeProto attribute;
  attribute.set_name("body");
  AddNode(*attribute.mutable_g(), "A", "");
  std::string twice = attribute.SerializeAsString();
  attribute.clear_name();
  twice += attribute.SerializeAsString();
  const std::string bytes = BytesField(7, BytesField(1, BytesField(5, twice)));
  EXPECT_THAT(Addresses(ReadModel(bytes)),
              ElementsAre("#0", "0:body#0", "0:body#1"));
}

TEST(ModelReaderTest, AnInnerValueHidesAnOuterOneOfItsName) {
  const std::string bytes = BytesFromText(R"pb(
    graph {
      node { op_type: "Outer" output: "x" }
      node {
        op_type: "If"
        attribute {
          name: "then_branch"
          g {
            node { op_type: "Inner" output: "x" }
            node { op_type: "UseInner" input: "x" }
          }
        }
        attribute {
          name: "else_branch"
          g { node { op_type: "UseOuter" input: "x" } }
        }
      }
      node { op_type: "After" input: "x" }
    })pb");
  const Model model = ReadModel(bytes);
  const auto producer = [&](std::uint32_t node) {
    return model.OpType(model.Producer(model.Inputs(N(node))[0]));
  };
  EXPECT_EQ(model.OpType(N(3)), "UseInner");
  EXPECT_EQ(producer(3), "Inner");
  EXPECT_EQ(model.OpType(N(4)), "UseOuter");
  EXPECT_EQ(producer(4), "Outer");
  EXPECT_EQ(producer(5), "Outer");
}

TEST(ModelReaderTest, AFunctionSeesOnlyItsOwnValues) {
  const std::string bytes = BytesFromText(R"pb(
    graph { node { op_type: "Outer" output: "x" } }
    functions {
      name: "F"
      node { op_type: "Use" input: "x" }
    }
  )pb");
  const Model model = ReadModel(bytes);
  EXPECT_EQ(model.Producer(model.Inputs(N(1))[0]), kNo<NodeId>);
}

TEST(ModelReaderTest, InitializersMayBeInputsToo) {
  const std::string bytes = BytesFromText(R"pb(
    graph {
      input {
        name: "w"
        type { tensor_type { elem_type: 1 } }
      }
      initializer { name: "w" data_type: 1 dims: 3 dims: 4 }
      node { op_type: "Use" input: "w" }
    })pb");
  const Model model = ReadModel(bytes);
  const ValueId w = model.Inputs(N(0))[0];
  EXPECT_TRUE(model[w].is_input);
  ASSERT_NE(model.InitializerOf(w), nullptr);
  EXPECT_THAT(model.Dims(*model.InitializerOf(w)), ElementsAre(3, 4));
  EXPECT_EQ(model.value_count(), 1u);
}

TEST(ModelReaderTest, OnesAndZerosAreUniform) {
  const auto is_uniform = [](std::initializer_list<float> numbers) {
    schema::ModelProto proto;
    schema::TensorProto& tensor = *proto.mutable_graph()->add_initializer();
    tensor.set_name("w");
    tensor.set_raw_data(numbers.begin(), numbers.size() * sizeof(float));
    const std::string bytes = proto.SerializeAsString();
    return ReadModel(bytes).initializers()[0].uniform;
  };
  EXPECT_TRUE(is_uniform({1, 1, 1, 1}));
  EXPECT_TRUE(is_uniform({0, 0, 0, 0, 0}));
  EXPECT_FALSE(is_uniform({1, 1, 1, 2}));
  EXPECT_FALSE(is_uniform({1, 1}));  // too few to tell
}

TEST(ModelReaderTest, SparseInitializersHaveTheirDenseShape) {
  const std::string bytes = BytesFromText(R"pb(
    graph {
      sparse_initializer {
        values { name: "s" data_type: 1 dims: 2 }
        indices { name: "i" dims: 2 }
        dims: 5
        dims: 6
      }
      node { op_type: "Use" input: "s" }
    })pb");
  const Model model = ReadModel(bytes);
  const Initializer* const tensor = model.InitializerOf(model.Inputs(N(0))[0]);
  ASSERT_NE(tensor, nullptr);
  EXPECT_TRUE(tensor->sparse);
  EXPECT_THAT(model.Dims(*tensor), ElementsAre(5, 6));
}

TEST(ModelReaderTest, ShapesKeepUnknownDimensions) {
  const std::string bytes = BytesFromText(R"pb(
    graph {
      value_info {
        name: "v"
        type {
          tensor_type {
            elem_type: 1
            shape {
              dim { dim_value: 2 }
              dim { dim_param: "n" }
              dim {}
            }
          }
        }
        metadata_props { key: "a" value: "b" }
      }
      node { op_type: "Make" output: "v" }
    })pb");
  const Model model = ReadModel(bytes);
  const ValueInfo* const info = model.InfoOf(model.Outputs(N(0))[0]);
  ASSERT_NE(info, nullptr);
  EXPECT_TRUE(info->has_shape);
  EXPECT_THAT(model.Dims(*info), ElementsAre(2, -1, -1));
  EXPECT_EQ(model.Metadata(*info)[0].key, "a");
}

TEST(ModelReaderTest, EdgesMayDangleAndTurnInCircles) {
  const std::string bytes = BytesFromText(R"pb(
    graph {
      output { name: "nobody" }
      node { op_type: "Self" input: "a" output: "a" }
      node { op_type: "Left" input: "r" output: "l" }
      node { op_type: "Right" input: "l" output: "r" }
      node { op_type: "Lost" input: "missing" input: "" output: "" }
      node { op_type: "Again" output: "l" }
    })pb");
  const Model model = ReadModel(bytes);
  EXPECT_EQ(model.Producer(model.Inputs(N(0))[0]), N(0));
  EXPECT_EQ(model.Producer(model.Inputs(N(1))[0]), N(2));
  EXPECT_EQ(model.Producer(model.Inputs(N(2))[0]), N(1))
      << "of several producers, the first";
  EXPECT_EQ(model.Producer(model.Inputs(N(3))[0]), kNo<NodeId>);
  EXPECT_EQ(model.Inputs(N(3))[1], kNo<ValueId>) << "left out";
  EXPECT_EQ(model.Outputs(N(3))[0], kNo<ValueId>) << "left out";
  EXPECT_EQ(model[GraphId{0}].outputs.size(), 1u);
}

TEST(ModelReaderTest, ExternalFilesAreListedOnce) {
  const std::string bytes = BytesFromText(R"pb(
    graph {
      initializer {
        name: "a"
        data_location: 1
        external_data { key: "location" value: "w.bin" }
      }
      initializer {
        name: "b"
        data_location: 1
        external_data { key: "location" value: "w.bin" }
        external_data { key: "offset" value: "4096" }
      }
      initializer {
        name: "inside"
        external_data { key: "location" value: "unused.bin" }
      }
    })pb");
  const Model model = ReadModel(bytes);
  EXPECT_THAT(model.external_files(), ElementsAre("w.bin"));
}

TEST(ModelReaderTest, KnownNumbersOfAnotherWireTypeAreUnknownFields) {
  const std::string node = Wire(VarintField(3, 7), BytesField(4, "Relu"));
  const std::string bytes =
      Wire(BytesField(1, "not a version"), BytesField(7, BytesField(1, node)));
  const Model model = ReadModel(bytes);
  EXPECT_EQ(model.ir_version(), 0);
  EXPECT_EQ(model[N(0)].name, "");
  EXPECT_EQ(model.OpType(N(0)), "Relu");
}

// Each level of If is three messages: node, attribute, graph.
std::string NestedIfs(int levels) {
  std::string graph;
  for (int i = 0; i < levels; ++i) {
    graph = BytesField(
        1, BytesField(5, Wire(BytesField(1, "b"), BytesField(6, graph))));
  }
  return BytesField(7, graph);
}

TEST(ModelReaderTest, NestsAsDeepAsProtobufAndNoDeeper) {
  for (const int levels : {1, 32, 33, 34, 1000}) {
    SCOPED_TRACE(levels);
    const std::string bytes = NestedIfs(levels);
    schema::ModelProto oracle;
    const bool reads = oracle.ParsePartialFromString(bytes);
    if (reads) {
      EXPECT_EQ(ReadModel(bytes).node_count(),
                static_cast<std::size_t>(levels));
    } else {
      EXPECT_THAT(Refusal(bytes), HasSubstr("nested deeper than 100 levels"));
    }
  }
}

TEST(ModelReaderTest, SaysWhereAFileIsBroken) {
  const std::string good = BytesFromText(R"pb(
    graph {
      node { op_type: "A" }
      node { op_type: "B" }
    })pb");
  EXPECT_EQ(Refusal(good + "\x0a\x7f"),
            "not an ONNX model: a field needs 127 bytes, but its message has 0 "
            "left (at byte 12, near node 1)");
}

TEST(ModelReaderTest, SaysWhatElseAFileIs) {
  EXPECT_THAT(Refusal(""), HasSubstr("the file is empty"));
  EXPECT_THAT(Refusal("<!DOCTYPE html><html>"), HasSubstr("HTML"));
  EXPECT_THAT(Refusal("version https://git-lfs.github.com/spec/v1\n"),
              HasSubstr("Git LFS pointer"));
  EXPECT_THAT(Refusal("PK\x03\x04 and so on"), HasSubstr("zip"));
  EXPECT_THAT(Refusal("{\"a\": 1}"), HasSubstr("JSON"));
  EXPECT_THAT(Refusal(VarintField(1, 8)), HasSubstr("no graph"));
  std::string zip = "PK\x03\x04" + std::string(26, '\0') + "archive/data.pkl";
  zip[26] = 16;
  EXPECT_THAT(Refusal(zip), HasSubstr("a PyTorch checkpoint"));
  EXPECT_THAT(Refusal(std::string("\x02\0\0\0\0\0\0\0{\"a\":1}", 15)),
              HasSubstr("a safetensors file"));
}

TEST(ModelReaderTest, SaysThatAFileIsCutOff) {
  schema::ModelProto proto = ModelFromText("ir_version: 8 graph { name: 'g' }");
  proto.mutable_graph()->add_initializer()->set_raw_data(
      std::string(1000, 'w'));
  const std::string bytes = proto.SerializeAsString();
  EXPECT_EQ(
      Refusal(bytes.substr(0, bytes.size() - 900)),
      "the file is cut off: at least 900 bytes are missing\n  download or "
      "export it again");
  EXPECT_THAT(Refusal(bytes.substr(0, 3)), HasSubstr("is cut off"));
}

TEST(ModelReaderTest, TellsOfLargeFieldsItLeavesBehind) {
  schema::ModelProto proto = ModelFromText("graph { node { op_type: 'A' } }");
  for (int i = 0; i < 3; ++i) {
    proto.mutable_graph()->add_initializer()->set_raw_data(
        std::string(300'000, 'w'));
  }
  const std::string bytes = proto.SerializeAsString();
  std::uint64_t released = 0;
  ReadModel(bytes, [&](std::uint64_t begin, std::uint64_t end) {
    // Without gaps, and a little again: a fault brings in pages before it.
    EXPECT_LE(begin, released);
    EXPECT_GT(end, released);
    released = end;
  });
  EXPECT_EQ(released, bytes.size());
}

TEST(ModelReaderTest, TellsWhatItReadsNextWhereItSkipsNothing) {
  schema::ModelProto proto;
  for (int i = 0; i < 2000; ++i) {
    proto.mutable_graph()->add_node()->set_name(std::string(1000, 'n'));
  }
  for (int i = 0; i < 20; ++i) {
    proto.mutable_graph()->add_initializer()->set_raw_data(
        std::string(300'000, 'w'));
  }
  const std::string bytes = proto.SerializeAsString();
  const std::uint64_t weights = bytes.find('w');
  std::uint64_t fetched = 0;
  std::uint64_t pieces = 0;
  ReadModel(bytes, {}, [&](std::uint64_t begin, std::uint64_t end) {
    EXPECT_LE(begin, fetched == 0 ? 2000 : fetched);  // without gaps
    EXPECT_LT(begin, weights);
    EXPECT_GT(end, fetched);
    EXPECT_LE(end, bytes.size());
    fetched = end;
    ++pieces;
  });
  EXPECT_GE(fetched, weights);
  EXPECT_GT(pieces, 2u);
  EXPECT_LT(pieces, 10u);
}

TEST(ModelReaderTest, NamesOfReleasedTensorsAreNotReadFromTheFileAgain) {
  schema::ModelProto proto;
  schema::TensorProto* tensor = proto.mutable_graph()->add_initializer();
  tensor->set_name("encoder.weight");
  tensor->set_raw_data(std::string(300'000, 'w'));
  std::string bytes = proto.SerializeAsString();
  const Model model = ReadModel(bytes);
  const Bytes name = model.ValueName(model.initializers()[0].value);
  EXPECT_EQ(name, "encoder.weight");
  EXPECT_TRUE(name.data() < bytes.data() ||
              name.data() >= bytes.data() + bytes.size());
}

}  // namespace
}  // namespace onnx_tag::test
