// Not instrumented itself.
#include "growth/count_work.h"

#include <unistd.h>

#include <limits>

namespace {

// Commands on one model run in one thread.
std::uint64_t work = 0;
std::uint64_t end = std::numeric_limits<std::uint64_t>::max();

[[gnu::noinline]] void GiveUp() {
  constexpr char kText[] = "growth_test: far more work than linear; stopped\n";
  [[maybe_unused]] const auto ignored =
      write(STDOUT_FILENO, kText, sizeof kText - 1);
  _exit(1);
}

}  // namespace

// The names are the compiler's.
extern "C" void __sanitizer_cov_trace_pc_guard_init(std::uint32_t*,
                                                    std::uint32_t*) {}
extern "C" void __sanitizer_cov_trace_pc_guard(std::uint32_t*) {
  if (++work == end) GiveUp();
}

namespace onnx_tag::test {

std::uint64_t WorkSoFar() { return work; }

void LimitWork(std::uint64_t limit) { end = work + limit; }

}  // namespace onnx_tag::test
