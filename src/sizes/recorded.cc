#include "sizes/recorded.h"

#include <algorithm>

#include "model/field_kinds.h"
#include "model/onnx_fields.h"
#include "sizes/formula_text.h"
#include "wire/field_reader.h"

namespace onnx_tag::sizes {
namespace {

using model::Is;
using model::IsInt;
using wire::Field;
using wire::FieldReader;

// Some exporters write numbers as names.
bool IsPlain(std::string_view name) {
  return !name.empty() && (name[0] < '0' || name[0] > '9') &&
         name.find_first_of("+-*/() ") == std::string_view::npos;
}

Dim ReadName(Formulas& formulas, std::string_view name) {
  const Dim known = formulas.Find(name);
  if (known.known()) return known;
  if (!IsPlain(name)) {
    const Dim formula = ParseFormula(formulas, name);
    if (formula.known()) return formula;
  }
  return formulas.Dimension(name);
}

// Calls `take(number, name)` for each dimension of an encoded TensorShapeProto;
// a number of -1 stands for none.
template <typename Take>
void ForEachDim(Bytes shape, Take take) {
  FieldReader reader(shape);
  for (Field dim; reader.Next(dim);) {
    if (!Is(dim, onnx::TensorShapeProto::kDim)) continue;
    std::int64_t number = -1;
    std::string_view name;
    FieldReader parts(dim.bytes);
    for (Field part; parts.Next(part);) {
      if (IsInt(part, onnx::TensorShapeProtoDimension::kDimValue)) {
        number = static_cast<std::int64_t>(part.varint);
      } else if (Is(part, onnx::TensorShapeProtoDimension::kDimParam)) {
        name = part.bytes;
      }
    }
    take(number, name);
  }
}

// Calls `take` with each shape in a TypeProto, of sequences, too.
template <typename Take>
void ForEachShape(Bytes type, int depth, Take take) {
  constexpr int kMostDepth = 16;
  if (depth > kMostDepth) return;
  FieldReader reader(type);
  for (Field field; reader.Next(field);) {
    if (Is(field, onnx::TypeProto::kTensorType)) {
      FieldReader parts(field.bytes);
      for (Field part; parts.Next(part);) {
        if (Is(part, onnx::TypeProtoTensor::kShape)) take(part.bytes);
      }
    } else if (Is(field, onnx::TypeProto::kSequenceType) ||
               Is(field, onnx::TypeProto::kOptionalType)) {
      FieldReader parts(field.bytes);
      for (Field part; parts.Next(part);) {
        // Both have their element in the field 1.
        if (Is(part, onnx::TypeProtoSequence::kElemType)) {
          ForEachShape(part.bytes, depth + 1, take);
        }
      }
    }
  }
}

Fact ReadType(Formulas& formulas, Bytes type, int depth) {
  Fact fact;
  FieldReader reader(type);
  for (Field field; reader.Next(field);) {
    if (Is(field, onnx::TypeProto::kTensorType)) {
      FieldReader parts(field.bytes);
      for (Field part; parts.Next(part);) {
        if (IsInt(part, onnx::TypeProtoTensor::kElemType)) {
          fact.type = static_cast<std::int32_t>(part.varint);
        } else if (Is(part, onnx::TypeProtoTensor::kShape)) {
          fact.shape.emplace();
          ForEachDim(part.bytes, [&](std::int64_t number,
                                     std::string_view name) {
            fact.shape->push_back(number >= 0    ? Dim(number)
                                  : name.empty() ? kUnknownDim
                                                 : ReadName(formulas, name));
          });
        }
      }
    } else if (Is(field, onnx::TypeProto::kSequenceType)) {
      constexpr int kMostDepth = 4;
      Sequence sequence;
      FieldReader parts(field.bytes);
      for (Field part; parts.Next(part) && depth < kMostDepth;) {
        if (!Is(part, onnx::TypeProtoSequence::kElemType)) continue;
        const Fact element = ReadType(formulas, part.bytes, depth + 1);
        sequence.element = element.shape;
        fact.type = element.type;
      }
      fact.sequence = std::make_shared<Sequence>(std::move(sequence));
    }
  }
  return fact;
}

}  // namespace

Fact ReadRecorded(Formulas& formulas, Bytes type) {
  return ReadType(formulas, type, 0);
}

void LearnNames(Formulas& formulas, Bytes type) {
  ForEachShape(type, 0, [&](Bytes shape) {
    ForEachDim(shape, [&](std::int64_t number, std::string_view name) {
      if (number < 0 && IsPlain(name)) formulas.Dimension(name);
    });
  });
}

}  // namespace onnx_tag::sizes
