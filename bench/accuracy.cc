// Scores the mapping against models whose answers are known.
//
//   accuracy TRUTH_DIR [--variant GLOB] [--model GLOB] [--worst N] [--files]
//
// TRUTH_DIR holds <model>/<variant>.onnx beside <model>/<variant>.truth.tsv.
#include <fmt/core.h>
#include <fnmatch.h>

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <string>
#include <unordered_map>
#include <vector>

#include "base/text.h"
#include "onnx_tag/mapping.h"

namespace onnx_tag {
namespace {

namespace fs = std::filesystem;

struct Score {
  std::uint64_t files = 0, rows = 0, untagged = 0, exact = 0, above = 0,
                wrong = 0, layer = 0;
  std::array<std::uint64_t, 4> level_rows = {}, level_ok = {};

  void Add(const Score& other) {
    files += other.files;
    rows += other.rows;
    untagged += other.untagged;
    exact += other.exact;
    above += other.above;
    wrong += other.wrong;
    layer += other.layer;
    for (std::size_t i = 0; i < 4; ++i) {
      level_rows[i] += other.level_rows[i];
      level_ok[i] += other.level_ok[i];
    }
  }
};

std::string ReadAll(const fs::path& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

std::string Generic(std::string_view path) {
  std::string result;
  for (const std::string_view atom : Split(path, '.')) {
    if (!result.empty()) result += '.';
    const bool index =
        !atom.empty() && atom.find_first_not_of("0123456789") == atom.npos;
    result += index ? "*" : std::string(atom);
  }
  return result.empty() ? "<root>" : result;
}

bool OtherLayer(std::string_view module, std::string_view truth) {
  const auto a = Split(module, '.');
  const auto b = Split(truth, '.');
  const auto index = [](std::string_view atom) {
    return !atom.empty() && atom.find_first_not_of("0123456789") == atom.npos;
  };
  for (std::size_t i = 0; i < std::min(a.size(), b.size()); ++i) {
    if (a[i] != b[i]) return index(a[i]) && index(b[i]);
  }
  return false;
}

struct Options {
  std::string truth;
  std::string variant = "*";
  std::string model = "*";
  std::size_t worst = 0;
  bool files = false;
  bool wrong_only = false;
  bool layer_only = false;
  bool nodes = false;
};

using Misses = std::map<std::string, std::uint64_t>;

Score ScoreFile(const fs::path& onnx, const fs::path& truth, bool wrong_only,
                bool layer_only, bool print_nodes, Misses* misses) {
  Score score;
  score.files = 1;
  const std::string bytes = ReadAll(onnx);
  const Model model = ReadModel(bytes);
  const Tagging tagging = MapNodes(model, MappingOptions());
  std::unordered_map<std::string, NodeId> nodes;
  for (const NodeId node : model.Nodes()) {
    nodes[fmt::format("{}\t{}", model.GraphPath(model[node].graph),
                      model[node].index)] = node;
  }
  const std::string table = ReadAll(truth);
  bool head = true;
  for (const std::string_view line : Split(table, '\n')) {
    const auto columns = Split(line, '\t');
    if (head || columns.size() < 6) {
      head = false;
      continue;
    }
    ++score.rows;
    const auto at = nodes.find(fmt::format("{}\t{}", columns[0], columns[1]));
    if (at == nodes.end() || !tagging.tags[at->second].tagged()) {
      ++score.untagged;
      if (misses != nullptr) {
        ++(*misses)[fmt::format("{:22} is {}  got nothing", columns[2],
                                Generic(columns[3]))];
      }
      continue;
    }
    const Tag& tag = tagging.tags[at->second];
    const std::string module = tagging.modules.Path(tag.module);
    const auto level = static_cast<std::size_t>(tag.confidence);
    ++score.level_rows[level];
    bool exact = module == columns[3];
    if (!columns[5].empty()) {
      for (const std::string_view accept : Split(columns[5], '|')) {
        exact |= module == (accept == "<root>" ? "" : accept);
      }
    }
    if (exact) {
      ++score.exact;
      ++score.level_ok[level];
      continue;
    }
    const bool above = module.empty() || columns[3].starts_with(module + ".");
    if (above) {
      ++score.above;
    } else {
      ++score.wrong;
      score.layer += OtherLayer(module, columns[3]);
    }
    if (print_nodes && (!layer_only || OtherLayer(module, columns[3]))) {
      fmt::print("  {}#{} {} {} is {} got {} [{}]\n", columns[0], columns[1],
                 columns[2], model[at->second].name, columns[3], module,
                 kSourceNames[static_cast<std::size_t>(tag.source)]);
    }
    if (misses != nullptr && (!above || !wrong_only) &&
        (!layer_only || OtherLayer(module, columns[3]))) {
      // "!": a module of that path is known, so it could have been said.
      ++(*misses)[fmt::format(
          "{}{:22} is {}  got {}  [{} {}]",
          tagging.modules.Find(columns[3]) == kNo<ModuleId> ? " " : "!",
          columns[2], Generic(columns[3]), Generic(module),
          kSourceNames[static_cast<std::size_t>(tag.source)],
          kConfidenceNames[level])];
    }
  }
  return score;
}

std::string Percent(std::uint64_t part, std::uint64_t whole) {
  return whole == 0 ? "     -"
                    : fmt::format("{:6.2f}", 100.0 * static_cast<double>(part) /
                                                 static_cast<double>(whole));
}

void Print(const std::string& name, const Score& s) {
  fmt::print("{:24} {:4} {:7} {} {} {} {} {} {} {} {} {}\n", name, s.files,
             s.rows, Percent(s.rows - s.untagged, s.rows),
             Percent(s.exact, s.rows), Percent(s.above, s.rows),
             Percent(s.wrong, s.rows), Percent(s.layer, s.rows),
             Percent(s.level_ok[3], s.level_rows[3]),
             Percent(s.level_ok[2], s.level_rows[2]),
             Percent(s.level_ok[1], s.level_rows[1]),
             Percent(s.level_ok[3] + s.level_ok[2], s.exact));
}

int Run(const Options& options) {
  std::map<std::string, Score> by_variant;
  Score all;
  Misses misses;
  std::vector<fs::path> folders;
  for (const auto& entry : fs::directory_iterator(options.truth)) {
    if (entry.is_directory()) folders.push_back(entry.path());
  }
  std::sort(folders.begin(), folders.end());
  for (const fs::path& folder : folders) {
    const std::string model = folder.filename().string();
    if (fnmatch(options.model.c_str(), model.c_str(), 0) != 0) continue;
    std::vector<fs::path> files;
    for (const auto& entry : fs::directory_iterator(folder)) {
      if (entry.path().extension() == ".onnx") files.push_back(entry.path());
    }
    std::sort(files.begin(), files.end());
    for (const fs::path& onnx : files) {
      const std::string variant = onnx.stem().string();
      if (fnmatch(options.variant.c_str(), variant.c_str(), 0) != 0) continue;
      const fs::path truth = folder / (variant + ".truth.tsv");
      if (!fs::exists(truth)) continue;
      const Score score = ScoreFile(onnx, truth, options.wrong_only,
                                    options.layer_only, options.nodes, &misses);
      if (options.files) Print(model + "/" + variant, score);
      by_variant[variant].Add(score);
      all.Add(score);
    }
  }
  fmt::print(
      "{:24} {:>4} {:>7} {:>6} {:>6} {:>6} {:>6} {:>6} {:>6} {:>6} {:>6} "
      "{:>6}\n",
      "variant", "file", "nodes", "tagged", "exact", "above", "wrong", "layer!",
      "cert", "high", "med", "sure");
  for (const auto& [variant, score] : by_variant) Print(variant, score);
  Print("all", all);
  std::vector<std::pair<std::uint64_t, std::string>> worst;
  for (const auto& [what, count] : misses) worst.emplace_back(count, what);
  std::sort(worst.rbegin(), worst.rend());
  for (std::size_t i = 0; i < std::min(options.worst, worst.size()); ++i) {
    fmt::print("{:6} {}\n", worst[i].first, worst[i].second);
  }
  return 0;
}

}  // namespace
}  // namespace onnx_tag

int main(int argc, char** argv) {
  onnx_tag::Options options;
  for (int i = 1; i < argc; ++i) {
    const std::string_view word = argv[i];
    if (word == "--files") {
      options.files = true;
    } else if (word == "--layers") {
      options.layer_only = true;
    } else if (word == "--nodes") {
      options.nodes = true;
    } else if (word == "--wrong") {
      options.wrong_only = true;
    } else if (word == "--variant" && i + 1 < argc) {
      options.variant = argv[++i];
    } else if (word == "--model" && i + 1 < argc) {
      options.model = argv[++i];
    } else if (word == "--worst" && i + 1 < argc) {
      options.worst = std::stoul(argv[++i]);
    } else {
      options.truth = word;
    }
  }
  return onnx_tag::Run(options);
}
