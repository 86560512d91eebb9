// Any numbers by node or value: sensitivities, signal-to-noise ratios, counts.
#include <algorithm>
#include <cmath>
#include <map>
#include <optional>
#include <utility>

#include "base/parse_number.h"
#include "base/text.h"
#include "onnx_tag/error.h"
#include "uses/profile/profile.h"

namespace onnx_tag::profile {
namespace {

constexpr std::string_view kForms =
    "a profile is JSON of ONNX Runtime or TensorRT, or lines of "
    "NODE<tab>NUMBER or NODE,NUMBER";

// The end of a cell in quotes, of which two stand for one.
std::size_t EndOfQuoted(std::string_view line) {
  std::size_t end = line.find('"', 1);
  while (
      line.substr(end == line.npos ? line.size() : end).starts_with("\"\"")) {
    end = line.find('"', end + 2);
  }
  return end == line.npos ? line.size() : end + 1;
}

std::string Unquoted(std::string_view cell) {
  if (cell.size() < 2 || !cell.starts_with('"') || !cell.ends_with('"')) {
    return std::string(cell);
  }
  std::string text;
  cell = cell.substr(1, cell.size() - 2);
  for (std::size_t i = 0; i < cell.size(); ++i) {
    text += cell[i];
    if (cell.substr(i).starts_with("\"\"")) ++i;
  }
  return text;
}

// A line of a table with tabs or commas between its cells.
class Row {
 public:
  Row(std::string_view line, char separator)
      : line_(line), separator_(separator) {}

  // The next cell, which is then left; behind the last, "".
  std::string_view Take() {
    const bool quoted = separator_ == ',' && line_.starts_with('"');
    const std::size_t end =
        line_.find(separator_, quoted ? EndOfQuoted(line_) : 0);
    const std::string_view cell = line_.substr(0, end);
    done_ = end == std::string_view::npos;
    line_.remove_prefix(done_ ? line_.size() : end + 1);
    return cell;
  }
  std::string_view Take(std::size_t column) {
    for (; column > 0; --column) Take();
    return Take();
  }
  bool done() const { return done_; }

 private:
  std::string_view line_;
  char separator_;
  bool done_ = false;
};

// Where the numbers are, and what they are called.
struct Column {
  std::size_t index = 0;
  std::string name;
  bool has_heads = false;
};

// REQUIRES: `first` is a line of the table, `second` the next one or "".
Column FindColumn(Row first, Row second, std::string_view measure) {
  const bool named = measure != Measure::kTime;
  first.Take();
  second.Take();
  for (std::size_t i = 1; !first.done(); ++i) {
    const std::string_view cell = first.Take();
    if (!named && ParseAllAsDouble(cell)) return {i, "value", false};
    const std::string head = Unquoted(cell);
    if (named ? head == measure : ParseAllAsDouble(second.Take()).has_value()) {
      return {i, head, true};
    }
  }
  if (named) {
    Fail(ErrorKind::kUsage, "the table has no column '{}'", measure);
  }
  Fail(ErrorKind::kInput, "not a profile: its lines have no numbers\n  {}",
       Ours{kForms});
}

// Where the texts of `key` are.
std::optional<std::size_t> FindKey(Row first, std::string_view key,
                                   bool has_heads) {
  if (key.empty() || key == "provider") return std::nullopt;
  for (std::size_t i = 0; has_heads && !first.done(); ++i) {
    if (Unquoted(first.Take()) == key) return i;
  }
  Fail(ErrorKind::kUsage,
       "unknown key for --by '{}': the table has no such column", key);
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

Profile ReadTableProfile(Bytes tsv, std::string_view measure,
                         std::string_view key) {
  constexpr double kMost = 1e12;
  const std::vector<std::string_view> lines = Lines(tsv);
  const auto first = std::find_if(lines.begin(), lines.end(), IsData);
  if (first == lines.end()) {
    Fail(ErrorKind::kInput, "not a profile: it has no lines\n  {}",
         Ours{kForms});
  }
  const auto second = std::find_if(first + 1, lines.end(), IsData);
  const char separator = first->find('\t') != first->npos ? '\t' : ',';
  const auto row = [&](std::string_view line) { return Row(line, separator); };
  const Column column = FindColumn(
      row(*first), row(second == lines.end() ? "" : *second), measure);
  const std::optional<std::size_t> of_key =
      FindKey(row(*first), key, column.has_heads);
  struct Line {
    std::string_view name;
    double value;
    std::string_view key = {};
  };
  std::vector<Line> rows;
  double most = 0;
  for (auto line = first + (column.has_heads ? 1 : 0); line != lines.end();
       ++line) {
    if (!IsData(*line)) continue;
    const std::string_view cell = row(*line).Take(column.index);
    const std::optional<double> value = ParseAllAsDouble(cell);
    if (!value || !(std::abs(*value) <= kMost)) {
      Fail(ErrorKind::kInput,
           "line {}: '{}' is not a number from -1e12 to 1e12\n  {}",
           line - lines.begin() + 1, cell, Ours{kForms});
    }
    most = std::max(most, std::abs(*value));
    rows.push_back({row(*line).Take(), *value});
    if (of_key) rows.back().key = row(*line).Take(*of_key);
  }
  Profile profile;
  profile.measure = {column.name, false, PartsFor(most, rows.size())};
  std::map<std::pair<std::string_view, std::string_view>, KernelId> kernels;
  for (const auto& [name, value, provider] : rows) {
    const auto [at, added] =
        kernels.try_emplace(std::pair(name, provider), KernelId{0});
    if (added) {
      at->second =
          profile.kernels.Add({Unquoted(name), "", Unquoted(provider)});
    }
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
