#include "mapping/classes/catalogue/class_rules.h"

#include <stdexcept>
#include <string>

#include "base/glob.h"
#include "base/lists.h"
#include "base/text.h"
#include "generated/class_rules.h"

namespace onnx_tag::catalogue {
namespace {

struct Subject {
  std::string_view name;
  std::string_view columns;
};
constexpr Subject kSubjects[] = {
    {"kind", "words any none needs alone is"},
    {"set", "any"},
    {"distinct", "any"},
    {"common", "any"},
    {"guess", "kind rank sure"},
    {"head", "words values no_values rank"},
    {"family", "any"},
    {"torch", "library version"},
    {"wrapper", "only child at with holds sure also is"},
    {"adapter", "around layer saved proof lists wrapper"},
    {"adapted", "as with"},
};

[[noreturn]] void Refuse(std::string_view row, std::string_view what) {
  throw std::invalid_argument(std::string(what) + " in: " + std::string(row));
}

Words ColumnsOf(std::string_view subject, std::string_view row) {
  for (const Subject& known : kSubjects) {
    if (known.name == subject) return Split(known.columns, ' ');
  }
  Refuse(row, "unknown subject");
}

const std::vector<ClassRule>& AllRules() {
  static const std::vector<ClassRule> rules = ReadClassRules(kClassRules);
  return rules;
}

const std::vector<const ClassRule*>& Kinds() {
  static const std::vector<const ClassRule*> kinds = RulesOf("kind");
  return kinds;
}

bool IsUpper(char c) { return c >= 'A' && c <= 'Z'; }

bool FitsWord(std::string_view word, std::string_view name,
              std::string_view lower) {
  const bool whole =
      word.find('*') != std::string_view::npos || AnyIn(word, IsUpper);
  return whole ? MatchesPattern(word, name, "")
               : lower.starts_with(word) || lower.ends_with(word);
}

}  // namespace

const Words& ClassRule::operator[](std::string_view column) const {
  static const Words kNone;
  for (const auto& [key, words] : columns) {
    if (key == column) return words;
  }
  return kNone;
}

bool ClassRule::Has(std::string_view column, std::string_view value) const {
  const Words& words = (*this)[column];
  return IsAmong(value, words);
}

std::vector<ClassRule> ReadClassRules(std::string_view text) {
  std::vector<ClassRule> rules;
  for (const std::string_view row : Split(text, '\n')) {
    if (row.empty()) continue;
    const Words parts = Split(row, ' ');
    if (parts.size() < 2) Refuse(row, "no name");
    const Words known = ColumnsOf(parts[0], row);
    ClassRule& rule = rules.emplace_back();
    rule.subject = parts[0];
    rule.name = parts[1];
    for (std::size_t i = 2; i < parts.size(); ++i) {
      const std::size_t equals = parts[i].find('=');
      if (equals == std::string_view::npos) Refuse(row, "no column");
      const std::string_view column = parts[i].substr(0, equals);
      if (!IsAmong(column, known)) Refuse(row, "unknown column");
      rule.columns.emplace_back(column,
                                Split(parts[i].substr(equals + 1), ','));
    }
  }
  return rules;
}

std::vector<const ClassRule*> RulesOf(std::string_view subject) {
  std::vector<const ClassRule*> rules;
  for (const ClassRule& rule : AllRules()) {
    if (rule.subject == subject) rules.push_back(&rule);
  }
  return rules;
}

LeafKind KindOf(std::string_view class_name) {
  std::string lower(class_name);
  for (char& c : lower) c = IsUpper(c) ? static_cast<char>(c - 'A' + 'a') : c;
  for (std::size_t i = 0; i < Kinds().size(); ++i) {
    for (const std::string_view word : (*Kinds()[i])["words"]) {
      if (FitsWord(word, class_name, lower)) return static_cast<LeafKind>(i);
    }
  }
  return LeafKind::kUnknown;
}

bool Is(LeafKind kind, Trait trait) {
  static const std::vector<std::uint32_t> traits = [] {
    std::vector<std::uint32_t> by_kind;
    for (const ClassRule* rule : Kinds()) {
      std::uint32_t& bits = by_kind.emplace_back(0);
      for (std::size_t i = 0; i < kTraitNames.size(); ++i) {
        if (rule->Has("is", kTraitNames[i])) bits |= 1U << i;
      }
    }
    return by_kind;
  }();
  return kind != LeafKind::kUnknown &&
         (traits[static_cast<std::size_t>(kind)] >>
              static_cast<unsigned>(trait) &
          1U) != 0;
}

}  // namespace onnx_tag::catalogue
