// Work in a build with -fsanitize-coverage=trace-pc-guard (preset `growth`):
// the number of basic blocks that the program's own code has run. It is the
// same on every machine and in every run.
#pragma once

#include <cstdint>

namespace onnx_tag::test {

std::uint64_t WorkSoFar();

// Ends the process with a message where more than `limit` is counted from here
// on: what is cubic would not end within a day.
void LimitWork(std::uint64_t limit);

}  // namespace onnx_tag::test
