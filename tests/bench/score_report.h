// What the programs that score have to say in common.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "truth.h"

namespace onnx_tag::bench {

using Misses = std::map<std::string, std::uint64_t>;

// The `count` most frequent ones.
void PrintWorst(const Misses& misses, std::size_t count);

// The lines of tests/truth/floors.txt that begin with the words of a measure,
// without them: the variant first.
class Floors {
 public:
  // No file: no line.
  Floors(const std::string& file, const std::string& measure);

  const std::vector<std::vector<std::string>>& lines() const { return lines_; }
  // Whether a file of this variant counts: one has a line, or none has.
  bool Wants(const std::string& variant) const;

 private:
  std::vector<std::vector<std::string>> lines_;
};

// The lines are `variant exact wrong_layer`: at least, at most, in per cent.
// Says on stderr what is not reached; the exit code.
int CheckFloors(const Floors& floors,
                const std::map<std::string, Score>& by_variant);

}  // namespace onnx_tag::bench
