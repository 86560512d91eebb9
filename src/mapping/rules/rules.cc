#include "mapping/rules/rules.h"

#include <algorithm>
#include <array>
#include <span>
#include <stdexcept>

#include "base/lists.h"
#include "base/text.h"
#include "core/tagging/words.h"
#include "file/json/reader.h"
#include "mapping/roles/role_vocabulary.h"

namespace onnx_tag {

Pattern::Pattern(std::string_view text) : text_(text) {
  for (std::size_t at = 0; at < text.size(); ++at) {
    if (text[at] != '*') continue;
    if (at + 1 < text.size() && text[at + 1] == '*') ++at;
    ++captures_;
  }
}

std::string FillIn(std::string_view text,
                   const std::vector<std::string_view>& captures) {
  std::string filled;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '$' || i + 1 == text.size()) {
      filled += text[i];
      continue;
    }
    const char next = text[++i];
    if (next == '$') {
      filled += '$';
      continue;
    }
    const auto number = static_cast<std::size_t>(next - '1');
    if (number < captures.size()) filled += captures[number];
  }
  return filled;
}

int HighestCapture(std::string_view text) {
  int highest = 0;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '$') continue;
    const char next = ++i < text.size() ? text[i] : '\0';
    if (next == '$') continue;
    if (next < '1' || next > '9') return -1;
    highest = std::max(highest, next - '0');
  }
  return highest;
}

namespace {

using json::Kind;
using json::Place;
using Words = std::span<const std::string_view>;

constexpr std::array<std::string_view, 5> kTopKeys = {
    "format", "rules", "catalogue", "torch_nn_exceptions", "vocabulary"};
constexpr std::array<std::string_view, 6> kRuleKeys = {
    "name", "match", "module", "class", "tag", "role"};
constexpr std::array<std::string_view, 5> kMatchKeys = {"op", "name", "value",
                                                        "parameter", "module"};
constexpr std::array<std::string_view, 4> kRoleKeys = {
    "type", "component", "attention_kind", "layer"};

class RulesReader {
 public:
  RulesReader(std::string_view json, const std::string& file) : reader_(json) {
    rules_.file = file;
  }

  Rules Read() {
    Object(kTopKeys, "rules file", [&](std::string_view key) {
      if (key == "format") ReadFormat();
      if (key == "rules") ReadList([&] { ReadRule(); });
      if (key == "catalogue") ReadCatalogue();
      if (key == "torch_nn_exceptions") {
        ReadList([&] { rules_.exceptions.push_back(ClassName()); });
      }
      if (key == "vocabulary") ReadList([&] { ReadVocabulary(); });
    });
    return std::move(rules_);
  }

 private:
  template <typename Member>
  void Object(Words keys, std::string_view what, Member member) {
    reader_.BeginObject();
    std::string_view key;
    while (reader_.NextMember(key)) {
      Choose(reader_.KeyPlace(), fmt::format("key of a {}", what), key, keys);
      member(key);
    }
  }

  template <typename Item>
  void ReadList(Item item) {
    reader_.BeginArray();
    while (reader_.NextItem()) item();
  }

  // Fails, with the nearest word, where `word` is none of `words`.
  void Choose(Place place, std::string_view what, std::string_view word,
              Words words) const {
    if (IsAmong(word, words)) return;
    reader_.FailAt(
        place, "unknown {} '{}'{}", what, word,
        Ours{DidYouMean(word, words, "\n  valid values: " + Join(words))});
  }

  void ReadFormat() {
    constexpr std::array<std::string_view, 1> kFormats = {"onnx-tag-rules/1"};
    const Place place = reader_.Here();
    Choose(place, "format", reader_.String(), kFormats);
  }

  std::string ClassName() {
    const Place place = reader_.Here();
    std::string name = reader_.String();
    if (name.empty() || name.find_first_of("/ \t\n") != std::string::npos) {
      reader_.FailAt(place, "\"{}\" is not a class name", name);
    }
    return name;
  }

