#include "file/wire/field_reader.h"

#include <gmock/gmock.h>
#include <google/protobuf/empty.pb.h>
#include <google/protobuf/stubs/logging.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <random>
#include <vector>

#include "onnx_tag_schema.pb.h"
#include "support/wire_builder.h"

namespace onnx_tag::wire {
namespace {

using test::BytesField;
using test::Group;
using test::LongVarint;
using test::Repeat;
using test::Tag;
using test::Varint;
using test::VarintField;
using test::Wire;
using testing::ElementsAre;
using testing::HasSubstr;

std::vector<Field> ReadAll(Bytes message) {
  std::vector<Field> fields;
  FieldReader reader(message);
  for (Field field; reader.Next(field);) fields.push_back(field);
  return fields;
}

bool Accepts(Bytes message) {
  try {
    ReadAll(message);
    return true;
  } catch (const WireError&) {
    return false;
  }
}

// A message without fields of its own: protobuf keeps all as unknown, and
// looks at exactly what FieldReader looks at.
bool ProtobufAccepts(const std::string& message) {
  google::protobuf::LogSilencer silencer;
  google::protobuf::Empty empty;
  return empty.ParseFromString(message);
}

std::string ErrorOf(Bytes message) {
  try {
    ReadAll(message);
    return "no error";
  } catch (const WireError& error) {
    return fmt::format("{} @{}", error.what(),
                       error.position() - message.data());
  }
}

TEST(EncodingTest, VarintSizeIsTheSizeOfWhatAppendVarintWrites) {
  for (int bits = 0; bits <= 64; ++bits) {
    for (const int off : {-1, 0, 1}) {
      const std::uint64_t value =
          (bits == 64 ? 0 : std::uint64_t{1} << bits) +
          static_cast<std::uint64_t>(static_cast<std::int64_t>(off));
      EXPECT_EQ(VarintSize(value), Varint(value).size()) << value;
    }
  }
}

TEST(EncodingTest, LengthDelimitedSizeIsTheSizeOfWhatIsAppended) {
  for (const std::uint32_t number : {1u, 15u, 16u, 2047u, 2048u}) {
    for (const std::size_t size : {0u, 127u, 128u, 16384u}) {
      std::string out;
      AppendLengthDelimited(out, number, std::string(size, 'x'));
      EXPECT_EQ(LengthDelimitedSize(number, size), out.size());
    }
  }
}

TEST(FieldReaderTest, AnEmptyMessageHasNoFields) {
  EXPECT_TRUE(ReadAll("").empty());
  EXPECT_TRUE(ReadAll(Bytes()).empty());
}

TEST(FieldReaderTest, EveryWireTypeIsReadWithItsWholeBytes) {
  const std::string fixed64 = Tag(2, 1) + "\1\2\3\4\5\6\7" + '\x88';
  const std::string fixed32 = Tag(16, 5) + "\1\2\3" + '\x84';
  const std::string message =
      Wire(VarintField(1, 300), fixed64, BytesField(3, "abc"), fixed32,
           Group(5, VarintField(6, 1)), BytesField(2000, "x", 3));
  const std::vector<Field> fields = ReadAll(message);
  ASSERT_EQ(fields.size(), 6u);
  EXPECT_EQ(fields[0].number, 1u);
  EXPECT_EQ(fields[0].type, WireType::kVarint);
  EXPECT_EQ(fields[0].varint, 300u);
  EXPECT_EQ(fields[1].type, WireType::kFixed64);
  EXPECT_EQ(fields[1].varint, 0x8807060504030201u);
  EXPECT_EQ(fields[2].bytes, "abc");
  EXPECT_EQ(fields[2].prefix_width, 1);
  EXPECT_EQ(fields[3].number, 16u);
  EXPECT_EQ(fields[3].varint, 0x84030201u);
  EXPECT_EQ(fields[4].type, WireType::kStartGroup);
  EXPECT_EQ(fields[4].bytes, VarintField(6, 1));
  EXPECT_EQ(fields[5].number, 2000u);
  EXPECT_EQ(fields[5].bytes, "x");
  EXPECT_EQ(fields[5].prefix_width, 3);
  std::string joined;
  for (const Field& field : fields) joined.append(field.whole);
  EXPECT_EQ(joined, message);
}

// Both ways through Next(): with and without a byte behind the field.
TEST(FieldReaderTest, ShortFieldsEndWhereTheirLengthSays) {
  for (std::size_t size = 0; size < 200; ++size) {
    const std::string field = BytesField(1, std::string(size, 'x'));
    EXPECT_EQ(ReadAll(field).at(0).whole, field);
    const std::string two = field + VarintField(1, 1);
    EXPECT_EQ(ReadAll(two).at(0).whole, field);
    // The field itself must be refused, not whatever lies behind it.
    const std::string cut = field.substr(0, field.size() - 1);
    Field unused;
    EXPECT_THROW(FieldReader(cut).Next(unused), WireError) << size;
  }
}

// protobuf's stream counts in int. The payloads are never touched, so they cost
// no memory.
TEST(FieldReaderTest, AMessageMayBeLongerThanTheStreamCounts) {
  constexpr std::size_t kPayload = 0x60000000;
  const std::string head = Wire(Tag(3, 2), Varint(kPayload));
  const std::string last = VarintField(1, 7);
  const std::size_t size = 2 * (head.size() + kPayload) + last.size();
  const auto bytes = std::make_unique_for_overwrite<char[]>(size);
  std::copy(head.begin(), head.end(), bytes.get());
  std::copy(head.begin(), head.end(), bytes.get() + head.size() + kPayload);
  std::copy(last.begin(), last.end(), bytes.get() + size - last.size());
  const std::vector<Field> fields = ReadAll(Bytes(bytes.get(), size));
  ASSERT_EQ(fields.size(), 3u);
  EXPECT_EQ(fields[0].bytes.size(), kPayload);
  EXPECT_EQ(fields[1].whole.data(), bytes.get() + head.size() + kPayload);
  EXPECT_EQ(fields[1].bytes.size(), kPayload);
  EXPECT_EQ(fields[2].varint, 7u);
  // The second payload ends before its length says.
  EXPECT_FALSE(Accepts(Bytes(bytes.get(), size - last.size() - 1)));
}

TEST(FieldReaderTest, ErrorsSayWhatIsMissingAndWhere) {
  const std::string good = VarintField(1, 7);
  EXPECT_EQ(ErrorOf(Wire(good, Tag(3, 2), Varint(4096), "twelve bytes")),
            "a field needs 4096 bytes, but its message has 12 left @2");
  EXPECT_EQ(ErrorOf(Wire(good, Tag(0, 0), Varint(1))),
            "invalid field number 0 @2");
  EXPECT_EQ(ErrorOf(Wire(good, Tag(9, 6))),
            "field 9 has the invalid wire type 6 @2");
  EXPECT_EQ(ErrorOf(Wire(good, Tag(9, 4))), "group 9 ends without a start @2");
  EXPECT_EQ(ErrorOf(Wire(good, Tag(9, 3), Tag(10, 4))),
            "group 9 has the end tag of group 10 @2");
  EXPECT_EQ(ErrorOf(Wire(good, Tag(9, 3))), "group 9 is not closed @2");
  EXPECT_EQ(ErrorOf(Wire(good, Tag(9, 1), "1234567")),
            "a field needs 8 bytes, but its message has 7 left @2");
  EXPECT_THAT(ErrorOf(Wire(Tag(1, 2), Varint(~std::uint64_t{0}))),
              HasSubstr("the limit of protobuf is"));
}

TEST(FieldReaderTest, AGroupIsNestedAsDeepAsProtobufNestsIt) {
  for (const std::size_t depth : {1u, 99u, 100u, 101u, 102u}) {
    const std::string message =
        Repeat(Tag(900, 3), depth) + Repeat(Tag(900, 4), depth);
    EXPECT_EQ(Accepts(message), depth <= 100) << depth;
    EXPECT_EQ(Accepts(message), ProtobufAccepts(message)) << depth;
  }
}

TEST(FieldReaderTest, DepthOfTheMessageCountsForItsGroups) {
  const std::string message = Repeat(Tag(9, 3), 3) + Repeat(Tag(9, 4), 3);
  Field field;
  EXPECT_TRUE(FieldReader(message, 97).Next(field));
  EXPECT_THROW(FieldReader(message, 98).Next(field), WireError);
}

TEST(FieldReaderTest, ManyNestedGroupStartsAreAnErrorAndNotACrash) {
  EXPECT_THAT(ErrorOf(Repeat(Tag(1, 3), 100'000)),
              HasSubstr("nested deeper than 100"));
}

TEST(FieldReaderTest, ManyGroupsInARowAreRead) {
  const std::string inner = Repeat(Group(2, ""), 100'000);
  EXPECT_EQ(ReadAll(Group(1, inner)).at(0).bytes, inner);
}

TEST(FieldReaderTest, PaddedNumbersAreReadAsFarAsProtobufReadsThem) {
  for (std::size_t width = 1; width <= 12; ++width) {
    for (const std::string& message :
         {Tag(1, 0) + LongVarint(5, width),
          Wire(Tag(2, 2), LongVarint(1, width), "a"),
          Wire(LongVarint(0x12, width), Varint(1), "a")}) {
      EXPECT_EQ(Accepts(message), ProtobufAccepts(message))
          << testing::PrintToString(message);
    }
  }
}

TEST(FieldReaderTest, LengthsNearTwoGigabytesGetProtobufsVerdict) {
  for (const std::uint64_t size :
       {kMaxLength, kMaxLength + 1, std::uint64_t{0x7fffffff},
        std::uint64_t{0x80000000}, ~std::uint64_t{0}}) {
    const std::string message = Wire(Tag(2, 2), Varint(size), "a");
    EXPECT_FALSE(Accepts(message));
    EXPECT_FALSE(ProtobufAccepts(message));
  }
}

TEST(FieldReaderTest, PackedAndUnpackedNumbersAreTheSameNumbers) {
  std::vector<std::uint64_t> numbers;
  const auto add = [&](std::uint64_t value) { numbers.push_back(value); };
  const std::string message =
      Wire(VarintField(1, 3), BytesField(1, Varint(4) + Varint(500)),
           BytesField(1, ""), Tag(1, 5), "1234");
  for (const Field& field : ReadAll(message)) ForEachVarint(field, add);
  EXPECT_THAT(numbers, ElementsAre(3u, 4u, 500u));

  const std::string cut = BytesField(1, Varint(4) + "\x80");
  EXPECT_THROW(ForEachVarint(ReadAll(cut).at(0), add), WireError);
}

std::string SmallModel() {
  schema::ModelProto model;
  model.set_ir_version(8);
  model.set_producer_name("p");
  auto* graph = model.mutable_graph();
  for (int i = 0; i < 3; ++i) {
    auto* node = graph->add_node();
    node->set_name(std::string(static_cast<std::size_t>(60 * i), 'n'));
    node->add_input("x");
    node->add_attribute()->set_i(-1);
  }
  model.add_metadata_props()->set_key("key");
  std::string bytes = model.SerializeAsString();
  return bytes + Group(900, VarintField(1, 2) + Group(3, BytesField(4, "x")));
}

TEST(FieldReaderTest, EveryPrefixOfAFileGetsProtobufsVerdict) {
  const std::string file = SmallModel();
  for (std::size_t size = 0; size <= file.size(); ++size) {
    // An allocation of its own, so that a sanitizer sees a byte too many.
    const std::string prefix = file.substr(0, size);
    EXPECT_EQ(Accepts(prefix), ProtobufAccepts(prefix)) << size;
  }
}

TEST(FieldReaderTest, MutatedFilesGetProtobufsVerdict) {
  std::mt19937 random(1);
  const auto below = [&](std::size_t bound) { return random() % bound; };
  const std::string file = SmallModel();
  int accepted = 0;
  constexpr int kRuns = 60'000;
  for (int run = 0; run < kRuns; ++run) {
    std::string mutated = file;
    // Near the end and the start, where the tags of the top level are.
    for (std::size_t edit = below(3) + 1; edit > 0; --edit) {
      const std::size_t near = below(40) % mutated.size();
      const std::size_t at = below(2) == 0 ? near : mutated.size() - 1 - near;
      switch (below(5)) {
        case 0:
          mutated[at] = static_cast<char>(random());
          break;
        case 1:
          mutated[at] ^= static_cast<char>(1u << below(8));
          break;
        case 2:
          mutated.erase(at, below(3) + 1);
          if (mutated.empty()) mutated = "x";
          break;
        case 3:
          mutated.insert(at, 1, static_cast<char>(random()));
          break;
        default:
          mutated.insert(at, below(12), '\x80');
      }
    }
    const bool verdict = Accepts(mutated);
    accepted += verdict ? 1 : 0;
    ASSERT_EQ(verdict, ProtobufAccepts(mutated))
        << testing::PrintToString(mutated);
  }
  // Neither verdict is so rare that the comparison says nothing.
  EXPECT_GT(accepted, kRuns / 50);
  EXPECT_LT(accepted, kRuns - kRuns / 50);
}

TEST(FieldReaderTest, RandomShortMessagesGetProtobufsVerdict) {
  std::mt19937 random(2);
  // Bytes that are tags, small lengths and continuation bytes.
  const std::string alphabet = {'\0',   '\x01', '\x02', '\x03', '\x07',
                                '\x08', '\x0a', '\x0b', '\x0c', '\x0d',
                                '\x0f', '\x13', '\x14', '\x7f', '\x80',
                                '\x8c', '\x8b', '\xff', '\x10', '\x04'};
  for (int run = 0; run < 200'000; ++run) {
    std::string message(random() % 14, '\0');
    for (char& byte : message) byte = alphabet[random() % alphabet.size()];
    ASSERT_EQ(Accepts(message), ProtobufAccepts(message))
        << testing::PrintToString(message);
  }
}

}  // namespace
}  // namespace onnx_tag::wire
