// Tested by tests/file/wire/field_reader_test.cc, which compares with protobuf.
#include "file/wire/field_reader.h"

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

void FieldReader::ReadOther(const char* start, Field& field) {
  field.bytes = Bytes();
  switch (field.type) {
    case WireType::kVarint:
      field.varint = ReadVarint(start);
      return;
    case WireType::kFixed64:
      field.varint = ReadFixed(start, 8);
      return;
    case WireType::kFixed32:
      field.varint = ReadFixed(start, 4);
      return;
    case WireType::kStartGroup:
      field.bytes = ReadGroup(start, field.number);
      return;
    case WireType::kEndGroup:
      FailAt(start, "group {} ends without a start", field.number);
    default:
      FailAt(start, "field {} has the invalid wire type {}", field.number,
             static_cast<int>(field.type));
  }
}

std::uint64_t FieldReader::ReadFixed(const char* field, std::size_t width) {
  static_assert(std::endian::native == std::endian::little);
  const Bytes bytes = ReadBytes(field, width);
  std::uint64_t value = 0;
  std::memcpy(&value, bytes.data(), bytes.size());
  return value;
}

// Calls itself for groups inside it, at most kMaxDepth deep.
Bytes FieldReader::ReadGroup(const char* field, std::uint32_t number) {
  const char* const content = position();
  if (depth_ >= kMaxDepth) {
    FailAt(field, "groups are nested deeper than {} levels", kMaxDepth);
  }
  ++depth_;
  for (;;) {
    const char* const start = position();
    if (start == end_) FailAt(field, "group {} is not closed", number);
    const std::uint32_t tag = ReadTag(field);
    Field inner;
    inner.number = tag >> 3;
    inner.type = static_cast<WireType>(tag & 7);
    if (inner.IsBytes()) {
      ReadBytes(field, ReadLength(field));
    } else if (inner.type != WireType::kEndGroup) {
      ReadOther(field, inner);
    } else if (inner.number == number) {
      --depth_;
      return Bytes(content, static_cast<std::size_t>(start - content));
    } else {
      FailAt(field, "group {} has the end tag of group {}", number,
             inner.number);
    }
  }
}

void FieldReader::FailInTag(const char* field, const char* start) const {
  std::size_t width = 0;
  while (width < kMaxLengthWidth && start + width != end_ &&
         Byte(start + width) >= 0x80) {
    ++width;
  }
  if (width == kMaxLengthWidth) {
    FailAt(field, "a tag is longer than {} bytes", kMaxLengthWidth);
  }
  if (start + width == end_) {
    FailAt(field, "the message ends inside the tag of a field");
  }
  FailAt(field, "invalid field number 0");
}

void FieldReader::FailInVarint(const char* field, const char* start) const {
  if (static_cast<std::size_t>(end_ - start) >= kMaxVarintWidth) {
    FailAt(field, "a number is longer than {} bytes", kMaxVarintWidth);
  }
  FailAt(field, "the message ends inside a number");
}

void FieldReader::FailInLength(const char* field, std::uint64_t length,
                               std::size_t width) {
  if (length > kMaxLength) {
    FailAt(field, "a field has {} bytes; the limit of protobuf is {}", length,
           kMaxLength);
  }
  FailAt(field, "a length is padded to {} bytes; the limit of protobuf is {}",
         width, kMaxLengthWidth);
}

void FieldReader::FailInBytes(const char* field, std::uint64_t size,
                              std::size_t left) {
  FailAt(field, "a field needs {} bytes, but its message has {} left", size,
         left);
}

}  // namespace onnx_tag::wire
