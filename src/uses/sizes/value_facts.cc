#include "uses/sizes/value_facts.h"

#include "base/hash.h"
#include "base/letters.h"
#include "file/model/field_kinds.h"
#include "file/model/message_walk.h"
#include "file/model/onnx_fields.h"
#include "file/wire/field_reader.h"
#include "uses/sizes/formulas.h"

namespace onnx_tag::sizes {
namespace {

// Enough to choose numbers that fit; a hostile file has more.
constexpr std::size_t kMostEqualities = 1000;

std::uint32_t Key(ValueId value) {
  return static_cast<std::uint32_t>(Index(value));
}

}  // namespace

ValueFacts::ValueFacts(const Model& model)
    : model_(model),
      shapes_(model.value_count()),
      types_(model.value_count()),
      numbers_at_(model.value_count(), kNone) {}

const Sequence* ValueFacts::SequenceOf(ValueId value) const {
  if (sequences_.empty()) return nullptr;
  const auto found = sequences_.find(Key(value));
  return found == sequences_.end() ? nullptr : found->second.get();
}

Fact ValueFacts::FactOf(ValueId value) const {
  Fact fact;
  fact.shape = shapes_[Index(value)];
  fact.type = types_[Index(value)];
  if (const Numbers* const numbers = NumbersOf(value)) fact.numbers = *numbers;
  const auto found = sequences_.find(Key(value));
  if (found != sequences_.end()) fact.sequence = found->second;
  return fact;
}

void ValueFacts::Set(ValueId value, Fact fact) {
  const std::size_t i = Index(value);
  // Calls hand on what they get.
  if (fact.shape && fact.shape->size() > kMostRank) fact.shape.reset();
  shapes_[i] = std::move(fact.shape);
  types_[i] = fact.type;
  std::uint32_t& at = numbers_at_[i];
  if (!fact.numbers) {
    at = kNone;
  } else if (at != kNone) {
    numbers_[at] = std::move(*fact.numbers);
  } else {
    at = static_cast<std::uint32_t>(numbers_.size());
    numbers_.push_back(std::move(*fact.numbers));
  }
  if (fact.sequence != nullptr) {
    sequences_[Key(value)] = std::move(fact.sequence);
  } else if (!sequences_.empty()) {
    sequences_.erase(Key(value));
  }
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
  std::int64_t number = -1;
  std::string_view name;
  FieldReader parts(dim);
  for (Field part; parts.Next(part);) {
    if (IsInt(part, onnx::TensorShapeProtoDimension::kDimValue)) {
      number = static_cast<std::int64_t>(part.varint);
    } else if (Is(part, onnx::TensorShapeProtoDimension::kDimParam)) {
      name = part.bytes;
    }
  }
  if (number >= 0) return number;
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
