// The catalogue: for every module class, the class of each attribute.
//
// It is a view of bytes from PackTable. Reading it needs no parsing and no
// allocation.
#pragma once

#include <cstddef>
#include <span>
#include <string_view>

#include "mapping/classes/catalogue/class_rules.h"
#include "mapping/classes/catalogue/layout.h"
#include "onnx_tag/ids.h"

namespace onnx_tag::catalogue {

class Table {
 public:
  // `bytes` must outlive the table and be aligned to 8. Throws Error(kInput)
  // if they are not a table.
  explicit Table(std::string_view bytes);

  static constexpr TextId kAnyIndex = TextId{1};

  std::string_view Text(TextId id) const;
  // kNo if no class uses the text.
  TextId FindText(std::string_view text) const;

  std::size_t class_count() const { return parts_.classes.size(); }
  const ClassRecord& operator[](ClassId id) const {
    return parts_.classes[Index(id)];
  }
  std::string_view Name(ClassId id) const { return Text((*this)[id].name); }
  LeafKind Kind(ClassId id) const {
    return static_cast<LeafKind>((*this)[id].kind);
  }
  const SectionRecord& operator[](SectionId id) const {
    return parts_.sections[Index(id)];
  }
  const SectionRecord& SectionOf(ClassId id) const {
    return (*this)[(*this)[id].section];
  }
  TextId Family(ClassId id) const { return SectionOf(id).family; }
  // Whether the class belongs to torch.nn, not to a model library.
  bool IsTorch(ClassId id) const;
  // The possible prefixes of classes of this section: "Bert".
  std::span<const TextId> Words(const SectionRecord& section) const {
    return parts_.words.subspan(section.first_word, section.word_count);
  }

  std::span<const ParameterRecord> Parameters(ClassId id) const {
    return parts_.parameters.subspan((*this)[id].first_parameter,
                                     (*this)[id].parameter_count);
  }
  std::span<const MemberRecord> Members(ClassId id) const {
    return parts_.members.subspan((*this)[id].first_member,
                                  (*this)[id].member_count);
  }
  std::span<const MemberRecord> Members(const MemberRecord& member) const {
    return parts_.members.subspan(member.first_child, member.child_count);
  }
  MemberId IdOf(const MemberRecord& member) const {
    return MakeId<MemberId>(
        static_cast<std::size_t>(&member - parts_.members.data()));
  }
  std::size_t member_count() const { return parts_.members.size(); }
  std::span<const AlternativeRecord> Alternatives(
      const MemberRecord& member) const {
    return parts_.alternatives.subspan(member.first_alternative,
                                       member.alternative_count);
  }
  // The alternatives of a table; empty for kAnyModel.
  std::span<const AlternativeRecord> TableEntries(ClassId table) const;

  // The classes with a member or parameter of that name, in order.
  std::span<const ClassId> Owners(TextId text) const {
    return Grouped(parts_.owners_first, parts_.owners, text);
  }
  // The classes of that name, in order.
  std::span<const ClassId> Namesakes(TextId text) const {
    return Grouped(parts_.namesakes_first, parts_.namesakes, text);
  }
  // The family word at the start of a class name: "Bert" of BertSelfOutput. ""
  // if there is none, or if it is the whole name.
  std::string_view FamilyWord(std::string_view class_name) const;
  // The versions of the masks, by bit: "transformers 4.45.2".
  std::span<const TextId> Versions() const { return parts_.versions; }
  std::span<const SizesRecord> Sizes() const { return parts_.sizes; }

 private:
  static std::span<const ClassId> Grouped(std::span<const std::uint32_t> first,
                                          std::span<const ClassId> classes,
                                          TextId text) {
    const std::size_t begin = first[Index(text)];
    return classes.subspan(begin, first[Index(text) + 1] - begin);
  }

  template <typename T>
  using View = std::span<const T>;
  Parts<View> parts_;
};

// The table made from src/data/catalogue.txt.
const Table& BuiltIn();

// The version of a library that was current when a file was exported. It is a
// prior, not a proof.
struct LibraryVersion {
  // The newest version if the release of torch is unknown.
  LibraryVersion(const Table& table, std::string_view torch_version);

  VersionMask likely = 0;
  VersionMask newest = 0;
  bool today = false;  // that release of torch belongs to the newest version
};

}  // namespace onnx_tag::catalogue
