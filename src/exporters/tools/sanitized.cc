#include "exporters/tools/sanitized.h"

#include <vector>

#include "hierarchy/name_parts.h"

namespace onnx_tag::hierarchy {
namespace {

// The longest attribute name worth a look: `embedding_hidden_mapping_in` has 4.
constexpr int kMostWords = 12;

bool IsJoint(char c) { return c == '_' || c == '.'; }

}  // namespace

SanitizedMatch MatchSanitized(const ModuleTree& tree, ModuleId from,
                              std::string_view text) {
  struct Step {
    ModuleId module;
    std::size_t at;
  };
  SanitizedMatch best{from, text, false};
  std::size_t explained = 0;
  // Each module is reached on one way only, so this ends, and soon.
  std::vector<Step> open = {{from, 0}};
  while (!open.empty()) {
    const Step step = open.back();
    open.pop_back();
    if (step.at > explained) {
      explained = step.at;
      best = {step.module,
              step.at < text.size() ? text.substr(step.at) : std::string_view(),
              false};
    } else if (step.at == explained && step.module != best.module) {
      best.ambiguous = true;
    }
    int words = 0;
    for (std::size_t end = step.at; end < text.size() && words < kMostWords;) {
      ++end;
      if (end < text.size() && !IsJoint(text[end])) continue;
      ++words;
      const ModuleId child =
          tree.FindChild(step.module, text.substr(step.at, end - step.at));
      if (child == kNo<ModuleId>) continue;
      open.push_back({child, end + 1});
    }
  }
  return best;
}

}  // namespace onnx_tag::hierarchy
