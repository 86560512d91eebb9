#include "base/glob.h"

#include <gtest/gtest.h>

#include <random>
#include <string>
#include <vector>

namespace onnx_tag {
namespace {

bool MatchesGlob(std::string_view pattern, std::string_view path) {
  return MatchesPattern(pattern, path, '.');
}

// The same, slowly and without going back: every place the pattern may have
// reached after each of its characters.
bool Oracle(std::string_view pattern, std::string_view text) {
  std::vector<bool> reached(text.size() + 1, false);
  reached[0] = true;
  for (std::size_t p = 0; p < pattern.size(); ++p) {
    std::vector<bool> next(text.size() + 1, false);
    const bool star = pattern[p] == '*';
    const bool across = star && pattern.substr(p).starts_with("**");
    if (across) ++p;
    for (std::size_t t = 0; t <= text.size(); ++t) {
      if (star && reached[t]) next[t] = true;
      if (t == 0) continue;
      const char c = text[t - 1];
      if (star) {
        if (next[t - 1] && (across || c != '.')) next[t] = true;
      } else if (reached[t - 1]) {
        next[t] = pattern[p] == '?' ? c != '.' : c == pattern[p];
      }
    }
    reached = next;
  }
  return reached[text.size()];
}

// Whether `pattern` matches `text` when each star matches what `captures` has.
bool Fills(std::string_view pattern, std::string_view text,
           const std::vector<std::string_view>& captures) {
  std::size_t star = 0;
  for (std::size_t p = 0; p < pattern.size(); ++p) {
    std::size_t size = 1;
    if (pattern[p] == '*') {
      const bool across = pattern.substr(p).starts_with("**");
      if (star == captures.size()) return false;
      const std::string_view taken = captures[star++];
      if (!text.starts_with(taken)) return false;
      if (!across && taken.find('.') != std::string_view::npos) return false;
      size = taken.size();
      p += across ? 1u : 0u;
    } else if (text.empty() || (pattern[p] != '?' && pattern[p] != text[0])) {
      return false;
    }
    text.remove_prefix(size);
  }
  return text.empty() && star == captures.size();
}

TEST(GlobTest, OneStarStaysWithinAName) {
  EXPECT_TRUE(MatchesGlob("encoder.layer.*", "encoder.layer.0"));
  EXPECT_FALSE(MatchesGlob("encoder.layer.*", "encoder.layer.0.attention"));
  EXPECT_TRUE(MatchesGlob("*", "encoder"));
  EXPECT_TRUE(MatchesGlob("*", ""));
  EXPECT_FALSE(MatchesGlob("*", "a.b"));
  EXPECT_TRUE(MatchesGlob("enc*.*.?", "encoder.layer.0"));
  EXPECT_FALSE(MatchesGlob("a?b", "a.b"));
}

TEST(GlobTest, TwoStarsCrossNames) {
  EXPECT_TRUE(MatchesGlob("encoder.**", "encoder.layer.0.attention"));
  EXPECT_TRUE(MatchesGlob("**.query", "encoder.layer.0.attention.self.query"));
  EXPECT_TRUE(MatchesGlob("**", ""));
  EXPECT_FALSE(MatchesGlob("encoder.**", "encoder"));
  EXPECT_TRUE(MatchesGlob("***", "a.b"));
}

TEST(GlobTest, TheRestIsTakenAsItIs) {
  EXPECT_TRUE(MatchesGlob("", ""));
  EXPECT_FALSE(MatchesGlob("", "a"));
  EXPECT_FALSE(MatchesGlob("a", ""));
  EXPECT_TRUE(MatchesGlob("a[0]", "a[0]"));
}

TEST(GlobTest, AgreesWithASlowOne) {
  std::mt19937 random(7);
  for (int i = 0; i < 200'000; ++i) {
    std::string pattern;
    std::string text;
    for (std::uint32_t n = random() % 8; n > 0; --n) {
      pattern += "ab.*?*"[random() % 6];
    }
    for (std::uint32_t n = random() % 9; n > 0; --n)
      text += "ab."[random() % 3];
    ASSERT_EQ(MatchesGlob(pattern, text), Oracle(pattern, text))
        << pattern << " on " << text;
  }
}

// Backtracking would take longer than the universe has.
// Quadratic time would be hours.
TEST(GlobTest, LongNamesAreNoTrap) {
  const std::string name(1 << 20, 'a');
  EXPECT_FALSE(MatchesPattern("**a*c", name, '.'));
  EXPECT_FALSE(MatchesPattern("**a**a*a*c", name, '.'));
  EXPECT_FALSE(MatchesPattern("**?*?c", name, '.'));
  EXPECT_TRUE(MatchesPattern("**a*c", name + "c", '.'));
  std::string atoms;
  for (int i = 0; i < 1 << 19; ++i) atoms += "a.";
  EXPECT_FALSE(MatchesPattern("**.a*c", atoms, '.'));
  EXPECT_FALSE(MatchesPattern("**a*.c", atoms, '.'));
  EXPECT_FALSE(MatchesPattern("**.a*.a*.c", atoms, '.'));
}

TEST(GlobTest, ManyStarsAreNoTrap) {
  std::string pattern;
  for (int i = 0; i < 40; ++i) pattern += "*a";
  EXPECT_FALSE(MatchesGlob(pattern + "b", std::string(2000, 'a')));
}

TEST(GlobTest, CapturesTheShortestFirst) {
  std::vector<std::string_view> captures;
  EXPECT_TRUE(MatchesPattern("a*b*", "axbyb", ".", &captures));
  EXPECT_EQ(captures, (std::vector<std::string_view>{"x", "yb"}));
  // Added to what is there; a text that does not match adds nothing.
  EXPECT_FALSE(MatchesPattern("a*b*c", "axbyb", ".", &captures));
  EXPECT_TRUE(MatchesPattern("**.*", "a.b.c", ".", &captures));
  EXPECT_EQ(captures, (std::vector<std::string_view>{"x", "yb", "a.b", "c"}));
  EXPECT_TRUE(MatchesPattern("*-*", "a-b", "./", &captures));
  EXPECT_FALSE(MatchesPattern("*", "a/b", "./", &captures));
  EXPECT_EQ(captures.size(), 6u);
  std::mt19937 random(3);
  for (int i = 0; i < 20'000; ++i) {
    std::string pattern(random() % 7, ' ');
    std::string text(random() % 8, ' ');
    for (char& c : pattern) c = "**a.b?"[random() % 6];
    for (char& c : text) c = "ab."[random() % 3];
    captures.clear();
    if (!MatchesPattern(pattern, text, ".", &captures)) continue;
    ASSERT_TRUE(Fills(pattern, text, captures)) << pattern << " on " << text;
    if (captures.empty()) continue;
    const std::size_t star = pattern.find('*');
    const std::string rest =
        pattern.substr(star + (pattern[star + 1] == '*' ? 2 : 1));
    for (std::size_t less = 0; less < captures[0].size(); ++less) {
      EXPECT_FALSE(Oracle(rest, text.substr(star + less)))
          << pattern << " on " << text;
    }
  }
}

}  // namespace
}  // namespace onnx_tag
