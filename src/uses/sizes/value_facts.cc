#include "uses/sizes/value_facts.h"

#include "base/hash.h"
#include "base/letters.h"
#include "file/model/field_kinds.h"
#include "file/model/message_walk.h"
#include "file/model/onnx_fields.h"
#include "file/wire/field_reader.h"

namespace onnx_tag::sizes {
namespace {

// Enough to choose numbers that fit; a hostile file has more.
constexpr std::size_t kMostEqualities = 1000;

}  // namespace

void ValueFacts::Set(ValueId value, Fact fact) {
  // Calls hand on what they get.
  if (fact.shape && fact.shape->size() > kMostRank) fact.shape.reset();
  facts_[value] = std::move(fact);
}

Dim ValueFacts::OwnDim(NodeId node, std::size_t slot, std::size_t axis) {
  const std::uint64_t key =
      HashMix(HashMix(Index(node), call_),
              static_cast<std::uint64_t>(slot) << 8 | axis);
  const auto [found, added] = own_.try_emplace(key);
  if (added) {
    found->second =
        formulas_.Data(InSmallLetters(model_.OpType(node).substr(0, 40)));
  }
  return found->second;
}

void ValueFacts::NoteEqual(Dim a, Dim b) {
  if (equalities_.size() >= kMostEqualities) return;
  const std::uint64_t key = HashMix(static_cast<std::uint64_t>(a.bits()),
                                    static_cast<std::uint64_t>(b.bits()));
  if (noted_.insert(key).second) equalities_.push_back({a, b});
}

namespace {

using model::Is;
using model::IsInt;
using wire::Field;
using wire::FieldReader;

// Some exporters write numbers as names.
bool IsPlain(std::string_view name) {
  return !name.empty() && !IsDigit(name[0]) &&
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

// A number counts more than a name.
Dim ReadDim(Formulas& formulas, Bytes dim) {
  using onnx::TensorShapeProtoDimension;
  const std::int64_t number =
      model::LastInt(dim, TensorShapeProtoDimension::kDimValue, -1);
  if (number >= 0) return number;
  const std::string_view name =
      model::LastOf(dim, TensorShapeProtoDimension::kDimParam);
  return name.empty() ? kUnknownDim : ReadName(formulas, name);
}

// Visits all names of dimensions in a type.
struct NameLearner {
  Formulas& formulas;

  bool Visit(const Field& field, const onnx::FieldInfo& info) {
    if (info.in == onnx::MessageType::kTensorShapeProtoDimension &&
        info.number == onnx::TensorShapeProtoDimension::kDimParam &&
        IsPlain(field.bytes)) {
      formulas.Dimension(field.bytes);
    }
    return info.holds == onnx::Holds::kMessage;
  }
  void Leave() {}
};

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
          model::ForEach(part.bytes, onnx::TensorShapeProto::kDim,
                         [&](const Field& dim) {
                           if (fact.shape->size() > kMostRank) return;
                           fact.shape->push_back(ReadDim(formulas, dim.bytes));
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
  NameLearner learner{formulas};
  model::Walk(type, onnx::MessageType::kTypeProto, learner);
}

}  // namespace onnx_tag::sizes
