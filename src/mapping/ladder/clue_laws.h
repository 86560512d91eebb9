// The laws of clues: what every claim passes before it becomes a clue, whoever
// makes it: a source, a rung of inference, a placer.
//
// A law knows the file and one claim. It refuses the claim, lowers its level,
// or moves it to a module around the one it names. Laws about tags that are
// already given are in mapping/mapping/laws.h.
#pragma once

#include <optional>
#include <span>
#include <string_view>

#include "mapping/evidence/evidence.h"

namespace onnx_tag {

struct ClueLaw {
  std::string_view name;
  std::string_view help;
  // May change the claim; false: it is refused.
  bool (*holds)(const Evidence& file, Claim& claim);
};

// In the order in which they are asked.
std::span<const ClueLaw> ClueLaws();

// The claim as the laws leave it; nullopt: one refuses it. The claim of a rule
// is left as it is.
std::optional<Claim> Admit(const Evidence& file, Claim claim);

}  // namespace onnx_tag
