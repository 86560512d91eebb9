// Names as the placement network reads them: hashed words, without numbers.
#pragma once

#include <cstdint>
#include <string_view>

namespace onnx_tag::placing {

// FNV-1a, 32 bits: part of the network's format.
std::uint32_t HashWord(std::string_view word, std::uint32_t seed = 0);
std::uint32_t HashNumber(std::int64_t number, std::uint32_t seed);

// The first three words of an atom as ids below kWords; 0 where it has fewer.
// "layerNorm12" is "layer" and "norm#". "^" and "-" are words.
void SetWords(std::string_view atom, std::uint16_t* ids);

}  // namespace onnx_tag::placing
