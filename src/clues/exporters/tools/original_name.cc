#include "clues/exporters/tools/original_name.h"

#include <array>
#include <cstdint>
#include <utility>
#include <vector>

#include "clues/exporters/words.h"
#include "core/graph/operators.h"
#include "core/hierarchy/name_parts.h"
#include "core/tagging/words.h"

namespace onnx_tag::hierarchy {
namespace {

// What a suffix says of the node or tensor that has it.
enum class Effect : std::uint8_t {
  kNone,
  kQuantizer,
  kScale,  // a quantizer's scale or zero point: it stands beside the weight
  kCast,
  kFused,
  kModule,  // the weight of a module in fewer bits; its own name is gone
  kModuleScale,
};

constexpr std::array<std::string_view, 7> kEffectNames = {
    "none", "quantizer", "scale", "cast", "fused", "module", "moduleScale"};

// What must be left for a suffix to be one: src/data/exporter_words.txt.
enum class Rest : std::uint8_t {
  kAny,
  kSlash,
  kOrigin,
  kTensor,
  kValue,
  kGemm,
};
constexpr std::array<std::string_view, 6> kRestNames = {
    "any", "slash", "origin", "tensor", "value", "gemm"};

// `#` at the end of a text stands for one or more digits.
struct Rule {
  std::string_view text;
  Effect effect = Effect::kNone;
  Rest rest = Rest::kAny;
};

// Nearly all names have nothing to undo, and most of those that end in a digit
// are counters. Rules are found by the last byte that is no digit, so that
// such a name meets two or three of them.
class SuffixTable {
 public:
  // `list` is of src/data/exporter_words.txt; the shared suffixes are added.
  explicit SuffixTable(std::string_view list) {
    heads_.fill(kEnd);
    Add("shared");
    Add(list);
  }

  // The longest rule that `name` ends with, and in `rest` what precedes it.
  const Rule* Match(std::string_view name, std::string_view& rest) const;

 private:
  static constexpr std::uint8_t kEnd = 0xff;
  static constexpr std::uint64_t BitOf(char c) {
    return 1ULL << (static_cast<unsigned char>(c) & 63);
  }
  struct Entry {
    Rule rule;
    std::string_view letters;  // of rule.text, without `#`
    std::uint8_t next;
  };

  void Add(std::string_view list) {
    for (const auto& row : RowsOf(list)) {
      Rule rule{.text = row[0]};
      if (row.size() > 1) {
        rule.effect = WordToEnum<Effect>(kEffectNames, row[1]).value();
      }
      if (row.size() > 2)
        rule.rest = WordToEnum<Rest>(kRestNames, row[2]).value();
      std::string_view literal = rule.text;
      ConsumeSuffix(literal, "#");
      // A literal that ends in digits is found by what precedes them too.
      std::string_view letters = literal;
      letters.remove_suffix(TrailingDigits(letters));
      std::uint8_t& head = heads_[static_cast<unsigned char>(letters.back())];
      before_[static_cast<unsigned char>(letters.back())] |=
          letters.size() > 1 ? BitOf(letters[letters.size() - 2]) : ~0ULL;
      entries_.push_back({rule, literal, head});
      head = static_cast<std::uint8_t>(entries_.size() - 1);
    }
  }

