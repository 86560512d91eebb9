#include "clues/structure/likeness.h"

#include <algorithm>

namespace onnx_tag::structure {
Bag::Bag(const Atoms& atoms, Range range, bool once) {
  std::vector<Token> tokens;
  for (std::uint32_t i = range.first; i <= range.last; ++i) {
    if (atoms.TokenOf(i) != 0) tokens.push_back(atoms.TokenOf(i));
  }
  std::sort(tokens.begin(), tokens.end());
  for (const Token token : tokens) {
    if (counts_.empty() || counts_.back().first != token) {
      counts_.push_back({token, 1});
    } else if (!once) {
      ++counts_.back().second;
    }
  }
}

double Bag::Likeness(const Bag& other) const {
  std::uint64_t both = 0;
  std::uint64_t either = 0;
  auto a = counts_.begin();
  auto b = other.counts_.begin();
  while (a != counts_.end() || b != other.counts_.end()) {
    if (b == other.counts_.end() ||
        (a != counts_.end() && a->first < b->first)) {
      either += (a++)->second;
    } else if (a == counts_.end() || b->first < a->first) {
      either += (b++)->second;
    } else {
      both += std::min(a->second, b->second);
      either += std::max(a->second, b->second);
      ++a;
      ++b;
    }
  }
  return either == 0 ? 0
                     : static_cast<double>(both) / static_cast<double>(either);
}

std::uint32_t Classes::Add(std::uint64_t mark, Bag bag, double share) {
  constexpr std::size_t kMostCompared = 64;
  std::vector<Class>& classes = classes_[mark];
  auto found = static_cast<std::uint32_t>(counts_.size());
  for (const Class& other : classes) {
    const double likeness = other.first == bag ? 1 : other.first.Likeness(bag);
    if (likeness < share) continue;
    found = other.id;
    if (likeness == 1) break;
    share = likeness;
  }
  if (found == counts_.size()) {
    counts_.push_back(0);
    if (classes.size() < kMostCompared) {
      classes.push_back({std::move(bag), found});
    }
  }
  ++counts_[found];
  return found;
}

}  // namespace onnx_tag::structure
