// The words of a role as enumerators.
#ifndef ONNX_TAG_ROLES_ROLE_WORDS_H_
#define ONNX_TAG_ROLES_ROLE_WORDS_H_

#include <array>
#include <cstdint>
#include <string_view>

#include "onnx_tag/tagging.h"

namespace onnx_tag {

enum class Component : std::uint8_t {
  kNone,
  kQuery,
  kKey,
  kValue,
  kQkv,
  kKv,
  kScores,
  kSoftmax,
  kContext,
  kOutput,
  kGate,
  kUp,
  kDown,
  kGateUp,
  kWord,
  kTokenType,
  kPosition,
  kPatch,
  kProjection,
  kRotary,
  kRelative,
  kIds,
  kLm,
  kClassifier,
  kTransform,
  kScale,
  kInput,
  kConvolution,
  kParameters,
  kStep,
  kExperts,  // only for modules; nodes of experts get more specific roles
};
constexpr std::array<std::string_view, 31> kComponentNames = {
    "",           "query",    "key",         "value",      "qkv",
    "kv",         "scores",   "softmax",     "context",    "output",
    "gate",       "up",       "down",        "gate_up",    "word",
    "token_type", "position", "patch",       "projection", "rotary",
    "relative",   "ids",      "lm",          "classifier", "transform",
    "scale",      "input",    "convolution", "parameters", "step",
    "experts"};

// The purpose of a module or a node. kOther: a container, or unknown.
struct Meaning {
  RoleType type = RoleType::kOther;
  Component component = Component::kNone;
  AttentionKind kind = AttentionKind::kNone;

  bool typed() const { return type != RoleType::kOther; }
  bool operator==(const Meaning&) const = default;
};

inline Meaning Of(RoleType type, Component component = Component::kNone) {
  return {type, component, AttentionKind::kNone};
}

}  // namespace onnx_tag

#endif  // ONNX_TAG_ROLES_ROLE_WORDS_H_
