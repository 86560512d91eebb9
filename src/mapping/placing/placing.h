// Places the nodes that nobody claims: among the modules around them, by a
// trained network (network.h), at the level that it was measured to earn.
#pragma once

#include <string>
#include <vector>

#include "mapping/evidence/evidence.h"
#include "mapping/placing/network.h"
#include "onnx_tag/tagging.h"

namespace onnx_tag::placing {

// With more open nodes that differ from all others, the network is not asked:
// each gets the module around its neighbours.
constexpr std::size_t kMostUnlike = 100'000;
// With fewer modules that are known, no answer is better than low.
constexpr std::size_t kFewModules = 3;

struct Choice {
  ModuleId module;
  std::uint32_t permille;  // its probability
};

// What the network says of one node.
struct Answer {
  ModuleId module = kNo<ModuleId>;
  Confidence level = Confidence::kLow;
  std::vector<Choice> best;      // at most three, the best first
  std::vector<ModuleId> makers;  // of the nearest anchors
  std::vector<ModuleId> readers;
};

// Of a node among `placed`, by the tags of medium or more around it. Level and
// module are as in the claim of Place().
Answer Ask(const Evidence& evidence, const IdVector<NodeId, Tag>& placed,
           NodeId node, const Network& network = Network::BuiltIn());

// Claims for the open nodes, by node.
Claims Place(const Evidence& evidence, const IdVector<NodeId, Tag>& placed,
             const Network& network = Network::BuiltIn());

// "0.97 by placement; surroundings: producers in a, readers in b; next: c 0.02"
std::string TextOf(const Answer& answer, const ModuleTree& modules);

}  // namespace onnx_tag::placing
