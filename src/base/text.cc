#include "base/text.h"

#include <fmt/core.h>

#include <array>
#include <numeric>

namespace onnx_tag {
namespace {

unsigned char Byte(char c) { return static_cast<unsigned char>(c); }

// Counts insertions, deletions, substitutions and swaps of neighbours.
std::size_t EditDistance(std::string_view a, std::string_view b) {
  std::vector<std::size_t> before(b.size() + 1);
  std::vector<std::size_t> last(b.size() + 1);
  std::vector<std::size_t> row(b.size() + 1);
  std::iota(row.begin(), row.end(), std::size_t{0});
  for (std::size_t i = 0; i < a.size(); ++i) {
    before.swap(last);
    last.swap(row);
    row[0] = i + 1;
    for (std::size_t j = 0; j < b.size(); ++j) {
      row[j + 1] = std::min(
          {row[j] + 1, last[j + 1] + 1, last[j] + (a[i] == b[j] ? 0 : 1)});
      if (i > 0 && j > 0 && a[i] == b[j - 1] && a[i - 1] == b[j]) {
        row[j + 1] = std::min(row[j + 1], before[j - 1] + 1);
      }
    }
  }
  return row[b.size()];
}

}  // namespace

std::size_t Utf8Length(std::string_view text) {
  if (text.empty()) return 0;
  const unsigned char first = Byte(text[0]);
  if (first < 0x80) return 1;
  const std::size_t length = first >= 0xf0 ? 4 : first >= 0xe0 ? 3 : 2;
  if (first < 0xc2 || first > 0xf4 || text.size() < length) return 0;
  for (std::size_t i = 1; i < length; ++i) {
    if ((Byte(text[i]) & 0xc0) != 0x80) return 0;
  }
  const unsigned char second = Byte(text[1]);
  if (first == 0xe0 && second < 0xa0) return 0;  // overlong
  if (first == 0xed && second > 0x9f) return 0;  // surrogate
  if (first == 0xf0 && second < 0x90) return 0;  // overlong
  if (first == 0xf4 && second > 0x8f) return 0;  // past U+10FFFF
  return length;
}

std::string Printable(std::string_view text, std::size_t limit) {
  if (text.size() > limit) {
    return Printable(text.substr(0, limit * 2 / 3), limit) + "…" +
           Printable(text.substr(text.size() - limit / 3), limit);
  }
  std::string result;
  result.reserve(text.size());
  while (!text.empty()) {
    std::size_t length = Utf8Length(text);
    const unsigned char first = Byte(text[0]);
    // C0, DEL, and C1 (U+0080-U+009F, which some terminals obey).
    const bool control = first < 0x20 || first == 0x7f ||
                         (length == 2 && first == 0xc2 && Byte(text[1]) < 0xa0);
    // Line and paragraph separators, and marks that change the text direction.
    const bool reorders = length == 3 && first == 0xe2 &&
                          ((Byte(text[1]) == 0x80 && Byte(text[2]) >= 0xa8 &&
                            Byte(text[2]) <= 0xae) ||
                           (Byte(text[1]) == 0x81 && Byte(text[2]) >= 0xa6 &&
                            Byte(text[2]) <= 0xa9));
    if (length == 0 || control || reorders) {
      length = std::max<std::size_t>(length, 1);
      for (std::size_t i = 0; i < length; ++i) {
        result += fmt::format("\\x{:02x}", Byte(text[i]));
      }
    } else {
      result.append(text.substr(0, length));
    }
    text.remove_prefix(length);
  }
  return result;
}

std::string_view NearestWord(std::string_view text,
                             std::span<const std::string_view> words) {
  std::string_view nearest;
  // One error per three letters is allowed, at most four.
  std::size_t best = std::min<std::size_t>(text.size() / 3, 4) + 1;
  for (const std::string_view word : words) {
    if (text.size() > word.size() + 4 || word.size() > text.size() + 4) {
      continue;
    }
    const std::size_t distance = EditDistance(text, word);
    if (distance < best) {
      best = distance;
      nearest = word;
    }
  }
  return nearest;
}

std::string DidYouMean(std::string_view text,
                       std::span<const std::string_view> words,
                       std::string_view otherwise) {
  std::string_view near = NearestWord(text, words);
  // A prefix has a large edit distance, but it is clear.
  if (near.empty() && text.size() >= 3) {
    const auto at = std::find_if(words.begin(), words.end(), [&](auto whole) {
      return whole.starts_with(text);
    });
    if (at != words.end()) near = *at;
  }
  return near.empty() ? std::string(otherwise)
                      : Message(", did you mean '{}'?", near);
}

std::string WithThousands(std::uint64_t number) {
  if (number >> 63 != 0) return "over 2^63";
  std::string digits = std::to_string(number);
  for (std::size_t at = digits.size(); at > 3;) {
    at -= 3;
    digits.insert(at, 1, ',');
  }
  return digits;
}

std::string Compact(std::uint64_t number) {
  constexpr std::array<std::string_view, 6> kUnits = {"",  "k", "M",
                                                      "G", "T", "P"};
  if (number < 1000) return std::to_string(number);
  if (number >> 63 != 0) return "over 2^63";
  auto value = static_cast<double>(number);
  std::size_t unit = 0;
  while (value >= 999.5 && unit + 1 < kUnits.size()) {
    value /= 1000;
    ++unit;
  }
  const int decimals = value >= 99.95 ? 0 : value >= 9.995 ? 1 : 2;
  return fmt::format("{:.{}f} {}", value, decimals, kUnits[unit]);
}

std::string BytesText(std::uint64_t number) {
  if (number >> 63 != 0) return Compact(number);
  return Compact(number) + (number < 1000 ? " B" : "B");
}

std::string Count(std::uint64_t number, std::string_view noun) {
  return fmt::format("{} {}{}", WithThousands(number), noun,
                     number == 1 ? "" : "s");
}

std::string ListLines(std::span<const std::string> lines, std::size_t most) {
  std::string text;
  for (const std::string& line : lines.first(std::min(lines.size(), most))) {
    text += "\n  " + line;
  }
  if (lines.size() > most) {
    text += fmt::format("\n  and {} more", lines.size() - most);
  }
  return text;
}

std::string NameLines(std::span<const std::string> names) {
  std::vector<std::string> lines;
  for (const std::string& name : names) {
    lines.push_back(Message("{}", Short{name, 300}));
  }
  return ListLines(lines);
}

std::vector<std::string_view> Split(std::string_view text,
                                    std::string_view separator) {
  std::vector<std::string_view> parts;
  for (;;) {
    const std::size_t at = text.find(separator);
    parts.push_back(text.substr(0, at));
    if (at == std::string_view::npos) return parts;
    text.remove_prefix(at + separator.size());
  }
}

std::vector<std::string_view> Lines(std::string_view text) {
  std::vector<std::string_view> lines = Split(text, '\n');
  for (std::string_view& line : lines) {
    if (line.ends_with('\r')) line.remove_suffix(1);
  }
  return lines;
}

void AppendUtf8(std::uint32_t code, std::string& out) {
  const auto byte = [&out](std::uint32_t value) {
    out += static_cast<char>(static_cast<unsigned char>(value));
  };
  if (code > 0x10ffff || (code >= 0xd800 && code < 0xe000)) code = 0xfffd;
  if (code < 0x80) {
    byte(code);
  } else if (code < 0x800) {
    byte(0xc0 | (code >> 6));
    byte(0x80 | (code & 0x3f));
  } else if (code < 0x10000) {
    byte(0xe0 | (code >> 12));
    byte(0x80 | ((code >> 6) & 0x3f));
    byte(0x80 | (code & 0x3f));
  } else {
    byte(0xf0 | (code >> 18));
    byte(0x80 | ((code >> 12) & 0x3f));
    byte(0x80 | ((code >> 6) & 0x3f));
    byte(0x80 | (code & 0x3f));
  }
}

}  // namespace onnx_tag
