#include "clues/recipes/tokens/path.h"

#include <gtest/gtest.h>

#include <set>

namespace onnx_tag::recipes::test {
namespace {

// A model may have any number of modules directly below the root. A set of
// paths with equal hashes would take quadratic time.
TEST(PathHash, EveryAtomCounts) {
  std::set<std::size_t> hashes;
  for (Atom atom = 0; atom < 1000; ++atom) {
    hashes.insert(PathHash()({atom}));
    hashes.insert(PathHash()({atom, 7}));
    hashes.insert(PathHash()({7, 7, atom}));
  }
  EXPECT_EQ(hashes.size(), 3000u);
}

}  // namespace
}  // namespace onnx_tag::recipes::test
