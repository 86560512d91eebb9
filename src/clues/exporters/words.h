// Words by which exporters and tools are known: data/exporter_words.txt.
#ifndef ONNX_TAG_CLUES_EXPORTERS_WORDS_H_
#define ONNX_TAG_CLUES_EXPORTERS_WORDS_H_

#include <string_view>
#include <vector>

namespace onnx_tag::hierarchy {

// The rows of one list, each without the list's name.
std::vector<std::vector<std::string_view>> RowsOf(std::string_view list);

// The words of one list.
class WordList {
 public:
  explicit WordList(std::string_view list);

  bool Has(std::string_view word) const;
  bool HasStartOf(std::string_view text) const;
  bool HasEndOf(std::string_view text) const;

 private:
  std::vector<std::string_view> words_;  // sorted
};

}  // namespace onnx_tag::hierarchy

#endif  // ONNX_TAG_CLUES_EXPORTERS_WORDS_H_
