// The laws of tagging, on random trees with random padding.
#include <gtest/gtest.h>

#include <random>
#include <string>

#include "file/wire/field_reader.h"
#include "file/wire/rewrite.h"
#include "file/wire/toy_tagging.h"
#include "file/wire/wire_tree.h"
#include "support/wire_builder.h"

namespace onnx_tag::wire {
namespace {

using test::BytesField;

using test::ChildTree;
using test::kChild;
using test::kForeign;
using test::kLayout;
using test::kOurs;
using test::Strip;
using test::TagMessages;
using test::Tags;

class Random {
 public:
  explicit Random(unsigned seed) : engine_(seed) {}
  std::size_t Below(std::size_t bound) { return engine_() % bound; }
  bool OneIn(std::size_t n) { return Below(n) == 0; }

  // Sizes around 127/128, where a prefix grows, are as likely as others.
  std::size_t Size() {
    switch (Below(4)) {
      case 0:
        return 0;
      case 1:
        return Below(20);
      case 2:
        return 120 + Below(16);
      default:
        return OneIn(20) ? 16'370 + Below(30) : Below(300);
    }
  }

  // The width of a prefix for `size` bytes, padded now and then.
  std::size_t Width(std::size_t size) {
    const std::size_t minimal = VarintSize(size);
    return OneIn(2) ? minimal : minimal + Below(kMaxLengthWidth - minimal + 1);
  }

 private:
  std::mt19937 engine_;
};

std::string RandomMessage(Random& random, int depth) {
  std::string message;
  for (std::size_t fields = random.Below(5); fields > 0; --fields) {
    if (depth < 5 && !random.OneIn(3)) {
      const std::string child = RandomMessage(random, depth + 1);
      message += BytesField(kChild, child, random.Width(child.size()));
    } else {
      const std::string foreign(random.Size(), 'f');
      message += BytesField(kForeign, foreign, random.Width(foreign.size()));
    }
  }
  return message;
}

Tags RandomTags(Random& random, std::size_t messages) {
  Tags tags(messages);
  for (std::size_t i = 1; i < messages; ++i) {
    if (random.OneIn(3)) continue;
    for (std::size_t n = random.Below(3); n > 0; --n) {
      tags[i] += BytesField(kOurs, std::string(random.Size(), 'o'));
    }
  }
  return tags;
}

// What the message says, whatever the widths of its prefixes.
std::string Meaning(Bytes message) {
  std::string result;
  FieldReader reader(message);
  for (Field field; reader.Next(field);) {
    if (field.number == kLayout) continue;
    result += std::to_string(field.number) + "(" +
              (field.number == kChild ? Meaning(field.bytes)
                                      : std::string(field.bytes)) +
              ")";
  }
  return result;
}

// The slow, obvious way: take the message apart and put it together.
std::string MeaningWith(Bytes message, const Tags& tags, std::size_t& next) {
  const std::size_t id = next++;
  std::string result;
  FieldReader reader(message);
  for (Field field; reader.Next(field);) {
    result += std::to_string(field.number) + "(" +
              (field.number == kChild ? MeaningWith(field.bytes, tags, next)
                                      : std::string(field.bytes)) +
              ")";
  }
  return result + Meaning(tags[id]);
}

class RewriteLaws : public testing::TestWithParam<unsigned> {};

TEST_P(RewriteLaws, HoldOnRandomTrees) {
  Random random(GetParam());
  bool recorded = false;
  for (int run = 0; run < 2000; ++run) {
    SCOPED_TRACE(run);
    const std::string file = RandomMessage(random, 0);
    const std::size_t messages = ChildTree(file).size();
    const Tags tags = RandomTags(random, messages);
    const Tags other = RandomTags(random, messages);

    const std::string tagged = TagMessages(file, tags);
    std::size_t next = 0;
    ASSERT_EQ(Meaning(tagged), MeaningWith(file, tags, next));
    ASSERT_EQ(Strip(tagged), file);
    ASSERT_EQ(TagMessages(tagged, tags), tagged);
    const std::string retagged = TagMessages(tagged, other);
    ASSERT_EQ(retagged, TagMessages(file, other));
    ASSERT_EQ(Strip(retagged), file);
    ASSERT_EQ(Strip(file), file);
    recorded =
        recorded || tagged.find(test::Tag(kLayout, 2)) != std::string::npos;
  }
  // Without one the laws say nothing about recorded widths.
  EXPECT_TRUE(recorded);
}

INSTANTIATE_TEST_SUITE_P(Seeds, RewriteLaws, testing::Range(0u, 8u));

// Tags the writer put in the middle of a message, with foreign fields behind:
// stripping keeps those in place.
TEST(RewriteTest, FieldsErasedBetweenOthersLeaveTheOthersInOrder) {
  const std::string file =
      BytesField(kForeign, "a") + BytesField(kOurs, "1") +
      BytesField(kChild, BytesField(kOurs, "2") + BytesField(kForeign, "b") +
                             BytesField(kOurs, "3")) +
      BytesField(kOurs, "4") + BytesField(kForeign, "c");
  EXPECT_EQ(Strip(file), BytesField(kForeign, "a") +
                             BytesField(kChild, BytesField(kForeign, "b")) +
                             BytesField(kForeign, "c"));
}

}  // namespace
}  // namespace onnx_tag::wire
