// The patterns of rules: `*` is any text without a dot or slash, `**` any text,
// `?` one character that is neither; anything else is itself.
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

  // How many parts of a text the pattern leaves open: its `*` and `**`.
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

// `text` with $1 to $9 replaced by the captures, $$ by a dollar.
std::string FillIn(std::string_view text,
                   const std::vector<std::string_view>& captures);

// The highest capture that `text` asks for; -1 where a dollar is followed by
// something else.
int HighestCapture(std::string_view text);

}  // namespace onnx_tag

#endif  // ONNX_TAG_RULES_PATTERN_H_
