// What a query asks, parsed: a tree of conditions.
//
//   type=attention and (layer<2 or confidence>=high)
#ifndef ONNX_TAG_QUERY_EXPRESSION_H_
#define ONNX_TAG_QUERY_EXPRESSION_H_

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace onnx_tag::query {

enum class Field : std::uint8_t {
  kModule,
  kUnder,
  kOrigin,
  kClass,
  kWithin,
  kTag,
  kRole,
  kType,
  kComponent,
  kAttention,
  kLayer,
  kOp,
  kName,
  kConfidence,
  kSource,
  kUntagged,
};

enum class Operator : std::uint8_t {
  kEqual,
  kLess,
  kLessEqual,
  kGreater,
  kGreaterEqual
};

// A word of the query, and where it stands.
struct Value {
  std::string text;
  bool quoted = false;    // then `*` and `none` stand for themselves
  std::size_t place = 0;  // in the query's text
};

// One comparison. A node fits where any of the values does; `!=` and `not in`
// are a kNot around one.
struct Condition {
  Field field = Field::kUntagged;
  Operator comparison = Operator::kEqual;
  std::vector<Value> values;  // none for kUntagged
  std::size_t begin = 0;      // what it says: query.substr(begin, end - begin)
  std::size_t end = 0;
};

enum class Kind : std::uint8_t { kCondition, kNot, kAnd, kOr };

// A node of the tree; children stand before their parents, the root is last.
struct Term {
  Kind kind = Kind::kCondition;
  std::uint32_t first = 0;   // kCondition: in `conditions`; else: a term
  std::uint32_t second = 0;  // kAnd, kOr: a term
};

// Held flat, so that neither a long chain nor a deep nest needs a deep stack.
struct Expression {
  std::string text;
  std::vector<Condition> conditions;  // in the order of the text
  std::vector<Term> terms;

  std::string_view TextOf(const Condition& condition) const {
    return std::string_view(text).substr(condition.begin,
                                         condition.end - condition.begin);
  }
};

}  // namespace onnx_tag::query

#endif  // ONNX_TAG_QUERY_EXPRESSION_H_
