// Bytes of a file, and where the messages are that are nested in it.
#pragma once

#include <cstdint>
#include <string_view>

namespace onnx_tag {

// Of a mapped file, of a message in it, of a name.
using Bytes = std::string_view;

// Where `part` begins in the bytes that it is a view of.
inline std::uint64_t OffsetIn(Bytes file, Bytes part) {
  return static_cast<std::uint64_t>(part.data() - file.data());
}

namespace wire {

using MessageId = std::uint32_t;

// A message nested in the file.
struct Message {
  std::uint64_t begin = 0;  // of the payload, from the start of the file
  std::uint64_t size = 0;   // of the payload
  MessageId parent = 0;
  std::uint8_t prefix_width = 0;
};
static_assert(sizeof(Message) <= 24);

}  // namespace wire
}  // namespace onnx_tag
