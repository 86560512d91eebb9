#include "base/glob.h"

namespace onnx_tag {
namespace {

constexpr std::size_t kNone = static_cast<std::size_t>(-1);

// Where to go on when what follows a star did not fit: the star takes one
// character more.
struct Retry {
  std::size_t pattern = kNone;  // after the star
  std::size_t text = 0;
  std::size_t star = 0;  // how many came before it
};

}  // namespace

bool MatchesPattern(std::string_view pattern, std::string_view text,
                    std::string_view separators,
                    std::vector<std::string_view>* captures) {
  // Going back to the last star of each kind is enough. Between two `**`,
  // separators of pattern and text pair up, so a `*` before one has nothing to
  // give to what is after it; and a `**` may always take what an earlier one
  // could have taken.
  Retry within;
  Retry across;
  std::size_t p = 0;
  std::size_t t = 0;
  const std::size_t first = captures == nullptr ? 0 : captures->size();
  std::size_t stars = 0;
  const auto separates = [&](char c) {
    return separators.find(c) != std::string_view::npos;
  };
  const auto take_one_more = [&](Retry& retry) {
    p = retry.pattern;
    t = ++retry.text;
    stars = retry.star + 1;
    if (captures == nullptr) return;
    captures->resize(first + stars);
    std::string_view& taken = captures->back();
    taken = {taken.data(), taken.size() + 1};
  };
  for (;;) {
    if (p < pattern.size() && pattern[p] == '*') {
      const bool crosses = p + 1 < pattern.size() && pattern[p + 1] == '*';
      p += crosses ? 2 : 1;
      (crosses ? across : within) = {p, t, stars++};
      if (crosses) within = {};
      if (captures != nullptr) captures->push_back(text.substr(t, 0));
      continue;
    }
    if (p == pattern.size() && t == text.size()) return true;
    if (p < pattern.size() && t < text.size() &&
        (pattern[p] == '?' ? !separates(text[t]) : pattern[p] == text[t])) {
      ++p;
      ++t;
    } else if (within.pattern != kNone && within.text < text.size() &&
               !separates(text[within.text])) {
      take_one_more(within);
    } else if (across.pattern != kNone && across.text < text.size()) {
      take_one_more(across);
      within = {};
    } else {
      if (captures != nullptr) captures->resize(first);
      return false;
    }
  }
}

}  // namespace onnx_tag
