// All facts of a file about the modules of its nodes. They are gathered once,
// never changed afterwards, and shared by every strategy.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "clues/exporters/dialect_names.h"
#include "clues/exporters/functions/local_functions.h"
#include "clues/exporters/scopes.h"
#include "clues/parameters/parameters.h"
#include "clues/recording/module_map.h"
#include "core/graph/graph_facts.h"
#include "mapping/clues/clues.h"
#include "onnx_tag/hierarchy.h"
#include "onnx_tag/ids.h"
#include "onnx_tag/model.h"
#include "onnx_tag/tagging.h"

namespace onnx_tag {

struct Recording;  // onnx_tag/recording.h
struct Rule;       // mapping/rules/rules.h
struct Rules;

// The user's hierarchy, matched with the modules of the file.
struct KnownModules {
  std::shared_ptr<const ModuleMap> map;  // null if none was given
  // By module of the evidence: the module of the map, or kNo. Modules that were
  // added later are not included.
  IdVector<ModuleId, ModuleId> in_map;
  // By module of the map: the module of the evidence, or kNo if the file is
  // only a part of the model.
  IdVector<ModuleId, ModuleId> in_file;
  // The module that corresponds to the map's root: the root, or a module inside
  // a wrapper.
  ModuleId top = ModuleTree::kRoot;
  std::vector<std::string> warnings;  // for the user

  ModuleId InMap(ModuleId id) const {
    return Index(id) < in_map.size() ? in_map[id] : kNo<ModuleId>;
  }
  // The file's module for a module of the map; adds it to `modules` if it is
  // new. kNo if the file is only a part of the model and this module is
  // outside.
  ModuleId Add(ModuleId id, ModuleTree& modules);
};

namespace recipes {
class Book;
}  // namespace recipes

// The classes of a module in the recordings that fit.
struct RecipeClasses {
  ModuleId module;
  Confidence confidence;
  std::vector<std::string> names;  // the best first
};

// By node, in no order: where its recorded operation ran. Views of the
// recording.
using Tracebacks = std::vector<std::pair<NodeId, std::string_view>>;

// What the recipe book says besides clues.
struct RecipeFacts {
  std::vector<RecipeClasses> recipe_classes;
  // The whole file is a recording of its own framework, operation by operation.
  bool is_recorded = false;
};

// The modules that run.
struct ModuleUses {
  std::vector<bool> called_modules;       // by module: has a scope
  IdVector<ModuleId, ModuleId> callable;  // by module

  // `module`, or its nearest ancestor that can be called. Lists contain modules
  // but have no operations; their owner has.
  ModuleId Callable(ModuleId module) const { return callable[module]; }
};

// All facts. What several steps, rungs or layers take by itself is a type that
// this one extends.
struct Evidence : ExporterFacts,
                  ScopeFacts,
                  ParameterFacts,
                  RecipeFacts,
                  ModuleUses {
  explicit Evidence(const GraphFacts& facts)
      : model(facts.model), graph(facts), functions(model, facts.calls) {}

  const Model& model;
  const GraphFacts& graph;
  FunctionTable functions;  // local functions that still exist
  KnownModules known;       // the user's hierarchy
  // What sources wrote while the evidence was gathered. Each source has a
  // writer of its own, and none reads another's but where a step says so.
  Clues said;
  std::vector<Origin> origins;  // that names and metadata tell
  Tracebacks tracebacks;
  std::vector<std::uint64_t> rule_matches;  // by rule: its number of nodes
  // Names and metadata contain only the root although weights have no names:
  // another framework's layers are not modules of torch.
  bool only_root_is_named = false;
  ModuleTree modules;  // all modules in the facts

  ModuleId CommonCaller(ModuleId a, ModuleId b) const {
    return callable[modules.CommonAncestor(a, b)];
  }

  // Whether there is a hierarchy and it excludes this module.
  bool IsImpossible(ModuleId id) const {
    return known.map != nullptr && known.map->complete &&
           known.InMap(id) == kNo<ModuleId> && id != known.top &&
           modules.IsAncestor(known.top, id);
  }

  // Whether the hierarchy excludes it: a container has no operations, and a
  // class of torch.nn never becomes other operators than its own.
  bool IsContradicted(NodeId node, ModuleId id) const;
};

// Additional facts from the user, and options.
// The paths from a module of one class to its parts of another class, "*" for
// any index; empty if they are not known.
using PathsToPart = std::function<std::vector<std::string>(
    std::string_view parent, std::string_view part)>;

struct WantedFacts {
  std::shared_ptr<const ModuleMap> hierarchy;  // the user's, or null
  const Recording* trace = nullptr;
  const Recording* fx = nullptr;
  bool anchored = false;  // the recordings are evidence among other
  const recipes::Book* book = nullptr;
  const Rules* rules = nullptr;  // must outlive the evidence
  PathsToPart paths_to_part;     // of classes of libraries; may be empty
};

// `graph` must outlive the evidence. Throws Error(kUsage) if the hierarchy or a
// recording belongs to another model.
Evidence GatherEvidence(const GraphFacts& graph,
                        const WantedFacts& wanted = {});

// Evidence for modules that another source names, such as another version of
// the file: what the file shows without its own modules.
Evidence GatherUnnamed(const GraphFacts& graph, ModuleTree modules);

// What is left of the evidence when the nodes are placed: the facts about
// modules. With a module for each node, scopes alone are 120 bytes a node, and
// classes need as much.
struct ModuleEvidence {
  // Takes them out of the evidence; the caller lets the rest go.
  explicit ModuleEvidence(Evidence&& evidence);

