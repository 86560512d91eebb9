// Consults the recipe book for a file with too few names.
#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <optional>

#include "base/text.h"
#include "clues/recipes/answer/ask_book.h"
#include "clues/recipes/book/recipe.h"
#include "core/tagging/module_format.h"
#include "mapping/evidence/evidence.h"

namespace onnx_tag {
namespace {

using recipes::BookAnswer;
using recipes::NodeAnswer;

// If at least this share of the main graph has names, the book is not
// consulted.
constexpr double kNamedWell = 0.5;

// With this fit, the recording comes from the same code.
constexpr double kSameProgram = 0.96;
// With this fit, it has the same products in the same order.
constexpr double kSameProducts = 0.92;
// With a smaller fit, a part gives no classes.
constexpr double kLikeProgram = 0.8;

bool IsNamed(const ScopeFacts& scopes, NodeId node) {
  return scopes.node_scope[node] != kNo<ScopeId> ||
         scopes.value_scope[node] != kNo<ScopeId>;
}

bool NamesSayEnough(const GraphFacts& facts, const ExporterFacts& exporter,
                    const ScopeFacts& scopes, const Clues& said) {
  const Model& model = facts.model;
  if (exporter.names != nullptr) return true;  // a dialect with its own rules
  std::size_t named = 0;
  for (const WriterId from : {WriterId::kMetadata, WriterId::kReturned}) {
    for (const Clue& clue : said.From(from)) named += clue.node != kNo<NodeId>;
  }
  std::size_t nodes = 0;
  std::size_t products = 0;  // of dynamic quantization
  std::size_t named_products = 0;
  for (const NodeId node : model.Nodes()) {
    const Graph& graph = model[model[node].graph];
    if (graph.kind == GraphKind::kFunction) return true;
    const bool is_named = IsNamed(scopes, node);
    ++nodes;
    named += is_named;
    if (facts.ops.Is(node, OpKind::kInteger)) {
      ++products;
      named_products += is_named;
    }
  }
  // A quantizer drops the metadata of the nodes that it replaces. These are the
  // products, so the other nodes' metadata is not enough.
  if (named_products < products - named_products) return false;
  return static_cast<double>(named) >= kNamedWell * static_cast<double>(nodes);
}

// How sure an answer is by its fit: below 0.7, below 0.8, below kSameProducts,
// and above. Measured without the family of each file in the book.
struct LevelRow {
  Confidence found;  // if the recipe is right
  bool confirmed;    // by a parameter of the file, in the module
  bool in_list;      // inside a layer
  std::array<Confidence, 4> levels;
};

// A module that a parameter of the file confirms is correct. Without a
// parameter, another family may use another name (an activation, a container).
// Inside a layer, all families do the same things in the same place. Masks and
// positions are outside of layers, and families make them in different places.
constexpr auto kLevels = [] {
  using enum Confidence;
  return std::to_array<LevelRow>({
      {kCertain, true, true, {kMedium, kMedium, kHigh, kCertain}},
      {kCertain, true, false, {kMedium, kMedium, kHigh, kHigh}},
      {kCertain, false, true, {kLow, kMedium, kMedium, kMedium}},
      {kCertain, false, false, {kLow, kLow, kMedium, kMedium}},
      {kHigh, true, true, {kLow, kLow, kMedium, kMedium}},
      {kHigh, true, false, {kLow, kLow, kMedium, kMedium}},
      {kHigh, false, true, {kLow, kLow, kMedium, kMedium}},
      {kMedium, true, true, {kLow, kLow, kMedium, kMedium}},
      {kMedium, true, false, {kLow, kLow, kMedium, kMedium}},
      {kLow, true, true, {kLow, kLow, kMedium, kMedium}},
  });
}();

// The most that a recording is trusted. A part that is only similar to one is
// at most medium, and low if only half of its names agree.
Confidence MostOf(const BookAnswer& answer, bool is_part) {
  constexpr double kNamesAgree = 0.65;
  // Plain torch.nn code does the same with other modules: one author slices,
  // another has a module that does.
  if (answer.one_of_many) return Confidence::kMedium;
  if (!is_part || answer.fit >= kSameProducts) return Confidence::kCertain;
  return answer.names >= kNamesAgree ? Confidence::kMedium : Confidence::kLow;
}

Confidence LevelOf(const BookAnswer& answer, bool is_part,
                   const NodeAnswer& node) {
  if (answer.roles_only || node.tied || node.cut) return Confidence::kLow;
  if ((answer.nameless || answer.one_of_many) && !node.confirmed) {
    return Confidence::kLow;
  }
  const auto row =
      std::find_if(kLevels.begin(), kLevels.end(), [&](const LevelRow& of) {
        return of.found == node.confidence && of.confirmed == node.confirmed &&
               of.in_list == node.in_list;
      });
  if (row == kLevels.end()) return Confidence::kLow;
  const Confidence level = row->levels[answer.fit < 0.7             ? 0
                                       : answer.fit < kLikeProgram  ? 1
                                       : answer.fit < kSameProducts ? 2
                                                                    : 3];
  // A block with this name may call a function here or use a module, and each
  // author has a name for it.
  const Confidence activation =
      !node.activation || answer.fit >= kSameProgram  ? Confidence::kCertain
      : node.confirmed || answer.fit >= kSameProducts ? Confidence::kMedium
                                                      : Confidence::kLow;
  return std::min({level, MostOf(answer, is_part), activation});
}

// The sentences of one answer; each is written once.
class Reasons {
 public:
  explicit Reasons(const BookAnswer& answer) : answer_(answer) {}

