#include <algorithm>
#include <charconv>
#include <unordered_map>

#include "base/text.h"
#include "catalogue_maker/source.h"
#include "onnx_tag/error.h"
#include "onnx_tag/ids.h"

namespace onnx_tag::catalogue {
namespace {

constexpr std::string_view kTorchNn = "torch.nn";

std::string Unescape(std::string_view text) {
  std::string name;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '%') {
      name += text[i];
      continue;
    }
    unsigned byte = 0;
    const char* const first = text.data() + i + 1;
    if (i + 2 >= text.size() ||
        std::from_chars(first, first + 2, byte, 16).ptr != first + 2) {
      Fail(ErrorKind::kInput, "'%' needs two hexadecimal digits in '{}'", text);
    }
    name += static_cast<char>(byte);
    i += 2;
  }
  if (name.empty()) Fail(ErrorKind::kInput, "a name is empty");
  return name;
}

// Cuts `text` at the first `mark`; what follows it is returned.
std::string_view CutAt(std::string_view& text, char mark) {
  const std::size_t at = text.find(mark);
  if (at == std::string_view::npos) return {};
  const std::string_view rest = text.substr(at + 1);
  if (rest.empty()) Fail(ErrorKind::kInput, "nothing follows '{}'", mark);
  text = text.substr(0, at);
  return rest;
}

std::uint32_t ReadNumber(std::string_view text) {
  std::uint32_t number = 0;
  const auto [end, error] =
      std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || end != text.data() + text.size()) {
    Fail(ErrorKind::kInput, "'{}' is not a number", text);
  }
  return number;
}

using Columns = std::vector<std::string_view>;
struct Body {
  std::size_t number;
  Columns columns;
};

template <typename Action>
void AtLine(std::size_t number, Action action) {
  try {
    action();
  } catch (const Error& error) {
    throw error.In(fmt::format("line {}", number));
  }
}

template <typename Read>
void ForEachLine(std::string_view text, Read read) {
  std::size_t number = 0;
  for (const std::string_view line : Split(text, '\n')) {
    ++number;
    if (line.empty() || line.front() == '#') continue;
    AtLine(number, [&] { read(Body{number, Split(line, '\t')}); });
  }
}

std::uint32_t ReadRows(std::string_view text) {
  if (text == "-") return kNoRows;
  if (text == "?") return kRowsNotStated;
  const std::uint32_t rows = ReadNumber(text);
  if (rows == 0) Fail(ErrorKind::kInput, "a table of 0 rows");
  return rows;
}

// Classes may refer to classes that come later, so that the text is read
// twice: first for the names of all classes, then for what they hold.
class SourceReader {
 public:
  Source Read(std::string_view text) {
    ForEachLine(text, [&](const Body& line) { ReadName(line); });
    if (source_.classes.empty()) Fail(ErrorKind::kInput, "no class");
    all_ = static_cast<VersionMask>((1U << source_.versions.size()) - 1);
    for (const auto& table : tables_) {
      AtLine(table.first, [&] { ReadTable(table.second); });
    }
    for (std::size_t i = 0; i < bodies_.size(); ++i) {
      AtLine(bodies_[i].number,
             [&] { ReadBody(bodies_[i].columns, source_.classes[i]); });
    }
    return std::move(source_);
  }

 private:
  void ReadName(const Body& line) {
    Columns columns = line.columns;
    const std::string_view first = columns[0];
    if (source_.sections.empty() &&
        (first == "version" || first == "library" || first == "table")) {
      ReadPreamble(line);
      return;
    }
    if (columns.size() > 5) Fail(ErrorKind::kInput, "more than five columns");
    columns.resize(5);
    if (first.starts_with("@ ")) {
      AddSection(columns);
      return;
    }
    if (source_.sections.empty()) {
      Fail(ErrorKind::kInput, "a class before the first section");
    }
    AddClass(columns, line.number);
  }

  void ReadPreamble(const Body& line) {
    const std::string_view what = line.columns[0];
    const std::size_t wanted = what == "version" ? 4 : 3;
    if (line.columns.size() != wanted) {
      Fail(ErrorKind::kInput, "'{}' has {} columns, not {}", what,
           line.columns.size(), wanted);
    }
    if (what == "version") {
      const char letter = static_cast<char>('a' + source_.versions.size());
      if (line.columns[1] != std::string_view(&letter, 1) || letter > 'p') {
        Fail(ErrorKind::kInput, "version '{}' where '{}' was next, 'p' is last",
             line.columns[1], letter);
      }
      source_.versions.push_back(std::string(line.columns[2]) + ' ' +
                                 std::string(line.columns[3]));
    } else if (what == "table") {
      table_names_.push_back(line.columns[1]);
      tables_.emplace_back(line.number, line.columns);
    }
  }