  // A text that may ask for captures; how many there are is known later.
  std::string Filled() {
    const Place place = reader_.Here();
    std::string text = reader_.String();
    const int highest = HighestCapture(text);
    if (highest < 0) {
      reader_.FailAt(
          place,
          "\"{}\": a $ without a number\n  write $1 to $9 for the text that "
          "a * matched, and $$ for a dollar sign",
          text);
    }
    if (highest > asked_) {
      asked_ = highest;
      asked_at_ = place;
    }
    return text;
  }

  void ReadRule() {
    Rule rule;
    const Place start = reader_.Here();
    std::string name;
    bool matches = false;
    asked_ = 0;
    Object(kRuleKeys, "rule", [&](std::string_view key) {
      if (key == "name") name = reader_.String();
      if (key == "match") {
        matches = true;
        ReadMatch(rule);
      }
      if (key == "module") rule.gives_module = Module();
      if (key == "class") rule.gives_class = Filled();
      if (key == "tag") ReadTag(rule);
      if (key == "role") ReadRole(rule);
    });
    const std::string where = reader_.Where(start);
    rule.title = name.empty() ? fmt::format("the rule at {}", where)
                              : Message("rule \"{}\" ({})", name,
                                        where.substr(0, where.find(',')));
    rule.because = Message("{} of {}", rule.title, rules_.file);
    Check(rule, matches, start);
    rules_.rules.push_back(std::move(rule));
  }

  void Check(const Rule& rule, bool matches, Place start) const {
    if (!matches) {
      reader_.FailAt(start,
                     "a rule has no \"match\"\n  choose its nodes: "
                     "\"match\": {{\"op\": \"Softmax\"}}");
    }
    if (!rule.gives_module && rule.gives_class.empty() &&
        rule.gives_tag.empty() && !rule.gives_role) {
      reader_.FailAt(start,
                     "a rule has no effect\n  add \"module\", \"class\", "
                     "\"tag\" or \"role\"");
    }
    std::size_t captures = 0;
    for (const auto* pattern :
         {&rule.op, &rule.name, &rule.value, &rule.parameter, &rule.module}) {
      if (*pattern) captures += (*pattern)->captures();
    }
    if (static_cast<std::size_t>(asked_) > captures) {
      reader_.FailAt(asked_at_, "the rule uses ${}, but \"match\" has {}",
                     asked_, Count(captures, "*"));
    }
  }

  void ReadMatch(Rule& rule) {
    const Place start = reader_.Here();
    bool any = false;
    Object(kMatchKeys, "match", [&](std::string_view key) {
      any = true;
      const Place place = reader_.Here();
      std::string text = reader_.String();
      if (key == "module" && text == kRootText) text.clear();
      if (text.empty() && key != "module") {
        reader_.FailAt(place, "an empty pattern matches nothing");
      }
      if (key == "op") rule.op.emplace(text);
      if (key == "name") rule.name.emplace(text);
      if (key == "value") rule.value.emplace(text);
      if (key == "parameter") rule.parameter.emplace(text);
      if (key == "module") rule.module.emplace(text);
    });
    if (!any) {
      reader_.FailAt(start, "\"match\" is empty; use {}", Join(kMatchKeys));
    }
  }

  std::string Module() {
    const Place place = reader_.Here();
    std::string path = Filled();
    if (path == kRootText) return "";
    for (const std::string_view atom : Split(path, '.')) {
      if (path.empty()) break;
      if (atom.empty() || atom.find('*') != std::string_view::npos) {
        reader_.FailAt(place, "\"{}\" is not a module path", path);
      }
    }
    return path;
  }

