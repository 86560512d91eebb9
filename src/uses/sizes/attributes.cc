#include "uses/sizes/attributes.h"

#include <algorithm>

#include "file/model/field_kinds.h"
#include "file/model/onnx_fields.h"
#include "onnx_tag/model.h"

namespace onnx_tag::sizes {
namespace {

// Exporters write the least number of the type for "before the begin".
std::int64_t Bounded(std::int64_t number) {
  return std::max(number, -(std::int64_t{1} << 62));
}

// Of attributes with one name the first.
std::optional<Attribute> FindIn(
    std::optional<std::unordered_map<std::string_view, Bytes>>& attributes,
    Bytes message, onnx::BytesField field, std::string_view name) {
  if (!attributes) {
    attributes.emplace();
    model::ForEach(message, field, [&](const wire::Field& one) {
      attributes->try_emplace(
          model::LastOf(one.bytes, onnx::AttributeProto::kName), one.bytes);
    });
  }
  const auto found = attributes->find(name);
  return found == attributes->end()
             ? std::nullopt
             : std::optional(ReadAttribute(found->second));
}

}  // namespace

std::optional<Attribute> Call::Given(std::string_view name) const {
  return FindIn(given_, node_, onnx::NodeProto::kAttribute, name);
}

std::optional<Attribute> Call::Default(std::string_view name) const {
  return FindIn(defaults_, function_, onnx::FunctionProto::kAttributeProto,
                name);
}

std::optional<Attribute> Attributes::Find(std::string_view name) const {
  std::optional<Attribute> found = FindAttribute(node_, name);
  for (const Call* call = call_; found && !found->reference.empty();
       call = call->outside()) {
    if (call == nullptr) return std::nullopt;
    const std::string_view wanted = found->reference;
    found = call->Given(wanted);
    if (!found) return call->Default(wanted);
  }
  return found;
}

std::optional<Ints> Attributes::IntList(std::string_view name) const {
  std::optional<Attribute> found = Find(name);
  if (!found || !found->has_numbers()) return std::nullopt;
  for (std::int64_t& number : found->numbers) number = Bounded(number);
  return std::move(found->numbers);
}

std::int64_t Attributes::Int(std::string_view name,
                             std::int64_t otherwise) const {
  const std::optional<Attribute> found = Find(name);
  return found && found->number ? Bounded(*found->number) : otherwise;
}

SmallTensor ReadSmallTensor(Bytes bytes) {
  SmallTensor tensor{ReadTensorType(bytes), std::nullopt};
  const std::uint64_t count = CountElements(tensor.dims);
  if (count > kMostElements || bytes.size() > Initializer::kMostSmall) {
    return tensor;
  }
  const TensorData data = ReadTensorData(bytes);
  const Bytes elements = data.elements();
  if (elements.size() != CountBytes(count, tensor.data_type)) return tensor;
  std::vector<Number> numbers;
  for (std::size_t i = 0; i < count; ++i) {
    const bool known =
        UseElement(tensor.data_type, elements, i, [&](auto element) {
          if constexpr (std::is_floating_point_v<decltype(element)>) {
            numbers.push_back(NumberOf(static_cast<double>(element)));
          } else {
            numbers.push_back({Bounded(static_cast<std::int64_t>(element))});
          }
        });
    if (!known) return tensor;
  }
  tensor.numbers = NumbersOf(std::move(numbers));
  return tensor;
}

}  // namespace onnx_tag::sizes
