// Looks up words in src/data/roles.txt.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "onnx_tag/tagging.h"

namespace onnx_tag {

// The words of a role as enumerators.
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

enum class RoleSubject : std::uint8_t { kName, kClass, kOp, kOwn };

// One line of src/data/roles.txt; that file describes each part.
struct RoleLine {
  struct Around {
    RoleType type = RoleType::kOther;
    Component component = Component::kNone;  // kNone: any
  };
  RoleSubject subject = RoleSubject::kName;
  std::vector<std::string_view> words;
  Meaning meaning;
  std::vector<Around> in;
  bool in_any = false;
  bool leaf = false;
  bool inner = false;
  bool listed = false;
  bool unlisted = false;
  bool top = false;
  std::vector<std::string_view> beside;
  std::vector<std::string_view> has;

  bool FitsAround(const Meaning& around) const;
};

class RoleVocabulary {
 public:
  // `text` must outlive it. Throws std::invalid_argument if a line is invalid.
  explicit RoleVocabulary(std::string_view text);

  static const RoleVocabulary& BuiltIn();
  // `lines` precede the built-in lines, so they take precedence.
  static RoleVocabulary WithBuiltIn(std::string_view lines);

  const std::vector<RoleLine>& lines() const { return lines_; }

  // The numbers of the lines of `subject` with a word that matches `text`, in
  // order.
  std::vector<std::uint16_t> Matching(RoleSubject subject,
                                      std::string_view text) const;
  // A text that matches the same lines: one number for all that no line names.
  // A list may have 10^5 of them.
  std::string_view StandIn(RoleSubject subject, std::string_view text) const;

 private:
  struct Pattern {
    std::string_view word;
    std::uint16_t line;
  };
  // By subject. Most words are plain and are found in a hash table, because a
  // model may have 10^5 names. Only words with a `*` are tried one by one.
  struct Words {
    std::unordered_map<std::string_view, std::vector<std::uint16_t>> plain;
    std::vector<Pattern> patterns;
    std::vector<Pattern> exceptions;
    bool tell_numbers = false;  // a pattern matches some numbers, not all
  };

  void Read(std::string_view text);

  std::vector<RoleLine> lines_;
  std::array<Words, 4> words_;
};

// The same with a cache, because names repeat in a model.
class RoleLookup {
 public:
  explicit RoleLookup(const RoleVocabulary& vocabulary)
      : vocabulary_(vocabulary) {}

  const RoleLine& line(std::uint16_t number) const {
    return vocabulary_.lines()[number];
  }
  // The texts must outlive it.
  const std::vector<std::uint16_t>& Matching(RoleSubject subject,
                                             std::string_view text);

 private:
  const RoleVocabulary& vocabulary_;
  std::array<std::unordered_map<std::string_view, std::vector<std::uint16_t>>,
             4>
      known_;
};

}  // namespace onnx_tag
