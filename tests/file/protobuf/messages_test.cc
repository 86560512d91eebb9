#include "file/protobuf/messages.h"

#include <gtest/gtest.h>

#include "onnx_tag_schema.pb.h"

namespace onnx_tag::protobuf {
namespace {

schema::ValueInfoProto Parsed(const std::string& bytes) {
  schema::ValueInfoProto info;
  EXPECT_TRUE(info.ParseFromString(bytes));
  return info;
}

schema::ValueInfoProto Known(int element, bool shape) {
  schema::ValueInfoProto info;
  info.set_name("old");
  auto* const tensor = info.mutable_type()->mutable_tensor_type();
  if (element != 0) tensor->set_elem_type(element);
  if (shape) tensor->mutable_shape()->add_dim()->set_dim_param("batch");
  return info;
}

TensorType Type(int element, std::vector<TensorDim> dims) {
  return {.element = element, .dims = std::move(dims)};
}

TEST(MessagesTest, ATypeOfTheFileIsCopiedIfNothingWasInferred) {
  const std::string known = Known(10, true).SerializeAsString();
  const schema::ValueInfoProto info = Parsed(BuildValueInfo("new", known, {}));
  EXPECT_EQ(info.name(), "new");
  EXPECT_EQ(info.type().tensor_type().elem_type(), 10);
  ASSERT_EQ(info.type().tensor_type().shape().dim_size(), 1);
  EXPECT_EQ(info.type().tensor_type().shape().dim(0).dim_param(), "batch");
  EXPECT_TRUE(IsCompleteInfo(known, {}));
}

// A file may record the sizes of the exporter's example.
TEST(MessagesTest, TheInferredTypeReplacesThatOfTheFile) {
  const std::string known = Known(10, true).SerializeAsString();
  const schema::ValueInfoProto info = Parsed(BuildValueInfo(
      "new", known, Type(1, {{.name = "rows"}, {.number = 3}, {}})));
  EXPECT_EQ(info.type().tensor_type().elem_type(), 1);
  const auto& shape = info.type().tensor_type().shape();
  ASSERT_EQ(shape.dim_size(), 3);
  EXPECT_EQ(shape.dim(0).dim_param(), "rows");
  EXPECT_EQ(shape.dim(1).dim_value(), 3);
  EXPECT_FALSE(shape.dim(2).has_dim_value());
  EXPECT_FALSE(shape.dim(2).has_dim_param());
}

TEST(MessagesTest, ASequenceHasTheTypeOfItsElements) {
  TensorType type = Type(7, {{}});
  type.sequence = true;
  const schema::ValueInfoProto info = Parsed(BuildValueInfo("s", "", type));
  const auto& element = info.type().sequence_type().elem_type().tensor_type();
  EXPECT_EQ(element.elem_type(), 7);
  EXPECT_EQ(element.shape().dim_size(), 1);
}

TEST(MessagesTest, AnIncompleteTypeIsReplacedByTheInferredOne) {
  const std::string known = Known(1, false).SerializeAsString();
  EXPECT_FALSE(IsCompleteInfo(known, Type(0, {{}, {}})));
  EXPECT_TRUE(IsCompleteInfo(known, Type(7, {{}, {}})));
  const schema::ValueInfoProto info =
      Parsed(BuildValueInfo("new", known, Type(7, {{}, {}})));
  EXPECT_EQ(info.type().tensor_type().elem_type(), 7);
  EXPECT_EQ(info.type().tensor_type().shape().dim_size(), 2);
}

TEST(MessagesTest, AScalarHasAShapeWithoutDimensions) {
  const schema::ValueInfoProto info =
      Parsed(BuildValueInfo("s", "", Type(1, {})));
  EXPECT_TRUE(info.type().tensor_type().has_shape());
  EXPECT_EQ(info.type().tensor_type().shape().dim_size(), 0);
  EXPECT_FALSE(Parsed(BuildValueInfo("s", "", {})).has_type());
}

// A map is a type that our schema does not have.
TEST(MessagesTest, ATypeThatIsNotATensorIsKept) {
  schema::ValueInfoProto known;
  const std::string map = "\x2a\x02\x08\x01";  // field 5, with key_type
  ASSERT_TRUE(known.mutable_type()->ParseFromString(map));
  const std::string bytes = known.SerializeAsString();
  EXPECT_TRUE(IsCompleteInfo(bytes, {}));
  EXPECT_EQ(Parsed(BuildValueInfo("m", bytes, Type(1, {{}})))
                .type()
                .SerializeAsString(),
            map);
}

TEST(MessagesTest, NamesNeedNotBeUtf8) {
  schema::NodeProto node;
  ASSERT_TRUE(node.ParseFromString(BuildIdentity("n\xff", "a\xfe", "b")));
  EXPECT_EQ(node.name(), "n\xff");
  EXPECT_EQ(node.input(0), "a\xfe");
  EXPECT_EQ(node.output(0), "b");
  EXPECT_EQ(node.op_type(), "Identity");
  schema::StringStringEntryProto entry;
  ASSERT_TRUE(entry.ParseFromString(BuildMetadataEntry("key", "\xfd")));
  EXPECT_EQ(entry.key(), "key");
  EXPECT_EQ(entry.value(), "\xfd");
}

}  // namespace
}  // namespace onnx_tag::protobuf
