// The models of tests/truth as exporters wrote them, with the module of each
// node of the main graph.
#pragma once

#include <algorithm>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "support/truth.h"

namespace onnx_tag::test {

struct LayeredFile {
  std::string bytes;
  std::map<std::uint32_t, std::string> module_of;  // by index of the node
};

inline std::vector<LayeredFile> LayeredFiles() {
  std::vector<LayeredFile> files;
  for (const char* const form : {"dyn", "ts"}) {
    for (const TruthFile& known : FindTruth(ONNX_TAG_TRUTH, "*", form)) {
      if (GroupOf(known.model) != "known") continue;
      // Their lists hold different modules, so nothing is repeated.
      if (known.model == "nn_cnn" || known.model == "nn_lstm") continue;
      LayeredFile& file = files.emplace_back();
      file.bytes = known.Bytes();
      const Model model = ReadModel(file.bytes);
      for (const TruthRow& row : ReadTruth(known, model)) {
        if (model[row.node].graph != MakeId<GraphId>(0)) continue;
        file.module_of[model[row.node].index] = row.module;
      }
    }
  }
  return files;
}

// The path up to its first index; empty if it has none.
inline std::string LayerOf(const std::string& path) {
  for (std::size_t begin = 0; begin < path.size();) {
    const std::size_t end = std::min(path.find('.', begin), path.size());
    if (path[begin] >= '0' && path[begin] <= '9') return path.substr(0, end);
    begin = end + 1;
  }
  return {};
}

}  // namespace onnx_tag::test
