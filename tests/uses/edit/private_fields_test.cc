#include "uses/edit/private_fields.h"

#include <gmock/gmock.h>
#include <google/protobuf/descriptor.h>
#include <google/protobuf/message.h>
#include <gtest/gtest.h>

#include <set>

#include "onnx_tag/model.h"
#include "support/onnx_models.h"
#include "support/wire_builder.h"

namespace onnx_tag::edit {
namespace {

using test::ModelFromText;
using ::testing::ElementsAre;
using ::testing::IsEmpty;

std::string Public(const std::string& file) {
  const Model model = ReadModel(file);
  const PrivateFields fields(model);
  const PrivateWriter writer(model, fields);
  test::StringSink joined(file);
  writer.Write(joined);
  EXPECT_EQ(writer.new_size(), joined.text().size());
  return joined.text();
}

std::vector<std::string> Names(const std::vector<TextField>& fields) {
  std::vector<std::string> names;
  for (const TextField& field : fields) {
    names.push_back(field.message + " " + field.field);
  }
  return names;
}

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

TEST(PrivateFieldsTest, EveryTextOfTheSchemaGoesOrIsListed) {
  std::set<const google::protobuf::FieldDescriptor*> gone;
  std::vector<Way> ways;
  AddWays(*schema::ModelProto::descriptor(), {}, gone, ways);
  EXPECT_GE(ways.size(), 50u);
  for (const Way& way : ways) {
    schema::ModelProto model = ModelFromText("graph { name: 'g' }");
    const std::string secret = "alice's secret";
    google::protobuf::Message* at = &model;
    std::string place;
    for (const auto* const field : way) {
      place += "." + std::string(field->name());
      const auto& reflection = *at->GetReflection();
      if (field->message_type() != nullptr) {
        at = field->is_repeated() ? reflection.AddMessage(at, field)
                                  : reflection.MutableMessage(at, field);
      } else if (field->is_repeated()) {
        reflection.AddString(at, field, secret);
      } else {
        reflection.SetString(at, field, secret);
      }
    }
    const std::string file = model.SerializeAsString();
    const Model read = ReadModel(file);
    const PrivateFields fields(read);
    const bool stays = Public(file).find(secret) != std::string::npos;
    std::uint64_t kept = 0;
    for (const TextField& field : fields.kept()) kept += field.count;
    // The name of the graph is there, or it is the secret.
    const bool renamed =
        !fields.kept().empty() && fields.kept().front().example == secret;
    EXPECT_EQ(kept > 1 || renamed, stays) << place;
    EXPECT_EQ(fields.removed().empty(), stays) << place;
  }
}

constexpr const char* kText = R"(
  producer_name: 'p' producer_version: '1' domain: 'org.example'
  doc_string: 'd'
  metadata_props { key: 'pkg.onnx_tag.version' value: '1' }
  metadata_props { key: 'made_by' value: 'alice' }
  graph {
    name: 'g' doc_string: ''
    node {
      op_type: 'Relu' name: 'n' input: 'x' output: 'y' doc_string: 'traced'
      metadata_props { key: 'pkg.onnx_tag.module' value: 'a.b' }
      metadata_props { key: 'pkg.onnx_tag.source_line' value: '/home/a.py:1' }
      metadata_props { key: 'pkg.onnx_tag.wrote'
                       value: 'namespace,pkg.torch.onnx.stack_trace' }
      metadata_props { key: 'namespace' value: 'a/b' }
      metadata_props { key: 'pkg.torch.onnx.stack_trace' value: 'File "x"' }
    }
    node { op_type: 'Relu' name: 'm' input: 'y' output: 'z'
           metadata_props { key: 'namespace' value: 'alice' } }
    input { name: 'x' type { tensor_type { elem_type: 1
      shape { dim { dim_param: 'batch' } } } } }
  }
)";

TEST(PrivateFieldsTest, WhatGoesDependsOnTheFieldAlone) {
  const std::string file = ModelFromText(kText).SerializeAsString();
  const Model model = ReadModel(file);
  const PrivateFields fields(model);
  EXPECT_THAT(
      Names(fields.removed()),
      ElementsAre("graph doc_string", "model doc_string", "model domain",
                  "model made_by", "model producer_name",
                  "model producer_version", "node doc_string", "node namespace",
                  "node pkg.onnx_tag.source_line",
                  "node pkg.torch.onnx.stack_trace"));
  EXPECT_THAT(
      Names(fields.kept()),
      ElementsAre("graph name", "model pkg.onnx_tag.version", "node input",
                  "node name", "node namespace", "node op_type", "node output",
                  "node pkg.onnx_tag.module", "node pkg.onnx_tag.wrote",
                  "type dim_param", "value name"));
}

TEST(PrivateFieldsTest, AllOtherBytesStayAndNothingGoesTwice) {
  const std::string once = Public(ModelFromText(kText).SerializeAsString());
  schema::ModelProto expected = ModelFromText(kText);
  expected.clear_producer_name();
  expected.clear_producer_version();
  expected.clear_domain();
  expected.clear_doc_string();
  expected.mutable_metadata_props()->DeleteSubrange(1, 1);
  expected.mutable_graph()->clear_doc_string();
  schema::NodeProto& node = *expected.mutable_graph()->mutable_node(0);
  node.clear_doc_string();
  node.mutable_metadata_props()->DeleteSubrange(4, 1);
  node.mutable_metadata_props()->DeleteSubrange(1, 1);
  expected.mutable_graph()->mutable_node(1)->clear_metadata_props();
  EXPECT_EQ(once, expected.SerializeAsString());
  const Model model = ReadModel(once);
  EXPECT_THAT(PrivateFields(model).removed(), IsEmpty());
}

TEST(PrivateFieldsTest, FieldsThatTheSchemaLacksStayAndAreListed) {
  const std::string graph = test::BytesField(2, "main");
  for (const std::string& hidden :
       {test::BytesField(100, "/home/alice/x"),
        // The version of the IR as a text.
        test::BytesField(1, "by alice@example.org"),
        // A group.
        test::Wire("\xa3\x06", test::BytesField(1, "/home/alice/x"),
                   "\xa4\x06")}) {
    const std::string file =
        test::Wire(test::VarintField(1, 8), test::BytesField(7, graph)) +
        hidden;
    EXPECT_EQ(Public(file), file);
    const Model model = ReadModel(file);
    EXPECT_EQ(PrivateFields(model).kept().size(), 2u);
  }
}

}  // namespace
}  // namespace onnx_tag::edit
