#include "recipes/align/decode.h"

#include <algorithm>
#include <map>

namespace onnx_tag::recipes {
namespace {

class Decoder {
 public:
  Decoder(const Program& program, const Alignment& alignment)
      : program_(program), alignment_(alignment) {}

  std::vector<std::optional<Path>> Run() {
    std::vector<std::optional<Path>> paths(alignment_.match.size());
    std::size_t next = 0;
    for (std::uint32_t i = 0; i < paths.size(); ++i) {
      for (;
           next < alignment_.jumps.size() && alignment_.jumps[next].before <= i;
           ++next) {
        Take(program_.jumps[alignment_.jumps[next].jump]);
      }
      if (alignment_.match[i] == kNone) continue;
      const Path* const recorded = program_.path[alignment_.match[i]];
      if (recorded != nullptr) paths[i] = Count(*recorded);
    }
    return paths;
  }

 private:
  // Of a list, by its generic path.
  struct Place {
    std::int64_t here = 0;      // index in the file
    std::int64_t recorded = 0;  // in the recipe
  };

  void Take(const Jump& jump) {
    if (!jump.counts) return;
    const auto [at, is_new] = places_.try_emplace(jump.list, Place{-1, 0});
    ++at->second.here;
    at->second.recorded = IndexOf(jump.target.back());
    Forget(jump.list);
    for (std::size_t k = 0; k + 1 < jump.target.size(); ++k) {
      if (!IsIndex(jump.target[k])) continue;
      const std::int64_t index = IndexOf(jump.target[k]);
      const auto [outer, fresh] = places_.try_emplace(
          Generic(First(jump.target, k)), Place{index, index});
      outer->second.recorded = index;
    }
  }

  // In another item, the inner lists start again.
  void Forget(const Path& list) {
    std::erase_if(places_, [&](const auto& entry) {
      return entry.first.size() > list.size() && StartsWith(entry.first, list);
    });
  }

  Path Count(const Path& recorded) {
    Path path = recorded;
    for (std::size_t k = 0; k < recorded.size(); ++k) {
      if (!IsIndex(recorded[k])) continue;
      const std::int64_t index = IndexOf(recorded[k]);
      const Path list = Generic(First(recorded, k));
      const auto [at, is_new] = places_.try_emplace(list, Place{index, index});
      if (!is_new && index != at->second.recorded) {
        at->second.here += index - at->second.recorded;
        at->second.recorded = index;
        Forget(list);
      }
      path[k] = MakeIndex(static_cast<std::uint32_t>(
          std::max<std::int64_t>(0, at->second.here)));
    }
    return path;
  }

  const Program& program_;
  const Alignment& alignment_;
  std::map<Path, Place> places_;
};

}  // namespace

std::vector<std::optional<Path>> Decode(const Program& program,
                                        const Alignment& alignment) {
  return Decoder(program, alignment).Run();
}

}  // namespace onnx_tag::recipes
