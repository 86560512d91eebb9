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
#ifndef ONNX_TAG_WIRE_FIELD_READER_H_
#define ONNX_TAG_WIRE_FIELD_READER_H_

#include <cstdint>

#include "base/bytes.h"
#include "onnx_tag/error.h"
#include "wire/encoding.h"

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

class FieldReader {
 public:
  // `depth` is the number of messages around `message`. protobuf counts groups
  // and messages together and stops at kMaxDepth.
  explicit FieldReader(Bytes message, int depth = 0)
      : at_(message.data()), end_(at_ + message.size()), depth_(depth) {}

  // Reads one field; false at the end of the message. Throws WireError.
  bool Next(Field& field) {
    if (end_ - at_ >= 2) [[likely]] {
      const auto tag = static_cast<unsigned char>(at_[0]);
      const auto size = static_cast<unsigned char>(at_[1]);
      // The fast path for nearly every field of a graph: length-delimited, with
      // a tag of one byte (number 1 to 15) and a length of one byte.
      if ((tag & 0x87) == 2 && tag > 7 && size < 0x80 && size <= end_ - at_ - 2)
          [[likely]] {
        field.number = tag >> 3;
        field.type = WireType::kLengthDelimited;
        field.prefix_width = 1;
        field.varint = 0;
        field.bytes = Bytes(at_ + 2, size);
        field.whole = Bytes(at_, std::size_t{2} + size);
        at_ += 2 + size;
        return true;
      }
    }
    if (at_ == end_) return false;
    NextSlow(field);
    return true;
  }

  // The first byte not yet read.
  const char* position() const { return at_; }

 private:
  void NextSlow(Field& field);
  // The readers below throw with the position of `field`.
  std::uint32_t ReadTag(const char* field);
  std::uint64_t ReadVarint(const char* field);
  std::uint64_t ReadLength(const char* field);
  std::uint64_t ReadFixed(const char* field, std::size_t width);
  Bytes ReadBytes(const char* field, std::uint64_t size);
  Bytes ReadGroup(const char* field, std::uint32_t number);

  const char* at_;
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

#endif  // ONNX_TAG_WIRE_FIELD_READER_H_
