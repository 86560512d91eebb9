#include "mapping/roles/role_vocabulary.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace onnx_tag {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

TEST(RoleVocabularyTest, OneNumberStandsForThoseThatNoLineNames) {
  const RoleVocabulary words(
      "name 0,up feed_forward/up\n"
      "name * feed_forward\n");
  EXPECT_EQ(words.StandIn(RoleSubject::kName, "7"),
            words.StandIn(RoleSubject::kName, "123456"));
  EXPECT_EQ(words.StandIn(RoleSubject::kName, "0"), "0");
  EXPECT_EQ(words.StandIn(RoleSubject::kName, "fc1"), "fc1");
  RoleLookup lookup(words);
  EXPECT_THAT(lookup.Matching(RoleSubject::kName, "0"), ElementsAre(0, 1));
  EXPECT_THAT(lookup.Matching(RoleSubject::kName, "7"), ElementsAre(1));
  EXPECT_THAT(lookup.Matching(RoleSubject::kClass, "7"), IsEmpty());
}

TEST(RoleVocabularyTest, APatternMayTellNumbersApart) {
  for (const char* const pattern : {"1*", "*7", "*,!3*"}) {
    const std::string text = std::string("name ") + pattern + " feed_forward\n";
    const RoleVocabulary words(text);
    EXPECT_EQ(words.StandIn(RoleSubject::kName, "17"), "17") << pattern;
  }
}

}  // namespace
}  // namespace onnx_tag