  // Valid until the next call.
  std::string_view For(std::string_view because) {
    for (const auto& [known, reason] : mine_) {
      if (known == because) return reason;
    }
    mine_.emplace_back(
        because,
        fmt::format("the file matches the recipe {} with a fit of {:.2f}, and "
                    "has {}; in "
                    "the recipe this module {}",
                    // Equal names add to the fit.
                    answer_.recipe, std::min(answer_.fit, 1.0),
                    Count(answer_.anchors, "named parameter"), because));
    return mine_.back().second;
  }

 private:
  const BookAnswer& answer_;
  std::vector<std::pair<std::string_view, std::string>> mine_;
};

// The bodies of branches and loops that contain a model, such as decoders
// merged into one file. Each is matched separately. Smaller bodies have too
// little evidence.
std::vector<GraphId> LargeBodies(const Model& model) {
  constexpr std::size_t kLeastNodes = 24;
  constexpr std::size_t kMostBodies = 8;
  std::vector<GraphId> bodies;
  for (const GraphId graph : model.Graphs()) {
    if (model[graph].kind == GraphKind::kSubgraph &&
        model[graph].nodes.size() >= kLeastNodes) {
      bodies.push_back(graph);
    }
  }
  std::stable_sort(bodies.begin(), bodies.end(), [&](GraphId a, GraphId b) {
    return model[a].nodes.size() > model[b].nodes.size();
  });
  if (bodies.size() > kMostBodies) bodies.resize(kMostBodies);
  return bodies;
}

// Adds the answer of a recording, for the whole file or for a part.
void Add(const BookAnswer& answer, bool is_part, ModuleTree& modules,
         RecipeFacts& facts, Clues& said) {
  if (answer.recipe.empty()) return;
  Reasons sentences(answer);
  for (const NodeAnswer& node : answer.nodes) {
    const Confidence level = LevelOf(answer, is_part, node);
    // Doubtful answers come after the general rules, which recognise norms and
    // attention. Without names, the general rules cannot work.
    const bool firm = !answer.roles_only &&
                      node.confidence >= Confidence::kMedium &&
                      (level > Confidence::kLow || answer.nameless);
    said.Add(firm ? WriterId::kRecipe : WriterId::kLooseRecipe,
             {node.node, modules.Add(node.path), level, Source::kOperation,
              sentences.For(node.because)});
  }
  if (is_part && answer.fit < kLikeProgram) return;
  // Similar families run the same program with other class names.
  const Confidence confidence =
      answer.fit >= kSameProgram ? Confidence::kMedium : Confidence::kLow;
  for (const recipes::ModuleAnswer& module : answer.modules) {
    std::vector<std::string> classes = module.classes;
    // Other authors use other class names.
    if (answer.one_of_many) {
      std::erase_if(classes, [](const std::string& name) {
        return !TorchNnClasses().contains(name);
      });
    }
    if (classes.empty()) continue;
    facts.recipe_classes.push_back(
        {modules.Add(module.path), confidence, std::move(classes)});
  }
}

}  // namespace

RecipeFacts GatherRecipes(const GraphFacts& graph,
                          const ExporterFacts& exporter,
                          const ScopeFacts& scopes, const recipes::Book* book,
                          ModuleTree& modules, Clues& said) {
  RecipeFacts facts;
  if (book == nullptr || NamesSayEnough(graph, exporter, scopes, said) ||
      (exporter.other_framework && !exporter.paddle)) {
    return facts;
  }
  // Other frameworks have the same architectures, but other modules.
  std::optional<recipes::PaddleSection> section;
  if (exporter.paddle) book = &section.emplace(*book);
  std::vector<BookAnswer> answers;
  answers.push_back(recipes::AskBook(recipes::TokenGraph(graph), *book));
  for (const GraphId body : LargeBodies(graph.model)) {
    answers.push_back(
        recipes::AskBook(recipes::TokenGraph(graph, body), *book));
  }
  // Those recordings have published depths. A longer list is another network
  // of the same blocks: a detector instead of a classifier.
  if (exporter.paddle) {
    const BookAnswer& whole = answers.front();
    facts.is_recorded = whole.beyond == 0 && whole.fit >= kSameProgram;
    std::erase_if(answers,
                  [](const BookAnswer& answer) { return answer.beyond > 0; });
    if (answers.empty()) return facts;
  }
  for (const BookAnswer& answer : answers) {
    for (const BookAnswer& part : answer.parts) {
      Add(part, true, modules, facts, said);
    }
    Add(answer, false, modules, facts, said);
  }
  return facts;
}

}  // namespace onnx_tag
