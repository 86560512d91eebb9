#include "clues/projection/torch_ops.h"

#include <algorithm>
#include <utility>

#include "base/parse_number.h"
#include "base/text.h"
#include "generated/torch_ops.h"

namespace onnx_tag {
namespace {

// Weights of the operators other than the head. They also occur in other
// operations, above all the repeated ones.
constexpr float kBesideHead = 0.6F;
constexpr float kRepeats = 0.3F;

// The mark of operations that exporters fold into the product before them.
constexpr std::string_view kFolds = "-";

std::vector<std::string_view> Words(std::string_view text) {
  std::vector<std::string_view> words = Split(text, ' ');
  std::erase(words, "");
  return words;
}

// "__iadd__" -> "iadd", "add_" -> "add"
std::string_view Plain(std::string_view op) {
  if (op.size() > 4 && op.starts_with("__") && op.ends_with("__")) {
    return op.substr(2, op.size() - 4);
  }
  if (op.size() > 1 && op.ends_with('_')) op.remove_suffix(1);
  return op;
}

}  // namespace

TorchOps::TorchOps(std::string_view text) {
  for (const std::string_view line : Split(text, '\n')) {
    const std::size_t colon = line.find(':');
    if (line.starts_with("weight ")) {
      ReadWeights(line);
    } else if (colon != std::string_view::npos) {
      ReadPattern(line.substr(0, colon), line.substr(colon + 1));
    }
  }
}

void TorchOps::ReadWeights(std::string_view line) {
  const auto words = Words(line);
  const auto weight = static_cast<float>(ParseDouble(words[1]));
  for (std::size_t i = 2; i < words.size(); ++i) {
    const auto op = static_cast<std::size_t>(FindOp(words[i]));
    if (op >= weights_.size()) weights_.resize(op + 1, 1.0F);
    weights_[op] = weight;
  }
}

void TorchOps::ReadPattern(std::string_view names, std::string_view operators) {
  TorchPattern pattern{MakeId<ElementId>(elements_.size()), 0};
  float heaviest = 0;
  bool headed = false;
  for (std::string_view word : Words(operators)) {
    if (word == kFolds) {
      pattern.folds = true;
      continue;
    }
    PatternElement element;
    if (word.ends_with('*')) {
      element.repeats = true;
      word.remove_suffix(1);
    }
    if (word.ends_with('!')) {
      element.heads = headed = true;
      word.remove_suffix(1);
    }
    for (const std::string_view name : Split(word, '|')) {
      const Op op = FindOp(name);
      element.weight = std::max(element.weight, WeightOf(op));
      const auto row = static_cast<std::size_t>(op);
      if (row >= takers_.size()) takers_.resize(row + 1);
      takers_[row].resize(elements_.size() + 1, false);
      takers_[row].back() = true;
    }
    if (!element.repeats) heaviest = std::max(heaviest, element.weight);
    elements_.Add(std::move(element));
    ++pattern.size;
  }
  for (std::uint32_t i = 0; i < pattern.size; ++i) {
    PatternElement& element =
        elements_[MakeId<ElementId>(Index(pattern.first) + i)];
    if (!headed && !element.repeats && element.weight == heaviest) {
      element.heads = headed = true;
    }
    if (!element.heads) {
      element.weight *= element.repeats ? kRepeats : kBesideHead;
    }
  }
  for (const std::string_view name : Words(names)) patterns_[name] = pattern;
}

bool TorchOps::Accepts(const TorchPattern& pattern, Op op) const {
  for (std::uint32_t i = 0; i < pattern.size; ++i) {
    if (Takes(MakeId<ElementId>(Index(pattern.first) + i), op)) return true;
  }
  return false;
}

bool TorchOps::IsHead(const TorchPattern& pattern, Op op) const {
  for (std::uint32_t i = 0; i < pattern.size; ++i) {
    const auto element = MakeId<ElementId>(Index(pattern.first) + i);
    if (elements_[element].heads && Takes(element, op)) return true;
  }
  return false;
}

const TorchPattern* TorchOps::Find(std::string_view op) const {
  auto at = patterns_.find(op);
  if (at == patterns_.end()) at = patterns_.find(Plain(op));
  return at == patterns_.end() ? nullptr : &at->second;
}

Op PlainOperator(Op op) { return FindOp(Describe(Describe(op).like).name); }

const TorchOps& BuiltInTorchOps() {
  static const TorchOps ops(kTorchOps);
  return ops;
}

}  // namespace onnx_tag
