// Tested by tests/wire/field_reader_test.cc, which compares with protobuf.
#include "wire/field_reader.h"

#include <array>
#include <cstring>

namespace onnx_tag::wire {
namespace {

template <typename... Args>
[[noreturn]] void FailAt(const char* position,
                         fmt::format_string<Args...> format, Args&&... args) {
  throw WireError(fmt::format(format, std::forward<Args>(args)...), position);
}

std::uint64_t Byte(const char* at) { return static_cast<unsigned char>(*at); }

}  // namespace

const char* ParseVarint(const char* at, const char* end, std::uint64_t& value) {
  std::uint64_t result = 0;
  for (unsigned shift = 0; shift < 7 * kMaxVarintWidth; shift += 7) {
    if (at == end) return nullptr;
    const std::uint64_t byte = Byte(at++);
    result |= (byte & 0x7f) << shift;
    if (byte < 0x80) {
      value = result;
      return at;
    }
  }
  return nullptr;
}

void FailInPacked(const char* position) {
  FailAt(position, "a packed field ends inside a number");
}

void FieldReader::NextSlow(Field& field) {
  const char* const start = at_;
  const std::uint32_t tag = ReadTag(start);
  field.number = tag >> 3;
  field.prefix_width = 0;
  field.varint = 0;
  field.bytes = Bytes();
  switch (tag & 7) {
    case 0:
      field.type = WireType::kVarint;
      field.varint = ReadVarint(start);
      break;
    case 1:
      field.type = WireType::kFixed64;
      field.varint = ReadFixed(start, 8);
      break;
    case 2: {
      field.type = WireType::kLengthDelimited;
      const char* const prefix = at_;
      const std::uint64_t size = ReadLength(start);
      field.prefix_width = static_cast<std::uint8_t>(at_ - prefix);
      field.bytes = ReadBytes(start, size);
      break;
    }
    case 3:
      field.type = WireType::kStartGroup;
      field.bytes = ReadGroup(start, field.number);
      break;
    case 4:
      FailAt(start, "group {} ends without a start", field.number);
    case 5:
      field.type = WireType::kFixed32;
      field.varint = ReadFixed(start, 4);
      break;
    default:
      FailAt(start, "field {} has the invalid wire type {}", field.number,
             tag & 7);
  }
  field.whole = Bytes(start, static_cast<std::size_t>(at_ - start));
}

std::uint32_t FieldReader::ReadTag(const char* field) {
  std::uint32_t tag = 0;
  for (unsigned shift = 0;; shift += 7) {
    if (at_ == end_)
      FailAt(field, "the message ends inside the tag of a field");
    if (shift == 7 * kMaxLengthWidth) {
      FailAt(field, "a tag is longer than {} bytes", kMaxLengthWidth);
    }
    const std::uint64_t byte = Byte(at_++);
    // protobuf's C++ parser also drops the bits of the fifth byte past the
    // 32nd.
    tag |= static_cast<std::uint32_t>((byte & 0x7f) << shift);
    if (byte < 0x80) break;
  }
  if (tag < 8) FailAt(field, "invalid field number 0");
  return tag;
}

std::uint64_t FieldReader::ReadVarint(const char* field) {
  std::uint64_t value = 0;
  const char* const after = ParseVarint(at_, end_, value);
  if (after == nullptr) {
    if (static_cast<std::size_t>(end_ - at_) >= kMaxVarintWidth) {
      FailAt(field, "a number is longer than {} bytes", kMaxVarintWidth);
    }
    FailAt(field, "the message ends inside a number");
  }
  at_ = after;
  return value;
}

std::uint64_t FieldReader::ReadLength(const char* field) {
  const char* const prefix = at_;
  const std::uint64_t length = ReadVarint(field);
  if (length > kMaxLength) {
    FailAt(field, "a field has {} bytes; the limit of protobuf is {}", length,
           kMaxLength);
  }
  if (static_cast<std::size_t>(at_ - prefix) > kMaxLengthWidth) {
    FailAt(field, "a length is padded to {} bytes; the limit of protobuf is {}",
           at_ - prefix, kMaxLengthWidth);
  }
  return length;
}

std::uint64_t FieldReader::ReadFixed(const char* field, std::size_t width) {
  static_assert(std::endian::native == std::endian::little);
  const Bytes bytes = ReadBytes(field, width);
  std::uint64_t value = 0;
  std::memcpy(&value, bytes.data(), bytes.size());
  return value;
}

Bytes FieldReader::ReadBytes(const char* field, std::uint64_t size) {
  const auto left = static_cast<std::size_t>(end_ - at_);
  if (size > left) {
    FailAt(field, "a field needs {} bytes, but its message has {} left", size,
           left);
  }
  const Bytes bytes(at_, static_cast<std::size_t>(size));
  at_ += size;
  return bytes;
}

// Nested groups are skipped with an explicit stack. With recursion, a hostile
// file could overflow the program's stack.
Bytes FieldReader::ReadGroup(const char* field, std::uint32_t number) {
  const char* const content = at_;
  std::array<std::uint32_t, kMaxDepth> open;
  int depth = 0;
  for (;;) {
    if (depth_ + depth >= kMaxDepth) {
      FailAt(field, "groups are nested deeper than {} levels", kMaxDepth);
    }
    open[static_cast<std::size_t>(depth++)] = number;
    while (depth > 0) {
      const std::uint32_t opened = open[static_cast<std::size_t>(depth - 1)];
      if (at_ == end_) FailAt(field, "group {} is not closed", opened);
      const char* const start = at_;
      const std::uint32_t tag = ReadTag(field);
      number = tag >> 3;
      switch (tag & 7) {
        case 0:
          ReadVarint(field);
          continue;
        case 1:
          ReadBytes(field, 8);
          continue;
        case 2:
          ReadBytes(field, ReadLength(field));
          continue;
        case 3:
          break;
        case 4:
          if (number != opened) {
            FailAt(field, "group {} has the end tag of group {}", opened,
                   number);
          }
          if (--depth == 0) {
            return Bytes(content, static_cast<std::size_t>(start - content));
          }
          continue;
        case 5:
          ReadBytes(field, 4);
          continue;
        default:
          FailAt(field, "field {} has the invalid wire type {}", number,
                 tag & 7);
      }
      break;
    }
  }
}

}  // namespace onnx_tag::wire
