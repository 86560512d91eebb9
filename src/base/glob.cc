#include "base/glob.h"

#include <algorithm>

namespace onnx_tag {
namespace {

constexpr std::size_t kNone = static_cast<std::size_t>(-1);

// Where to continue if the text after a star does not match: the star then
// takes one more character.
struct Retry {
  std::size_t pattern = kNone;  // after the star
  std::size_t text = 0;
  std::size_t star = 0;  // how many came before it
  bool crossed = false;  // a separator lies between the last `**` and here
};

}  // namespace

bool MatchesPattern(std::string_view pattern, std::string_view text,
                    std::string_view separators,
                    std::vector<std::string_view>* captures) {
  // It is enough to go back to the last star of each kind. Between two `**`,
  // the separators of pattern and text correspond. So a `*` cannot help to
  // match the text after the next separator. And the last `**` can match all
  // text that an earlier `**` could match.
  Retry within;
  Retry across;
  bool crossed = false;
  std::size_t p = 0;
  std::size_t t = 0;
  const std::size_t first = captures == nullptr ? 0 : captures->size();
  std::size_t stars = 0;
  const auto separates = [&](char c) {
    return separators.find(c) != std::string_view::npos;
  };
  const auto take_more = [&](Retry& retry, std::size_t bytes) {
    p = retry.pattern;
    t = retry.text += bytes;
    stars = retry.star + 1;
    if (captures == nullptr) return;
    captures->resize(first + stars);
    std::string_view& taken = captures->back();
    taken = {taken.data(), taken.size() + bytes};
  };
  for (;;) {
    if (p < pattern.size() && pattern[p] == '*') {
      const bool crosses = p + 1 < pattern.size() && pattern[p + 1] == '*';
      p += crosses ? 2 : 1;
      crossed = crossed && !crosses;
      (crosses ? across : within) = Retry{p, t, stars++, crossed};
      if (crosses) within = {};
      if (captures != nullptr) captures->push_back(text.substr(t, 0));
      continue;
    }
    if (p == pattern.size() && t == text.size()) return true;
    if (p < pattern.size() && t < text.size() &&
        (pattern[p] == '?' ? !separates(text[t]) : pattern[p] == text[t])) {
      crossed = crossed || separates(text[t]);
      ++p;
      ++t;
    } else if (within.pattern != kNone && within.text < text.size() &&
               !separates(text[within.text])) {
      crossed = within.crossed;
      take_more(within, 1);
    } else if (across.pattern != kNone && across.text < text.size()) {
      // What a `*` did not find up to the end of the name, it will not find
      // from a later place of the same name: without this, a name of 1 MB
      // would be searched from each of its bytes.
      const bool nowhere = within.pattern != kNone && !within.crossed;
      take_more(
          across,
          nowhere ? std::max(within.text, across.text + 1) - across.text : 1);
      within = {};
      crossed = false;
    } else {
      if (captures != nullptr) captures->resize(first);
      return false;
    }
  }
}

}  // namespace onnx_tag
