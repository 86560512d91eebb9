#include "score_report.h"

#include <fmt/core.h>

#include <algorithm>
#include <cstdio>
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

int CheckFloors(const std::string& file,
                const std::map<std::string, Score>& by_variant) {
  int failures = 0;
  const std::string floors = ReadAll(file);
  for (const std::string_view line : Split(floors, '\n')) {
    const auto words = Split(line, ' ');
    if (words.size() != 3 || line.starts_with("#")) continue;
    const auto at = by_variant.find(std::string(words[0]));
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
    if (exact < std::stod(std::string(words[1])) ||
        layer > std::stod(std::string(words[2]))) {
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
