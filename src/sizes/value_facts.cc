#include "sizes/value_facts.h"

#include <string>

#include "base/hash.h"

namespace onnx_tag::sizes {
namespace {

// Enough to choose numbers that fit; a hostile file has more.
constexpr std::size_t kMostEqualities = 1000;

std::uint32_t Key(ValueId value) {
  return static_cast<std::uint32_t>(Index(value));
}

}  // namespace

ValueFacts::ValueFacts(const Model& model)
    : model_(model),
      shapes_(model.value_count()),
      types_(model.value_count()),
      numbers_at_(model.value_count(), kNone) {}

const Sequence* ValueFacts::SequenceOf(ValueId value) const {
  if (sequences_.empty()) return nullptr;
  const auto found = sequences_.find(Key(value));
  return found == sequences_.end() ? nullptr : found->second.get();
}

Fact ValueFacts::FactOf(ValueId value) const {
  Fact fact;
  fact.shape = shapes_[Index(value)];
  fact.type = types_[Index(value)];
  if (const Numbers* const numbers = NumbersOf(value)) fact.numbers = *numbers;
  const auto found = sequences_.find(Key(value));
  if (found != sequences_.end()) fact.sequence = found->second;
  return fact;
}

void ValueFacts::Set(ValueId value, Fact fact) {
  const std::size_t i = Index(value);
  shapes_[i] = std::move(fact.shape);
  types_[i] = fact.type;
  std::uint32_t& at = numbers_at_[i];
  if (!fact.numbers) {
    at = kNone;
  } else if (at != kNone) {
    numbers_[at] = std::move(*fact.numbers);
  } else {
    at = static_cast<std::uint32_t>(numbers_.size());
    numbers_.push_back(std::move(*fact.numbers));
  }
  if (fact.sequence != nullptr) {
    sequences_[Key(value)] = std::move(fact.sequence);
  } else if (!sequences_.empty()) {
    sequences_.erase(Key(value));
  }
}

Dim ValueFacts::OwnDim(NodeId node, std::size_t slot, std::size_t axis) {
  const std::uint64_t key =
      HashMix(HashMix(Index(node), call_),
              static_cast<std::uint64_t>(slot) << 8 | axis);
  const auto [found, added] = own_.try_emplace(key);
  if (added) {
    std::string name;
    for (const char c : model_.OpType(node).substr(0, 40)) {
      name += c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
    }
    found->second = formulas_.Data(name);
  }
  return found->second;
}

void ValueFacts::NoteEqual(Dim a, Dim b) {
  if (equalities_.size() >= kMostEqualities) return;
  const std::uint64_t key = HashMix(static_cast<std::uint64_t>(a.bits()),
                                    static_cast<std::uint64_t>(b.bits()));
  if (noted_.insert(key).second) equalities_.push_back({a, b});
}

}  // namespace onnx_tag::sizes
