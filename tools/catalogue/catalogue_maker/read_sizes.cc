#include <charconv>

#include "base/text.h"
#include "catalogue_maker/source.h"
#include "onnx_tag/error.h"

namespace onnx_tag::catalogue {
namespace {

std::uint32_t ReadRows(std::string_view text) {
  if (text == "-") return kNoRows;
  if (text == "?") return kRowsNotStated;
  std::uint32_t rows = 0;
  const auto [end, error] =
      std::from_chars(text.data(), text.data() + text.size(), rows);
  if (error != std::errc() || end != text.data() + text.size() || rows == 0) {
    Fail(ErrorKind::kInput, "'{}' is no number of rows, '-' or '?'", text);
  }
  return rows;
}

}  // namespace

void ReadSizes(std::string_view text, Source& source) {
  std::size_t number = 0;
  for (const std::string_view line : Split(text, '\n')) {
    ++number;
    if (line.empty() || line.front() == '#') continue;
    try {
      const std::vector<std::string_view> columns = Split(line, '\t');
      if (columns.size() < 4)
        Fail(ErrorKind::kInput, "fewer than four columns");
      // Families of which this catalogue has no class are passed over: sizes
      // are written by hand, and may be ahead of it.
      for (const SourceSection& section : source.sections) {
        if (section.alias != "tf." + std::string(columns[0])) continue;
        source.sizes.push_back({FamilyOf(section), ReadRows(columns[1]),
                                ReadRows(columns[2]), ReadRows(columns[3])});
        break;
      }
    } catch (const Error& error) {
      throw error.In(fmt::format("line {}", number));
    }
  }
}

std::string FamilyOf(const SourceSection& section) {
  if (!section.module.starts_with("transformers.models.")) {
    return section.module;
  }
  return section.module.substr(0, section.module.rfind('.'));
}

}  // namespace onnx_tag::catalogue
