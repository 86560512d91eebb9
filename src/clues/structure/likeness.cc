#include "clues/structure/likeness.h"

#include <algorithm>

namespace onnx_tag::structure {
namespace {

constexpr double kTwinShare = 0.5;
constexpr std::size_t kMostCompared = 16;

std::uint64_t Mix(std::uint64_t hash, std::uint64_t value) {
  return (hash ^ value) * 0x9e3779b97f4a7c15 + (hash >> 29);
}

}  // namespace

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

bool Bag::IsLike(const Bag& other, double share) const {
  return Likeness(other) >= share;
}

std::uint64_t Bag::Hash() const {
  std::uint64_t hash = counts_.size();
  for (const auto& [token, count] : counts_) {
    hash = Mix(Mix(hash, token), count);
  }
  return hash;
}

std::uint64_t Twins::KeyOf(Range range, Token end) const {
  std::uint64_t kinds = 0;
  for (std::uint32_t i = range.first; i <= range.last; ++i) {
    if (atoms_.IsHeavyAt(i)) {
      kinds |= std::uint64_t{1} << static_cast<unsigned>(atoms_.Kind(i));
    }
  }
  return Mix(kinds, end);
}

void Twins::Add(Range range, Token end) {
  std::vector<Entry>& entries = entries_[KeyOf(range, end)];
  Bag bag(atoms_, range);
  const std::uint64_t hash = bag.Hash();
  for (Entry& entry : entries) {
    if (entry.hash == hash) {
      ++entry.count;
      return;
    }
  }
  if (entries.size() < kMostCompared) {
    entries.push_back({std::move(bag), hash, 1});
  }
}

bool Twins::Has(Range range, Token end) const {
  const auto at = entries_.find(KeyOf(range, end));
  if (at == entries_.end()) return false;
  const Bag bag(atoms_, range);
  const std::uint64_t hash = bag.Hash();
  return std::any_of(
      at->second.begin(), at->second.end(), [&](const Entry& entry) {
        return entry.hash == hash ? entry.count > 1
                                  : entry.bag.IsLike(bag, kTwinShare);
      });
}

}  // namespace onnx_tag::structure
