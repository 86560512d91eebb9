#include "base/text.h"
#include "clues/recipes/answer/match.h"
#include "core/hierarchy/name_parts.h"

namespace onnx_tag::recipes {
namespace {

std::int64_t Opset(const Model& model) {
  for (const OpsetImport& opset : model.opset_imports()) {
    if (opset.domain.empty() || opset.domain == "ai.onnx") return opset.version;
  }
  return 0;
}

// With this fit, the recipe is of the same model.
constexpr double kWholeFit = 0.95;

File Prepare(const TokenGraph& graph, AtomTable& atoms) {
  File file{graph, {}, {}, {}};
  file.old_activations = ActivationsAreFunctions(graph.flow().model());
  for (const Token& token : graph.tokens()) {
    Path path = atoms.Read(token.anchor);
    // From the module up: the ancestors of a known module are known, too.
    for (std::size_t k = path.size() + 1; !path.empty() && k-- > 0;) {
      if (!file.known.insert(First(path, k)).second) break;
    }
    file.anchors.push_back(std::move(path));
  }
  file.node_anchors.resize(graph.flow().model().node_count());
  for (const NodeId node : graph.flow().Order()) {
    if (!graph.anchors()[node].empty()) {
      file.node_anchors[node] = atoms.Read(graph.anchors()[node]);
    }
  }
  const TokenSequence sequence = SequenceOf(graph);
  file.steps[0] = MakeSteps(sequence, Order::kFile);
  file.steps[1] = MakeSteps(sequence, Order::kDepthFirst);
  return file;
}

// Whether aligned operations of the parts cover nearly the whole file.
bool CoverMost(const File& file, const std::vector<BookAnswer>& parts) {
  std::size_t nodes = 0;
  for (const Token& token : file.graph.tokens()) {
    if (!token.is_echo) nodes += token.nodes.size();
  }
  std::size_t placed = 0;
  for (const BookAnswer& part : parts) {
    for (const NodeAnswer& node : part.nodes) {
      placed += node.confidence >= Confidence::kHigh &&
                file.graph.token_of()[node.node] != kNone;
    }
  }
  return 10 * placed >= 7 * nodes;
}

}  // namespace

bool ActivationsAreFunctions(const Model& model) {
  constexpr std::int64_t kOldOpset = 13;
  const auto version = Split(model.producer_version(), '.');
  if (model.producer_name() != "pytorch" || version.size() < 2 ||
      version[0] != "1") {
    return false;
  }
  const int minor = hierarchy::SmallNumber(version[1], 99);
  return minor < 10 || (minor == 10 && Opset(model) <= kOldOpset);
}

BookAnswer AskBook(const TokenGraph& graph, const Book& book) {
  AtomTable atoms;
  const File file = Prepare(graph, atoms);
  BookAnswer answer = MatchWhole(file, book, atoms);
  const bool fits = !answer.recipe.empty();
  if (fits && (answer.foreign == 0 || answer.fit >= kWholeFit)) return answer;
  std::vector<BookAnswer> parts = MatchParts(file, book, atoms);
  if (fits) {
    // A known backbone with another head. The parts cover the same backbone
    // and make no claims about the head.
    if (parts.empty()) return answer;
    answer = BookAnswer();
  } else if (!CoverMost(file, parts)) {
    BookAnswer roles = MatchRoles(file, book, atoms);
    roles.nearest = std::move(answer.nearest);
    roles.nearest_fit = answer.nearest_fit;
    answer = std::move(roles);
  }
  answer.parts = std::move(parts);
  return answer;
}

}  // namespace onnx_tag::recipes
