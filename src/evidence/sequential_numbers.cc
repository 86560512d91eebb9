#include "evidence/sequential_numbers.h"

#include <algorithm>
#include <string>
#include <vector>

#include "hierarchy/name_parts.h"

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

}  // namespace onnx_tag
