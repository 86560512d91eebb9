#include "mapping/classes/catalogue/table.h"

#include <fmt/core.h>

#include <charconv>
#include <cstring>

#include "base/embed.h"
#include "onnx_tag/error.h"
#include "onnx_tag/interner.h"

// A string literal of two megabytes would take seconds to compile, and some
// compilers refuse it.
ONNX_TAG_EMBED(onnx_tag_catalogue, ONNX_TAG_CATALOGUE_TABLE);

namespace onnx_tag::catalogue {

Table::Table(std::string_view bytes) {
  Header header;
  if (bytes.size() < sizeof(header) ||
      std::memcmp(bytes.data(), kMagic.data(), kMagic.size()) != 0) {
    Fail(ErrorKind::kInput, "no catalogue table");
  }
  std::memcpy(&header, bytes.data(), sizeof(header));
  std::size_t next = 0;
  parts_.ForEach([&]<typename T>(std::span<const T>& part) {
    const PartRange range = header.parts[next++];
    if (range.offset > bytes.size() ||
        range.count > (bytes.size() - range.offset) / sizeof(T)) {
      Fail(ErrorKind::kInput, "the catalogue's table is cut off");
    }
    part = {reinterpret_cast<const T*>(bytes.data() + range.offset),
            range.count};
  });
}

std::string_view Table::Text(TextId id) const {
  const std::size_t at = Index(id);
  const std::size_t begin = at == 0 ? 0 : parts_.text_ends[at - 1];
  return {parts_.text_bytes.data() + begin, parts_.text_ends[at] - begin};
}

TextId Table::FindText(std::string_view text) const {
  const std::size_t mask = parts_.text_slots.size() - 1;
  for (std::size_t at = HashBytes(text) & mask;; at = (at + 1) & mask) {
    if (parts_.text_slots[at] == 0) return kNo<TextId>;
    const TextId id = MakeId<TextId>(parts_.text_slots[at] - 1);
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
  const TableRecord& record = parts_.tables[Index(table) - Index(kFirstTable)];
  return parts_.table_entries.subspan(record.first, record.count);
}

namespace {

using Release = std::pair<int, int>;

// Parses "2.6.0+cu124"; zeros if it is not a version.
Release ReadRelease(std::string_view text) {
  Release release;
  const char* const end = text.data() + text.size();
  const auto [dot, error] = std::from_chars(text.data(), end, release.first);
  if (error != std::errc() || dot == end || *dot != '.') return {};
  std::from_chars(dot + 1, end, release.second);
  return release;
}

}  // namespace

LibraryVersion::LibraryVersion(const Table& table,
                               std::string_view torch_version) {
  const auto mask_of = [&](std::size_t bit) {
    return static_cast<VersionMask>(1U << bit);
  };
  const std::span<const TextId> versions = table.Versions();
  if (!versions.empty()) newest = mask_of(versions.size() - 1);
  likely = newest;
  const Release torch = ReadRelease(torch_version);
  for (const ClassRule* rule : RulesOf("torch")) {
    today = torch > ReadRelease(rule->name);
    if (torch != ReadRelease(rule->name)) continue;
    for (std::size_t bit = 0; bit < versions.size(); ++bit) {
      const auto [library, version] =
          std::pair(rule->One("library"), rule->One("version"));
      if (table.Text(versions[bit]) == fmt::format("{} {}", library, version)) {
        likely = mask_of(bit);
      }
    }
  }
}

const Table& BuiltIn() {
  static const Table table(ONNX_TAG_EMBEDDED(onnx_tag_catalogue));
  return table;
}

}  // namespace onnx_tag::catalogue