  void AddSection(const Columns& columns) {
    SourceSection section;
    section.module = columns[0].substr(2);
    section.alias = columns[1];
    section.library = columns[2];
    if (!columns[3].empty()) {
      for (const std::string_view word : Split(columns[3], ',')) {
        section.words.emplace_back(word);
      }
    }
    if (!columns[4].empty()) section.rank = ReadNumber(columns[4]);
    const SectionId id = MakeId<SectionId>(source_.sections.size());
    if (!by_alias_.try_emplace(section.alias, id).second) {
      Fail(ErrorKind::kInput, "section '{}' comes twice", section.alias);
    }
    if (section.module == kTorchNn) torch_nn_ = id;
    source_.sections.push_back(std::move(section));
  }

  void AddClass(const Columns& columns, std::size_t number) {
    SourceClass added;
    std::string_view name = columns[0];
    if (name.starts_with('!') || name.starts_with(':')) {
      added.mark = name.front() == '!' ? Mark::kListed : Mark::kModel;
      name.remove_prefix(1);
    }
    added.name = Unescape(name);
    added.section = MakeId<SectionId>(source_.sections.size() - 1);
    const ClassId id = MakeId<ClassId>(source_.classes.size());
    auto& namesakes = by_name_[added.name];
    for (const ClassId other : namesakes) {
      if (source_.classes[Index(other)].section == added.section) {
        Fail(ErrorKind::kInput, "class '{}' comes twice in its section",
             added.name);
      }
    }
    namesakes.push_back(id);
    source_.classes.push_back(std::move(added));
    bodies_.push_back({number, columns});
  }

  VersionMask ReadMask(std::string_view letters, VersionMask outer) const {
    if (letters.empty()) return outer;
    VersionMask mask = 0;
    for (const char letter : letters) {
      const int bit =
          (letter >= 'A' && letter <= 'Z' ? letter - 'A' + 'a' : letter) - 'a';
      if (bit < 0 || bit >= static_cast<int>(source_.versions.size())) {
        Fail(ErrorKind::kInput, "no version has the letter '{}'", letter);
      }
      mask = static_cast<VersionMask>(mask | 1U << bit);
    }
    return mask;
  }

  ClassId Resolve(std::string_view reference, SectionId section) const {
    if (reference == "AUTO") return kAnyModel;
    const auto table =
        std::find(table_names_.begin(), table_names_.end(), reference);
    if (table != table_names_.end()) {
      return MakeId<ClassId>(
          Index(kFirstTable) +
          static_cast<std::size_t>(table - table_names_.begin()));
    }
    const std::size_t colon = reference.rfind(':');
    const std::string name =
        Unescape(colon == std::string_view::npos ? reference
                                                 : reference.substr(colon + 1));
    const auto found = by_name_.find(name);
    if (found == by_name_.end()) Fail(ErrorKind::kInput, "no class '{}'", name);
    const std::vector<ClassId>& namesakes = found->second;
    const auto in = [&](SectionId wanted) {
      const auto at =
          std::find_if(namesakes.begin(), namesakes.end(), [&](ClassId id) {
            return source_.classes[Index(id)].section == wanted;
          });
      return at == namesakes.end() ? kNo<ClassId> : *at;
    };
    if (colon != std::string_view::npos) {
      const auto alias =
          by_alias_.find(std::string(reference.substr(0, colon)));
      if (alias == by_alias_.end() || in(alias->second) == kNo<ClassId>) {
        Fail(ErrorKind::kInput, "no class '{}'", reference);
      }
      return in(alias->second);
    }
    if (in(section) != kNo<ClassId>) return in(section);
    if (in(torch_nn_) != kNo<ClassId>) return in(torch_nn_);
    if (namesakes.size() != 1) {
      Fail(ErrorKind::kInput, "'{}' is the name of {} classes: say which", name,
           namesakes.size());
    }
    return namesakes[0];
  }

  void ReadTable(const Columns& columns) {
    auto& [name, entries] = source_.tables.emplace_back();
    name = columns[1];
    for (std::string_view entry : Split(columns[2], '|')) {
      const VersionMask mask = ReadMask(CutAt(entry, '~'), all_);
      entries.push_back({Resolve(entry, torch_nn_), mask, 0, 0, {}});
    }
  }

  // `name[?|??][~mask]`
  static Optional CutOptional(std::string_view& name) {
    if (name.ends_with("??")) {
      name.remove_suffix(2);
      return Optional::kInChanged;
    }
    if (name.ends_with('?')) {
      name.remove_suffix(1);
      return Optional::kInDefault;
    }
    return Optional::kNever;
  }

