#include "commands/compare/fold_layers.h"

#include <fmt/core.h>

#include <charconv>
#include <cstdint>
#include <set>
#include <vector>

#include "base/text.h"

namespace onnx_tag {
namespace {

bool IsIndex(std::string_view atom) {
  return !atom.empty() && atom.size() < 10 &&
         atom.find_first_not_of("0123456789") == atom.npos;
}

// "0-11", "0,2-4"
std::string Ranges(const std::set<std::uint32_t>& numbers) {
  std::string text;
  for (auto at = numbers.begin(); at != numbers.end();) {
    const std::uint32_t first = *at;
    std::uint32_t last = first;
    while (++at != numbers.end() && *at == last + 1) last = *at;
    if (!text.empty()) text += ',';
    text += first == last ? std::to_string(first)
                          : fmt::format("{}-{}", first, last);
  }
  return text;
}

}  // namespace

std::string WithoutIndices(std::string_view path) {
  std::string result;
  for (const std::string_view atom : Split(path, '.')) {
    if (!result.empty()) result += '.';
    result += IsIndex(atom) ? "*" : std::string(atom);
  }
  return result;
}

std::string FoldPaths(std::span<const std::string> paths) {
  if (paths.size() == 1) return paths[0];
  std::vector<std::vector<std::string_view>> atoms;
  for (const std::string& path : paths) atoms.push_back(Split(path, '.'));
  std::string result;
  std::uint64_t product = 1;
  for (std::size_t place = 0; place < atoms[0].size(); ++place) {
    if (place > 0) result += '.';
    std::set<std::uint32_t> numbers;
    for (const auto& path : atoms) {
      std::uint32_t number = 0;
      const std::string_view atom = path[place];
      if (!IsIndex(atom)) break;
      std::from_chars(atom.data(), atom.data() + atom.size(), number);
      numbers.insert(number);
    }
    if (numbers.size() < 2) {
      result += atoms[0][place];
      continue;
    }
    product *= numbers.size();
    result += "{" + Ranges(numbers) + "}";
  }
  // Not every combination of the indices is meant.
  if (product != paths.size()) {
    result += fmt::format(" ({} of them)", paths.size());
  }
  return result;
}

}  // namespace onnx_tag
