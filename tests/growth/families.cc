#include "growth/families.h"

#include <vector>

namespace onnx_tag::test {

std::span<const Family> Families() {
  static const std::vector<Family> all = [] {
    std::vector<Family> families;
    for (const std::span<const Family> some :
         {WiringFamilies(), NamesFamilies(), CallsFamilies()}) {
      families.insert(families.end(), some.begin(), some.end());
    }
    return families;
  }();
  return all;
}

}  // namespace onnx_tag::test