  void ReadBody(const Columns& columns, SourceClass& cls) {
    std::string_view facts = columns[1];
    cls.versions = ReadMask(CutAt(facts, '~'), all_);
    for (const bool buffer : {false, true}) {
      const std::string_view text = columns[buffer ? 3 : 2];
      if (text.empty()) continue;
      for (std::string_view name : Split(text, ',')) {
        SourceName& added = cls.names.emplace_back();
        added.buffer = buffer;
        added.versions = ReadMask(CutAt(name, '~'), cls.versions);
        added.optional = CutOptional(name);
        if (name.starts_with('-')) name.remove_prefix(1);
        added.name = Unescape(name);
      }
    }
    if (columns[4].empty()) return;
    for (const std::string_view text : Split(columns[4], ' ')) {
      ReadMember(text, cls);
    }
    ImplyLists(cls.members, cls.versions);
  }

  void ReadMember(std::string_view text, SourceClass& cls) {
    std::string_view path = text;
    const std::string_view alternatives = CutAt(path, '=');
    if (alternatives.empty()) {
      // Which layers of a list have the path: not used for matching.
      if (text.find_first_of("^$&") == std::string_view::npos) {
        Fail(ErrorKind::kInput, "'{}' is no member", text);
      }
      return;
    }
    const VersionMask versions = ReadMask(CutAt(path, '~'), cls.versions);
    const Optional optional = CutOptional(path);
    SourceMember* member = &cls.members;
    for (const std::string_view step : Split(path, '.')) {
      member = &member->Child(Unescape(step));
    }
    if (!member->alternatives.empty()) {
      Fail(ErrorKind::kInput, "member '{}' comes twice", path);
    }
    member->versions = versions;
    member->optional = optional;
    for (std::string_view alternative : Split(alternatives, '|')) {
      member->alternatives.push_back(
          ReadAlternative(alternative, cls.section, versions));
    }
  }

  // `CLASS[+own][^|$][~mask]`
  SourceAlternative ReadAlternative(std::string_view text, SectionId section,
                                    VersionMask outer) const {
    SourceAlternative read;
    const std::string_view letters = CutAt(text, '~');
    read.versions = ReadMask(letters, outer);
    // A capital: the most frequent in that version, though others come before.
    std::string usual;
    for (const char letter : letters) {
      if (letter >= 'A' && letter <= 'Z') usual += letter;
    }
    read.usual = ReadMask(usual, 0);
    if (text.ends_with('^') || text.ends_with('$')) {
      read.place = text.back() == '^' ? Place::kFirst : Place::kLast;
      text.remove_suffix(1);
    }
    const std::string_view own = CutAt(text, '+');
    if (!own.empty()) {
      if (own.find_first_not_of("wb0") != std::string_view::npos) {
        Fail(ErrorKind::kInput, "'+{}' is none of +w, +b, +wb and +0", own);
      }
      const auto has = [&](char c) { return own.find(c) != own.npos; };
      read.own = static_cast<std::uint8_t>(
          kOwnSaid | (has('w') ? kOwnWeight : 0) | (has('b') ? kOwnBias : 0));
    }
    read.target = Resolve(text, section);
    return read;
  }

  // A path without an entry of its own is a list that is always there.
  void ImplyLists(SourceMember& owner, VersionMask versions) const {
    for (SourceMember& member : owner.children) {
      if (member.alternatives.empty()) {
        member.versions = versions;
        member.alternatives.push_back(
            {Resolve("ModuleList", torch_nn_), versions, 0, 0, {}});
      }
      ImplyLists(member, versions);
    }
  }

  Source source_;
  VersionMask all_ = 0;
  SectionId torch_nn_ = kNo<SectionId>;
  std::vector<std::string_view> table_names_;
  std::vector<std::pair<std::size_t, Columns>> tables_;
  std::vector<Body> bodies_;  // by class
  std::unordered_map<std::string, SectionId> by_alias_;
  std::unordered_map<std::string, std::vector<ClassId>> by_name_;
};

}  // namespace

SourceMember& SourceMember::Child(const std::string& child_name) {
  for (SourceMember& child : children) {
    if (child.name == child_name) return child;
  }
  SourceMember& child = children.emplace_back();
  child.name = child_name;
  return child;
}

Source ReadSource(std::string_view text) { return SourceReader().Read(text); }

void ReadSizes(std::string_view text, Source& source) {
  ForEachLine(text, [&](const Body& line) {
    const Columns& columns = line.columns;
    if (columns.size() < 4) Fail(ErrorKind::kInput, "fewer than four columns");
    // Families of which this catalogue has no class are passed over: sizes are
    // written by hand, and may be ahead of it.
    for (const SourceSection& section : source.sections) {
      if (section.alias != "tf." + std::string(columns[0])) continue;
      source.sizes.push_back({FamilyOf(section), ReadRows(columns[1]),
                              ReadRows(columns[2]), ReadRows(columns[3])});
      break;
    }
  });
}

std::string FamilyOf(const SourceSection& section) {
  if (!section.module.starts_with("transformers.models.")) {
    return section.module;
  }
  return section.module.substr(0, section.module.rfind('.'));
}

}  // namespace onnx_tag::catalogue
