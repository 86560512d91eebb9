#include <gtest/gtest.h>

#include <map>
#include <string>

#include "file/model/onnx_fields.h"
#include "onnx_tag_schema.pb.h"

namespace onnx_tag {
namespace {

using google::protobuf::Descriptor;
using google::protobuf::FieldDescriptor;

struct Known {
  std::string kind;
  int number;
  bool operator==(const Known&) const = default;
};

// "NodeProto.op_type" and what protobuf says of it.
void AddFields(const Descriptor& message, const std::string& name,
               std::map<std::string, Known>& fields) {
  for (int i = 0; i < message.field_count(); ++i) {
    const FieldDescriptor& field = *message.field(i);
    std::string kind = "BytesField";
    switch (field.cpp_type()) {
      case FieldDescriptor::CPPTYPE_INT32:
      case FieldDescriptor::CPPTYPE_INT64:
      case FieldDescriptor::CPPTYPE_UINT64:
        kind = "VarintField";
        break;
      case FieldDescriptor::CPPTYPE_FLOAT:
      case FieldDescriptor::CPPTYPE_DOUBLE:
        kind = "FixedField";
        break;
      default:
        break;
    }
    fields[name + "." + field.name()] = {kind, field.number()};
  }
  for (int i = 0; i < message.nested_type_count(); ++i) {
    const Descriptor& nested = *message.nested_type(i);
    AddFields(nested, name + "." + nested.name(), fields);
  }
}

TEST(OnnxFieldsTest, NumbersAndKindsAreThoseOfTheDescriptors) {
  std::map<std::string, Known> theirs;
  const auto& file = *schema::ModelProto::descriptor()->file();
  for (int i = 0; i < file.message_type_count(); ++i) {
    AddFields(*file.message_type(i), file.message_type(i)->name(), theirs);
  }
  std::map<std::string, Known> ours;
  for (const auto& field : onnx::kAllFields) {
    ours[std::string(field.message) + "." + field.field] = {
        field.kind, static_cast<int>(field.number)};
  }
  ASSERT_GT(ours.size(), 90u);
  for (const auto& [name, known] : theirs) {
    ASSERT_TRUE(ours.contains(name)) << name;
    EXPECT_EQ(ours[name], known) << name;
  }
  EXPECT_EQ(ours.size(), theirs.size());
}

TEST(OnnxFieldsTest, EachFieldHoldsWhatTheDescriptorSays) {
  const auto& file = *schema::ModelProto::descriptor()->file();
  for (const onnx::FieldInfo& field : onnx::kAllFields) {
    const FieldDescriptor* const theirs =
        file.FindMessageTypeByName(
                std::string(field.message)
                    .substr(0, std::string(field.message).find('.')))
            ->FindFieldByName(field.field);
    if (std::string(field.message).find('.') != std::string::npos) continue;
    SCOPED_TRACE(std::string(field.message) + "." + field.field);
    ASSERT_NE(theirs, nullptr);
    EXPECT_EQ(field.holds == onnx::Holds::kMessage,
              theirs->message_type() != nullptr);
    EXPECT_EQ(field.holds == onnx::Holds::kText,
              theirs->cpp_type() == FieldDescriptor::CPPTYPE_STRING);
    EXPECT_EQ(field.holds == onnx::Holds::kNumber,
              theirs->cpp_type() != FieldDescriptor::CPPTYPE_STRING &&
                  theirs->message_type() == nullptr && !theirs->is_repeated());
    EXPECT_EQ(field.child != onnx::MessageType::kNone,
              theirs->message_type() != nullptr);
    for (const onnx::FieldInfo& inner : onnx::kAllFields) {
      if (field.child == onnx::MessageType::kNone || inner.in != field.child) {
        continue;
      }
      EXPECT_TRUE(theirs->message_type()->full_name().ends_with(inner.message));
    }
  }
}

TEST(OnnxFieldsTest, ConstantsAreThoseThatProtobufGenerates) {
  EXPECT_EQ(onnx::NodeProto::kOpType.number,
            schema::NodeProto::kOpTypeFieldNumber);
  EXPECT_EQ(onnx::GraphProto::kSparseInitializer.number,
            schema::GraphProto::kSparseInitializerFieldNumber);
  EXPECT_EQ(onnx::TypeProtoTensor::kElemType.number,
            schema::TypeProto::Tensor::kElemTypeFieldNumber);
  EXPECT_EQ(onnx::TensorShapeProtoDimension::kDimValue.number,
            schema::TensorShapeProto::Dimension::kDimValueFieldNumber);
}

}  // namespace
}  // namespace onnx_tag
