#include "uses/edit/private_text.h"

#include <google/protobuf/descriptor.h>
#include <google/protobuf/message.h>
#include <gtest/gtest.h>

#include <array>
#include <set>

#include "onnx_tag/model.h"
#include "support/onnx_models.h"
#include "support/wire_builder.h"

namespace onnx_tag::edit {
namespace {

using test::ModelFromText;

std::string Scrubbed(const std::string& file, bool all = false) {
  const Model model = ReadModel(file);
  const PrivateTexts texts(model, {.all = all});
  const ScrubWriter writer(model, texts);
  test::StringSink joined(file);
  writer.Write(joined);
  EXPECT_EQ(writer.new_size(), joined.text().size());
  return joined.text();
}

TEST(PrivateTextTest, PathsOfFilesArePathsAndScopesAreNot) {
  for (const std::string_view text :
       {"/home/me/model.py", "see /Users/ann/x", "File \"/opt/venv/a.py\"",
        "path=/data/deep/net.onnx", "file:///tmp/x/y", "(/root/a)",
        "C:\\Users\\ann\\x", "D:/work/x", "\\\\server\\share\\x", "~/models/a",
        "~ann/models"}) {
    EXPECT_NE(FindPath(text), "") << text;
  }
  for (const std::string_view text :
       {"/encoder/layer.0/MatMul", "/BertModel/BertEncoder/BertLayer.0",
        "a/home/b", "https://x.org/home/b", "1/2", "x ~ y", "and/or", "/", "//",
        "models.TinyLM/stack.0: models.Block", "", "/home", "a:\\", "::/x"}) {
    EXPECT_EQ(FindPath(text), "") << text;
  }
  EXPECT_EQ(FindPath("at \"/home/me/a.py\", line 3"), "/home/me/a.py");
}

// Forms of one private text.
constexpr std::array<std::string_view, 18> kSecrets = {
    "/home/alice/net.py",
    "C:\\Users\\alice\\x",
    "~alice/models",
    "cc -I/home/alice/include",
    "file://build7/home/alice/run7",
    "/data/alice/run7",
    "../../home/alice/net",
    R"(..\..\home\alice\net.py)",
    R"(\Users\alice\net.py)",
    "{\"p\": \"\\/home\\/alice\\/run7\"}",
    "%2Fhome%2Falice%2Frun7",
    "\\\\\\\\server\\\\share\\\\x",
    "alice.b@example.org",
    "s3://bucket-7/alice",
    "https://wandb.ai/alice/run",
    "http://gpu7:8080/x",
    "node7.lab.internal",
    "File \"net.py\", line 3, in alice"};

using Way = std::vector<const google::protobuf::FieldDescriptor*>;

// A way to each text of the schema: each field with a message is gone through
// once, so that texts in messages that several fields have count for each.
void AddWays(const google::protobuf::Descriptor& message, const Way& way,
             std::set<const google::protobuf::FieldDescriptor*>& gone,
             std::vector<Way>& ways) {
  for (int i = 0; i < message.field_count(); ++i) {
    Way longer = way;
    longer.push_back(message.field(i));
    if (longer.back()->message_type() != nullptr) {
      if (!gone.insert(longer.back()).second) continue;
      AddWays(*longer.back()->message_type(), longer, gone, ways);
    } else if (longer.back()->cpp_type() ==
                   google::protobuf::FieldDescriptor::CPPTYPE_STRING &&
               longer.back()->name() != "raw_data") {
      ways.push_back(longer);
    }
  }
}

TEST(PrivateTextTest, EveryTextOfTheSchemaIsRead) {
  std::set<const google::protobuf::FieldDescriptor*> gone;
  std::vector<Way> ways;
  AddWays(*schema::ModelProto::descriptor(), {}, gone, ways);
  int planted = 0;
  for (const Way& way : ways) {
    for (const std::string_view secret : kSecrets) {
      schema::ModelProto model = ModelFromText("graph { name: 'g' }");
      google::protobuf::Message* at = &model;
      std::string place;
      for (const auto* const field : way) {
        place += "." + std::string(field->name());
        const auto& reflection = *at->GetReflection();
        if (field->message_type() != nullptr) {
          at = field->is_repeated() ? reflection.AddMessage(at, field)
                                    : reflection.MutableMessage(at, field);
        } else if (field->is_repeated()) {
          reflection.AddString(at, field, std::string(secret));
        } else {
          reflection.SetString(at, field, std::string(secret));
        }
      }
      const std::string file = model.SerializeAsString();
      const Model read = ReadModel(file);
      const PrivateTexts texts(read, {});
      EXPECT_GT(texts.removable() + texts.kept(), 0u) << place << secret;
      if (texts.kept() == 0) {
        EXPECT_EQ(Scrubbed(file).find(secret), std::string::npos) << place;
      }
      ++planted;
    }
  }
  EXPECT_GE(planted, 1000);
}

TEST(PrivateTextTest, FieldsThatTheSchemaLacksAreReadAndGo) {
  const std::string graph = test::BytesField(2, "main");
  for (const std::string& hidden :
       {test::BytesField(100, "/home/alice/x"),
        // The version of the IR as a text.
        test::BytesField(1, "by alice@example.org"),
        // A group.
        test::Wire("\xa3\x06", test::BytesField(1, "/home/alice/x"),
                   "\xa4\x06")}) {
    const std::string plain =
        test::Wire(test::VarintField(1, 8), test::BytesField(7, graph));
    EXPECT_EQ(Scrubbed(plain + hidden), plain);
  }
}

TEST(PrivateTextTest, PublicAddressesAndVersionsStay) {
  for (const std::string_view text :
       {"https://github.com/onnx/onnx", "https://onnx.ai", "TensorRT 10.0.0.6",
        "layers.0.internal", "http://localhost:6006", "a@b", "x @ y.z",
        "/data/embed/MatMul", "torch@2.1.0", "encoder.local.weight"}) {
    EXPECT_EQ(FindEmail(text), "") << text;
    EXPECT_EQ(FindAddress(text), "") << text;
    EXPECT_EQ(FindPath(text), "") << text;
  }
}

TEST(PrivateTextTest, FramesOfPythonAndOfTorchAreFound) {
  EXPECT_EQ(FindFrame("x\n  File \"m.py\", line 25, in forward\n    y"),
            "File \"m.py\", line 25, in forward");
  EXPECT_EQ(FindFrame("\nmodels.py(258): forward\n"),
            "models.py(258): forward");
  EXPECT_EQ(FindFrame("File \"m.py\" is open; a.py(x): "), "");
}

schema::ModelProto Example() {
  return ModelFromText(R"pb(
    ir_version: 8
    producer_name: "pytorch"
    producer_version: "2.13"
    doc_string: "a model of ann"
    metadata_props { key: "author" value: "ann@example.org" }
    metadata_props { key: "license" value: "MIT" }
    graph {
      name: "main"
      doc_string: "nothing to hide"
      node {
        input: "x"
        output: "y"
        name: "/a/Relu"
        op_type: "Relu"
        doc_string: "/home/ann/net.py(12): forward\n/home/ann/run.py(3): main"
        metadata_props {
          key: "pkg.torch.onnx.stack_trace"
          value: "File \"/home/ann/net.py\", line 12, in forward\n    x"
        }
        metadata_props {
          key: "pkg.torch.onnx.name_scopes"
          value: "['', 'a', 'relu']"
        }
      }
      node {
        input: "y"
        output: "z"
        op_type: "If"
        attribute {
          name: "then_branch"
          type: 5
          g {
            name: "then"
            node {
              output: "t"
              op_type: "Constant"
              attribute {
                name: "value"
                type: 4
                t {
                  dims: 1
                  data_type: 1
                  float_data: 1
                  doc_string: "from /tmp/ann/w.npy"
                }
              }
            }
            output { name: "t" }
          }
        }
        metadata_props { key: "made_on" value: "C:\\Users\\ann\\net.onnx" }
      }
      initializer { name: "w" dims: 1 data_type: 1 float_data: 2 }
      input { name: "x" doc_string: "ann says so" }
      output { name: "z" }
    }
    opset_import { version: 17 }
  )pb");
}

TEST(PrivateTextTest, UsersOfAllPathsAreFoundInAllLetters) {
  schema::ModelProto model = Example();
  model.set_doc_string("File \"/usr/lib/a.py\" /home/bob-7/x ~carol/y");
  model.set_producer_name("Bob-7");
  model.set_domain("CAROL");
  const std::string scrubbed = Scrubbed(model.SerializeAsString());
  EXPECT_EQ(scrubbed.find("Bob-7"), scrubbed.npos);
  EXPECT_EQ(scrubbed.find("CAROL"), scrubbed.npos);
}

// Protobuf is the oracle: clearing the same fields and serializing.
TEST(PrivateTextTest, OnlyPrivateFieldsGoAndTheRestStaysByteForByte) {
  schema::ModelProto model = Example();
  const std::string scrubbed = Scrubbed(model.SerializeAsString());
  auto& graph = *model.mutable_graph();
  model.clear_doc_string();
  model.mutable_metadata_props()->DeleteSubrange(0, 1);
  graph.mutable_node(0)->clear_doc_string();
  graph.mutable_node(0)->mutable_metadata_props()->DeleteSubrange(0, 1);
  graph.mutable_node(1)->clear_metadata_props();
  graph.mutable_node(1)
      ->mutable_attribute(0)
      ->mutable_g()
      ->mutable_node(0)
      ->mutable_attribute(0)
      ->mutable_t()
      ->clear_doc_string();
  graph.mutable_input(0)->clear_doc_string();
  EXPECT_EQ(scrubbed, model.SerializeAsString());
  EXPECT_EQ(scrubbed.find("ann"), scrubbed.npos);
  EXPECT_EQ(Scrubbed(scrubbed), scrubbed);

  model.clear_producer_name();
  model.clear_producer_version();
  graph.clear_doc_string();
  EXPECT_EQ(Scrubbed(Example().SerializeAsString(), true),
            model.SerializeAsString());
}

TEST(PrivateTextTest, WhatTheModelMeansIsListedAndStays) {
  schema::ModelProto model = Example();
  auto& graph = *model.mutable_graph();
  graph.mutable_node(0)->set_name("/home/ann/net/Relu");
  auto& weights = *graph.mutable_initializer(0);
  weights.set_data_location(1);
  auto& entry = *weights.add_external_data();
  entry.set_key("location");
  entry.set_value("w.bin");
  const std::string file = model.SerializeAsString();
  const Model read = ReadModel(file);
  const PrivateTexts texts(read, {});
  EXPECT_EQ(texts.kept(), 1u);
  bool weights_listed = false;
  for (const PrivateGroup& group : texts.groups()) {
    if (group.kind != PrivateKind::kExternalData) continue;
    weights_listed = !group.removable && group.example == "w.bin";
  }
  EXPECT_TRUE(weights_listed);
  EXPECT_NE(Scrubbed(file).find("/home/ann/net/Relu"), std::string::npos);
}

TEST(PrivateTextTest, AMegabyteOfSlashesAndTracebacksIsReadOnce) {
  schema::ModelProto model = Example();
  std::string text;
  for (int i = 0; i < 300'000; ++i) text += "/+/~\\:File \".py(";
  auto& node = *model.mutable_graph()->mutable_node(0);
  node.mutable_metadata_props(0)->set_value(text + "\x1b[2J\xff<script>");
  node.set_doc_string(text);
  const std::string scrubbed = Scrubbed(model.SerializeAsString());
  EXPECT_EQ(scrubbed.find("<script>"), scrubbed.npos);
}

}  // namespace
}  // namespace onnx_tag::edit
