// Lays the catalogue out as flat arrays.
#include <algorithm>
#include <cstring>
#include <deque>
#include <set>

#include "base/interner.h"
#include "catalogue_maker/source.h"
#include "mapping/classes/catalogue/operators.h"
#include "onnx_tag/error.h"

namespace onnx_tag::catalogue {
namespace {

std::uint16_t Narrow(std::size_t count) {
  if (count > 0xffff) Fail(ErrorKind::kInput, "a class of {} parts", count);
  return static_cast<std::uint16_t>(count);
}

class Packer {
 public:
  std::string Pack(const Source& source) {
    AddText("");
    AddText("*");
    for (const std::string& version : source.versions) {
      versions_.push_back(AddText(version));
    }
    for (const SourceSection& section : source.sections) AddSection(section);
    for (const SourceClass& cls : source.classes) AddClass(cls);
    for (const auto& [name, entries] : source.tables) {
      tables_.push_back({AddText(name), Count(table_entries_),
                         static_cast<std::uint32_t>(entries.size())});
      for (const SourceAlternative& entry : entries) {
        table_entries_.push_back(Record(entry));
      }
    }
    for (const SourceSizes& sizes : source.sizes) {
      sizes_.push_back({AddText(sizes.family), sizes.vocabulary,
                        sizes.positions, sizes.types});
    }
    return Join();
  }

 private:
  template <typename T>
  static std::uint32_t Count(const std::vector<T>& items) {
    return static_cast<std::uint32_t>(items.size());
  }

  TextId AddText(const std::string& text) {
    const TextId known = interner_.Find(text);
    if (known != kNo<TextId>) return known;
    return interner_.Intern(kept_.emplace_back(text));
  }

  static AlternativeRecord Record(const SourceAlternative& alternative) {
    return {alternative.target, alternative.versions, alternative.usual,
            alternative.own, alternative.place};
  }

  void AddSection(const SourceSection& section) {
    sections_.push_back({AddText(section.module), AddText(section.library),
                         AddText(FamilyOf(section)), Count(words_),
                         Count(section.words), section.rank});
    for (const std::string& word : section.words) {
      words_.push_back(AddText(word));
    }
  }

  void AddClass(const SourceClass& cls) {
    ClassRecord record = {};
    record.name = AddText(cls.name);
    record.word = AddText(cls.word);
    record.section = cls.section;
    record.versions = cls.versions;
    record.mark = cls.mark;
    const auto& children = cls.members.children;
    // A reparametrized leaf is a leaf.
    const bool leaf =
        children.empty() ||
        (children.size() == 1 && children[0].name == kParametrizations);
    // And a norm that brings its activation along is a norm.
    const LeafKind kind = KindOf(cls.name);
    record.kind = static_cast<std::uint8_t>(
        leaf || (IsNorm(kind) && !cls.names.empty()) ? kind
                                                     : LeafKind::kUnknown);
    record.first_parameter = Count(parameters_);
    record.parameter_count = Narrow(cls.names.size());
    std::set<TextId> owned;
    for (const SourceName& name : cls.names) {
      const TextId text = AddText(name.name);
      parameters_.push_back({text, name.versions, name.optional, name.buffer});
      owned.insert(text);
    }
    record.member_count = Narrow(cls.members.children.size());
    record.first_member = AddMembers(cls.members);
    for (const SourceMember& member : cls.members.children) {
      owned.insert(AddText(member.name));
    }
    const ClassId id = MakeId<ClassId>(classes_.size());
    for (const TextId text : owned) owners_.emplace_back(text, id);
    namesakes_.emplace_back(record.name, id);
    classes_.push_back(record);
  }

  // A member's children lie side by side, sorted by name.
  std::uint32_t AddMembers(const SourceMember& owner) {
    std::vector<std::pair<TextId, const SourceMember*>> children;
    for (const SourceMember& member : owner.children) {
      children.emplace_back(AddText(member.name), &member);
    }
    std::sort(children.begin(), children.end());
    const std::uint32_t first = Count(members_);
    members_.resize(members_.size() + children.size());
    for (std::size_t i = 0; i < children.size(); ++i) {
      const SourceMember& member = *children[i].second;
      MemberRecord record = {};
      record.name = children[i].first;
      record.versions = member.versions;
      record.optional = member.optional;
      record.first_alternative = Count(alternatives_);
      record.alternative_count = Narrow(member.alternatives.size());
      for (const SourceAlternative& alternative : member.alternatives) {
        alternatives_.push_back(Record(alternative));
      }
      record.child_count = Narrow(member.children.size());
      record.first_child = AddMembers(member);
      members_[first + i] = record;
    }
    return first;
  }

