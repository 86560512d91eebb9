// The recipe book's word on a file whose names say too little.
#include <fmt/core.h>

#include "mapping/evidence.h"
#include "recipes/match.h"

namespace onnx_tag {
namespace {

using recipes::BookAnswer;
using recipes::How;
using recipes::NodeAnswer;

// Where so much of the main graph is named, the book is not asked.
constexpr double kNamedWell = 0.5;

// A recording that fits so well is of the same code.
constexpr double kSameProgram = 0.96;

bool IsNamed(const Evidence& evidence, NodeId node) {
  return evidence.node_scope[node] != kNo<ScopeId> ||
         evidence.value_scope[node] != kNo<ScopeId>;
}

bool NamesSayEnough(const Evidence& evidence) {
  const Model& model = evidence.model;
  if (evidence.names != nullptr) return true;  // a dialect of its own
  std::size_t nodes = 0;
  std::size_t named = evidence.metadata.size() + evidence.inlined.size();
  for (const NodeId node : model.Nodes()) {
    const Graph& graph = model[model[node].graph];
    if (graph.kind == GraphKind::kFunction) return true;
    ++nodes;
    named += IsNamed(evidence, node);
  }
  return static_cast<double>(named) >= kNamedWell * static_cast<double>(nodes);
}

// Measured with each file's family left out of the book: what a parameter of
// the file confirms is right, what none does may have another name in another
// family (an activation, a container).
Confidence LevelOf(const BookAnswer& answer, const NodeAnswer& node) {
  constexpr double kGoodFit = 0.8;
  constexpr double kVeryGoodFit = 0.92;
  if (answer.roles_only || node.tied || node.cut) return Confidence::kLow;
  if (answer.nameless && !node.confirmed) return Confidence::kLow;
  if (answer.fit < kGoodFit) {
    return node.how == How::kReplay ? Confidence::kMedium : Confidence::kLow;
  }
  switch (node.how) {
    case How::kReplay:
    case How::kSide:
      if (!node.confirmed) return Confidence::kMedium;
      // A block of this name may call a function here, or have a module.
      if (node.activation && answer.fit < kSameProgram) {
        return Confidence::kMedium;
      }
      return answer.fit >= kVeryGoodFit ? Confidence::kCertain
                                        : Confidence::kHigh;
    case How::kLoose:
    case How::kInstead:
    case How::kBetween:
      return Confidence::kMedium;
    case How::kServes:
      return node.confirmed ? Confidence::kMedium : Confidence::kLow;
    default:
      return Confidence::kLow;
  }
}

std::string_view WordFor(How how) {
  switch (how) {
    case How::kReplay:
    case How::kLoose:
      return "runs it";
    case How::kSide:
      return "makes what an aligned operation reads";
    case How::kInstead:
      return "runs something else in its place";
    case How::kBetween:
      return "runs what it reads and what reads it";
    case How::kServes:
      return "runs what reads it";
    case How::kGap:
      return "runs what stands around it";
    case How::kRole:
      return "has the role of the one that runs it";
    case How::kNothing:
      break;
  }
  return "";
}

}  // namespace

void GatherRecipes(Evidence& evidence, const recipes::Book& book) {
  if (NamesSayEnough(evidence)) return;
  const BookAnswer answer =
      recipes::AskBook(recipes::TokenGraph(evidence.model), book);
  if (answer.recipe.empty()) return;
  auto reasons = std::make_shared<std::vector<std::string>>();
  for (std::size_t how = 0; how <= static_cast<std::size_t>(How::kNothing);
       ++how) {
    reasons->push_back(fmt::format(
        "recipe {}, fit {:.2f} with {} named parameters: this module {}",
        answer.recipe, answer.fit, answer.anchors,
        WordFor(static_cast<How>(how))));
  }
  for (const NodeAnswer& node : answer.nodes) {
    const bool firm = !answer.roles_only && node.how <= How::kBetween;
    evidence.recipes.push_back(
        {node.node, evidence.modules.Add(node.path), LevelOf(answer, node),
         firm, (*reasons)[static_cast<std::size_t>(node.how)]});
  }
  evidence.recipe_reasons = std::move(reasons);
  // Siblings run the same program under other class names.
  const Confidence confidence =
      answer.fit >= kSameProgram ? Confidence::kMedium : Confidence::kLow;
  for (const recipes::ModuleAnswer& module : answer.modules) {
    evidence.recipe_classes.push_back(
        {evidence.modules.Add(module.path), confidence, module.classes});
  }
}

}  // namespace onnx_tag
