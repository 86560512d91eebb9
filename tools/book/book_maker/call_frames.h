// A recipe as nested calls: which module ran which stretch of it, and where
// in these calls each side node belongs.
#pragma once

#include <cstdint>
#include <vector>

#include "clues/recipes/book/recipe.h"

namespace onnx_tag::recipes {

// One call: a stretch of tokens of one module and those below it.
struct Frame {
  std::uint32_t module = 0;
  std::uint32_t parent = kNone;  // frame
  std::uint32_t level = 0;       // 0 is the root's
  std::uint32_t first_token = 0;

  struct Part {
    std::uint32_t token = kNone;  // own, or
    std::uint32_t frame = kNone;  // a call
    std::uint32_t first_token = 0;
  };
  std::vector<Part> parts;
};

// Before which part of which frame a side node is made.
struct SidePlace {
  std::uint32_t frame = 0;
  std::uint32_t before = 0;  // the part's first token
  // A module that the frame calls for nothing but its side nodes; kNone: the
  // node is the frame's own, whoever owns it.
  std::uint32_t called = kNone;

  bool operator==(const SidePlace&) const = default;
};

class Frames {
 public:
  explicit Frames(const Recipe& recipe);

  const std::vector<Frame>& frames() const { return frames_; }
  const std::vector<SidePlace>& side_places() const { return side_places_; }
  std::uint32_t FrameOf(std::uint32_t token) const { return frame_of_[token]; }

  bool IsAtOrBelow(std::uint32_t module, std::uint32_t ancestor) const;
  // The lowest module above both, or one of them.
  std::uint32_t Common(std::uint32_t a, std::uint32_t b) const;
  std::uint32_t depth(std::uint32_t module) const { return depth_[module]; }

 private:
  void PlaceTokens();
  std::uint32_t BuildFrame(std::uint32_t module, std::uint32_t parent,
                           std::uint32_t begin, std::uint32_t end);
  std::uint32_t ChildTowards(std::uint32_t module, std::uint32_t below) const;
  void FindFirstUses();
  void Use(std::uint32_t side, std::uint32_t token);
  void PlaceSides();
  SidePlace Place(std::uint32_t side) const;
  bool ComesBefore(const SidePlace& a, const SidePlace& b) const;

  const Recipe& recipe_;
  std::vector<std::uint32_t> depth_;     // by module
  std::vector<std::uint32_t> runs_;      // by token: the module it is put in
  std::vector<std::uint32_t> frame_of_;  // by token
  std::vector<Frame> frames_;
  std::vector<std::uint32_t> first_use_;  // by side node: token
  std::vector<SidePlace> side_places_;
};

}  // namespace onnx_tag::recipes
