// Lists of words in a file of src/data: a row is a list and its words, and a
// list may have several rows.
#pragma once

#include <string_view>
#include <vector>

namespace onnx_tag {

// The rows of one list in `text`, each without the list's name.
std::vector<std::vector<std::string_view>> RowsOf(std::string_view text,
                                                  std::string_view list);

// The words of one list.
class WordList {
 public:
  WordList(std::string_view text, std::string_view list);

  bool Has(std::string_view word) const;
  bool HasStartOf(std::string_view text) const;
  bool HasEndOf(std::string_view text) const;

 private:
  std::vector<std::string_view> words_;  // sorted
};

}  // namespace onnx_tag
