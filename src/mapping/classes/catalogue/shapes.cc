#include "mapping/classes/catalogue/shapes.h"

#include <algorithm>
#include <string>

#include "base/hash.h"
#include "core/hierarchy/name_parts.h"

namespace onnx_tag::catalogue {

bool IsIndex(std::string_view atom) { return hierarchy::IsNumeric(atom); }

TextId FindParameterText(const Table& table, std::string_view name) {
  const TextId text = table.FindText(name);
  if (text != kNo<TextId>) return text;
  if (IsIndex(name)) return Table::kAnyIndex;
  std::string pattern;
  for (const char c : name) {
    const bool digit = hierarchy::IsDigit(c);
    if (!digit) pattern += c;
    if (digit && !pattern.ends_with('#')) pattern += '#';
  }
  return table.FindText(pattern);
}

Shapes::Shapes(const Table& table, const Observation& observation)
    : by_module_(observation.modules.size(), kNo<ShapeId>) {
  const ModuleTree& tree = observation.modules;
  std::vector<TextId> parameters;
  std::vector<ShapeChild> children;
  // Children have larger ids than their parents.
  for (std::size_t i = tree.size(); i-- > 0;) {
    const ModuleId id = MakeId<ModuleId>(i);
    const SeenModule& seen = observation.seen[id];
    parameters.clear();
    children.clear();
    Shape shape;
    for (const SeenParameter& parameter : seen.parameters) {
      parameters.push_back(FindParameterText(table, parameter.name));
    }
    for (const ModuleId child : tree.Children(id)) {
      const ShapeId below = by_module_[child];
      if (below == kNo<ShapeId>) continue;
      const std::string_view atom = tree.Atom(child);
      children.push_back({table.FindText(atom), below, IsIndex(atom)});
      shape.size += 1 + shapes_[below].size;
    }
    const std::string_view recorded = tree.Class(id);
    if (!seen.called && parameters.empty() && children.empty() &&
        recorded.empty() && id != ModuleTree::kRoot) {
      continue;
    }
    std::sort(parameters.begin(), parameters.end());
    std::sort(children.begin(), children.end());
    shape.operators = seen.operators;
    shape.called = seen.called;
    shape.has_record = !recorded.empty();
    if (shape.has_record) shape.recorded = table.FindText(recorded);
    shape.size += static_cast<double>(parameters.size());
    shape.first_parameter = static_cast<std::uint32_t>(parameters_.size());
    shape.parameter_count = static_cast<std::uint32_t>(parameters.size());
    shape.first_child = static_cast<std::uint32_t>(children_.size());
    shape.child_count = static_cast<std::uint32_t>(children.size());
    parameters_.insert(parameters_.end(), parameters.begin(), parameters.end());
    children_.insert(children_.end(), children.begin(), children.end());
    const std::uint32_t hash = Hash(shape);
    by_module_[id] = by_hash_.Find(
        hash, [&](ShapeId known) { return Equal(shapes_[known], shape); });
    if (by_module_[id] == kNo<ShapeId>) {
      by_module_[id] = shapes_.Add(shape);
      by_hash_.Add(hash, by_module_[id]);
    } else {
      parameters_.resize(shape.first_parameter);
      children_.resize(shape.first_child);
    }
  }
}

bool Shapes::Equal(const Shape& a, const Shape& b) const {
  const auto same = [](const auto& x, const auto& y) {
    return std::equal(x.begin(), x.end(), y.begin(), y.end());
  };
  return a.operators == b.operators && a.called == b.called &&
         a.has_record == b.has_record && a.recorded == b.recorded &&
         same(Parameters(a), Parameters(b)) && same(Children(a), Children(b));
}

std::uint32_t Shapes::Hash(const Shape& shape) const {
  std::uint64_t hash = shape.operators;
  const auto mix = [&](std::uint64_t value) { hash = HashMix(hash, value); };
  mix(shape.called ? 2 : 1);
  mix(Index(shape.recorded));
  for (const TextId text : Parameters(shape)) mix(Index(text));
  for (const ShapeChild& child : Children(shape)) {
    mix(std::uint64_t{Index(child.name)} << 32 | Index(child.shape));
  }
  return static_cast<std::uint32_t>(hash ^ hash >> 32);
}

}  // namespace onnx_tag::catalogue
