#include <gtest/gtest.h>

#include "core/tagging/tag_writer.h"

namespace onnx_tag {
namespace {

enum class ThingId : std::uint32_t {};

TEST(RecentTextsTest, ATextIsMadeAgainOnlyWhereItWasDropped) {
  RecentTexts<ThingId> texts(100'000);
  int made = 0;
  const auto of = [&](std::size_t i) {
    return texts.Of(MakeId<ThingId>(i), [&](std::string& text) {
      ++made;
      text += std::to_string(i);
    });
  };
  for (int round = 0; round < 2; ++round) {
    for (std::size_t i = 0; i < 100; ++i) EXPECT_EQ(of(i), std::to_string(i));
  }
  EXPECT_EQ(made, 100);
  for (int round = 0; round < 2; ++round) {
    for (std::size_t i = 0; i < 100'000; i += 100) {
      EXPECT_EQ(of(i), std::to_string(i));
    }
  }
  EXPECT_EQ(of(0), "0");
}

}  // namespace
}  // namespace onnx_tag
