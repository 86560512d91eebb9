#include "sizes/einsum.h"

#include <algorithm>

namespace onnx_tag::sizes {
namespace {

bool IsLetter(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

}  // namespace

EinsumSizes::EinsumSizes(const NodeView& node) {
  std::string equation;
  for (const char c : node.attributes().Text("equation")) {
    if (c != ' ') equation += c;
  }
  const std::size_t arrow = equation.find("->");
  const std::string inputs = equation.substr(0, arrow);
  std::map<char, Dim> letters;
  std::map<char, int> uses;
  Shape ellipsis;  // the dimensions that "..." stands for
  std::size_t begin = 0;
  for (std::size_t i = 0; i < node.inputs(); ++i) {
    const Shape* const shape = node.Input(i);
    if (shape == nullptr || begin > inputs.size()) return;
    const std::size_t end = std::min(inputs.find(',', begin), inputs.size());
    const std::string term = inputs.substr(begin, end - begin);
    begin = end + 1;
    const auto named = static_cast<std::size_t>(
        std::count_if(term.begin(), term.end(), IsLetter));
    if (named > shape->size()) return;
    std::size_t axis = 0;
    for (std::size_t at = 0; at < term.size();) {
      if (IsLetter(term[at])) {
        if (axis >= shape->size()) return;
        const Dim here = (*shape)[axis++];
        const auto [known, added] = letters.try_emplace(term[at], here);
        if (!added) known->second = node.BroadcastDim(known->second, here);
        ++uses[term[at++]];
      } else if (term.compare(at, 3, "...") == 0) {
        const std::size_t count = shape->size() - named;
        const Shape part(
            shape->begin() + static_cast<std::ptrdiff_t>(axis),
            shape->begin() + static_cast<std::ptrdiff_t>(axis + count));
        const auto both = node.Broadcast(ellipsis, part);
        if (!both) return;
        ellipsis = *both;
        axis += count;
        at += 3;
      } else {
        return;
      }
    }
  }
  std::string result;
  if (arrow != std::string::npos) {
    result = equation.substr(arrow + 2);
  } else {
    // Letters that occur once, in the order of the alphabet.
    if (equation.find('.') != std::string::npos) result = "...";
    for (const auto& [letter, count] : uses) {
      if (count == 1) result += letter;
    }
  }
  for (std::size_t at = 0; at < result.size();) {
    if (result.compare(at, 3, "...") == 0) {
      result_.insert(result_.end(), ellipsis.begin(), ellipsis.end());
      at += 3;
      continue;
    }
    const auto found = letters.find(result[at++]);
    if (found == letters.end()) return;
    result_.push_back(found->second);
  }
  volume_ = node.Product(ellipsis);
  for (const auto& [letter, size] : letters) {
    volume_ = node.formulas().Times(volume_, size);
  }
  known_ = true;
}

}  // namespace onnx_tag::sizes
