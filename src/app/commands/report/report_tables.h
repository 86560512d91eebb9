// How the data of a report is packed: texts that share their beginnings,
// numbers as differences, rows as columns. web/src/model.ts unpacks it.
#pragma once

#include <fmt/core.h>

#include <algorithm>
#include <cstdint>
#include <initializer_list>
#include <map>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "file/json/writer.h"

namespace onnx_tag {

// Longer names are cut: a name may have a megabyte.
constexpr std::size_t kMostNameBytes = 1000;

inline std::string Shortened(std::string_view name) {
  if (name.size() <= kMostNameBytes) return std::string(name);
  std::size_t end = kMostNameBytes;
  while (end > 0 && (static_cast<unsigned char>(name[end]) & 0xc0) == 0x80) {
    --end;
  }
  return fmt::format("{}… ({} bytes)", name.substr(0, end), name.size());
}

// Numbers, each as its difference from the one before.
template <typename Column>
void AddDeltas(JsonWriter& json, const Column& numbers) {
  json.BeginArray();
  std::int64_t last = 0;
  for (const std::int64_t number : numbers) {
    json.Number(number - last);
    last = number;
  }
  json.EndArray();
}

// How many characters of ASCII both texts begin with.
inline std::size_t SharedAscii(std::string_view a, std::string_view b) {
  std::size_t shared = 0;
  while (shared < a.size() && shared < b.size() && a[shared] == b[shared] &&
         static_cast<unsigned char>(a[shared]) < 0x80) {
    ++shared;
  }
  return shared;
}

// Gives each text a number, in the order of first use.
class TextTable {
 public:
  std::int64_t IdOf(const std::string& text) {
    const auto [at, added] =
        ids_.try_emplace(text, static_cast<std::int64_t>(texts_.size()));
    if (added) texts_.push_back(&at->first);
    return at->second;
  }
  std::int64_t IdOrNone(const std::string& text) {
    return text.empty() ? -1 : IdOf(text);
  }
  void Write(JsonWriter& json) const {
    json.BeginArray();
    for (const std::string* const text : texts_) json.String(*text);
    json.EndArray();
  }
  // As `prefix` and `suffix`. Each text shares its beginning with the most
  // similar of the texts just before it: names of nodes, values and weights
  // alternate. Only ASCII is shared: there a byte is a UTF-16 unit, and no
  // character is cut.
  void WriteFrontCoded(JsonWriter& json) const {
    constexpr std::size_t kNear = 8;
    std::vector<std::size_t> prefixes;
    for (std::size_t i = 0; i < texts_.size(); ++i) {
      std::size_t best = 0;
      std::size_t back = 1;
      for (std::size_t k = 1; k <= std::min(i, kNear); ++k) {
        const std::size_t shared = SharedAscii(*texts_[i - k], *texts_[i]);
        if (shared > best) {
          best = shared;
          back = k;
        }
      }
      prefixes.push_back(kNear * best + back - 1);
    }
    json.BeginObject().Key("prefix").Numbers(prefixes);
    json.Key("suffix").BeginArray();
    for (std::size_t i = 0; i < texts_.size(); ++i) {
      json.String(std::string_view(*texts_[i]).substr(prefixes[i] / kNear));
    }
    json.EndArray().EndObject();
  }

 private:
  std::unordered_map<std::string, std::int64_t> ids_;
  std::vector<const std::string*> texts_;
};

// Rows of numbers, written as columns: {"node": [0, 3], "module": [2, 2]}.
class NumberColumns {
 public:
  struct Head {
    std::string_view key;
    bool deltas = false;
  };
  NumberColumns(std::initializer_list<Head> heads)
      : heads_(heads), columns_(heads.size()) {}

  void Add(std::initializer_list<std::int64_t> row) {
    std::size_t i = 0;
    for (const std::int64_t number : row) columns_[i++].push_back(number);
  }
  // The number of the row, which is added where no IdOf() gave it before.
  std::int64_t IdOf(std::initializer_list<std::int64_t> row) {
    const auto [at, added] = ids_.try_emplace(row, size());
    if (added) Add(row);
    return at->second;
  }
  std::int64_t size() const {
    return static_cast<std::int64_t>(columns_[0].size());
  }
  const std::vector<std::int64_t>& Column(std::size_t i) const {
    return columns_[i];
  }
  void WriteMembers(JsonWriter& json) const {
    for (std::size_t i = 0; i < heads_.size(); ++i) {
      json.Key(heads_[i].key);
      if (heads_[i].deltas) {
        AddDeltas(json, columns_[i]);
      } else {
        json.Numbers(columns_[i]);
      }
    }
  }
  void Write(JsonWriter& json) const {
    json.BeginObject();
    WriteMembers(json);
    json.EndObject();
  }

 private:
  std::vector<Head> heads_;
  std::vector<std::vector<std::int64_t>> columns_;
  std::map<std::vector<std::int64_t>, std::int64_t> ids_;
};

// The number of an enumerator, or of an id.
template <typename Enum>
std::int64_t Code(Enum value) {
  return static_cast<std::int64_t>(value);
}

}  // namespace onnx_tag