  const Model& model;
  ParameterFacts parameters;
  std::vector<bool> called_modules;
  std::vector<RecipeClasses> recipe_classes;
  std::vector<std::string> warnings;
  bool other_framework;  // the file is not from PyTorch
};

// The steps of GatherEvidence. Each step adds the modules in its facts to
// `modules`, writes its clues to `said`, and takes the results of other steps
// as arguments. Finds the modules of the functions and their calls.
void PlaceFunctions(const Model& model, const ScopeFacts& scopes,
                    const ParameterFacts& parameters, ModuleTree& modules,
                    FunctionTable& functions);
// Files of torch 2.1 to 2.4 whose functions were inlined: the last node of a
// module still makes a value with the module's name.
void GatherReturned(const Model& model, ModuleTree& modules, Clues& said);
// Writes below certain where a rewriter merged several nodes. Returns the norms
// whose node holds another's weight.
std::vector<Origin> GatherMetadata(const GraphFacts& graph,
                                   const ParameterFacts& parameters,
                                   ModuleTree& modules, Clues& said);
// Withdraws the trust in parameters whose consumers have metadata of different
// modules: a tied tensor, or equal tensors that were merged.
void DistrustShared(const Model& model, const Clues& said,
                    ParameterFacts& parameters);
// Names of other producers. Returns the further modules in such a name.
std::vector<Origin> GatherDialectNames(const Model& model,
                                       const ExporterFacts& exporter,
                                       const ParameterFacts& parameters,
                                       ModuleTree& modules, Clues& said);
// What the file says of its nodes, as anchors for a recording.
class FileModules {
 public:
  FileModules() = default;  // says nothing
  FileModules(const GraphFacts& graph, const ScopeFacts& scopes,
              const ParameterFacts& parameters, const Clues& said,
              const ModuleTree& modules);

  // By node: the path of its module; null: the file does not say it.
  const std::vector<const std::string*>& of_node() const { return of_node_; }

 private:
  void Set(NodeId node, ModuleId module) {
    of_node_[Index(node)] = &paths_[module];
  }

  IdVector<ModuleId, std::string> paths_;
  std::vector<const std::string*> of_node_;
};
// `anchors` may be empty. With them, the recordings are further evidence, laid
// along the nodes whose modules the file says.
Tracebacks GatherRecordings(const GraphFacts& graph, const Recording* trace,
                            const Recording* fx, const FileModules& anchors,
                            ModuleTree& modules, Clues& said);
// What the order of calls in the user's hierarchy says; nothing if it has none.
void GatherCalls(const GraphFacts& graph, hierarchy::Dialect dialect,
                 const FileModules& anchors, const KnownModules& known,
                 ModuleTree& modules, Clues& said);
// Empty if the hierarchy has no calls or no shapes. Uses recorded operations,
// and where there are none the order of calls.
WeightNames NameWeights(const GraphFacts& graph,
                        const ParameterFacts& parameters,
                        const KnownModules& known, const Clues& said,
                        const FileModules& anchors, const ModuleTree& modules);
// The facts that a hierarchy is compared with.
struct HierarchyInputs {
  const GraphFacts& graph;
  const ScopeFacts& scopes;
  const ParameterFacts& parameters;
  const Clues& said;  // metadata and recordings
};
KnownModules FitHierarchy(const HierarchyInputs& file,
                          std::shared_ptr<const ModuleMap> map,
                          ModuleTree& modules);
// Returns the scopes with their modules.
ScopeFacts AlignScopes(const GraphFacts& graph,
                       const ParameterFacts& parameters, ScopeFacts scopes,
                       KnownModules& known, ModuleTree& modules);
// With more consecutive missing numbers, a Sequential has items that were not
// exported: the numbers of its items have no gaps.
constexpr std::uint32_t kMostMissing = 3;
// The number of a torch.nn.Sequential's item; nullopt if the atom is not a
// number.
std::optional<std::uint32_t> ItemNumber(std::string_view atom);
// Adds the items without parameters between known items, and those that may
// follow the last or precede the first.
void AddMissingNumbers(ModuleTree& tree);
// Adds the usual module of the attention beside each norm, from
// src/data/attention_names.txt.
void AddUsualAttention(const ParameterFacts& parameters, ModuleTree& modules);
// That module; kNo if the norm's name tells none.
ModuleId UsualAttention(const ParameterFacts& parameters,
                        const ModuleTree& modules, ModuleId norm);
// Empty if there is no book, or if names are sufficient.
RecipeFacts GatherRecipes(const GraphFacts& graph,
                          const ExporterFacts& exporter,
                          const ScopeFacts& scopes, const recipes::Book* book,
                          ModuleTree& modules, Clues& said);
using Captures = std::vector<std::string_view>;
// Which nodes a rule of the user is about: whether the conditions on the node
// itself are true, all but that on its module. `captures` are in the order of
// the conditions.
bool HoldsForNode(const Rule& rule, const Model& model,
                  const ParameterFacts& parameters, NodeId node,
                  Captures& captures);
// The modules in rules without a condition on the module. `rules` may be null.
// Returns by rule its number of nodes.
std::vector<std::uint64_t> GatherRules(const Model& model,
                                       const ParameterFacts& parameters,
                                       const Rules* rules, ModuleTree& modules,
                                       Clues& said);
ModuleUses DescribeModules(const ModuleTree& tree, const ScopeTable& scopes,
                           const ParameterFacts& parameters,
                           const KnownModules& known);

}  // namespace onnx_tag
