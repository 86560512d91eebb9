// Tagging reduced to the wire: what the layers above do with a Rewrite, on
// messages whose fields have four meanings. Our fields are erased, new ones
// appended, and the widths that must be kept go to a field of the file itself.
#pragma once

#include <map>
#include <stdexcept>
#include <string>
#include <vector>

#include "file/wire/encoding.h"
#include "file/wire/field_reader.h"
#include "file/wire/rewrite.h"
#include "file/wire/wire_tree.h"

namespace onnx_tag::test {

inline constexpr std::uint32_t kChild = 1, kForeign = 2, kOurs = 9,
                               kLayout = 10;

// What is appended to each message; empty for none.
using Tags = std::vector<std::string>;

inline bool IsWellFormed(Bytes message) {
  try {
    wire::FieldReader reader(message);
    for (wire::Field field; reader.Next(field);) {
    }
    return true;
  } catch (const wire::WireError&) {
    return false;
  }
}

// Every field kChild that can be read as a message, to a bounded depth.
inline std::vector<wire::Message> ChildTree(Bytes file) {
  return wire::TreeOf(file, [](std::size_t depth, const wire::Field& field) {
    return depth < 20 && field.number == kChild && field.IsBytes() &&
           IsWellFormed(field.bytes);
  });
}

// Erases our fields in file order: those of a message stand between those of
// its children. `next` is the first message of the tree not yet seen.
inline void EraseOurs(Bytes file, wire::MessageId id,
                      std::span<const wire::Message> tree,
                      wire::MessageId& next, wire::Rewrite& rewrite) {
  wire::FieldReader reader(file.substr(tree[id].begin, tree[id].size));
  for (wire::Field field; reader.Next(field);) {
    const auto begin =
        static_cast<std::uint64_t>(field.bytes.data() - file.data());
    if (next < tree.size() && tree[next].begin == begin && field.IsBytes()) {
      const wire::MessageId child = next++;
      EraseOurs(file, child, tree, next, rewrite);
    }
    if (field.number != kOurs && field.number != kLayout) continue;
    rewrite.Erase(id, field.whole);
    if (field.number != kLayout || id != 0) continue;
    std::vector<std::uint64_t> numbers;
    wire::ForEachVarint(field, [&](std::uint64_t n) { numbers.push_back(n); });
    for (std::size_t i = 0; i + 1 < numbers.size(); i += 2) {
      rewrite.SetOriginalWidth(static_cast<wire::MessageId>(numbers[i]),
                               static_cast<std::uint8_t>(numbers[i + 1]));
    }
  }
}

// `file` with our fields replaced by `tags`; without tags it is stripped.
inline std::string TagMessages(const std::string& file, const Tags& tags) {
  const std::vector<wire::Message> tree = ChildTree(file);
  wire::Rewrite rewrite(file, tree);
  wire::MessageId next = 1;
  EraseOurs(file, 0, tree, next, rewrite);
  std::map<std::uint64_t, std::string> texts;
  for (std::size_t i = 1; i < tags.size(); ++i) {
    if (tags[i].empty()) continue;
    rewrite.Append(static_cast<wire::MessageId>(i),
                   static_cast<std::uint32_t>(tags[i].size()), i);
    texts[i] = tags[i];
  }
  rewrite.Layout();
  std::string layout;
  for (const auto& [message, width] : rewrite.WidthsToRecord()) {
    wire::AppendVarint(layout, message);
    wire::AppendVarint(layout, width);
  }
  if (!layout.empty()) {
    wire::AppendLengthDelimited(texts[0], kLayout, layout);
    rewrite.Append(0, static_cast<std::uint32_t>(texts[0].size()), 0);
  }
  std::string result = wire::Written(rewrite, file, texts);
  if (result.size() != rewrite.new_size()) {
    throw std::logic_error("new_size() is not the size of the new file");
  }
  return result;
}

inline std::string Strip(const std::string& file) {
  return TagMessages(file, {});
}

}  // namespace onnx_tag::test
