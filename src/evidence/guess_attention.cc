// In models without biases and scopes, the attention has no name. The name of
// the preceding norm gives the usual name of the attention.
#include <unordered_map>

#include "base/text.h"
#include "evidence/evidence.h"
#include "generated/attention_names.h"

namespace onnx_tag {

AttentionGuesses GuessAttentionNames(const ParameterFacts& parameters,
                                     ModuleTree& modules) {
  AttentionGuesses guesses;
  std::unordered_map<std::string_view, std::string_view> usual;
  for (const std::string_view line : Split(kAttentionNames, '\n')) {
    const std::vector<std::string_view> words = Split(line, ' ');
    if (words.size() >= 2) usual.emplace(words[0], words[1]);
  }
  for (const Parameter& parameter : parameters.parameters) {
    const ModuleId norm = parameter.module;
    if (norm == ModuleId{0}) continue;
    const auto at = usual.find(modules.Atom(norm));
    if (at == usual.end()) continue;
    guesses.usual_attention.emplace(
        static_cast<std::uint32_t>(norm),
        modules.Child(modules.Parent(norm), at->second));
  }
  return guesses;
}

}  // namespace onnx_tag