  std::array<std::uint8_t, 256> heads_;
  // By last byte: which bytes stand before it in a rule, as bits.
  std::array<std::uint64_t, 256> before_{};
  std::vector<Entry> entries_;
};

bool EndsInOutput(std::string_view name) {
  return WithoutNumbered(name, "_output_").has_value();
}

bool IsOrigin(std::string_view rest) {
  const std::size_t at = rest.find_last_of("/.:");
  if (at == std::string_view::npos || at + 1 == rest.size()) return false;
  if (rest[at] == '/') return IsUpper(rest[at + 1]);
  return rest[at] == '.' || (at > 0 && rest[at - 1] == ':');
}

bool IsTensor(std::string_view rest) {
  return rest.ends_with("weight") || rest.ends_with("bias") ||
         rest.ends_with("_quantized") || IsNumeric(rest) ||
         EndsInOutput(rest) || WithoutNumbered(rest, "_merged_") ||
         rest.starts_with("onnx::");
}

bool IsGemm(std::string_view rest) {
  if (const auto node = WithoutNumbered(rest, "_output_")) rest = *node;
  if (const auto bare = WithoutNumbered(rest, "_")) rest = *bare;
  return rest.ends_with(Describe(Op::kGemm).name);
}

bool Allows(Rest need, std::string_view rest) {
  switch (need) {
    case Rest::kAny:
      return true;
    case Rest::kSlash:
      return rest.find('/') != std::string_view::npos;
    case Rest::kOrigin:
      return IsOrigin(rest);
    case Rest::kTensor:
      return IsTensor(rest);
    case Rest::kValue:
      return EndsInOutput(rest) || WithoutNumbered(rest, "_") == "val";
    case Rest::kGemm:
      return IsGemm(rest);
  }
  return false;
}

const Rule* SuffixTable::Match(std::string_view name,
                               std::string_view& rest) const {
  std::string_view letters = name;
  letters.remove_suffix(TrailingDigits(name));
  if (letters.empty()) return nullptr;
  const bool numbered = letters.size() != name.size();
  const auto last = static_cast<unsigned char>(letters.back());
  if (letters.size() > 1 &&
      (before_[last] & BitOf(letters[letters.size() - 2])) == 0) {
    return nullptr;
  }
  const Rule* best = nullptr;
  for (std::uint8_t at = heads_[last]; at != kEnd; at = entries_[at].next) {
    const auto& [rule, suffix, next] = entries_[at];
    if (best != nullptr && best->text.size() >= rule.text.size()) continue;
    const bool any_digits = suffix.size() != rule.text.size();
    if (any_digits && !numbered) continue;
    std::string_view left = any_digits ? letters : name;
    // The first byte is nearly always another one, and quick to compare.
    if (left.size() <= suffix.size() ||
        left[left.size() - suffix.size()] != suffix.front() ||
        !ConsumeSuffix(left, suffix) || !Allows(rule.rest, left)) {
      continue;
    }
    best = &rule;
    rest = left;
  }
  return best;
}

void Apply(Effect effect, StrippedName& stripped) {
  const bool scale = effect == Effect::kScale || effect == Effect::kModuleScale;
  const bool module =
      effect == Effect::kModule || effect == Effect::kModuleScale;
  stripped.quantizer |= effect == Effect::kQuantizer || scale || module;
  stripped.beside_weight |= scale;
  stripped.module_only |= module;
  stripped.cast |= effect == Effect::kCast;
  stripped.fused |= effect == Effect::kFused;
}

bool UndoSuffix(const SuffixTable& table, StrippedName& stripped) {
  std::string_view rest;
  const Rule* rule = table.Match(stripped.name, rest);
  if (rule == nullptr) return false;
  stripped.name = rest;
  Apply(rule->effect, stripped);
  return true;
}

// "<old>/MatMulAddFusion", "<old>/LayerNormFusion/".
bool UndoFusionSegment(StrippedName& stripped) {
  std::string_view name = stripped.name;
  ConsumeSuffix(name, "/");
  if (!name.ends_with("Fusion")) return false;
  const std::size_t slash = name.rfind('/');
  if (slash == std::string_view::npos || slash == 0) return false;
  const std::string_view segment = name.substr(slash + 1);
  for (const char c : segment) {
    if (!IsUpper(c) && !IsLower(c)) return false;
  }
  stripped.name = name.substr(0, slash);
  stripped.fused = true;
  return true;
}

bool UndoTrailingSlash(StrippedName& stripped) {
  const std::size_t last = stripped.name.find_last_not_of('/');
  if (last == std::string_view::npos || last + 1 == stripped.name.size()) {
    return false;
  }
  stripped.name = stripped.name.substr(0, last + 1);
  return true;
}

// Without `token_<n>_`, by which ONNX Runtime keeps copies apart.
void ConsumeToken(std::string_view& name) {
  if (!ConsumePrefix(name, "token_")) return;
  while (!name.empty() && IsDigit(name[0])) name.remove_prefix(1);
  ConsumePrefix(name, "_");
}

// ONNX Runtime inlines a function under `_inlfunc_<Op>[_token_<n>]_<name>`.
// <Op> may hold underscores; a scoped name behind it says where it ends.
void UndoInlinedFunction(StrippedName& stripped) {
  std::string_view name = stripped.name;
  if (!ConsumePrefix(name, "_inlfunc_")) return;
  stripped.fused = true;
  if (const std::size_t scoped = name.find("_/");
      scoped != std::string_view::npos) {
    stripped.name = name.substr(scoped + 1);
    return;
  }
  const std::size_t op = name.find('_');
  if (op == std::string_view::npos) return;
  name.remove_prefix(op + 1);
  ConsumeToken(name);
  if (!name.empty()) stripped.name = name;
}

// A model inlined into a branch has the prefix `If_0_else_branch__Inline_0__`.
// ONNX Runtime puts `_if_else_branch_[token_<n>_]` before the names of a branch
// that a constant condition chose.
void UndoInlinedBranch(StrippedName& stripped) {
  constexpr std::string_view kMark = "__Inline_";
  // Most names have no mark: looks for its rarest letters first.
  const std::size_t mark =
      stripped.name.find("Inline_") == std::string_view::npos
          ? std::string_view::npos
          : stripped.name.rfind(kMark);
  if (mark != std::string_view::npos) {
    std::string_view rest = stripped.name.substr(mark + kMark.size());
    const std::size_t digits = rest.find_first_not_of("0123456789");
    if (digits != 0 && digits != std::string_view::npos) {
      rest.remove_prefix(digits);
      if (ConsumePrefix(rest, "__") && !rest.empty()) stripped.name = rest;
    }
  }
  if (!stripped.name.starts_with('_')) return;
  for (const std::string_view branch :
       {"_if_then_branch_", "_if_else_branch_"}) {
    std::string_view rest = stripped.name;
    while (ConsumePrefix(rest, branch)) ConsumeToken(rest);
    if (!rest.empty()) stripped.name = rest;
  }
}

bool UndoNodePrefix(StrippedName& stripped) {
  constexpr std::pair<std::string_view, Effect> kPrefixes[] = {
      {"fused ", Effect::kFused},
      {"InsertedPrecisionFreeCast_", Effect::kCast},
      {"FusedBack_", Effect::kFused}};
  for (const auto& [prefix, effect] : kPrefixes) {
    if (stripped.name.size() > prefix.size() &&
        ConsumePrefix(stripped.name, prefix)) {
      Apply(effect, stripped);
      return true;
    }
  }
  return false;
}

// "ConvBnFusion_BN_B_<bias>", "ConvMulFusion_W_<weight>".
bool UndoWeightPrefix(StrippedName& stripped) {
  if (!IsUpper(stripped.name[0])) return false;
  constexpr std::size_t kLongest = 32;
  constexpr std::string_view kMark = "Fusion_";
  const std::size_t mark = stripped.name.substr(0, kLongest).find(kMark);
  if (mark == std::string_view::npos) return false;
  std::string_view name = stripped.name.substr(mark + kMark.size());
  constexpr std::string_view kParts[] = {"W_",   "B_",   "BN_",    "Mul_",
                                         "Add_", "Pad_", "GemmW_", "GemmB_"};
  bool any = false;
  for (bool again = true; again;) {
    again = false;
    for (const std::string_view part : kParts) {
      if (name.size() > part.size() && ConsumePrefix(name, part)) {
        any = again = true;
      }
    }
  }
  if (!any) return false;
  stripped.name = name;
  stripped.fused = true;
  return true;
}

// "<value>_CUDAExecutionProvider": the copy on a device.
bool UndoProvider(StrippedName& stripped) {
  constexpr std::string_view kProvider = "ExecutionProvider";
  std::string_view name = stripped.name;
  if (!ConsumeSuffix(name, kProvider)) return false;
  while (!name.empty() && IsWordChar(name.back()) && name.back() != '_') {
    name.remove_suffix(1);
  }
  if (name.size() < 2 || name.back() != '_') return false;
  name.remove_suffix(1);
  stripped.name = name;
  return true;
}

// Names that tools give to what has no origin: there is nothing to undo.
bool IsMade(StrippedName& stripped) {
  const std::string_view name = stripped.name;
  if (name[0] != 'g') return false;
  if (name.starts_with("graph_input_cast") ||
      name.starts_with("graph_output_cast")) {
    return stripped.cast = true;
  }
  if (name.starts_with("gemm_input_") || name.starts_with("gemm_output_")) {
    return stripped.fused = true;
  }
  return false;
}

// Real names carry three or four additions; a bound keeps a megabyte of
// `_q_q_q` from being read through once for each.
constexpr int kMostAdditions = 32;

// `undo` removes one addition that is no suffix; false if there is none.
template <typename UndoOne>
StrippedName Undo(std::string_view name, const SuffixTable& suffixes,
                  UndoOne undo) {
  StrippedName stripped;
  stripped.name = name;
  if (name.empty() || IsMade(stripped)) return stripped;
  // Outside the loop: they look through the whole name.
  UndoInlinedFunction(stripped);
  UndoInlinedBranch(stripped);
  for (int i = 0; i < kMostAdditions; ++i) {
    if (!UndoSuffix(suffixes, stripped) && !undo(stripped)) break;
  }
  return stripped;
}

}  // namespace

StrippedName UndoNodeName(std::string_view name) {
  static const SuffixTable table("node");
  return Undo(name, table, [](StrippedName& stripped) {
    return UndoFusionSegment(stripped) || UndoTrailingSlash(stripped) ||
           UndoNodePrefix(stripped);
  });
}

StrippedName UndoTensorName(std::string_view name) {
  static const SuffixTable table("tensor");
  return Undo(name, table, [](StrippedName& stripped) {
    return UndoProvider(stripped) || UndoWeightPrefix(stripped) ||
           UndoNodePrefix(stripped);
  });
}

}  // namespace onnx_tag::hierarchy
