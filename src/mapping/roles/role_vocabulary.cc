#include "mapping/roles/role_vocabulary.h"

#include <stdexcept>

#include "base/glob.h"
#include "base/lists.h"
#include "base/text.h"
#include "core/hierarchy/name_parts.h"
#include "core/tagging/words.h"
#include "generated/roles.h"

namespace onnx_tag {
namespace {

// A number that nobody writes.
constexpr std::string_view kOtherNumber = "00";

[[noreturn]] void Refuse(std::string_view line, std::string_view what) {
  throw std::invalid_argument(std::string(what) + " in: " + std::string(line));
}

Meaning ParseMeaning(std::string_view text, std::string_view line) {
  Meaning meaning;
  if (text == "-") return meaning;
  const std::vector<std::string_view> parts = Split(text, '/');
  const auto type = WordToEnum<RoleType>(kRoleTypeNames, parts[0]);
  if (!type) Refuse(line, "unknown type");
  meaning.type = *type;
  if (parts.size() > 1) {
    const auto component = WordToEnum<Component>(kComponentNames, parts[1]);
    if (!component) Refuse(line, "unknown component");
    meaning.component = *component;
  }
  if (parts.size() > 2) {
    const auto kind = WordToEnum<AttentionKind>(kAttentionKindNames, parts[2]);
    if (!kind) Refuse(line, "unknown attention kind");
    meaning.kind = *kind;
  }
  return meaning;
}

void ParseCondition(std::string_view condition, std::string_view text,
                    RoleLine& line) {
  const std::size_t equals = condition.find('=');
  if (equals == std::string_view::npos) Refuse(text, "no condition");
  const std::string_view key = condition.substr(0, equals);
  const auto values = Split(condition.substr(equals + 1), ',');
  if (key == "beside") {
    line.beside = values;
  } else if (key == "has") {
    line.has = values;
  } else if (key == "in") {
    line.in.clear();
    for (const std::string_view value : values) {
      if (value == "any") {
        line.in_any = true;
        continue;
      }
      const Meaning around = ParseMeaning(value == "none" ? "-" : value, text);
      line.in.push_back({around.type, around.component});
    }
  } else if (key == "when") {
    for (const std::string_view value : values) {
      bool& flag = value == "leaf"       ? line.leaf
                   : value == "inner"    ? line.inner
                   : value == "listed"   ? line.listed
                   : value == "unlisted" ? line.unlisted
                   : value == "top"      ? line.top
                                    : (Refuse(text, "unknown when"), line.leaf);
      flag = true;
    }
  } else {
    Refuse(text, "unknown condition");
  }
}

}  // namespace

bool RoleLine::FitsAround(const Meaning& around) const {
  // Inside an activation or a position module, all nodes have the same role.
  if (in_any) {
    return around.type != RoleType::kActivation &&
           around.type != RoleType::kPosition;
  }
  return AnyIn(in, [&](const Around& wanted) {
    return wanted.type == around.type &&
           (wanted.component == Component::kNone ||
            wanted.component == around.component);
  });
}

RoleVocabulary::RoleVocabulary(std::string_view text) { Read(text); }

RoleVocabulary RoleVocabulary::WithBuiltIn(std::string_view lines) {
  RoleVocabulary vocabulary(lines);
  vocabulary.Read(kRoles);
  return vocabulary;
}

void RoleVocabulary::Read(std::string_view text) {
  constexpr std::array<std::string_view, 4> kSubjects = {"name", "class", "op",
                                                         "own"};
  for (const std::string_view row : Split(text, '\n')) {
    std::vector<std::string_view> parts = Split(row, ' ');
    std::erase(parts, std::string_view());
    if (parts.empty()) continue;
    if (parts.size() < 3) Refuse(row, "too few words");
    const auto subject = WordToEnum<RoleSubject>(kSubjects, parts[0]);
    if (!subject) Refuse(row, "unknown subject");
    RoleLine line;
    line.subject = *subject;
    line.words = Split(parts[1], ',');
    line.meaning = ParseMeaning(parts[2], row);
    line.in = {RoleLine::Around()};
    if (line.subject == RoleSubject::kOwn) line.in_any = true;
    for (std::size_t i = 3; i < parts.size(); ++i) {
      ParseCondition(parts[i], row, line);
    }
    const auto number = static_cast<std::uint16_t>(lines_.size());
    Words& words = words_[static_cast<std::size_t>(line.subject)];
    for (const std::string_view word : line.words) {
      words.tell_numbers |=
          word == kOtherNumber ||
          (word.find_first_not_of("!*0123456789") == std::string_view::npos &&
           word.find_first_of("!*") != std::string_view::npos &&
           word.find_first_not_of("!*") != std::string_view::npos);
      if (word.starts_with('!')) {
        words.exceptions.push_back({word.substr(1), number});
      } else if (word.find('*') != std::string_view::npos) {
        words.patterns.push_back({word, number});
      } else {
        words.plain[word].push_back(number);
      }
    }
    lines_.push_back(std::move(line));
  }
}

const RoleVocabulary& RoleVocabulary::BuiltIn() {
  static const RoleVocabulary vocabulary(kRoles);
  return vocabulary;
}

std::vector<std::uint16_t> RoleVocabulary::Matching(
    RoleSubject subject, std::string_view text) const {
  // Longer than any name in a program. Matching such a text would only cost
  // time.
  constexpr std::size_t kLongest = 256;
  std::vector<std::uint16_t> found;
  if (text.size() > kLongest) return found;
  const Words& words = words_[static_cast<std::size_t>(subject)];
  std::string lower(text);
  for (char& c : lower) {
    if (hierarchy::IsUpper(c)) c = static_cast<char>(c - 'A' + 'a');
  }
  if (const auto at = words.plain.find(lower); at != words.plain.end()) {
    found = at->second;
  }
  for (const Pattern& pattern : words.patterns) {
    if (MatchesPattern(pattern.word, lower, "")) found.push_back(pattern.line);
  }
  for (const Pattern& exception : words.exceptions) {
    if (MatchesPattern(exception.word, lower, "")) {
      std::erase(found, exception.line);
    }
  }
  SortUnique(found);
  return found;
}

std::string_view RoleVocabulary::StandIn(RoleSubject subject,
                                         std::string_view text) const {
  const Words& words = words_[static_cast<std::size_t>(subject)];
  return words.tell_numbers || !hierarchy::IsNumeric(text) ||
                 words.plain.contains(text)
             ? text
             : kOtherNumber;
}

const std::vector<std::uint16_t>& RoleLookup::Matching(RoleSubject subject,
                                                       std::string_view text) {
  text = vocabulary_.StandIn(subject, text);
  const auto [at, added] =
      known_[static_cast<std::size_t>(subject)].try_emplace(text);
  if (added) at->second = vocabulary_.Matching(subject, text);
  return at->second;
}

}  // namespace onnx_tag
