// Modules that no name has, but that the names beside them imply: the items
// without parameters of a torch.nn.Sequential, and the attention after a norm.
#include <algorithm>
#include <string>
#include <unordered_map>
#include <vector>

#include "base/text.h"
#include "core/hierarchy/name_parts.h"
#include "generated/attention_names.h"
#include "mapping/evidence/evidence.h"

namespace onnx_tag {

std::optional<std::uint32_t> ItemNumber(std::string_view atom) {
  const int number = hierarchy::SmallNumber(atom, -1);
  if (number < 0) return std::nullopt;
  return static_cast<std::uint32_t>(number);
}

void AddMissingNumbers(ModuleTree& tree) {
  std::vector<std::pair<ModuleId, std::uint32_t>> missing;
  for (const ModuleId list : AllIds<ModuleId>(tree.size())) {
    std::vector<std::uint32_t> numbers;
    for (const ModuleId item : tree.Children(list)) {
      const auto number = ItemNumber(tree.Atom(item));
      if (number && tree.Children(item).empty()) numbers.push_back(*number);
    }
    if (numbers.empty()) continue;
    std::sort(numbers.begin(), numbers.end());
    for (std::uint32_t n = 1; n <= kMostMissing; ++n) {
      missing.emplace_back(list, numbers.back() + n);
    }
    if (numbers.front() == 1) missing.emplace_back(list, 0);
    for (std::size_t i = 1; i < numbers.size(); ++i) {
      if (numbers[i] - numbers[i - 1] - 1 > kMostMissing) continue;
      for (std::uint32_t n = numbers[i - 1] + 1; n < numbers[i]; ++n) {
        missing.emplace_back(list, n);
      }
    }
  }
  for (const auto& [list, number] : missing) {
    tree.Child(list, std::to_string(number));
  }
}

// In models without biases and scopes, the attention has no name. The name of
// the preceding norm gives the usual name of the attention.

AttentionGuesses GuessAttentionNames(const ParameterFacts& parameters,
                                     ModuleTree& modules) {
  AttentionGuesses guesses;
  std::unordered_map<std::string_view, std::string_view> usual;
  for (const std::string_view line : Split(kAttentionNames, '\n')) {
    const std::vector<std::string_view> words = Split(line, ' ');
    if (words.size() >= 2) usual.emplace(words[0], words[1]);
  }
  for (const Parameter& parameter : parameters.parameters) {
    const ModuleId norm = parameter.module;
    if (norm == ModuleId{0}) continue;
    const auto at = usual.find(modules.Atom(norm));
    if (at == usual.end()) continue;
    guesses.usual_attention.emplace(
        static_cast<std::uint32_t>(norm),
        modules.Child(modules.Parent(norm), at->second));
  }
  return guesses;
}

}  // namespace onnx_tag
