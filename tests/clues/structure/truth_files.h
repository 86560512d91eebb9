// The models of tests/truth as exporters wrote them, with the module of each
// node of the main graph.
#pragma once

#include <algorithm>
#include <filesystem>
#include <map>
#include <sstream>
#include <string>
#include <vector>

#include "support/temporary_folder.h"

namespace onnx_tag::test {

struct TruthFile {
  std::string bytes;
  std::map<std::uint32_t, std::string> module_of;  // by index of the node
};

inline std::vector<TruthFile> TruthFiles() {
  namespace fs = std::filesystem;
  std::vector<fs::path> paths;
  for (const auto& entry : fs::recursive_directory_iterator(ONNX_TAG_TRUTH)) {
    const std::string name = entry.path().filename().string();
    if (name == "ts.onnx" || name == "dyn.onnx") paths.push_back(entry.path());
  }
  std::sort(paths.begin(), paths.end());
  std::vector<TruthFile> files;
  for (fs::path path : paths) {
    TruthFile& file = files.emplace_back();
    file.bytes = ReadFile(path.string());
    std::istringstream rows(
        ReadFile(path.replace_extension(".truth.tsv").string()));
    std::string row;
    std::getline(rows, row);
    while (std::getline(rows, row)) {
      std::istringstream cells(row);
      std::string graph;
      std::string index;
      std::string op;
      std::string module;
      std::getline(cells, graph, '\t');
      std::getline(cells, index, '\t');
      std::getline(cells, op, '\t');
      std::getline(cells, module, '\t');
      if (graph.empty()) {
        file.module_of[static_cast<std::uint32_t>(std::stoul(index))] = module;
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
