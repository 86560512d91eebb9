// Trees of nested messages found in bytes, and rewrites written to strings.
#pragma once

#include <functional>
#include <map>
#include <string>
#include <vector>

#include "file/wire/field_reader.h"
#include "file/wire/rewrite.h"

namespace onnx_tag::wire {

// Whether `field`, of a message `depth` messages deep, holds a message.
using IsMessage = std::function<bool(std::size_t depth, const Field& field)>;

inline void AddMessages(Bytes file, MessageId parent, std::size_t depth,
                        const IsMessage& is_message,
                        std::vector<Message>& tree) {
  const Bytes bytes = file.substr(tree[parent].begin, tree[parent].size);
  FieldReader reader(bytes);
  for (Field field; reader.Next(field);) {
    if (!is_message(depth, field)) continue;
    const auto begin =
        static_cast<std::uint64_t>(field.bytes.data() - file.data());
    tree.push_back({begin, field.bytes.size(), parent, field.prefix_width});
    AddMessages(file, static_cast<MessageId>(tree.size() - 1), depth + 1,
                is_message, tree);
  }
}

inline std::vector<Message> TreeOf(Bytes file, const IsMessage& is_message) {
  std::vector<Message> tree = {{0, file.size(), 0, 0}};
  AddMessages(file, 0, 0, is_message, tree);
  return tree;
}

class StringSink : public Rewrite::Sink {
 public:
  explicit StringSink(Bytes file) : file_(file) {}
  void Copy(std::uint64_t offset, std::uint64_t size) override {
    out.append(file_.substr(offset, size));
    copies.push_back(size);
  }
  void Write(Bytes bytes) override { out.append(bytes); }

  std::string out;
  std::vector<std::uint64_t> copies;

 private:
  Bytes file_;
};

// The new file, with the additions of `texts` by token.
inline std::string Written(const Rewrite& rewrite, Bytes file,
                           const std::map<std::uint64_t, std::string>& texts) {
  StringSink sink(file);
  rewrite.Write(sink, [&](std::uint64_t token, std::string& out) {
    out.append(texts.at(token));
  });
  return sink.out;
}

}  // namespace onnx_tag::wire
