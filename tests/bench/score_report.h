// What the programs that score have to say in common.
#pragma once

#include <cstdint>
#include <map>
#include <string>

#include "truth.h"

namespace onnx_tag::bench {

using Misses = std::map<std::string, std::uint64_t>;

// The `count` most frequent ones.
void PrintWorst(const Misses& misses, std::size_t count);

// `file` has lines of `variant exact wrong_layer`: at least, at most, in per
// cent. Says on stderr what is not reached; the exit code.
int CheckFloors(const std::string& file,
                const std::map<std::string, Score>& by_variant);

}  // namespace onnx_tag::bench
