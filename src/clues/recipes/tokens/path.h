// Module paths as vectors of atoms, which are cheap to shorten, join and
// compare.
#pragma once

#include <cstdint>
#include <deque>
#include <string>
#include <string_view>
#include <unordered_set>
#include <vector>

#include "base/hash.h"
#include "onnx_tag/ids.h"
#include "onnx_tag/interner.h"

namespace onnx_tag::recipes {

// A name, or the index of a list with kIndexBit set.
using Atom = std::uint32_t;
using Path = std::vector<Atom>;

inline constexpr Atom kIndexBit = 0x80000000;
inline constexpr Atom kAnyIndex = 0xffffffff;

constexpr bool IsIndex(Atom atom) { return (atom & kIndexBit) != 0; }
constexpr Atom MakeIndex(std::uint32_t index) { return kIndexBit | index; }
constexpr std::uint32_t IndexOf(Atom atom) { return atom & ~kIndexBit; }

// The atoms' texts: recipes and file share one table.
class AtomTable {
 public:
  Atom Of(std::string_view text);
  Path Read(std::string_view dotted);
  std::string Text(const Path& path) const;

 private:
  enum class NameId : std::uint32_t {};
  std::deque<std::string> texts_;
  Interner<NameId> names_;
};

// The path with every index as kAnyIndex: equal for all layers.
Path Generic(Path path);

bool StartsWith(const Path& path, const Path& prefix);
Path First(const Path& path, std::size_t count);
Path Rest(const Path& path, std::size_t count);
Path Join(Path head, const Path& tail);
std::size_t CommonLength(const Path& a, const Path& b);
bool HasIndex(const Path& path);
// Shortens the path to the owner of the list that has the index at `place`.
void CutAtItem(std::size_t place, Path& path);

struct PathHash {
  std::size_t operator()(const Path& path) const {
    std::uint64_t hash = 0;  // HashMix would lose an atom added to its own seed
    for (const Atom atom : path) hash = HashMix(hash, atom);
    return static_cast<std::size_t>(hash);
  }
};

using PathSet = std::unordered_set<Path, PathHash>;

}  // namespace onnx_tag::recipes
