// Tested by tests/file/model/verdict_test.cc.
#include "file/model/check_message.h"

#include <fmt/core.h>

#include "onnx_tag/model.h"

namespace onnx_tag::model {
namespace {

using wire::Field;
using wire::FieldReader;
using Kind = MessageKind;

// Field numbers of the ONNX specification; tests/file/model/verdict_test.cc
// compares them with the schema.
Kind KindOfField(Kind message, std::uint32_t number) {
  switch (message) {
    case Kind::kGraph:
      switch (number) {
        case 1:  // node
          return Kind::kNode;
        case 5:  // initializer
          return Kind::kTensor;
        case 11:  // input
        case 12:  // output
        case 13:  // value_info
          return Kind::kValueInfo;
        case 15:  // sparse_initializer
          return Kind::kSparseTensor;
        case 16:  // metadata_props
          return Kind::kEntry;
        default:
          return Kind::kOther;
      }
    case Kind::kNode:
      return number == 5   ? Kind::kAttribute
             : number == 9 ? Kind::kEntry
                           : Kind::kOther;
    case Kind::kValueInfo:
      return number == 2   ? Kind::kType
             : number == 4 ? Kind::kEntry
                           : Kind::kOther;
    case Kind::kAttribute:
      switch (number) {
        case 6:   // g
        case 11:  // graphs
          return Kind::kGraph;
        case 5:   // t
        case 10:  // tensors
          return Kind::kTensor;
        case 7:  // floats
          return Kind::kFixed32s;
        case 8:  // ints
          return Kind::kIntegers;
        case 22:  // sparse_tensor
        case 23:  // sparse_tensors
          return Kind::kSparseTensor;
        default:
          return Kind::kOther;
      }
    case Kind::kTensor:
      switch (number) {
        case 1:  // dims
          return Kind::kIntegers;
        case 4:  // float_data
          return Kind::kFixed32s;
        case 5:   // int32_data
        case 7:   // int64_data
        case 11:  // uint64_data
          return Kind::kNumbers;
        case 10:  // double_data
          return Kind::kFixed64s;
        case 13:  // external_data
        case 16:  // metadata_props
          return Kind::kEntry;
        default:
          return Kind::kOther;
      }
    case Kind::kSparseTensor:
      return number == 1 || number == 2 ? Kind::kTensor
             : number == 3              ? Kind::kIntegers
                                        : Kind::kOther;
    case Kind::kType:
      return number == 1                  ? Kind::kTensorType
             : number == 4 || number == 9 ? Kind::kElementType
                                          : Kind::kOther;
    case Kind::kTensorType:
      return number == 2 ? Kind::kShape : Kind::kOther;
    case Kind::kElementType:
      return number == 1 ? Kind::kType : Kind::kOther;
    case Kind::kShape:
      return number == 1 ? Kind::kDimension : Kind::kOther;
    default:
      return Kind::kOther;
  }
}

void CheckLength(const Field& field, std::size_t width) {
  if (field.bytes.size() % width != 0) wire::FailInPacked(field.whole.data());
}

}  // namespace

int Deeper(const Field& field, int depth) {
  if (depth >= wire::kMaxDepth) {
    throw wire::WireError(
        fmt::format("messages are nested deeper than {} levels",
                    wire::kMaxDepth),
        field.whole.data());
  }
  return depth + 1;
}

void CheckTensorField(const Field& field, int depth, bool& unreadable) {
  CheckField(field, KindOfField(Kind::kTensor, field.number), depth,
             unreadable);
}

void CheckField(const Field& field, Kind kind, int depth, bool& unreadable) {
  if (!field.IsBytes()) return;
  switch (kind) {
    case Kind::kOther:
      return;
    case Kind::kIntegers:
      wire::ForEachVarint(field, [](std::uint64_t) {});
      return;
    case Kind::kNumbers:
      if (field.bytes.size() <= Initializer::kMostSmall &&
          !wire::TryForEachVarint(field, [](std::uint64_t) {})) {
        unreadable = true;
      }
      return;
    case Kind::kFixed32s:
      CheckLength(field, 4);
      return;
    case Kind::kFixed64s:
      CheckLength(field, 8);
      return;
    default:
      break;
  }
  const int inside = Deeper(field, depth);
  FieldReader reader(field.bytes, inside);
  for (Field part; reader.Next(part);) {
    CheckField(part, KindOfField(kind, part.number), inside, unreadable);
  }
}

bool CheckAttribute(const Field& field, int depth, bool& unreadable) {
  constexpr std::uint32_t kG = 6;
  constexpr std::uint32_t kGraphs = 11;
  const int inside = Deeper(field, depth);
  bool holds_graph = false;
  FieldReader reader(field.bytes, inside);
  for (Field part; reader.Next(part);) {
    if (part.number == kG || part.number == kGraphs) {
      holds_graph |= part.IsBytes();
    } else {
      CheckField(part, KindOfField(Kind::kAttribute, part.number), inside,
                 unreadable);
    }
  }
  return holds_graph;
}

}  // namespace onnx_tag::model
