// The names below each module. Equal sets of names are stored once: twelve
// equal layers are one shape and are compared with the catalogue once.
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>
#include <vector>

#include "mapping/classes/catalogue/observation.h"
#include "mapping/classes/catalogue/table.h"
#include "onnx_tag/interner.h"

namespace onnx_tag::catalogue {

enum class ShapeId : std::uint32_t {};

struct ShapeChild {
  TextId name;  // kNo: no class has such an attribute
  ShapeId shape;
  bool is_index;

  auto operator<=>(const ShapeChild&) const = default;
};

struct Shape {
  OperatorSet operators = 0;
  TextId recorded = kNo<TextId>;  // the class that the file records
  bool has_record = false;        // also if the catalogue has no such class
  bool called = false;
  std::uint32_t first_parameter = 0;
  std::uint32_t parameter_count = 0;
  std::uint32_t first_child = 0;
  std::uint32_t child_count = 0;
  double size = 0;  // number of names in the module and below it
};

class Shapes {
 public:
  Shapes(const Table& table, const Observation& observation);

  // kNo for a module without names in the file.
  ShapeId Of(ModuleId module) const { return by_module_[module]; }
  const Shape& operator[](ShapeId id) const { return shapes_[id]; }
  std::size_t size() const { return shapes_.size(); }
  // Sorted; kNo: no class has such a parameter.
  std::span<const TextId> Parameters(const Shape& shape) const {
    return {parameters_.data() + shape.first_parameter, shape.parameter_count};
  }
  bool HasParameter(const Shape& shape, TextId name) const {
    const std::span<const TextId> names = Parameters(shape);
    return std::binary_search(names.begin(), names.end(), name);
  }
  std::span<const ShapeChild> Children(const Shape& shape) const {
    return {children_.data() + shape.first_child, shape.child_count};
  }

 private:
  bool Equal(const Shape& a, const Shape& b) const;
  std::uint32_t Hash(const Shape& shape) const;

  IdVector<ModuleId, ShapeId> by_module_;
  IdVector<ShapeId, Shape> shapes_;
  std::vector<TextId> parameters_;
  std::vector<ShapeChild> children_;
  IdTable<ShapeId> by_hash_;
};

// The catalogue's text for a parameter: its name, or a pattern that matches it
// (`weight_ih_l#`).
TextId FindParameterText(const Table& table, std::string_view name);

bool IsIndex(std::string_view atom);

}  // namespace onnx_tag::catalogue
