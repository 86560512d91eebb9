// Tested by tests/file/model/verdict_test.cc.
#include "file/model/message_walk.h"

#include <fmt/core.h>

#include <array>
#include <iterator>

#include "onnx_tag/model.h"

namespace onnx_tag::model {
namespace {

using onnx::AttributeProto;
using onnx::FieldInfo;
using onnx::Holds;
using onnx::MessageType;
using wire::Field;
using wire::FieldReader;

constexpr FieldInfo kUnknownField{
    "", "", "", 0, MessageType::kNone, Holds::kUnknown, MessageType::kNone};
constexpr std::size_t kNumbers = 32;  // all are smaller

// By message and number: a place in kAllFields, or kNowhere.
constexpr std::uint8_t kNowhere = 255;
constexpr auto kPlaces = [] {
  static_assert(std::size(onnx::kAllFields) < kNowhere);
  std::array<std::array<std::uint8_t, kNumbers>, onnx::kMessages> places{};
  for (auto& row : places) row.fill(kNowhere);
  for (std::uint8_t i = 0; i < std::size(onnx::kAllFields); ++i) {
    const FieldInfo& field = onnx::kAllFields[i];
    places[static_cast<std::size_t>(field.in)][field.number] = i;
  }
  return places;
}();

void CheckLength(const Field& field, std::size_t width) {
  if (field.bytes.size() % width != 0) wire::FailInPacked(field.whole.data());
}

// The numbers of a tensor, as varints.
bool IsTensorData(const FieldInfo& info) {
  return info.in == MessageType::kTensorProto &&
         info.number != onnx::TensorProto::kDims;
}

}  // namespace

const FieldInfo& InfoOf(MessageType message, std::uint32_t number) {
  const std::uint8_t place =
      number < kNumbers ? kPlaces[static_cast<std::size_t>(message)][number]
                        : kNowhere;
  return place == kNowhere ? kUnknownField : onnx::kAllFields[place];
}

int Deeper(const Field& field, int depth) {
  if (depth >= wire::kMaxDepth) {
    throw wire::WireError(
        fmt::format("messages are nested deeper than {} levels",
                    wire::kMaxDepth),
        field.whole.data());
  }
  return depth + 1;
}

void CheckField(const Field& field, MessageType in, int depth,
                bool& unreadable) {
  if (!field.IsBytes()) return;
  const FieldInfo& info = InfoOf(in, field.number);
  switch (info.holds) {
    case Holds::kUnknown:
    case Holds::kText:
    case Holds::kNumber:
      return;
    case Holds::kIntegers:
      if (!IsTensorData(info)) {
        wire::ForEachVarint(field, [](std::uint64_t) {});
      } else if (field.bytes.size() <= Initializer::kMostSmall &&
                 !wire::TryForEachVarint(field, [](std::uint64_t) {})) {
        unreadable = true;
      }
      return;
    case Holds::kFloats:
      return CheckLength(field, 4);
    case Holds::kDoubles:
      return CheckLength(field, 8);
    case Holds::kMessage:
      break;
  }
  const int inside = Deeper(field, depth);
  FieldReader reader(field.bytes, inside);
  for (Field part; reader.Next(part);) {
    CheckField(part, info.child, inside, unreadable);
  }
}

bool CheckAttribute(const Field& field, int depth, bool& unreadable) {
  const int inside = Deeper(field, depth);
  bool holds_graph = false;
  FieldReader reader(field.bytes, inside);
  for (Field part; reader.Next(part);) {
    if (part.number == AttributeProto::kG ||
        part.number == AttributeProto::kGraphs) {
      holds_graph |= part.IsBytes();
    } else {
      CheckField(part, MessageType::kAttributeProto, inside, unreadable);
    }
  }
  return holds_graph;
}

}  // namespace onnx_tag::model
