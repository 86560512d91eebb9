// The catalogue: for every module class, the class of each attribute.
//
// It is a view of bytes from PackTable. Reading it needs no parsing and no
// allocation.
#ifndef ONNX_TAG_MAPPING_CLASSES_CATALOGUE_TABLE_H_
#define ONNX_TAG_MAPPING_CLASSES_CATALOGUE_TABLE_H_

#include <cstddef>
#include <span>
#include <string_view>

#include "base/ids.h"
#include "mapping/classes/catalogue/layout.h"
#include "mapping/classes/catalogue/operators.h"

namespace onnx_tag::catalogue {

class Table {
 public:
  // `bytes` must outlive the table and be aligned to 8. Throws Error(kInput)
  // if they are not a table.
  explicit Table(std::string_view bytes);

  static constexpr TextId kAnyIndex = TextId{1};

  std::size_t text_count() const { return text_ends_.size(); }
  std::string_view Text(TextId id) const;
  // kNo if no class uses the text.
  TextId FindText(std::string_view text) const;

  std::size_t class_count() const { return classes_.size(); }
  const ClassRecord& operator[](ClassId id) const {
    return classes_[Index(id)];
  }
  std::string_view Name(ClassId id) const { return Text((*this)[id].name); }
  LeafKind Kind(ClassId id) const {
    return static_cast<LeafKind>((*this)[id].kind);
  }
  const SectionRecord& operator[](SectionId id) const {
    return sections_[Index(id)];
  }
  const SectionRecord& SectionOf(ClassId id) const {
    return (*this)[(*this)[id].section];
  }
  TextId Family(ClassId id) const { return SectionOf(id).family; }
  // Whether the class belongs to torch.nn, not to a model library.
  bool IsTorch(ClassId id) const;
  // The possible prefixes of classes of this section: "Bert".
  std::span<const TextId> Words(const SectionRecord& section) const {
    return words_.subspan(section.first_word, section.word_count);
  }

  std::span<const ParameterRecord> Parameters(ClassId id) const {
    return parameters_.subspan((*this)[id].first_parameter,
                               (*this)[id].parameter_count);
  }
  std::span<const MemberRecord> Members(ClassId id) const {
    return members_.subspan((*this)[id].first_member, (*this)[id].member_count);
  }
  std::span<const MemberRecord> Members(const MemberRecord& member) const {
    return members_.subspan(member.first_child, member.child_count);
  }
  MemberId IdOf(const MemberRecord& member) const {
    return MakeId<MemberId>(
        static_cast<std::size_t>(&member - members_.data()));
  }
  std::size_t member_count() const { return members_.size(); }
  std::span<const AlternativeRecord> Alternatives(
      const MemberRecord& member) const {
    return alternatives_.subspan(member.first_alternative,
                                 member.alternative_count);
  }
  // The alternatives of a table; empty for kAnyModel.
  std::span<const AlternativeRecord> TableEntries(ClassId table) const;

  // The classes with a member or parameter of that name, in order.
  std::span<const ClassId> Owners(TextId text) const {
    return Grouped(owners_first_, owners_, text);
  }
  // The classes of that name, in order.
  std::span<const ClassId> Namesakes(TextId text) const {
    return Grouped(namesakes_first_, namesakes_, text);
  }
  // The family word at the start of a class name: "Bert" of BertSelfOutput. ""
  // if there is none, or if it is the whole name.
  std::string_view FamilyWord(std::string_view class_name) const;
  // The versions of the masks, by bit: "transformers 4.45.2".
  std::span<const TextId> Versions() const { return versions_; }
  std::span<const SizesRecord> Sizes() const { return sizes_; }

 private:
  template <typename T>
  std::span<const T> PartOf(Part part) const;
  static std::span<const ClassId> Grouped(std::span<const std::uint32_t> first,
                                          std::span<const ClassId> classes,
                                          TextId text) {
    const std::size_t begin = first[Index(text)];
    return classes.subspan(begin, first[Index(text) + 1] - begin);
  }

  std::string_view bytes_;
  std::span<const char> text_bytes_;
  std::span<const std::uint32_t> text_ends_;
  std::span<const std::uint32_t> text_slots_;
  std::span<const SectionRecord> sections_;
  std::span<const TextId> words_;
  std::span<const TextId> versions_;
  std::span<const ClassRecord> classes_;
  std::span<const ParameterRecord> parameters_;
  std::span<const MemberRecord> members_;
  std::span<const AlternativeRecord> alternatives_;
  std::span<const TableRecord> tables_;
  std::span<const AlternativeRecord> table_entries_;
  std::span<const SizesRecord> sizes_;
  std::span<const std::uint32_t> owners_first_;
  std::span<const ClassId> owners_;
  std::span<const std::uint32_t> namesakes_first_;
  std::span<const ClassId> namesakes_;
};

// The table made from data/catalogue.txt.
const Table& BuiltIn();

// Finds the version of a library that was current when a file was exported.

// The version in the catalogue that is nearest to that release of torch; the
// newest if the release is unknown. It is a prior, not a proof: eager, Sdpa and
// Flash classes leave the same names, and only the version distinguishes them.
VersionMask LikelyVersions(const Table& table, std::string_view torch_version);

// Whether that release of torch belongs to the newest version.
bool IsToday(std::string_view torch_version);

}  // namespace onnx_tag::catalogue

#endif  // ONNX_TAG_MAPPING_CLASSES_CATALOGUE_TABLE_H_
