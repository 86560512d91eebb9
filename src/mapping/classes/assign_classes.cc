#include "mapping/classes/assign_classes.h"

#include <algorithm>
#include <unordered_map>
#include <unordered_set>
#include <utility>

#include "base/lists.h"
#include "base/text.h"
#include "core/graph/neighbours.h"
#include "core/hierarchy/name_parts.h"
#include "mapping/classes/catalogue/identify.h"
#include "mapping/classes/wrapper_classes.h"

namespace onnx_tag {
namespace {

using catalogue::ClassAnswer;
using catalogue::ClassAnswers;

// Collects the facts of the file about each module of the tagging.
class Observer {
 public:
  Observer(const GraphFacts& graph, const ModuleEvidence& evidence,
           const Tagging& tagging)
      : ops_(graph.ops), evidence_(evidence), tagging_(tagging) {}

  catalogue::Observation Observe() {
    SeeCalls();
    SeeParameters();
    SeeOperators();
    SeeGraph();
    return std::move(observation_);
  }

 private:
  void SeeCalls() {
    const ModuleTree& tree = tagging_.modules;
    std::size_t called = 0;
    for (const ModuleId id : tree.All()) {
      // A module that a rule of the user moved nodes to is not in the evidence.
      const bool scoped = Index(id) < evidence_.called_modules.size() &&
                          evidence_.called_modules[Index(id)];
      observation_.seen[id].called = scoped || !tree.Class(id).empty();
      if (observation_.seen[id].called) ++called;
    }
    observation_.scopes = 2 * called > tree.count();
  }

  void SeeParameters() {
    std::vector<const Initializer*> tensors(parameters_.parameters.size());
    for (const Initializer& tensor : model_.initializers()) {
      const ParameterId id = parameters_.ParameterOf(tensor.value);
      if (id == kNo<ParameterId>) continue;
      const Initializer*& known = tensors[Index(id)];
      if (known == nullptr || known->rank < tensor.rank) known = &tensor;
    }
    // By module: how many parameters it has, then where the next one goes.
    IdVector<ModuleId, std::uint32_t> next(tagging_.modules.size(), 0);
    const auto ids = AllIds<ParameterId>(tensors.size());
    for (const ParameterId id : ids) {
      if (OwnerOf(id) != kNo<ModuleId>) ++next[OwnerOf(id)];
    }
    std::uint32_t all = 0;
    for (std::uint32_t& count : next) all += std::exchange(count, all);
    const auto parameters =
        std::make_shared<std::vector<catalogue::SeenParameter>>(all);
    for (const ParameterId id : ids) {
      const ModuleId module = OwnerOf(id);
      if (module == kNo<ModuleId>) continue;
      catalogue::SeenParameter& seen = (*parameters)[next[module]++];
      seen.name = hierarchy::LastPart(parameters_.parameters[id].name, '.');
      seen.rank = parameters_.parameters[id].rank;
      if (const Initializer* const tensor = tensors[Index(id)];
          tensor != nullptr && tensor->rank > 0) {
        seen.rows = static_cast<std::uint32_t>(
            std::clamp<std::int64_t>(model_.Dims(*tensor)[0], 0, 0x7fffffff));
      }
    }
    catalogue::SeenParameter* begin = parameters->data();
    for (const ModuleId module : AllIds<ModuleId>(next.size())) {
      catalogue::SeenParameter* const end = parameters->data() + next[module];
      observation_.seen[module].parameters = {begin, OnePerName(begin, end)};
      begin = end;
    }
    observation_.parameters = parameters;
  }

  // Keeps the first parameter of each name; returns the new end.
  template <typename Iterator>
  static Iterator OnePerName(Iterator begin, Iterator end) {
    if (end - begin < 2) return end;
    using catalogue::SeenParameter;
    std::stable_sort(begin, end,
                     [](const SeenParameter& a, const SeenParameter& b) {
                       return a.name < b.name;
                     });
    return std::unique(begin, end,
                       [](const SeenParameter& a, const SeenParameter& b) {
                         return a.name == b.name;
                       });
  }

  // The module that has the parameter; kNo if none has it.
  ModuleId OwnerOf(ParameterId id) const {
    const std::string_view path = parameters_.parameters[id].name;
    const ModuleId module = parameters_.parameters[id].module;
    const std::string_view name = hierarchy::LastPart(path, '.');
    // A tensor with the name of its module is not a parameter of the module.
    const bool is_module = module != ModuleTree::kRoot &&
                           name == tagging_.modules.Atom(module) &&
                           name.size() < path.size();
    return is_module || hierarchy::IsFoldedBias(path) ? kNo<ModuleId> : module;
  }

