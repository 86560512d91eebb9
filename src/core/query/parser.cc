#include "core/query/parser.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <map>

#include "base/glob.h"
#include "base/lists.h"
#include "base/parse_number.h"
#include "base/text.h"
#include "base/word_list.h"
#include "generated/query_fields.h"
#include "onnx_tag/error.h"
#include "onnx_tag/tagging.h"

namespace onnx_tag::query {
namespace {

// The words of a query.
enum class LexemeKind : std::uint8_t {
  kEnd,
  kWord,      // field, and, or, not, in
  kQuoted,    // a value in quotes
  kOperator,  // = == != < <= > >=
  kOpen,
  kClose,
  kComma,
};

struct Lexeme {
  LexemeKind kind = LexemeKind::kEnd;
  std::string text;  // for a quoted value: without quotes and escapes
  std::size_t begin = 0;
  std::size_t end = 0;
};

// Reads one lexeme at a time, because a value may contain the characters of an
// operator: `name=a<b`.
class Lexer {
 public:
  // `text` must outlive it.
  explicit Lexer(std::string_view text) : text_(text) {}

  // A word ends at a blank, and at one of `stops`. Throws Error(kUsage) if a
  // quote is not closed.
  Lexeme Next(std::string_view stops);

 private:
  Lexeme Quoted();

  std::string_view text_;
  std::size_t at_ = 0;
};

constexpr std::string_view kBlanks = " \t\n\r\f\v";

// The whole text, whatever its length.
Short Whole(std::string_view text) { return {text, text.size() + 1}; }

// The width of `text` on a terminal, in columns.
std::size_t Columns(std::string_view text) {
  return CountIn(Message("{}", Whole(text)),
                 [](char c) { return (c & 0xc0) != 0x80; });
}

// Throws Error(kUsage) with the message, the query, and a caret under the
// place.
[[noreturn]] void FailAt(std::string_view query, std::size_t begin,
                         std::size_t end, const std::string& what) {
  // Only the text around the error is shown; a query can have a megabyte.
  constexpr std::size_t kAround = 60;
  const std::size_t from = begin > kAround ? begin - kAround : 0;
  const std::string_view shown = query.substr(from, 2 * kAround);
  const std::size_t before = Columns(shown.substr(0, begin - from));
  const std::size_t marked = std::min(end, from + shown.size());
  const std::size_t width = std::max<std::size_t>(
      1, begin < marked ? Columns(query.substr(begin, marked - begin)) : 1);
  Fail(ErrorKind::kUsage, "{}\n  {}\n  {}{}", what, Whole(shown),
       std::string(before, ' '), std::string(width, '^'));
}

Lexeme Lexer::Quoted() {
  const std::size_t begin = at_;
  const char quote = text_[at_++];
  Lexeme lexeme{LexemeKind::kQuoted, "", begin, begin};
  while (at_ < text_.size()) {
    const char c = text_[at_++];
    if (c == quote) {
      lexeme.end = at_;
      return lexeme;
    }
    const bool escape = c == '\\' && at_ < text_.size() &&
                        (text_[at_] == quote || text_[at_] == '\\');
    lexeme.text += escape ? text_[at_++] : c;
  }
  FailAt(text_, begin, begin + 1, "missing closing quote");
}

Lexeme Lexer::Next(std::string_view stops) {
  at_ = std::min(text_.find_first_not_of(kBlanks, at_), text_.size());
  const std::size_t begin = at_;
  if (at_ == text_.size()) return {LexemeKind::kEnd, "", begin, begin};
  const char c = text_[at_];
  if (c == '"' || c == '\'') return Quoted();
  const auto take = [&](LexemeKind kind, std::size_t size) {
    at_ += size;
    return Lexeme{kind, std::string(text_.substr(begin, size)), begin, at_};
  };
  if (c == '(') return take(LexemeKind::kOpen, 1);
  if (c == ')') return take(LexemeKind::kClose, 1);
  if (c == ',') return take(LexemeKind::kComma, 1);
  if (stops.find(c) != std::string_view::npos) {
    const bool two = at_ + 1 < text_.size() && text_[at_ + 1] == '=';
    return take(LexemeKind::kOperator, two ? 2 : 1);
  }
  std::size_t end = at_;
  while (end < text_.size() && kBlanks.find(text_[end]) == kBlanks.npos &&
         stops.find(text_[end]) == stops.npos) {
    ++end;
  }
  return take(LexemeKind::kWord, end - begin);
}

// The maximum nesting of parentheses and `not`. Deeper queries are mistakes or
// attacks on the stack.
constexpr int kDeepest = 200;

class Parser {
 public:
  explicit Parser(const std::string& text) : lexer_(text) {
    result_.text = text;
    Advance();
  }

