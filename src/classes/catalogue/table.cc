#include "classes/catalogue/table.h"

#include <cstring>

#include "base/interner.h"
#include "onnx_tag/error.h"

namespace onnx_tag::catalogue {

template <typename T>
std::span<const T> Table::PartOf(Part part) const {
  Header header;
  std::memcpy(&header, bytes_.data(), sizeof(header));
  const PartRange range = header.parts[static_cast<std::size_t>(part)];
  if (range.offset > bytes_.size() ||
      range.count > (bytes_.size() - range.offset) / sizeof(T)) {
    Fail(ErrorKind::kInput, "the catalogue's table is cut off");
  }
  return {reinterpret_cast<const T*>(bytes_.data() + range.offset),
          range.count};
}

Table::Table(std::string_view bytes) : bytes_(bytes) {
  if (bytes.size() < sizeof(Header) ||
      std::memcmp(bytes.data(), kMagic.data(), kMagic.size()) != 0) {
    Fail(ErrorKind::kInput, "no catalogue table");
  }
  text_bytes_ = PartOf<char>(Part::kTextBytes);
  text_ends_ = PartOf<std::uint32_t>(Part::kTextEnds);
  text_slots_ = PartOf<std::uint32_t>(Part::kTextSlots);
  sections_ = PartOf<SectionRecord>(Part::kSections);
  words_ = PartOf<TextId>(Part::kWords);
  versions_ = PartOf<TextId>(Part::kVersions);
  classes_ = PartOf<ClassRecord>(Part::kClasses);
  parameters_ = PartOf<ParameterRecord>(Part::kParameters);
  members_ = PartOf<MemberRecord>(Part::kMembers);
  alternatives_ = PartOf<AlternativeRecord>(Part::kAlternatives);
  tables_ = PartOf<TableRecord>(Part::kTables);
  table_entries_ = PartOf<AlternativeRecord>(Part::kTableEntries);
  sizes_ = PartOf<SizesRecord>(Part::kSizes);
  owners_first_ = PartOf<std::uint32_t>(Part::kOwnersFirst);
  owners_ = PartOf<ClassId>(Part::kOwners);
  namesakes_first_ = PartOf<std::uint32_t>(Part::kNamesakesFirst);
  namesakes_ = PartOf<ClassId>(Part::kNamesakes);
}

std::string_view Table::Text(TextId id) const {
  const std::size_t at = Index(id);
  const std::size_t begin = at == 0 ? 0 : text_ends_[at - 1];
  return {text_bytes_.data() + begin, text_ends_[at] - begin};
}

TextId Table::FindText(std::string_view text) const {
  const std::size_t mask = text_slots_.size() - 1;
  for (std::size_t at = HashBytes(text) & mask;; at = (at + 1) & mask) {
    if (text_slots_[at] == 0) return kNo<TextId>;
    const TextId id = MakeId<TextId>(text_slots_[at] - 1);
    if (Text(id) == text) return id;
  }
}

bool Table::IsTorch(ClassId id) const {
  return Text(SectionOf(id).library) == "torch";
}

std::string_view Table::FamilyWord(std::string_view class_name) const {
  std::string_view longest;
  const TextId text = FindText(class_name);
  if (text == kNo<TextId>) return longest;
  for (const ClassId id : Namesakes(text)) {
    for (const TextId word_id : Words(SectionOf(id))) {
      const std::string_view word = Text(word_id);
      if (word.size() > longest.size() && word.size() < class_name.size() &&
          class_name.starts_with(word)) {
        longest = word;
      }
    }
  }
  return longest;
}

std::span<const AlternativeRecord> Table::TableEntries(ClassId table) const {
  if (table == kAnyModel) return {};
  const TableRecord& record = tables_[Index(table) - Index(kFirstTable)];
  return table_entries_.subspan(record.first, record.count);
}

}  // namespace onnx_tag::catalogue
