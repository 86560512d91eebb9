#include <algorithm>
#include <string_view>

#include "base/text.h"
#include "clues/recipes/answer/match.h"

namespace onnx_tag::recipes {
namespace {

constexpr std::string_view kRunsConsumers =
    "runs the operations that read its result";
constexpr std::string_view kRunsNeighbours = "runs the operations around it";

Path CommonPath(Path a, const Path& b) {
  a.resize(CommonLength(a, b));
  return a;
}

class TokenFiller {
 public:
  TokenFiller(const File& file, const PathSet& owners,
              std::vector<Answer>& answers)
      : tokens_(file.graph.tokens()), owners_(owners), answers_(answers) {}

  // Tokens between two placed ones are of the module that runs both, or that
  // calls them. The ladder places the rest.
  void Run() {
    for (std::uint32_t begin = 0; begin < tokens_.size();) {
      std::uint32_t end = begin;
      while (end < tokens_.size() && !answers_[end].path) ++end;
      if (begin > 0 && end > begin && end < tokens_.size()) {
        const Path path = Climb(PathBetween(begin - 1, end));
        for (std::uint32_t i = begin; i < end; ++i) {
          answers_[i] = {path, Confidence::kLow, kRunsNeighbours, true};
        }
      }
      begin = std::max(end, begin + 1);
    }
  }

 private:
  Path PathBetween(std::uint32_t before, std::uint32_t after) const {
    const Path& a = *answers_[before].path;
    const Path& b = *answers_[after].path;
    const bool a_ends = FactsOf(tokens_[before].label).leaf;
    const bool b_ends = FactsOf(tokens_[after].label).leaf;
    if (a == b && !a_ends) return a;
    if (!a_ends && !b_ends) {
      return CommonPath(a, b);
    }
    if (!b_ends) return b;
    if (!a_ends) return a;
    const Path common = CommonPath(a, b);
    return !a.empty() && a.size() - 1 >= common.size() ? First(a, a.size() - 1)
                                                       : common;
  }

  // Climbs to an ancestor that has its own operations in a recipe.
  Path Climb(Path path) const {
    while (!path.empty() && !owners_.contains(Generic(path))) path.pop_back();
    return path;
  }

  const std::vector<Token>& tokens_;
  const PathSet& owners_;
  std::vector<Answer>& answers_;
};

class SidePlacer {
 public:
  SidePlacer(const File& file, IdVector<NodeId, Answer>& answers)
      : file_(file), answers_(answers) {}

  void Run() {
    const auto& order = flow_.Order();
    for (auto at = order.rbegin(); at != order.rend(); ++at) {
      if (!answers_[*at].path && !flow_.IsTransparent(*at) && !IsOutside(*at)) {
        Place(*at);
      }
    }
  }

 private:
  // Whether the node is outside the part: the part does not run it, or other
  // nodes also read it.
  bool IsOutside(NodeId node) const {
    if (!file_.is_part) return false;
    if (file_.graph.token_of()[node] != kNone) return true;
    for (const ValueId output : model_.Outputs(node)) {
      if (output == kNo<ValueId>) continue;
      for (const NodeId reader : flow_.Readers(output)) {
        if (!answers_[reader].path) return true;
      }
    }
    return false;
  }

  void Place(NodeId node) {
    // An embedding with constant indices is not a token.
    const Path& anchor = file_.node_anchors[node];
    if (!anchor.empty() && flow_.facts().ops[node] == Op::kGather) {
      answers_[node] = {anchor, Confidence::kLow, kRunsConsumers};
      return;
    }
    std::optional<Path> common;
    std::optional<Path> first;
    NodeId first_reader = kNo<NodeId>;
    bool by_layers = false;  // their paths first differ in an index
    bool cut = false;
    for (const ValueId output : model_.Outputs(node)) {
      if (output == kNo<ValueId>) continue;
      for (const NodeId reader : flow_.Readers(output)) {
        if (!answers_[reader].path) continue;
        const Path path = Reader(reader, output);
        if (first_reader == kNo<NodeId> || reader < first_reader) {
          first_reader = reader;
          first = path;
          cut = answers_[reader].cut;
        }
        if (!common) {
          common = path;
          continue;
        }
        const std::size_t length = CommonLength(*common, path);
        if (length < common->size()) {
          by_layers = path.size() > length && IsIndex(path[length]);
          common->resize(length);
        }
      }
    }
    if (!first) return;
    Path path = *first;
    // Shared by layers: the owner of their list.
    if (by_layers && !common->empty()) {
      path = First(*common, common->size() - 1);
    }
    answers_[node] = {std::move(path), Confidence::kLow, kRunsConsumers, cut};
  }

  // The module that makes an input of `reader`: the caller makes the index of
  // an embedding.
  Path Reader(NodeId reader, ValueId value) const {
    Path path = *answers_[reader].path;
    if (path.empty()) return path;
    const auto inputs = model_.Inputs(reader);
    if (flow_.facts().ops[reader] == Op::kGather &&
        !file_.graph.anchors()[reader].empty() && inputs.size() > 1 &&
        inputs[1] == value) {
      path.pop_back();
    }
    return path;
  }

  const File& file_;
  const DataFlow& flow_ = file_.graph.flow();
  const Model& model_ = flow_.model();
  IdVector<NodeId, Answer>& answers_;
};

}  // namespace

void FillTokens(const File& file, const PathSet& owners,
                std::vector<Answer>& tokens) {
  TokenFiller(file, owners, tokens).Run();
}

IdVector<NodeId, Answer> SpreadToNodes(const File& file,
                                       const std::vector<Answer>& tokens,
                                       const Replayed& replayed) {
  IdVector<NodeId, Answer> answers(file.graph.flow().model().node_count());
  for (std::size_t i = 0; i < tokens.size(); ++i) {
    const Token& token = file.graph.tokens()[i];
    for (const NodeId node : token.nodes) {
      if (!token.is_echo) answers[node] = tokens[i];
    }
  }
  for (const auto& [node, answer] : replayed.sides) {
    answers[node] = answer;
  }
  SidePlacer(file, answers).Run();
  return answers;
}

}  // namespace onnx_tag::recipes
