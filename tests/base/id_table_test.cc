#include <gtest/gtest.h>

#include "onnx_tag/interner.h"

namespace onnx_tag {
namespace {

enum class ThingId : std::uint32_t {};

TEST(IdTableTest, FindsAmongEqualHashesAfterGrowing) {
  IdTable<ThingId> table;
  constexpr std::uint32_t kCount = 1000;
  const auto hash = [](std::uint32_t i) { return i % 7 * 0x10000000u; };
  const auto find = [&](std::uint32_t i) {
    return table.Find(hash(i), [&](ThingId id) { return Index(id) == i; });
  };
  for (std::uint32_t i = 0; i < kCount; ++i) {
    EXPECT_EQ(find(i), kNo<ThingId>);
    table.Add(hash(i), MakeId<ThingId>(i));
  }
  for (std::uint32_t i = 0; i < kCount; ++i) {
    EXPECT_EQ(find(i), MakeId<ThingId>(i));
  }
  EXPECT_EQ(find(kCount), kNo<ThingId>);
}

}  // namespace
}  // namespace onnx_tag
