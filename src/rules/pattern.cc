#include "rules/pattern.h"

#include <algorithm>

namespace onnx_tag {
namespace {

constexpr std::size_t kLongest = 4096;

}  // namespace

Pattern::Pattern(std::string_view text) : text_(text) {
  for (std::size_t at = 0; at < text.size(); ++at) {
    if (text[at] == '*') {
      const bool any = at + 1 < text.size() && text[at + 1] == '*';
      at += any ? 1 : 0;
      steps_.push_back({any ? Kind::kAny : Kind::kAtom});
      ++captures_;
    } else if (text[at] == '?') {
      steps_.push_back({Kind::kOne});
    } else {
      steps_.push_back({Kind::kLetter, text[at]});
    }
  }
  while (prefix_ < steps_.size() && steps_[prefix_].kind == Kind::kLetter) {
    ++prefix_;
  }
}

bool Pattern::Takes(const Step& step, char c) {
  switch (step.kind) {
    case Kind::kLetter:
      return c == step.letter;
    case Kind::kOne:
    case Kind::kAtom:
      return c != '.' && c != '/';
    case Kind::kAny:
      break;
  }
  return true;
}

bool Pattern::Matches(std::string_view text) const {
  std::vector<std::string_view> unused;
  return Matches(text, unused);
}

bool Pattern::Matches(std::string_view text,
                      std::vector<std::string_view>& captures) const {
  if (text.substr(0, prefix_) != std::string_view(text_).substr(0, prefix_)) {
    return false;
  }
  if (prefix_ == steps_.size()) return text.size() == prefix_;
  if (text.size() > kLongest) {
    if (text_ != "**") return false;
    captures.push_back(text);
    return true;
  }
  // rests[s][t]: the steps from s on match the text from t on.
  const std::size_t width = text.size() + 1;
  std::vector<std::uint8_t> rests((steps_.size() + 1) * width, 0);
  rests.back() = 1;
  for (std::size_t s = steps_.size(); s-- > 0;) {
    const Step& step = steps_[s];
    const bool many = step.kind == Kind::kAtom || step.kind == Kind::kAny;
    std::uint8_t* const here = &rests[s * width];
    const std::uint8_t* const after = here + width;
    for (std::size_t t = width; t-- > 0;) {
      const bool takes = t < text.size() && Takes(step, text[t]);
      here[t] = many ? after[t] | (takes ? here[t + 1] : 0)
                     : (takes ? after[t + 1] : 0);
    }
  }
  if (rests[0] == 0) return false;
  std::size_t t = 0;
  for (std::size_t s = 0; s < steps_.size(); ++s) {
    if (steps_[s].kind == Kind::kLetter || steps_[s].kind == Kind::kOne) {
      ++t;
      continue;
    }
    const std::size_t start = t;
    while (rests[(s + 1) * width + t] == 0) ++t;
    captures.push_back(text.substr(start, t - start));
  }
  return true;
}

std::string FillIn(std::string_view text,
                   const std::vector<std::string_view>& captures) {
  std::string filled;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '$' || i + 1 == text.size()) {
      filled += text[i];
      continue;
    }
    const char next = text[++i];
    if (next == '$') {
      filled += '$';
      continue;
    }
    const auto number = static_cast<std::size_t>(next - '1');
    if (number < captures.size()) filled += captures[number];
  }
  return filled;
}

int HighestCapture(std::string_view text) {
  int highest = 0;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '$') continue;
    const char next = ++i < text.size() ? text[i] : '\0';
    if (next == '$') continue;
    if (next < '1' || next > '9') return -1;
    highest = std::max(highest, next - '0');
  }
  return highest;
}

}  // namespace onnx_tag
