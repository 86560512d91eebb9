// src/data/class_rules.txt: what the program knows about classes besides the
// catalogue. The file describes its rows.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>
#include <utility>
#include <vector>

#include "core/graph/operators.h"

namespace onnx_tag::catalogue {

using Words = std::vector<std::string_view>;

struct ClassRule {
  std::string_view subject;
  std::string_view name;
  std::vector<std::pair<std::string_view, Words>> columns;

  // Empty if the row does not have the column.
  const Words& operator[](std::string_view column) const;
  bool Has(std::string_view column, std::string_view value) const;
  // The only value, or "".
  std::string_view One(std::string_view column) const {
    const Words& words = (*this)[column];
    return words.empty() ? std::string_view() : words[0];
  }
};

// Throws std::invalid_argument if a row is invalid. `text` must outlive the
// rules.
std::vector<ClassRule> ReadClassRules(std::string_view text);

// The rows of a subject, in order.
std::vector<const ClassRule*> RulesOf(std::string_view subject);

// What a class without children computes: a `kind` row, by its number.
enum class LeafKind : std::uint8_t { kUnknown = 0xff };

// The values of is= in `kind` rows.
enum class Trait : std::uint8_t {
  kContainer,
  kSilent,
  kNorm,
  kFolded,
  kConvolution,
  kTransposed,
  kSummed,
  kAsIs,
  kTable,
  kOpen,
};
constexpr std::array<std::string_view, 10> kTraitNames = {
    "container",  "silent", "norm",  "folded", "convolution",
    "transposed", "summed", "as_is", "table",  "open"};

LeafKind KindOf(std::string_view class_name);
bool Is(LeafKind kind, Trait trait);

// A set of the operators that src/data/class_rules.txt names.
using OperatorSet = std::uint64_t;

// The set of one operator. An operator that the file does not name counts as
// the operator that it is like; the set is empty if that is not named either
// (Constant, Cast, Reshape).
OperatorSet SetOf(Op op);

// 1: a leaf of this kind has such operators; -1: it does not; 0: unknown.
// `complete`: these are all operators of the module.
int Fit(LeafKind kind, OperatorSet seen, bool complete);

}  // namespace onnx_tag::catalogue
