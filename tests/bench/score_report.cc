#include "score_report.h"

#include <fmt/core.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <vector>

#include "base/text.h"

namespace onnx_tag::bench {

void PrintWorst(const Misses& misses, std::size_t count) {
  std::vector<std::pair<std::uint64_t, std::string>> worst;
  for (const auto& [what, times] : misses) worst.emplace_back(times, what);
  std::sort(worst.rbegin(), worst.rend());
  for (std::size_t i = 0; i < std::min(count, worst.size()); ++i) {
    fmt::print("{:6} {}\n", worst[i].first, worst[i].second);
  }
}

Floors::Floors(const std::string& file, const std::string& measure) {
  if (file.empty()) return;
  const std::string text = ReadAll(file);
  const std::string begin = measure + " ";
  for (const std::string_view line : Split(text, '\n')) {
    if (!line.starts_with(begin)) continue;
    auto& words = lines_.emplace_back();
    for (const auto word : Split(line.substr(begin.size()), ' ')) {
      words.emplace_back(word);
    }
  }
  if (lines_.empty()) {
    fmt::print(stderr, "{} has no line '{}...'\n", file, begin);
    std::exit(2);
  }
}

bool Floors::Wants(const std::string& variant) const {
  return lines_.empty() ||
         std::any_of(lines_.begin(), lines_.end(), [&](const auto& words) {
           return words.front() == variant;
         });
}

int CheckFloors(const Floors& floors,
                const std::map<std::string, Score>& by_variant) {
  int failures = 0;
  for (const std::vector<std::string>& words : floors.lines()) {
    const auto at = by_variant.find(words.at(0));
    if (at == by_variant.end()) {
      fmt::print(stderr, "{}: no file of this variant\n", words[0]);
      ++failures;
      continue;
    }
    const auto share = [&](std::uint64_t part) {
      return 100.0 * static_cast<double>(part) /
             static_cast<double>(at->second.rows);
    };
    const double exact = share(at->second.exact);
    const double layer = share(at->second.layer);
    if (exact < std::stod(words.at(1)) || layer > std::stod(words.at(2))) {
      fmt::print(stderr,
                 "{}: {:.2f} % exact and {:.2f} % in a wrong layer; the floor "
                 "is {} and {}\n",
                 words[0], exact, layer, words[1], words[2]);
      ++failures;
    }
  }
  return failures == 0 ? 0 : 1;
}

}  // namespace onnx_tag::bench
