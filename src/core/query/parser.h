// A query as a tree of conditions, and the parser that makes it.
// docs/reference/query.md has the grammar.
//
//   type=attention and (layer<2 or confidence>=high)
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace onnx_tag::query {

enum class Field : std::uint8_t {
  kModule,
  kUnder,
  kOrigin,
  kClass,
  kClassConfidence,
  kWithin,
  kTag,
  kRole,
  kRolePath,
  kType,
  kTypeConfidence,
  kComponent,
  kAttention,
  kLayer,
  kOp,
  kName,
  kScopePath,
  kConfidence,
  kSource,
  kFile,
  kLine,
  kUntagged,
};

enum class Operator : std::uint8_t {
  kEqual,
  kLess,
  kLessEqual,
  kGreater,
  kGreaterEqual
};

struct Value {
  std::string text;
  bool quoted = false;  // if true, `*` and `none` have no special meaning
};

// One comparison. A node matches if it matches any of the values. `!=` and `not
// in` are a kNot around a condition.
struct Condition {
  Field field = Field::kUntagged;
  Operator comparison = Operator::kEqual;
  std::vector<Value> values;  // none for kUntagged
  std::size_t begin = 0;      // its text: query.substr(begin, end - begin)
  std::size_t end = 0;
};

enum class Kind : std::uint8_t { kCondition, kNot, kAnd, kOr };

// A node of the tree. Children precede their parents; the root is last.
struct Term {
  Kind kind = Kind::kCondition;
  std::uint32_t first = 0;   // kCondition: in `conditions`; else: a term
  std::uint32_t second = 0;  // kAnd, kOr: a term
};

// The tree is stored as a list, so that a long or deeply nested query needs no
// deep stack.
struct Expression {
  std::string text;
  std::vector<Condition> conditions;  // in the order of the text
  std::vector<Term> terms;

  std::string_view TextOf(const Condition& condition) const {
    return std::string_view(text).substr(condition.begin,
                                         condition.end - condition.begin);
  }
};

// "350..420", both included, or one number.
struct LineRange {
  std::uint32_t first = 0;
  std::uint32_t last = 0;
};
std::optional<LineRange> ParseLineRange(std::string_view text);

// Throws Error(kUsage) with a caret under the invalid place.
Expression Parse(const std::string& text);

// The fields that a query may have: lookup, checks and help read this table.
struct FieldInfo {
  Field field;
  std::string_view name;
  std::string help;
  // The separator that `*` does not match; 0 if there is none.
  char separator = 0;
  bool ordered = false;   // < and > make sense
  bool has_none = false;  // `none` matches nodes without a value
  // The valid values; empty: any value.
  std::span<const std::string_view> words = {};
};

std::span<const FieldInfo> Fields();

// Null if there is no field of this name.
const FieldInfo* FindField(std::string_view name);

const FieldInfo& InfoOf(Field field);

}  // namespace onnx_tag::query
