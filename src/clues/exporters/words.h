// Words by which exporters and tools are known: src/data/exporter_words.txt.
#pragma once

#include "base/word_list.h"
#include "generated/exporter_words.h"

namespace onnx_tag::hierarchy {

inline auto RowsOf(std::string_view list) {
  return onnx_tag::RowsOf(kExporterWords, list);
}

struct WordList : onnx_tag::WordList {
  explicit WordList(std::string_view list)
      : onnx_tag::WordList(kExporterWords, list) {}
};

}  // namespace onnx_tag::hierarchy
