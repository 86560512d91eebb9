// Graphs of any size, made to find time and memory beyond what their size
// explains: each shape makes some list, some name or some fan long.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace onnx_tag::test {

struct Family {
  std::string_view name;
  // The bytes of a model whose size is in proportion to `size`. The same
  // arguments give the same bytes; another seed gives a like graph.
  std::string (*make)(std::uint32_t size, std::uint32_t seed);
};

// All of them, and those of each file.
std::span<const Family> Families();
std::span<const Family> WiringFamilies();
std::span<const Family> NamesFamilies();
std::span<const Family> CallsFamilies();

}  // namespace onnx_tag::test