  Expression Run() {
    if (now_.kind == LexemeKind::kEnd) {
      Complain(
          "the query is empty; write a condition, such as "
          "type=attention");
    }
    Or();
    if (now_.kind == LexemeKind::kClose) Complain("unmatched ')'");
    if (now_.kind != LexemeKind::kEnd) {
      Complain("expected 'and' or 'or' between conditions");
    }
    return std::move(result_);
  }

 private:
  bool IsWord(std::string_view word) const {
    return now_.kind == LexemeKind::kWord && now_.text == word;
  }
  void Advance() { now_ = lexer_.Next("()=!<>,\"'"); }
  // After an operator: a value may have its characters.
  void AdvanceToValue() { now_ = lexer_.Next("(),"); }

  [[noreturn]] void Complain(const std::string& what) const {
    FailAt(result_.text, now_.begin, now_.end, what);
  }
  // Passes the ')' that belongs to `open`.
  void Close(const Lexeme& open, const std::string& expected) {
    if (now_.kind == LexemeKind::kEnd) {
      FailAt(result_.text, open.begin, open.end, "missing ')' for this '('");
    }
    if (now_.kind != LexemeKind::kClose) Complain("expected " + expected);
    Advance();
  }

  std::uint32_t Add(Term term) {
    result_.terms.push_back(term);
    return static_cast<std::uint32_t>(result_.terms.size() - 1);
  }

  std::uint32_t Or() { return Chain("or", Kind::kOr, &Parser::And); }
  std::uint32_t And() { return Chain("and", Kind::kAnd, &Parser::Not); }

  // Operands with `word` between them.
  std::uint32_t Chain(std::string_view word, Kind kind,
                      std::uint32_t (Parser::*operand)()) {
    std::uint32_t left = (this->*operand)();
    while (IsWord(word)) {
      Advance();
      const std::uint32_t right = (this->*operand)();
      left = Add({kind, left, right});
    }
    return left;
  }

  std::uint32_t Not() {
    if (++depth_ > kDeepest) Complain("the query is nested too deeply");
    std::uint32_t term = 0;
    if (IsWord("not")) {
      Advance();
      term = Add({Kind::kNot, Not(), 0});
    } else {
      term = Primary();
    }
    --depth_;
    return term;
  }

  std::uint32_t Primary() {
    if (now_.kind != LexemeKind::kOpen) return Comparison();
    const Lexeme open = now_;
    Advance();
    const std::uint32_t inner = Or();
    Close(open, "'and', 'or' or ')'");
    return inner;
  }

  const FieldInfo& FieldHere() const {
    if (now_.kind != LexemeKind::kWord) {
      Complain(now_.kind == LexemeKind::kEnd
                   ? "missing condition"
                   : "expected a field, such as module, type or op");
    }
    if (const FieldInfo* info = FindField(now_.text)) return *info;
    const std::vector<std::string_view> names = NamesOf(Fields());
    Complain(Message(
        "unknown field '{}'{}", now_.text,
        DidYouMean(now_.text, names, "; the fields are " + Join(names))));
  }

  std::uint32_t Comparison() {
    Condition condition;
    const FieldInfo& info = FieldHere();
    condition.field = info.field;
    condition.begin = now_.begin;
    condition.end = now_.end;
    Advance();
    if (info.field == Field::kUntagged) {
      if (now_.kind == LexemeKind::kOperator) {
        Complain("untagged takes no value: write untagged or not untagged");
      }
      return AddCondition(std::move(condition), false);
    }
    bool negated = false;
    if (IsWord("not")) {
      Advance();
      if (!IsWord("in")) Complain("expected 'in' after 'not'");
      negated = true;
    }
    if (IsWord("in")) {
      ValueList(info, condition);
    } else if (now_.kind == LexemeKind::kOperator) {
      negated = ReadOperator(info, condition);
      AdvanceToValue();
      OneValue(info, condition);
    } else {
      Complain(fmt::format("expected =, !={} or in after '{}'",
                           info.ordered ? ", <, <=, >, >=" : "", info.name));
    }
    return AddCondition(std::move(condition), negated);
  }

  std::uint32_t AddCondition(Condition condition, bool negated) {
    result_.conditions.push_back(std::move(condition));
    const auto index =
        static_cast<std::uint32_t>(result_.conditions.size() - 1);
    const std::uint32_t term = Add({Kind::kCondition, index, 0});
    return negated ? Add({Kind::kNot, term, 0}) : term;
  }

