// Tested by tests/commands/external_data_test.cc.
#include "edit/pack_weights.h"

#include <optional>

#include "base/parse_number.h"
#include "model/field_kinds.h"
#include "model/metadata_entry.h"
#include "model/onnx_fields.h"
#include "protobuf/messages.h"
#include "wire/encoding.h"
#include "wire/field_reader.h"

namespace onnx_tag::edit {
namespace {

using model::Is;
using model::IsInt;
using onnx::TensorProto;
using wire::Field;
using wire::FieldReader;

// Of small pieces, and of those that readers map into memory: a page.
constexpr std::uint64_t kSmallAlignment = 64;
constexpr std::uint64_t kPage = 4096;

}  // namespace

std::uint64_t WeightPacker::Place(const File& file, std::uint64_t offset,
                                  std::uint64_t size) {
  const auto [at, is_new] = places_.try_emplace({file.path, {offset, size}}, 0);
  if (!is_new) return at->second;
  const std::uint64_t alignment = size < kPage ? kSmallAlignment : kPage;
  const std::uint64_t end =
      pieces_.empty() ? 0 : pieces_.back().at + pieces_.back().size;
  at->second = (end + alignment - 1) / alignment * alignment;
  pieces_.push_back({file.path, offset, size, at->second});
  return at->second;
}

std::string WeightPacker::Move(Bytes tensor) {
  std::string kept;
  bool external = false;
  std::string_view location;
  std::optional<std::uint64_t> offset = 0;
  std::optional<std::uint64_t> size;
  bool sized = false;
  FieldReader reader(tensor);
  for (Field field; reader.Next(field);) {
    if (IsInt(field, TensorProto::kDataLocation)) external = field.varint == 1;
    if (!Is(field, TensorProto::kExternalData)) {
      // What holds its numbers is not external, and may be large.
      if (Is(field, TensorProto::kRawData)) return "";
      kept += field.whole;
      continue;
    }
    const MetadataEntry entry = model::ReadEntry(field);
    if (entry.key == "location") location = entry.value;
    if (entry.key == "offset") offset = ParseWhole<std::uint64_t>(entry.value);
    if (entry.key == "length") {
      size = ParseWhole<std::uint64_t>(entry.value);
      sized = true;
    }
  }
  if (!external || !offset) return "";
  const auto file = files_.find(location);
  if (file == files_.end() || *offset > file->second.size) return "";
  const std::uint64_t rest = file->second.size - *offset;
  if (!sized) size = rest;
  if (!size || *size > rest) return "";
  const std::uint64_t at = Place(file->second, *offset, *size);
  const auto add = [&](std::string_view key, const std::string& value) {
    wire::AppendLengthDelimited(kept, TensorProto::kExternalData,
                                protobuf::BuildMetadataEntry(key, value));
  };
  add("location", location_);
  add("offset", std::to_string(at));
  add("length", std::to_string(*size));
  return kept;
}

}  // namespace onnx_tag::edit
