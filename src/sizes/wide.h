// Numbers of 128 bits: the product of two numbers of 64 bits is exact.
#ifndef ONNX_TAG_SIZES_WIDE_H_
#define ONNX_TAG_SIZES_WIDE_H_

namespace onnx_tag::sizes {

__extension__ using Wide = __int128;

constexpr Wide kFar = Wide{1} << 63;
constexpr bool IsFar(Wide number) { return number >= kFar || number <= -kFar; }

// Of numbers that are not far. Nothing can overflow, and the sanitizer's check
// would need a function that libgcc does not have.
__attribute__((no_sanitize("signed-integer-overflow"))) constexpr Wide Product(
    Wide a, Wide b) {
  return a * b;
}

}  // namespace onnx_tag::sizes

#endif  // ONNX_TAG_SIZES_WIDE_H_
