// Any numbers by node or value: sensitivities, signal-to-noise ratios, counts.
#include <algorithm>
#include <cmath>
#include <optional>
#include <unordered_map>

#include "base/parse_number.h"
#include "base/text.h"
#include "onnx_tag/error.h"
#include "profile/read_profile.h"

namespace onnx_tag::profile {
namespace {

constexpr std::string_view kForms =
    "a profile is JSON of ONNX Runtime or TensorRT, or lines of "
    "NODE<tab>NUMBER";

// The first cell of `line`, which loses it; behind the last, nothing is left.
std::string_view TakeCell(std::string_view& line) {
  const std::size_t tab = line.find('\t');
  const std::string_view cell = line.substr(0, tab);
  line.remove_prefix(tab == std::string_view::npos ? line.size() : tab + 1);
  return cell;
}

std::string_view Cell(std::string_view line, std::size_t column) {
  for (; column > 0; --column) TakeCell(line);
  return TakeCell(line);
}

// Where the numbers are, and what they are called.
struct Column {
  std::size_t index = 0;
  std::string name;
  bool has_heads = false;
};

// REQUIRES: `first` is a line of the table, `second` the next one or "".
Column FindColumn(std::string_view first, std::string_view second,
                  std::string_view measure) {
  const auto cells =
      static_cast<std::size_t>(std::count(first.begin(), first.end(), '\t')) +
      1;
  const bool named = measure != Measure::kTime;
  TakeCell(first);
  TakeCell(second);
  for (std::size_t i = 1; i < cells; ++i) {
    const std::string_view head = TakeCell(first);
    const bool number = ParseAllAsDouble(head).has_value();
    if (!named && number) return {i, "value", false};
    if (named ? head == measure
              : ParseAllAsDouble(TakeCell(second)).has_value()) {
      return {i, std::string(head), true};
    }
  }
  if (named) {
    Fail(ErrorKind::kUsage, "the table has no column '{}'", measure);
  }
  Fail(ErrorKind::kInput, "not a profile: its lines have no numbers\n  {}",
       Ours{kForms});
}

std::vector<std::string_view> Lines(Bytes tsv) {
  std::vector<std::string_view> lines;
  for (std::string_view line : Split(tsv, '\n')) {
    if (line.ends_with('\r')) line.remove_suffix(1);
    lines.push_back(line);
  }
  return lines;
}

bool IsData(std::string_view line) {
  return !line.empty() && !line.starts_with('#');
}

// The largest power of ten that sums of `count` numbers up to `most` allow.
std::int64_t PartsFor(double most, std::size_t count) {
  constexpr double kRoom = 4e18;
  const double sum = most * static_cast<double>(count);
  std::int64_t parts = 1;
  while (parts < 1'000'000'000'000'000'000 &&
         sum * static_cast<double>(parts) * 10 < kRoom) {
    parts *= 10;
  }
  return parts;
}

}  // namespace

Profile ReadTableProfile(Bytes tsv, std::string_view measure) {
  constexpr double kMost = 1e12;
  const std::vector<std::string_view> lines = Lines(tsv);
  const auto first = std::find_if(lines.begin(), lines.end(), IsData);
  if (first == lines.end()) {
    Fail(ErrorKind::kInput, "not a profile: it has no lines\n  {}",
         Ours{kForms});
  }
  const auto second = std::find_if(first + 1, lines.end(), IsData);
  const Column column = FindColumn(
      *first, second == lines.end() ? std::string_view() : *second, measure);
  std::vector<std::pair<std::string_view, double>> rows;
  double most = 0;
  for (auto line = first + (column.has_heads ? 1 : 0); line != lines.end();
       ++line) {
    if (!IsData(*line)) continue;
    const std::string_view cell = Cell(*line, column.index);
    const std::optional<double> value = ParseAllAsDouble(cell);
    if (!value || !(std::abs(*value) <= kMost)) {
      Fail(ErrorKind::kInput,
           "line {}: '{}' is not a number from -1e12 to 1e12\n  {}",
           line - lines.begin() + 1, cell, Ours{kForms});
    }
    most = std::max(most, std::abs(*value));
    rows.emplace_back(Cell(*line, 0), *value);
  }
  Profile profile;
  profile.measure = {column.name, false, PartsFor(most, rows.size())};
  std::unordered_map<std::string_view, KernelId> kernels;
  for (const auto& [name, value] : rows) {
    const auto [at, added] = kernels.try_emplace(name, KernelId{0});
    if (added) at->second = profile.kernels.Add({std::string(name), "", ""});
    const std::int64_t parts =
        std::llround(value * static_cast<double>(profile.measure.parts));
    profile.runs.push_back({.kernel = at->second,
                            .thread = 0,
                            .begin = 0,
                            .duration = parts,
                            .self = parts});
  }
  return profile;
}

}  // namespace onnx_tag::profile
