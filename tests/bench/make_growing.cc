// Makes the graphs that tests/growth runs the commands over, for timing:
//
//   make_growing FAMILY SIZE FILE [SEED]
//   make_growing                          lists the families
#include <fmt/core.h>

#include <cstdlib>
#include <fstream>
#include <string>

#include "growth/families.h"

int main(int argc, char** argv) {
  using onnx_tag::test::Families;
  if (argc < 4) {
    for (const auto& family : Families()) fmt::print("{}\n", family.name);
    return argc == 1 ? 0 : 2;
  }
  for (const auto& family : Families()) {
    if (family.name != argv[1]) continue;
    const auto size = static_cast<std::uint32_t>(std::stoul(argv[2]));
    const auto seed =
        static_cast<std::uint32_t>(argc > 4 ? std::stoul(argv[4]) : 1);
    std::ofstream file(argv[3], std::ios::binary);
    file << family.make(size, seed);
    return file.flush() ? 0 : 1;
  }
  fmt::print(stderr, "make_growing: no family '{}'\n", argv[1]);
  return 2;
}