  // Groups classes by text: where each text's begin, and the classes.
  std::pair<std::vector<std::uint32_t>, std::vector<ClassId>> Group(
      std::vector<std::pair<TextId, ClassId>> pairs) const {
    std::sort(pairs.begin(), pairs.end());
    std::vector<std::uint32_t> first(interner_.size() + 1);
    std::vector<ClassId> classes;
    for (const auto& [text, id] : pairs) {
      ++first[Index(text) + 1];
      classes.push_back(id);
    }
    for (std::size_t i = 1; i < first.size(); ++i) first[i] += first[i - 1];
    return {std::move(first), std::move(classes)};
  }

  std::vector<std::uint32_t> TextSlots() const {
    std::size_t size = 16;
    while (size < 2 * interner_.size()) size *= 2;
    std::vector<std::uint32_t> slots(size);
    for (const TextId id : AllIds<TextId>(interner_.size())) {
      std::size_t at = HashBytes(interner_[id]) & (size - 1);
      while (slots[at] != 0) at = (at + 1) & (size - 1);
      slots[at] = static_cast<std::uint32_t>(Index(id)) + 1;
    }
    return slots;
  }

  template <typename T>
  void Append(Part part, const std::vector<T>& items) {
    static_assert(std::is_trivially_copyable_v<T>);
    while (bytes_.size() % 8 != 0) bytes_ += '\0';
    header_.parts[static_cast<std::size_t>(part)] = {
        static_cast<std::uint32_t>(bytes_.size()), Count(items)};
    if (items.empty()) return;
    const std::size_t at = bytes_.size();
    bytes_.resize(at + items.size() * sizeof(T));
    std::memcpy(bytes_.data() + at, items.data(), items.size() * sizeof(T));
  }

  std::string Join() {
    header_.magic = kMagic;
    bytes_.assign(sizeof(Header), '\0');
    std::vector<char> text_bytes;
    std::vector<std::uint32_t> text_ends;
    for (const TextId id : AllIds<TextId>(interner_.size())) {
      const std::string_view text = interner_[id];
      text_bytes.insert(text_bytes.end(), text.begin(), text.end());
      text_ends.push_back(Count(text_bytes));
    }
    const auto [owners_first, owners] = Group(owners_);
    const auto [namesakes_first, namesakes] = Group(namesakes_);
    Append(Part::kTextBytes, text_bytes);
    Append(Part::kTextEnds, text_ends);
    Append(Part::kTextSlots, TextSlots());
    Append(Part::kSections, sections_);
    Append(Part::kWords, words_);
    Append(Part::kVersions, versions_);
    Append(Part::kClasses, classes_);
    Append(Part::kParameters, parameters_);
    Append(Part::kMembers, members_);
    Append(Part::kAlternatives, alternatives_);
    Append(Part::kTables, tables_);
    Append(Part::kTableEntries, table_entries_);
    Append(Part::kSizes, sizes_);
    Append(Part::kOwnersFirst, owners_first);
    Append(Part::kOwners, owners);
    Append(Part::kNamesakesFirst, namesakes_first);
    Append(Part::kNamesakes, namesakes);
    std::memcpy(bytes_.data(), &header_, sizeof(header_));
    return std::move(bytes_);
  }

  std::deque<std::string> kept_;
  Interner<TextId> interner_;
  std::vector<SectionRecord> sections_;
  std::vector<TextId> words_;
  std::vector<TextId> versions_;
  std::vector<ClassRecord> classes_;
  std::vector<ParameterRecord> parameters_;
  std::vector<MemberRecord> members_;
  std::vector<AlternativeRecord> alternatives_;
  std::vector<TableRecord> tables_;
  std::vector<AlternativeRecord> table_entries_;
  std::vector<SizesRecord> sizes_;
  std::vector<std::pair<TextId, ClassId>> owners_;
  std::vector<std::pair<TextId, ClassId>> namesakes_;
  Header header_ = {};
  std::string bytes_;
};

}  // namespace

std::string PackTable(const Source& source) { return Packer().Pack(source); }

}  // namespace onnx_tag::catalogue