  // True for "!=".
  bool ReadOperator(const FieldInfo& info, Condition& condition) {
    const std::string& text = now_.text;
    if (text == "!=") return true;
    if (text == "=" || text == "==") return false;
    if (text == "!") Complain("expected '!='; use not to negate a condition");
    if (!info.ordered) {
      std::vector<std::string_view> ordered;
      for (const FieldInfo& other : Fields()) {
        if (other.ordered) ordered.push_back(other.name);
      }
      Complain(
          fmt::format("{} has no order; use = or != (only {} have an order)",
                      info.name, Join(ordered)));
    }
    condition.comparison = text == "<"    ? Operator::kLess
                           : text == "<=" ? Operator::kLessEqual
                           : text == ">"  ? Operator::kGreater
                                          : Operator::kGreaterEqual;
    return false;
  }

  void ValueList(const FieldInfo& info, Condition& condition) {
    Advance();
    if (now_.kind != LexemeKind::kOpen) {
      Complain("expected '(' after 'in': in (A, B)");
    }
    const Lexeme open = now_;
    do {
      AdvanceToValue();
      OneValue(info, condition);
    } while (now_.kind == LexemeKind::kComma);
    condition.end = now_.end;
    Close(open, "',' or ')'");
  }

  // Reads the value at the current lexeme and moves to the next lexeme.
  void OneValue(const FieldInfo& info, Condition& condition) {
    if (now_.kind != LexemeKind::kWord && now_.kind != LexemeKind::kQuoted) {
      Complain(fmt::format("missing value for {}", info.name));
    }
    Check(info, condition);
    // What `role` meant up to version 0.4.
    if (info.field == Field::kRole && now_.text.starts_with('/')) {
      condition.field = Field::kRolePath;
    }
    condition.values.push_back({now_.text, now_.kind == LexemeKind::kQuoted});
    condition.end = now_.end;
    Advance();
  }

  void Check(const FieldInfo& info, const Condition& condition) const {
    const bool equal = condition.comparison == Operator::kEqual;
    const bool quoted = now_.kind == LexemeKind::kQuoted;
    if (!quoted && equal && info.has_none && now_.text == "none") return;
    if (info.field == Field::kLayer) {
      if (!ParseWhole<std::uint32_t>(now_.text)) {
        Complain("expected a number or none as the layer");
      }
      return;
    }
    if (info.field == Field::kLine) {
      const std::optional<LineRange> range = ParseLineRange(now_.text);
      if (!range) {
        Complain(
            "expected a number, a range such as 350..420, or none as the line");
      }
      if (!equal && range->first != range->last) {
        Complain("a range takes = or !=");
      }
      return;
    }
    if (info.words.empty()) return;
    if (!quoted && equal && HasWildcards(now_.text)) return;
    if (IsAmong(now_.text, info.words)) return;
    Complain(Message("'{}' is not a valid {}{}", now_.text, info.name,
                     DidYouMean(now_.text, info.words,
                                "; valid values: " + Join(info.words))));
  }

  Expression result_;
  Lexer lexer_;
  Lexeme now_;
  int depth_ = 0;
};

}  // namespace

std::optional<LineRange> ParseLineRange(std::string_view text) {
  const std::size_t dots = text.find("..");
  const auto first = ParseWhole<std::uint32_t>(text.substr(0, dots));
  const auto last = dots == text.npos
                        ? first
                        : ParseWhole<std::uint32_t>(text.substr(dots + 2));
  if (!first || !last) return std::nullopt;
  return LineRange{*first, *last};
}

Expression Parse(const std::string& text) { return Parser(text).Run(); }

std::span<const FieldInfo> Fields() {
  static constexpr std::array<std::string_view, 2> kAttentionWords = {"self",
                                                                      "cross"};
  static const std::vector<FieldInfo> fields = [] {
    const std::map<std::string_view, std::span<const std::string_view>> lists =
        {{"-", {}},
         {"attention", kAttentionWords},
         {"confidence", kConfidenceNames},
         {"source", kSourceNames},
         {"type", kRoleTypeNames}};
    std::vector<FieldInfo> all;
    for (const auto& row : RowsOf(kQueryFields, "field")) {
      const std::vector<std::string_view> flags = Split(row[2], ',');
      const auto has = [&](std::string_view flag) {
        return IsAmong(flag, flags);
      };
      all.push_back({.field = static_cast<Field>(all.size()),
                     .name = row[0],
                     .help = Join(std::span(row).subspan(4), " "),
                     .separator = row[1] == "-" ? '\0' : row[1][0],
                     .ordered = has("ordered"),
                     .has_none = has("none"),
                     .words = lists.at(row[3])});
    }
    return all;
  }();
  return fields;
}

const FieldInfo* FindField(std::string_view name) {
  return FindNamed(Fields(), name);
}

const FieldInfo& InfoOf(Field field) { return Fields()[Index(field)]; }

}  // namespace onnx_tag::query
