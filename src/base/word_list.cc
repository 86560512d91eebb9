#include "base/word_list.h"

#include "base/lists.h"
#include "base/text.h"

namespace onnx_tag {

std::vector<std::vector<std::string_view>> RowsOf(std::string_view text,
                                                  std::string_view list) {
  std::vector<std::vector<std::string_view>> rows;
  for (const std::string_view line : Split(text, '\n')) {
    std::vector<std::string_view> words = Split(line, ' ');
    if (words[0] != list) continue;
    words.erase(words.begin());
    rows.push_back(std::move(words));
  }
  return rows;
}

WordList::WordList(std::string_view text, std::string_view list) {
  for (const auto& row : RowsOf(text, list)) {
    words_.insert(words_.end(), row.begin(), row.end());
  }
  std::sort(words_.begin(), words_.end());
}

bool WordList::Has(std::string_view word) const {
  return std::binary_search(words_.begin(), words_.end(), word);
}

// One byte is compared first, because nearly always it is another one.
bool WordList::HasStartOf(std::string_view text) const {
  return !text.empty() && AnyIn(words_, [&](std::string_view word) {
    return text[0] == word[0] && text.starts_with(word);
  });
}

bool WordList::HasEndOf(std::string_view text) const {
  return !text.empty() && AnyIn(words_, [&](std::string_view word) {
    return text.back() == word.back() && text.ends_with(word);
  });
}

}  // namespace onnx_tag