  void SeeOperators() {
    observation_.batch_norms_folded = true;
    observation_.constants_folded = true;
    for (const NodeId node : model_.Nodes()) {
      const Op op = ops_[node];
      observation_.counts_positions |= op == Op::kCumSum;
      observation_.batch_norms_folded &= op != Op::kBatchNormalization;
      observation_.constants_folded &= op != Op::kConstant;
      if (op == Op::kMatMul || op == Op::kGemm) SeeLostWeight(node);
      const Tag& tag = tagging_.tags[node];
      if (!tag.tagged()) continue;
      catalogue::SeenModule& seen = observation_.seen[tag.module];
      seen.all_operators |= catalogue::SetOf(op);
      if (tag.confidence < Confidence::kHigh) continue;
      seen.operators |= catalogue::SetOf(op);
      if (ops_.Is(node, {OpKind::kProduct, OpKind::kConvolution})) {
        if (const Initializer* const weight = SecondInput(node)) {
          seen.weight_rank = std::max(seen.weight_rank, weight->rank);
        }
      }
      if (op == Op::kLayerNormalization && IsBetweenTransposes(node)) {
        seen.operators |= catalogue::SetOf(Op::kTranspose);
      }
    }
  }

  // A norm over channels moves them to the end and back. Without names, only
  // the place of the Transposes shows that they belong to it.
  bool IsBetweenTransposes(NodeId node) const {
    const ValueId input = FirstInput(model_, node);
    const ValueId output = FirstOutput(model_, node);
    if (output == kNo<ValueId> ||
        ops_[ProducerOf(model_, input)] != Op::kTranspose) {
      return false;
    }
    const auto after = model_.Consumers(output);
    return !after.empty() && AllIn(after, [&](NodeId consumer) {
      return ops_[consumer] == Op::kTranspose;
    });
  }

  // The tensor in the place of a weight; null if there is none.
  const Initializer* SecondInput(NodeId node) const {
    const std::span<const ValueId> inputs = model_.Inputs(node);
    return inputs.size() < 2 || inputs[1] == kNo<ValueId>
               ? nullptr
               : model_.InitializerOf(inputs[1]);
  }

  // TorchScript transposes the weight of a Linear at export, and optimizers
  // after it. The new tensor has a name such as onnx::MatMul_7.
  void SeeLostWeight(NodeId node) {
    observation_.linear_weights_lost |=
        SecondInput(node) != nullptr &&
        parameters_.ParameterOf(model_.Inputs(node)[1]) == kNo<ParameterId>;
  }

  void SeeGraph() {
    if (model_.producer_name() == "pytorch") {
      observation_.torch_version = model_.producer_version();
    }
    if (model_.graph_count() == 0) return;
    const Graph& main = model_[GraphId{0}];
    for (const ValueId input : main.inputs) {
      if (model_.InitializerOf(input) == nullptr) {
        observation_.values.push_back(model_.ValueName(input));
      }
    }
    for (const ValueId output : main.outputs) {
      observation_.values.push_back(model_.ValueName(output));
    }
    if (main.outputs.empty()) return;
    const ValueInfo* const info = model_.InfoOf(main.outputs[0]);
    if (info != nullptr && info->has_shape) {
      observation_.output_rank = static_cast<int>(info->rank);
    }
  }

