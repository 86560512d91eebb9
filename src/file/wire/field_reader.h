// A cursor over the fields of one encoded message.
//
//   FieldReader reader(message);
//   for (Field field; reader.Next(field);) {
//     if (field.number == kGraph && field.IsBytes()) ReadGraph(field.bytes);
//   }
//
// Bounds are checked only here; callers need no checks. The reader accepts and
// refuses the same bytes as protobuf's C++ parser (3.21), which ONNX Runtime
// and the ONNX checker use.
#pragma once

#include <google/protobuf/io/coded_stream.h>

#include <algorithm>
#include <cstdint>
#include <limits>
#include <optional>

#include "file/wire/encoding.h"
#include "onnx_tag/bytes.h"
#include "onnx_tag/error.h"

namespace onnx_tag::wire {

// Malformed bytes. The caller turns the pointer into a place in the file.
class WireError : public Error {
 public:
  WireError(const std::string& what, const char* position)
      : Error(ErrorKind::kInput, what), position_(position) {}

  // The first byte of the invalid field.
  const char* position() const { return position_; }

 private:
  const char* position_;
};

struct Field {
  std::uint32_t number = 0;
  WireType type = WireType::kVarint;
  // The number of bytes of the length prefix; 0 if there is none.
  std::uint8_t prefix_width = 0;
  // kVarint, kFixed32, kFixed64.
  std::uint64_t varint = 0;
  // kLengthDelimited: the payload. kStartGroup: the content, without end tag.
  Bytes bytes;
  // Tag, prefix and payload: the bytes in the file.
  Bytes whole;

  bool IsBytes() const { return type == WireType::kLengthDelimited; }
  bool IsVarint() const { return type == WireType::kVarint; }
};

// Walks with protobuf's CodedInputStream, over the bytes where they are.
class FieldReader {
 public:
  // `depth` is the number of messages around `message`. protobuf counts groups
  // and messages together and stops at kMaxDepth.
  explicit FieldReader(Bytes message, int depth = 0)
      : end_(message.data() + message.size()), depth_(depth) {
    Open(message.data());
  }

  // Reads one field; false at the end of the message. Throws WireError.
  bool Next(Field& field) {
    const char* const start = position();
    if (start == end_) return false;
    if (stream_end_ != end_) [[unlikely]]
      Open(start);
    const std::uint32_t tag = ReadTag(start);
    field.number = tag >> 3;
    field.type = static_cast<WireType>(tag & 7);
    field.prefix_width = 0;
    field.varint = 0;
    if (field.IsBytes()) [[likely]] {
      const char* const prefix = position();
      const std::uint64_t length = ReadLength(start);
      field.prefix_width = static_cast<std::uint8_t>(position() - prefix);
      field.bytes = ReadBytes(start, length);
    } else {
      ReadOther(start, field);
    }
    field.whole = Bytes(start, static_cast<std::size_t>(position() - start));
    return true;
  }

  // The first byte not yet read.
  const char* position() const {
    const void* at = nullptr;
    int left = 0;
    stream_->GetDirectBufferPointerInline(&at, &left);
    return static_cast<const char*>(at);
  }

 private:
  // The stream counts in int. Where more bytes are left, each field gets a
  // stream of its own: a field is at most kMaxLength bytes long.
  void Open(const char* at) {
    const auto size = static_cast<int>(
        std::min<std::ptrdiff_t>(end_ - at, std::numeric_limits<int>::max()));
    stream_.emplace(reinterpret_cast<const std::uint8_t*>(at), size);
    stream_end_ = at + size;
  }

  // The readers below throw with the position of `field`.
  std::uint32_t ReadTag(const char* field) {
    const char* const start = position();
    const std::uint32_t tag = stream_->ReadTagNoLastTag();
    if (tag < 8 || WidthSince(start) > kMaxLengthWidth) [[unlikely]] {
      FailInTag(field, start);
    }
    return tag;
  }

  std::uint64_t ReadVarint(const char* field) {
    const char* const start = position();
    std::uint64_t value = 0;
    if (!stream_->ReadVarint64(&value)) [[unlikely]]
      FailInVarint(field, start);
    return value;
  }

  std::uint64_t ReadLength(const char* field) {
    const char* const start = position();
    const std::uint64_t length = ReadVarint(field);
    const std::size_t width = WidthSince(start);
    if (length > kMaxLength || width > kMaxLengthWidth) [[unlikely]] {
      FailInLength(field, length, width);
    }
    return length;
  }

  Bytes ReadBytes(const char* field, std::uint64_t size) {
    const char* const at = position();
    const auto left = static_cast<std::size_t>(end_ - at);
    if (size > left) [[unlikely]]
      FailInBytes(field, size, left);
    stream_->Skip(static_cast<int>(size));
    return Bytes(at, static_cast<std::size_t>(size));
  }

  void ReadOther(const char* start, Field& field);
  std::uint64_t ReadFixed(const char* field, std::size_t width);
  Bytes ReadGroup(const char* field, std::uint32_t number);

  std::size_t WidthSince(const char* start) const {
    return static_cast<std::size_t>(position() - start);
  }
  [[noreturn]] void FailInTag(const char* field, const char* start) const;
  [[noreturn]] void FailInVarint(const char* field, const char* start) const;
  [[noreturn]] static void FailInLength(const char* field, std::uint64_t length,
                                        std::size_t width);
  [[noreturn]] static void FailInBytes(const char* field, std::uint64_t size,
                                       std::size_t left);

  // protobuf's GetDirectBufferPointerInline is not const.
  mutable std::optional<google::protobuf::io::CodedInputStream> stream_;
  const char* stream_end_ = nullptr;
  const char* end_;
  int depth_;
};

// Reads one varint from [at, end) into `value`. Returns null if it is truncated
// or longer than 10 bytes. Bits past the 64th are dropped, as in protobuf.
const char* ParseVarint(const char* at, const char* end, std::uint64_t& value);

[[noreturn]] void FailInPacked(const char* position);

// Calls `use` with each number of a repeated integer field, packed or not. For
// protobuf and for us, a field of another type contains no numbers. False where
// a packed field ends inside a number.
template <typename Use>
bool TryForEachVarint(const Field& field, Use&& use) {
  if (field.type == WireType::kVarint) {
    use(field.varint);
  } else if (field.type == WireType::kLengthDelimited) {
    const char* at = field.bytes.data();
    const char* const end = at + field.bytes.size();
    while (at != end) {
      std::uint64_t value = 0;
      at = ParseVarint(at, end, value);
      if (at == nullptr) return false;
      use(value);
    }
  }
  return true;
}

// The same, but throws there.
template <typename Use>
void ForEachVarint(const Field& field, Use&& use) {
  if (!TryForEachVarint(field, use)) FailInPacked(field.whole.data());
}

}  // namespace onnx_tag::wire
