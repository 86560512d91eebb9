// What one aligned recording says of a file's tokens and side nodes.
#ifndef ONNX_TAG_RECIPES_REPLAY_H_
#define ONNX_TAG_RECIPES_REPLAY_H_

#include <optional>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "recipes/align.h"
#include "recipes/candidates.h"
#include "recipes/tokens.h"

namespace onnx_tag::recipes {

// How a path was found, the surest first.
enum class How : std::uint8_t {
  kReplay,   // aligned, and so is what stands around it
  kSide,     // read by an aligned token as in the recording
  kLoose,    // aligned, with gaps around it
  kInstead,  // stands where the recording has something else
  kBetween,  // what it reads and what reads it agree
  kServes,   // a constant or shape of placed nodes
  kGap,      // between placed tokens in order
  kRole,     // the recording's roles, this file's names
  kNothing,
};

struct Answer {
  std::optional<Path> path;
  How how = How::kNothing;
};

// One recording's alignment in its better order.
struct Match {
  Candidate* candidate = nullptr;
  Order order = Order::kFile;
  Alignment alignment;
  double fit = 0;  // score / what the file would score against itself
};

using PathSet = std::unordered_set<Path, PathHash>;

// A file, prepared once.
struct File {
  const TokenGraph& graph;
  std::vector<Path> anchors;   // by token; empty: none
  std::vector<Step> steps[2];  // by Order
  PathSet known;               // modules of parameters and those around them
};

struct Replayed {
  std::vector<Answer> tokens;
  std::unordered_map<std::uint32_t, Path> sides;  // by node
};

Replayed Replay(const File& file, const Match& match);

}  // namespace onnx_tag::recipes

#endif  // ONNX_TAG_RECIPES_REPLAY_H_
