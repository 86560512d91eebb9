#include "clues/projection/torch_ops.h"

#include <algorithm>
#include <utility>

#include "base/parse_number.h"
#include "base/text.h"
#include "core/graph/operators.h"
#include "generated/torch_ops.h"

namespace onnx_tag {
namespace {

// Weights of the operators other than the head. They also occur in other
// operations, above all the repeated ones.
constexpr float kBesideHead = 0.6F;
constexpr float kRepeats = 0.3F;

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
    if (line.starts_with("weight ")) {
      const auto words = Words(line);
      const auto weight = static_cast<float>(ParseDouble(words[1]));
      for (std::size_t i = 2; i < words.size(); ++i) {
        weights_[words[i]] = weight;
      }
      continue;
    }
    const std::size_t colon = line.find(':');
    if (colon == std::string_view::npos) continue;
    ReadPattern(line.substr(0, colon), line.substr(colon + 1));
  }
}

bool TorchOps::Accepts(const TorchPattern& pattern,
                       std::string_view plain) const {
  return AnyTakes(pattern, plain, false);
}

bool TorchOps::IsHead(const TorchPattern& pattern,
                      std::string_view plain) const {
  return AnyTakes(pattern, plain, true);
}

bool TorchOps::AnyTakes(const TorchPattern& pattern, std::string_view plain,
                        bool heads_only) const {
  for (std::uint32_t i = 0; i < pattern.size; ++i) {
    const PatternElement& element =
        elements_[MakeId<ElementId>(Index(pattern.first) + i)];
    if (heads_only && !element.heads) continue;
    const auto& taken = element.operators;
    if (std::find(taken.begin(), taken.end(), plain) != taken.end()) {
      return true;
    }
  }
  return false;
}

void TorchOps::ReadPattern(std::string_view names, std::string_view operators) {
  TorchPattern pattern{MakeId<ElementId>(elements_.size()), 0};
  float heaviest = 0;
  bool headed = false;
  for (std::string_view word : Words(operators)) {
    PatternElement element;
    if (word.ends_with('*')) {
      element.repeats = true;
      word.remove_suffix(1);
    }
    if (word.ends_with('!')) {
      element.heads = headed = true;
      word.remove_suffix(1);
    }
    element.operators = Split(word, '|');
    for (const std::string_view op : element.operators) {
      element.weight = std::max(element.weight, WeightOf(op));
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

const TorchPattern* TorchOps::Find(std::string_view op) const {
  auto at = patterns_.find(op);
  if (at == patterns_.end()) at = patterns_.find(Plain(op));
  return at == patterns_.end() ? nullptr : &at->second;
}

float TorchOps::WeightOf(std::string_view onnx_operator) const {
  const auto at = weights_.find(onnx_operator);
  return at == weights_.end() ? 1.0F : at->second;
}

std::string_view PlainOperator(std::string_view op) {
  if (op == "QuickGelu") return "Sigmoid";  // torch has no such operator
  const Op like = Describe(FindOp(op)).like;
  return like == Op::kNone ? op : Describe(like).name;
}

const TorchOps& BuiltInTorchOps() {
  static const TorchOps ops(kTorchOps);
  return ops;
}

}  // namespace onnx_tag
