// std::bit_cast, which the library of Debian's emscripten does not have.
#pragma once

#include <type_traits>

namespace onnx_tag {

template <typename To, typename From>
constexpr To BitCast(const From& from) {
  static_assert(sizeof(To) == sizeof(From) &&
                std::is_trivially_copyable_v<To> &&
                std::is_trivially_copyable_v<From>);
  return __builtin_bit_cast(To, from);
}

}  // namespace onnx_tag