  const Operators& ops_;
  const ModuleEvidence& evidence_;
  const ParameterFacts& parameters_ = evidence_.parameters;
  const Model& model_ = evidence_.model;
  const Tagging& tagging_;
  catalogue::Observation observation_{tagging_.modules};
};

void Record(const ClassAnswer& answer, ModuleId id, Tagging& tagging) {
  tagging.modules.SetClass(id, answer.name);
  ModuleFacts& facts = tagging.facts[id];
  facts.class_confidence = answer.confidence;
  const auto others = answer.candidates.names();
  facts.candidates.assign(others.begin(), others.end());
}

// What the recordings of the recipe book say.
using RecipeAnswers = std::unordered_map<ModuleId, ClassAnswer>;

RecipeAnswers AnswersOfRecipes(const ModuleEvidence& evidence) {
  RecipeAnswers answers;
  for (const RecipeClasses& classes : evidence.recipe_classes) {
    ClassAnswer answer;
    answer.name = classes.names.front();
    const std::size_t most =
        std::min(classes.names.size(), catalogue::kMostCandidates + 1);
    for (std::size_t i = 1; i < most; ++i) {
      answer.candidates.Add(classes.names[i]);
    }
    answer.confidence =
        answer.candidates.empty() ? classes.confidence : Confidence::kLow;
    answers.insert_or_assign(classes.module, std::move(answer));
  }
  return answers;
}

// The operations can show a class that names alone cannot: `model.3` may have
// any class.
bool IsBetter(const ClassAnswer& recipe, const ClassAnswer& catalogue) {
  return !catalogue.known() || (recipe.confidence >= Confidence::kMedium &&
                                catalogue.confidence < Confidence::kHigh);
}

// Whether a low answer of a recipe is worth nothing: the operators show the
// same class more surely, or only the recipe says that there is such a module.
bool IsIdle(const ClassAnswer& recipe, const catalogue::SeenModule& seen) {
  return recipe.confidence == Confidence::kLow &&
         (catalogue::GuessLeafClass(seen).name == recipe.name ||
          (!seen.called && seen.parameters.empty()));
}

// Drops classes that an operator or a parameter of the module contradicts.
void DropContradicted(const catalogue::Observation& seen,
                      RecipeAnswers& recipes, ClassAnswers& answers) {
  for (const ModuleId id : seen.modules.All()) {
    if (!seen.modules.Children(id).empty()) continue;
    if (answers[id].known() &&
        catalogue::Contradicts(seen.seen[id], answers[id].name)) {
      answers[id] = {};
    }
    const auto recipe = recipes.find(id);
    if (recipe != recipes.end() &&
        (catalogue::Contradicts(seen.seen[id], recipe->second.name) ||
         IsIdle(recipe->second, seen.seen[id]))) {
      recipes.erase(recipe);
    }
  }
}

// Modules without parts that neither the catalogue nor a recipe explains.
void GuessLeafClasses(const catalogue::Observation& seen,
                      const RecipeAnswers& recipes, bool other_framework,
                      ClassAnswers& answers) {
  const ModuleTree& tree = seen.modules;
  for (const ModuleId id : tree.All()) {
    if (id == ModuleTree::kRoot || answers[id].known() ||
        recipes.contains(id) || !tree.Class(id).empty() ||
        !tree.Children(id).empty()) {
      continue;
    }
    answers[id] = catalogue::GuessLeafClass(seen.seen[id]);
    // Keras has other classes: its ReLU may be an Activation.
    if (other_framework) answers[id].confidence = Confidence::kLow;
  }
}

std::vector<std::string> FamilyWords(const ModuleTree& tree) {
  std::unordered_set<std::string_view> classes;
  std::vector<std::string> words;
  for (const ModuleId id : tree.All()) {
    if (!classes.insert(tree.Class(id)).second) continue;
    const std::string_view word =
        catalogue::BuiltIn().FamilyWord(tree.Class(id));
    if (!word.empty() && !IsAmong(word, words)) {
      words.emplace_back(word);
    }
  }
  return words;
}

}  // namespace

void AssignClasses(const GraphFacts& graph, const ModuleEvidence& evidence,
                   Tagging& tagging, const ClassKnowledge& knowledge) {
  ModuleTree& tree = tagging.modules;
  RecipeAnswers recipes =
      knowledge.catalogue ? AnswersOfRecipes(evidence) : RecipeAnswers();
  bool adapters_only_scale = false;
  ClassAnswers answers;
  // What was observed is not kept longer: with a module for each node it is
  // more than 100 bytes a node.
  {
    const catalogue::Observation seen =
        Observer(graph, evidence, tagging).Observe();
    if (knowledge.catalogue) {
      answers = IdentifyAdapted(seen, knowledge.hidden);
    } else {
      answers.resize(tree.size());
    }
    DropContradicted(seen, recipes, answers);
    GuessLeafClasses(seen, recipes, evidence.other_framework, answers);
    adapters_only_scale = AdaptersOnlyScale(seen);
  }
  tagging.facts.resize(tree.size());
  for (const ModuleId id : tree.All()) {
    if (!tree.Class(id).empty()) {
      tagging.facts[id].class_confidence = Confidence::kCertain;
    } else if (const auto recipe = recipes.find(id);
               recipe != recipes.end() &&
               IsBetter(recipe->second, answers[id])) {
      Record(recipe->second, id, tagging);
    } else if (answers[id].known()) {
      Record(answers[id], id, tagging);
    }
  }
  if (knowledge.catalogue) NameWrappers(adapters_only_scale, tagging);
  DescribeClasses(tagging);
}

void DescribeClasses(Tagging& tagging) {
  const ModuleTree& tree = tagging.modules;
  tagging.family_words = FamilyWords(tree);
  tagging.root.name = tree.Class(ModuleTree::kRoot);
  const ModuleFacts& root = tagging.facts[ModuleTree::kRoot];
  tagging.root.confidence = root.class_confidence;
  tagging.root.alternatives = root.candidates;
}

}  // namespace onnx_tag
