#include <algorithm>

#include "file/model/tensor_data.h"
#include "uses/sizes/rules/rules.h"

namespace onnx_tag::sizes::shape {

Facts ShapeOf(const NodeView& node) {
  const Shape* const data = node.Input(0);
  if (data == nullptr) return Gives({kUnknownDim});
  const auto rank = static_cast<std::int64_t>(data->size());
  std::int64_t start = node.Int("start");
  std::int64_t end = node.Int("end", rank);
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
  const Bytes bytes = attributes.Get("value").tensor;
  const auto gives = [](std::int32_t type, Shape shape,
                        std::optional<Numbers> numbers) -> Facts {
    return {{.shape = std::move(shape),
             .numbers = std::move(numbers),
             .type = type}};
  };
  const auto list = [&](std::int32_t type, std::size_t size) {
    return gives(type, {static_cast<std::int64_t>(size)}, std::nullopt);
  };
  if (!bytes.empty()) {
    const SmallTensor tensor = ReadSmallTensor(bytes);
    return gives(tensor.data_type,
                 Shape(tensor.dims.begin(), tensor.dims.end()), tensor.numbers);
  }
  if (const auto ints = attributes.IntList("value_ints")) {
    Facts facts = list(kInt64, ints->size());
    if (ints->size() > kMostElements) return facts;
    facts[0].numbers.emplace();
    for (const std::int64_t one : *ints) {
      facts[0].numbers->elements.push_back({one});
    }
    return facts;
  }
  if (const Attribute floats = attributes.Get("value_floats");
      floats.has_reals()) {
    return list(kFloat, floats.reals.size());
  }
  if (const auto one = attributes.Get("value_float").real) {
    return gives(kFloat, {}, OneNumber(NumberOf(double{*one})));
  }
  if (attributes.Has("value_int")) {
    return gives(kInt64, {}, OneNumber({node.Int("value_int")}));
  }
  if (attributes.Has("value_string")) return gives(kString, {}, std::nullopt);
  return attributes.Has("value_strings")
             ? list(kString, attributes.Get("value_strings").texts)
             : Facts();
}

Facts Fill(const NodeView& node) {  // ConstantOfShape
  const auto wanted = node.InputSizes(0);
  if (wanted && wanted->size() > kMostRank) return {};
  Facts facts = wanted ? Gives(*wanted) : GivesOwn(node, node.Count(0));
  if (facts.empty()) facts.resize(1);
  if (facts[0].shape) node.NameUnknown(*facts[0].shape);
  const Bytes bytes = node.attributes().Get("value").tensor;
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
  const Number start = node.InputNumber(0);
  const Number limit = node.InputNumber(1);
  const Number step = node.InputNumber(2);
  const Arithmetic arithmetic(node.formulas());
  const Number count =
      arithmetic.Ceil(arithmetic.Divide(arithmetic.Minus(limit, start), step));
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
  return Gives({node.Size(0, 0), node.Int("sample_size", 1)});
}

}  // namespace onnx_tag::sizes::shape
