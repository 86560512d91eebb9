#include <algorithm>
#include <map>

#include "clues/recipes/answer/match.h"

namespace onnx_tag::recipes {
namespace {

using Counts = std::map<Path, std::size_t>;

Path CommonOf(const Counts& counts) {
  Path common = counts.begin()->first;
  for (const auto& [path, count] : counts) {
    common.resize(CommonLength(common, path));
  }
  return common;
}

Counts CountToken(const std::vector<Replayed>& votes, std::size_t token) {
  Counts counts;
  for (const Replayed& vote : votes) {
    if (vote.tokens[token].path) ++counts[*vote.tokens[token].path];
  }
  return counts;
}

// The majority answer for a token; without a majority, the common ancestor.
Answer VoteOnToken(const std::vector<Replayed>& votes, std::size_t token,
                   const Counts& counts) {
  std::size_t most = 0;
  std::size_t all = 0;
  for (const auto& [path, count] : counts) {
    most = std::max(most, count);
    all += count;
  }
  if (2 * most <= all)
    return {CommonOf(counts), Confidence::kHigh, kRunsIt, true};
  const auto winner =
      std::find_if(votes.begin(), votes.end(), [&](const Replayed& vote) {
        const auto& path = vote.tokens[token].path;
        return path && counts.at(*path) == most;
      });
  return winner->tokens[token];
}

void VoteOnSides(const std::vector<Replayed>& votes, Replayed& decided) {
  for (const Replayed& vote : votes) {
    for (const auto& [node, answer] : vote.sides) {
      decided.sides.try_emplace(node, answer);
    }
  }
  for (auto& [node, answer] : decided.sides) {
    Counts counts;
    for (const Replayed& vote : votes) {
      const auto at = vote.sides.find(node);
      if (at != vote.sides.end()) ++counts[*at->second.path];
    }
    std::size_t most = counts[*answer.path];
    for (const auto& [other, count] : counts) {
      if (count <= most) continue;
      most = count;
      answer.path = other;
    }
  }
}

}  // namespace

Replayed Vote(const std::vector<Replayed>& votes, std::vector<bool>& tied) {
  Replayed decided = votes.front();
  tied.assign(decided.tokens.size(), false);
  if (votes.size() == 1) return decided;
  for (std::size_t i = 0; i < decided.tokens.size(); ++i) {
    const Counts counts = CountToken(votes, i);
    if (counts.empty()) continue;
    tied[i] = counts.size() > 1;
    decided.tokens[i] = VoteOnToken(votes, i, counts);
  }
  VoteOnSides(votes, decided);
  return decided;
}

void MarkDisputed(const Replayed& decided, const std::vector<Replayed>& rivals,
                  std::vector<bool>& tied) {
  for (const Replayed& rival : rivals) {
    for (std::size_t i = 0; i < decided.tokens.size(); ++i) {
      const auto& other = rival.tokens[i].path;
      if (other && other != decided.tokens[i].path) tied[i] = true;
    }
  }
}

}  // namespace onnx_tag::recipes