  void ReadTag(Rule& rule) {
    const Place place = reader_.Here();
    rule.gives_tag = Filled();
    if (!rule.gives_tag.starts_with('/') || rule.gives_tag.size() == 1) {
      reader_.FailAt(place,
                     "\"{}\" is not a hierarchy tag; example: /Root/Class",
                     rule.gives_tag);
    }
  }

  // "attention/query", or an object with all parts.
  void ReadRole(Rule& rule) {
    Role role;
    const Place start = reader_.Here();
    std::string type;
    if (reader_.Peek() == Kind::kString) {
      const std::string text = reader_.String();
      const std::size_t slash = text.find('/');
      type = text.substr(0, slash);
      if (slash != std::string::npos) role.component = text.substr(slash + 1);
      SetType(start, type, role);
    } else {
      Object(kRoleKeys, "role", [&](std::string_view key) {
        const Place place = reader_.Here();
        if (key == "type") SetType(place, type = reader_.String(), role);
        if (key == "component") role.component = reader_.String();
        if (key == "attention_kind") SetKind(place, role);
        if (key == "layer") {
          const std::uint32_t layer = reader_.Count();
          if (layer > 1'000'000)
            reader_.FailAt(place, "the layer is larger than 1000000");
          role.layer = static_cast<std::int32_t>(layer);
          rule.gives_layer = true;
        }
      });
      if (type.empty()) reader_.FailAt(start, "a role needs a \"type\"");
    }
    const auto fits = [](char c) {
      return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '_';
    };
    if (!AllIn(role.component, fits)) {
      reader_.FailAt(
          start, "component \"{}\": use only lower-case letters, digits and _",
          role.component);
    }
    role.confidence = Confidence::kCertain;
    rule.gives_role = role;
  }

  void SetType(Place place, const std::string& type, Role& role) const {
    Choose(place, "type of a role", type, kRoleTypeNames);
    role.type = *WordToEnum<RoleType>(kRoleTypeNames, type);
  }

  void SetKind(Place place, Role& role) {
    constexpr std::array<std::string_view, 2> kKinds = {"self", "cross"};
    const std::string kind = reader_.String();
    Choose(place, "kind of attention", kind, kKinds);
    role.attention_kind = *WordToEnum<AttentionKind>(kAttentionKindNames, kind);
  }

  void ReadCatalogue() {
    reader_.BeginObject();
    std::string_view owner;
    while (reader_.NextMember(owner)) {
      std::vector<AddedMember>& members = rules_.classes[std::string(owner)];
      reader_.BeginObject();
      std::string_view path;
      while (reader_.NextMember(path)) {
        const Place place = reader_.KeyPlace();
        for (const std::string_view atom : Split(path, '.')) {
          const bool list =
              atom.find('*') != std::string_view::npos && atom != "*";
          if (!atom.empty() && !list) continue;
          reader_.FailAt(place,
                         "\"{}\" is not an attribute\n  write \"layer\", or "
                         "\"layer.*\" for the members of a list",
                         path);
        }
        members.push_back({Pattern(path), ClassName()});
      }
    }
  }

  void ReadVocabulary() {
    const Place place = reader_.Here();
    const std::string line = reader_.String();
    try {
      if (line.find('\n') != std::string::npos) {
        throw std::invalid_argument("more than one line");
      }
      const RoleVocabulary check(line);
      if (check.lines().size() != 1) throw std::invalid_argument("no words");
    } catch (const std::invalid_argument& error) {
      reader_.FailAt(place,
                     "{}\n  a line is SUBJECT WORDS ROLE [CONDITION...], as in "
                     "\"name q_lin,wq attention/query in=attention\"",
                     error.what());
    }
    rules_.vocabulary += line + "\n";
  }

  json::Reader reader_;
  Rules rules_;
  int asked_ = 0;  // the highest $n of this rule, and where it stands
  Place asked_at_ = Place{0};
};

}  // namespace

Rules ReadRules(std::string_view json, const std::string& file) {
  return RulesReader(json, file).Read();
}

}  // namespace onnx_tag
