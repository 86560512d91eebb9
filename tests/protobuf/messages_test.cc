#include "protobuf/messages.h"

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

TEST(MessagesTest, ACompleteTypeOfTheFileIsCopied) {
  const std::string known = Known(10, true).SerializeAsString();
  const schema::ValueInfoProto info =
      Parsed(BuildValueInfo("new", known, {.element = 1, .rank = 3}));
  EXPECT_EQ(info.name(), "new");
  EXPECT_EQ(info.type().tensor_type().elem_type(), 10);
  ASSERT_EQ(info.type().tensor_type().shape().dim_size(), 1);
  EXPECT_EQ(info.type().tensor_type().shape().dim(0).dim_param(), "batch");
  EXPECT_TRUE(IsCompleteInfo(known, {}));
}

TEST(MessagesTest, AnIncompleteTypeIsReplacedByTheInferredOne) {
  const std::string known = Known(1, false).SerializeAsString();
  EXPECT_FALSE(IsCompleteInfo(known, {.element = 0, .rank = 2}));
  EXPECT_TRUE(IsCompleteInfo(known, {.element = 7, .rank = 2}));
  const schema::ValueInfoProto info =
      Parsed(BuildValueInfo("new", known, {.element = 7, .rank = 2}));
  EXPECT_EQ(info.type().tensor_type().elem_type(), 7);
  EXPECT_EQ(info.type().tensor_type().shape().dim_size(), 2);
}

TEST(MessagesTest, AScalarHasAShapeWithoutDimensions) {
  const schema::ValueInfoProto info =
      Parsed(BuildValueInfo("s", "", {.element = 1, .rank = 0}));
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
  EXPECT_EQ(Parsed(BuildValueInfo("m", bytes, {.element = 1, .rank = 1}))
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
