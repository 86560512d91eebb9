// The patterns of rules: `*` matches any text without a dot or slash, `**` any
// text, `?` one character that is neither a dot nor a slash.
#ifndef ONNX_TAG_RULES_PATTERN_H_
#define ONNX_TAG_RULES_PATTERN_H_

#include <string>
#include <string_view>
#include <vector>

#include "base/glob.h"

namespace onnx_tag {

class Pattern {
 public:
  explicit Pattern(std::string_view text);

  const std::string& text() const { return text_; }

  // The number of `*` and `**`.
  std::size_t captures() const { return captures_; }

  bool Matches(std::string_view text) const {
    return MatchesPattern(text_, text, "./");
  }

  // The same; what each `*` and `**` matches is added to `captures`. Views of
  // `text`.
  bool Matches(std::string_view text,
               std::vector<std::string_view>& captures) const {
    return MatchesPattern(text_, text, "./", &captures);
  }

 private:
  std::string text_;
  std::size_t captures_ = 0;
};

// Replaces $1 to $9 in `text` by the captures, and $$ by a dollar sign.
std::string FillIn(std::string_view text,
                   const std::vector<std::string_view>& captures);

// The highest capture that `text` uses; -1 if a dollar sign is followed by
// another character.
int HighestCapture(std::string_view text);

}  // namespace onnx_tag

#endif  // ONNX_TAG_RULES_PATTERN_H_
