// ReadModel's verdict on any bytes is protobuf's. Only the numbers in tensors
// are not looked at.
#include <gmock/gmock.h>
#include <google/protobuf/descriptor.h>
#include <gtest/gtest.h>

#include <functional>
#include <random>

#include "onnx_tag/error.h"
#include "onnx_tag/model.h"
#include "onnx_tag_schema.pb.h"
#include "support/wire_builder.h"

namespace onnx_tag::test {
namespace {

using google::protobuf::Descriptor;
using google::protobuf::FieldDescriptor;

bool ProtobufReads(const std::string& bytes) {
  schema::ModelProto model;
  return model.ParseFromString(bytes);
}

bool WeRead(const std::string& bytes) {
  try {
    ReadModel(bytes);
    return true;
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::kInput);
    return false;
  }
}

// The numbers of a tensor, as varints in one piece.
bool IsTensorData(const FieldDescriptor& field) {
  return field.containing_type()->name() == "TensorProto" &&
         (field.name() == "int32_data" || field.name() == "int64_data" ||
          field.name() == "uint64_data");
}

// Calls `use` with a way from ModelProto to every field of every message of
// the schema, each message once; a way is the fields on it.
void ForEachField(
    const std::function<void(const std::vector<const FieldDescriptor*>&)>&
        use) {
  std::vector<std::vector<const FieldDescriptor*>> open = {{}};
  std::vector<const Descriptor*> seen;
  const Descriptor* const top = schema::ModelProto::descriptor();
  while (!open.empty()) {
    std::vector<const FieldDescriptor*> way = open.back();
    open.pop_back();
    const Descriptor* const message =
        way.empty() ? top : way.back()->message_type();
    for (int i = 0; i < message->field_count(); ++i) {
      const FieldDescriptor* const field = message->field(i);
      way.push_back(field);
      use(way);
      // Every pair of message and field that holds messages, not only every
      // message: a tensor is reached over many ways.
      if (field->message_type() != nullptr && way.size() < 7) {
        open.push_back(way);
      }
      way.pop_back();
    }
  }
}

// `payload` in the last field of the way, and that in the one before it, and a
// graph, without which there is no model.
std::string Wrapped(const std::vector<const FieldDescriptor*>& way,
                    std::string payload) {
  for (auto at = way.rbegin(); at != way.rend(); ++at) {
    payload = BytesField(static_cast<std::uint32_t>((*at)->number()), payload);
  }
  return payload + BytesField(7, "");
}

TEST(VerdictTest, MalformedBytesAreRefusedWhereverProtobufRefusesThem) {
  const std::string field_cut = Wire(Tag(1, 2), Varint(5), "ab");
  const std::string varint_cut = "\x80";
  const std::string no_such_type = Tag(1, 7);
  int refused = 0;
  int read = 0;
  ForEachField([&](const std::vector<const FieldDescriptor*>& way) {
    if (IsTensorData(*way.back())) return;
    for (const std::string& bytes :
         {field_cut, varint_cut, no_such_type, std::string("abc"),
          std::string(3, '\0'), std::string(9, '\x01')}) {
      const std::string model = Wrapped(way, bytes);
      const bool expected = ProtobufReads(model);
      (expected ? read : refused) += 1;
      EXPECT_EQ(WeRead(model), expected)
          << way.back()->full_name() << " at depth " << way.size() << ": "
          << testing::PrintToString(bytes);
    }
  });
  EXPECT_GT(refused, 1000);
  EXPECT_GT(read, 1000);
}

TEST(VerdictTest, NestingIsCountedAsProtobufDoes) {
  for (int groups = 85; groups < 105; ++groups) {
    std::string nested;
    for (int i = 0; i < groups; ++i) nested = Group(99, nested);
    ForEachField([&](const std::vector<const FieldDescriptor*>& way) {
      if (way.back()->message_type() == nullptr || way.size() > 5) return;
      const std::string model = Wrapped(way, nested);
      EXPECT_EQ(WeRead(model), ProtobufReads(model))
          << way.back()->full_name() << " at depth " << way.size() << ", "
          << groups << " groups";
    });
  }
}

// Every field of every message, each in a model of its own.
std::vector<std::string> Seeds() {
  std::vector<std::string> seeds;
  ForEachField([&](const std::vector<const FieldDescriptor*>& way) {
    if (IsTensorData(*way.back()) || way.size() > 4) return;
    const bool text = way.back()->type() == FieldDescriptor::TYPE_STRING;
    seeds.push_back(Wrapped(way, text ? "name" : ""));
  });
  return seeds;
}

TEST(VerdictTest, AgreesOnMutants) {
  std::mt19937 random(19);
  const std::vector<std::string> seeds = Seeds();
  int refused = 0;
  constexpr int kMutants = 20'000;
  for (int i = 0; i < kMutants; ++i) {
    std::string mutant;
    for (int k = 0; k < 2; ++k) mutant += seeds[random() % seeds.size()];
    for (unsigned k = 1 + random() % 2; k > 0; --k) {
      char& byte = mutant[random() % mutant.size()];
      byte = static_cast<char>(random() % 4 == 0 ? random() : byte + 1);
    }
    mutant.insert(0, BytesField(7, ""));
    const bool expected = ProtobufReads(mutant);
    refused += expected ? 0 : 1;
    ASSERT_EQ(WeRead(mutant), expected) << testing::PrintToString(mutant);
  }
  EXPECT_GT(refused, kMutants / 10);
  EXPECT_LT(refused, kMutants * 9 / 10);
}

}  // namespace
}  // namespace onnx_tag::test
