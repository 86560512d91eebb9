#include "mapping/classes/catalogue/table.h"

#include <array>
#include <charconv>
#include <cstdlib>
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

namespace {

struct Release {
  int major = 0;
  int minor = 0;
};

// Parses "2.6.0+cu124"; zeros if it is not a version.
Release ReadRelease(std::string_view text) {
  Release release;
  const char* const end = text.data() + text.size();
  const auto [dot, error] = std::from_chars(text.data(), end, release.major);
  if (error != std::errc() || dot == end || *dot != '.') return {};
  std::from_chars(dot + 1, end, release.minor);
  return release;
}

// Releases of transformers on one scale: 4.57 was followed by 5.0.
int Ordinal(Release transformers) {
  return transformers.major >= 5 ? 58 + transformers.minor : transformers.minor;
}

// The release of transformers when torch 2.5 to 2.9 were released. Before and
// after that, most attention classes had only one form.
constexpr int kFirstMinor = 5;
constexpr std::array<int, 5> kWithTorch2 = {46, 49, 52, 55, 57};

}  // namespace

bool IsToday(std::string_view torch_version) {
  const Release torch = ReadRelease(torch_version);
  return torch.major > 2 ||
         (torch.major == 2 &&
          torch.minor >= kFirstMinor + static_cast<int>(kWithTorch2.size()));
}

VersionMask LikelyVersions(const Table& table, std::string_view torch_version) {
  const Release torch = ReadRelease(torch_version);
  int current = 1000;
  const int index = torch.minor - kFirstMinor;
  if (torch.major == 2 && index >= 0 &&
      index < static_cast<int>(kWithTorch2.size())) {
    current = kWithTorch2[static_cast<std::size_t>(index)];
  }
  VersionMask nearest = 0;
  int distance = 0;
  for (std::size_t bit = 0; bit < table.Versions().size(); ++bit) {
    const std::string_view text = table.Text(table.Versions()[bit]);
    const Release release = ReadRelease(text.substr(text.rfind(' ') + 1));
    const int away = std::abs(Ordinal(release) - current);
    if (nearest == 0 || away < distance) {
      nearest = static_cast<VersionMask>(1U << bit);
      distance = away;
    }
  }
  return nearest;
}

}  // namespace onnx_tag::catalogue
