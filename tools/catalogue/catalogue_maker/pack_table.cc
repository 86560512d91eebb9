// Lays the catalogue out as flat arrays.
#include <algorithm>
#include <cstring>
#include <deque>
#include <set>
#include <tuple>

#include "catalogue_maker/source.h"
#include "mapping/classes/catalogue/class_rules.h"
#include "onnx_tag/error.h"
#include "onnx_tag/interner.h"

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
      parts_.versions.push_back(AddText(version));
    }
    for (const SourceSection& section : source.sections) AddSection(section);
    for (const SourceClass& cls : source.classes) AddClass(cls);
    for (const auto& [name, entries] : source.tables) {
      parts_.tables.push_back({AddText(name), Count(parts_.table_entries),
                               static_cast<std::uint32_t>(entries.size())});
      for (const SourceAlternative& entry : entries) {
        parts_.table_entries.push_back(Record(entry));
      }
    }
    for (const SourceSizes& sizes : source.sizes) {
      parts_.sizes.push_back({AddText(sizes.family), sizes.vocabulary,
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
    parts_.sections.push_back({AddText(section.module),
                               AddText(section.library),
                               AddText(FamilyOf(section)), Count(parts_.words),
                               Count(section.words), section.rank});
    for (const std::string& word : section.words) {
      parts_.words.push_back(AddText(word));
    }
  }

  void AddClass(const SourceClass& cls) {
    ClassRecord record = {};
    record.name = AddText(cls.name);
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
        leaf || (Is(kind, Trait::kNorm) && !cls.names.empty())
            ? kind
            : LeafKind::kUnknown);
    record.first_parameter = Count(parts_.parameters);
    record.parameter_count = Narrow(cls.names.size());
    std::set<TextId> owned;
    for (const SourceName& name : cls.names) {
      const TextId text = AddText(name.name);
      parts_.parameters.push_back(
          {text, name.versions, name.optional, name.buffer});
      owned.insert(text);
    }
    record.member_count = Narrow(cls.members.children.size());
    record.first_member = AddMembers(cls.members);
    for (const SourceMember& member : cls.members.children) {
      owned.insert(AddText(member.name));
    }
    const ClassId id = MakeId<ClassId>(parts_.classes.size());
    for (const TextId text : owned) owners_.emplace_back(text, id);
    namesakes_.emplace_back(record.name, id);
    parts_.classes.push_back(record);
  }

  // A member's children lie side by side, sorted by name.
  std::uint32_t AddMembers(const SourceMember& owner) {
    std::vector<std::pair<TextId, const SourceMember*>> children;
    for (const SourceMember& member : owner.children) {
      children.emplace_back(AddText(member.name), &member);
    }
    std::sort(children.begin(), children.end());
    const std::uint32_t first = Count(parts_.members);
    parts_.members.resize(parts_.members.size() + children.size());
    for (std::size_t i = 0; i < children.size(); ++i) {
      const SourceMember& member = *children[i].second;
      MemberRecord record = {};
      record.name = children[i].first;
      record.versions = member.versions;
      record.optional = member.optional;
      record.first_alternative = Count(parts_.alternatives);
      record.alternative_count = Narrow(member.alternatives.size());
      for (const SourceAlternative& alternative : member.alternatives) {
        parts_.alternatives.push_back(Record(alternative));
      }
      record.child_count = Narrow(member.children.size());
      record.first_child = AddMembers(member);
      parts_.members[first + i] = record;
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

  std::string Join() {
    for (const TextId id : AllIds<TextId>(interner_.size())) {
      const std::string_view text = interner_[id];
      parts_.text_bytes.insert(parts_.text_bytes.end(), text.begin(),
                               text.end());
      parts_.text_ends.push_back(Count(parts_.text_bytes));
    }
    parts_.text_slots = TextSlots();
    std::tie(parts_.owners_first, parts_.owners) = Group(owners_);
    std::tie(parts_.namesakes_first, parts_.namesakes) = Group(namesakes_);
    Header header = {};
    header.magic = kMagic;
    std::string bytes(sizeof(Header), '\0');
    std::size_t next = 0;
    parts_.ForEach([&]<typename T>(const std::vector<T>& items) {
      static_assert(std::is_trivially_copyable_v<T>);
      bytes.resize((bytes.size() + 7) / 8 * 8);
      header.parts[next++] = {static_cast<std::uint32_t>(bytes.size()),
                              Count(items)};
      bytes.append(reinterpret_cast<const char*>(items.data()),
                   items.size() * sizeof(T));
    });
    std::memcpy(bytes.data(), &header, sizeof(header));
    return bytes;
  }

  std::deque<std::string> kept_;
  Interner<TextId> interner_;
  template <typename T>
  using List = std::vector<T>;
  Parts<List> parts_;
  std::vector<std::pair<TextId, ClassId>> owners_;
  std::vector<std::pair<TextId, ClassId>> namesakes_;
};

}  // namespace

std::string PackTable(const Source& source) { return Packer().Pack(source); }

}  // namespace onnx_tag::catalogue
