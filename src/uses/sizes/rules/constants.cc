#include <algorithm>

#include "file/model/tensor_data.h"
#include "uses/sizes/rules/rules.h"

namespace onnx_tag::sizes::shape {

Facts ShapeOf(const NodeView& node) {
  const Shape* const data = node.Input(0);
  if (data == nullptr) return Gives({kUnknownDim});
  const auto rank = static_cast<std::int64_t>(data->size());
  std::int64_t start = node.attributes().Int("start", 0);
  std::int64_t end = node.attributes().Int("end", rank);
  if (start < 0) start += rank;
  if (end < 0) end += rank;
  start = std::clamp<std::int64_t>(start, 0, rank);
  end = std::clamp<std::int64_t>(end, start, rank);
  Facts facts = Gives({end - start});
  facts[0].numbers.emplace();
  for (std::int64_t i = start; i < end; ++i) {
    facts[0].numbers->elements.push_back(
        {(*data)[static_cast<std::size_t>(i)]});
  }
  return facts;
}

Facts SizeOf(const NodeView& node) {
  Facts facts = Gives({});
  const Shape* const data = node.Input(0);
  if (data == nullptr) return facts;
  const Number size{node.Product(*data)};
  if (size.known()) facts[0].numbers = OneNumber(size);
  return facts;
}

Facts Constant(const NodeView& node) {
  const Attributes& attributes = node.attributes();
  Facts facts(1);
  Fact& fact = facts[0];
  const Bytes bytes = attributes.Tensor("value");
  if (!bytes.empty()) {
    SmallTensor tensor = ReadSmallTensor(bytes);
    fact.shape = Shape(tensor.dims.begin(), tensor.dims.end());
    fact.numbers = std::move(tensor.numbers);
    fact.type = tensor.data_type;
  } else if (const auto ints = attributes.IntList("value_ints")) {
    fact.shape = Shape{static_cast<std::int64_t>(ints->size())};
    fact.type = kInt64;
    if (ints->size() <= kMostElements) {
      fact.numbers.emplace();
      for (const std::int64_t one : *ints) {
        fact.numbers->elements.push_back({one});
      }
    }
  } else if (const auto floats = attributes.FloatList("value_floats")) {
    fact.shape = Shape{static_cast<std::int64_t>(floats->size())};
    fact.type = kFloat;
  } else if (const auto one = attributes.Float("value_float")) {
    fact.shape = Shape();
    fact.type = kFloat;
    fact.numbers = OneNumber(NumberOf(double{*one}));
  } else if (attributes.Has("value_int")) {
    fact.shape = Shape();
    fact.type = kInt64;
    fact.numbers = OneNumber({attributes.Int("value_int", 0)});
  } else if (attributes.Has("value_string")) {
    fact.shape = Shape();
    fact.type = kString;
  } else if (attributes.Has("value_strings")) {
    fact.shape =
        Shape{static_cast<std::int64_t>(attributes.TextCount("value_strings"))};
    fact.type = kString;
  } else {
    return {};
  }
  return facts;
}

Facts Fill(const NodeView& node) {  // ConstantOfShape
  const auto wanted = node.InputSizes(0);
  if (wanted && wanted->size() > kMostRank) return {};
  Facts facts = wanted ? Gives(*wanted) : GivesOwn(node, node.Count("", 0));
  if (facts.empty()) facts.resize(1);
  if (facts[0].shape) node.NameUnknown(*facts[0].shape);
  const Bytes bytes = node.attributes().Tensor("value");
  Number fill{0};
  facts[0].type = kFloat;
  if (!bytes.empty()) {
    const SmallTensor tensor = ReadSmallTensor(bytes);
    facts[0].type = tensor.data_type;
    if (!tensor.numbers || tensor.numbers->elements.size() != 1) return facts;
    fill = tensor.numbers->elements[0];
  }
  facts[0].numbers = OneNumber(fill);
  facts[0].numbers->uniform = true;
  return facts;
}

Facts Range(const NodeView& node) {
  const auto number = [&](std::size_t i) {
    const Numbers* const numbers = node.InputNumbers(i);
    return numbers == nullptr || numbers->elements.size() != 1
               ? Number()
               : numbers->elements[0];
  };
  const Number start = number(0);
  const Number limit = number(1);
  const Number step = number(2);
  const Arithmetic arithmetic(node.formulas());
  const Number count = arithmetic.Ceil(
      arithmetic.Divide(arithmetic.Minus(limit, start), step, false));
  if (!count.known()) return Gives({node.Own(0, 0)});
  const Dim size = node.formulas().Max(count.over, 0);
  Facts facts = Gives({size});
  if (size.IsNumber() &&
      size.number() <= static_cast<std::int64_t>(kMostElements)) {
    facts[0].numbers.emplace();
    for (std::int64_t i = 0; i < size.number(); ++i) {
      facts[0].numbers->elements.push_back(
          arithmetic.Plus(start, arithmetic.Times({i}, step)));
    }
  }
  return facts;
}

Facts Random(const NodeView& node) {
  const auto shape = node.attributes().IntList("shape");
  return shape ? Gives(Shape(shape->begin(), shape->end())) : Facts();
}

Facts Scalar(const NodeView&) { return Gives({}); }

Facts Multinomial(const NodeView& node) {
  const Shape* const data = node.Input(0);
  return Gives({data == nullptr || data->empty() ? kUnknownDim : (*data)[0],
                node.attributes().Int("sample_size", 1)});
}

}  // namespace onnx_tag::sizes::shape
