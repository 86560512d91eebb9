// All facts of a file about the modules of its nodes. They are gathered once,
// never changed afterwards, and shared by every strategy.
#ifndef ONNX_TAG_MAPPING_EVIDENCE_EVIDENCE_H_
#define ONNX_TAG_MAPPING_EVIDENCE_EVIDENCE_H_

#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "base/ids.h"
#include "clues/exporters/dialect_names.h"
#include "clues/exporters/functions/local_functions.h"
#include "core/graph/graph_facts.h"
#include "core/hierarchy/module_map.h"
#include "mapping/evidence/scope_table.h"
#include "onnx_tag/hierarchy.h"
#include "onnx_tag/model.h"
#include "onnx_tag/tagging.h"

namespace onnx_tag {

// What a source of knowledge says about one node.
struct Claim {
  NodeId node;
  ModuleId module;
  Confidence confidence;
  Source source;
  std::string_view because;  // a sentence for people
};

using Claims = std::vector<Claim>;

struct Recording;  // onnx_tag/recording.h
struct Rule;       // mapping/rules/rules.h
struct Rules;

enum class ParameterId : std::uint32_t {};

// A tensor with a name from the state_dict of the source model.
struct Parameter {
  std::string_view name;  // without the additions of tools
  ModuleId module = ModuleId{0};
  std::uint32_t rank = 0;
  std::uint32_t uses = 0;  // number of consumers, without carriers
  // Read only by its owner, as far as can be seen: not tied, and not merged
  // with an equal tensor.
  bool trusted = false;
  bool given = false;  // the name is from the hierarchy, not from the file
};

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

// Each of the following types is the result of one step of GatherEvidence.

// The scopes in names.
struct ScopeFacts {
  ScopeTable scopes;
  IdVector<NodeId, ScopeId> node_scope;   // kNo: no scope in its name
  IdVector<NodeId, ScopeId> value_scope;  // from its outputs' names
  // The value scope is from the name of a constant: the names of nodes and
  // values are lost, so that a node without a scope is nothing special.
  IdVector<NodeId, bool> named_by_constant;
  IdVector<NodeId, bool> converter_name;  // from a converter or quantizer
  IdVector<NodeId, bool> fused_name;      // from a tool that fused nodes

  // Whether a converter or quantizer named the node.
  bool IsConverterName(NodeId node) const { return converter_name[node]; }
  bool IsFusedName(NodeId node) const { return fused_name[node]; }
};

// Names of weights that the file does not have, in the order of their values.
using GivenNames = std::vector<std::pair<ValueId, std::string>>;

// The parameters of the source model, and the nodes that pass them on.
struct ParameterFacts {
  IdVector<ParameterId, Parameter> parameters;
  IdVector<ValueId, ParameterId> value_parameter;  // through carriers
  std::vector<bool> module_has_parameter;          // by module
  // Nodes that read only weights and constants, and pass one on.
  IdVector<NodeId, bool> is_carrier;
  std::shared_ptr<const GivenNames> given;  // holds the names

  ParameterId ParameterOf(ValueId value) const {
    return value == kNo<ValueId> ? kNo<ParameterId> : value_parameter[value];
  }
  // Whether the node reads a parameter that proves the module.
  bool Proves(const Model& model, NodeId node, ModuleId module) const {
    for (const ValueId input : model.Inputs(node)) {
      const ParameterId id = ParameterOf(input);
      if (id != kNo<ParameterId> && parameters[id].trusted &&
          parameters[id].module == module) {
        return true;
      }
    }
    return false;
  }
  bool HasParameterAt(ModuleId id) const {
    return Index(id) < module_has_parameter.size() &&
           module_has_parameter[Index(id)];
  }
};

// Local functions that still exist.
struct FunctionFacts {
  FunctionTable functions;
};

// Local functions that were inlined; by node.
struct InlinedFacts {
  Claims inlined;
};

// The metadata of the dynamo exporter; by node.
struct MetadataFacts {
  Claims metadata;             // below certain: a rewriter merged several nodes
  std::vector<Origin> folded;  // norms whose node holds another's weight
};

// Names of other producers.
struct DialectFacts {
  Claims named;                 // by node
  std::vector<Origin> origins;  // by node
  // The names contain only the root, because the layers of Keras are not
  // modules of torch.
  bool only_root_is_named = false;
};

// Recordings: the operations of a run, then those of an FX graph.
struct RecordedFacts {
  Claims recorded;        // the main node of each operation
  Claims recorded_parts;  // the other nodes that an operation became
  // By node, in no order: where its operation ran. Views of the recording.
  std::vector<std::pair<NodeId, std::string_view>> tracebacks;
};

// The user's hierarchy.
struct HierarchyFacts {
  KnownModules known;
  Claims called;  // from the order of its calls
};

// By module of a norm: the usual module of the attention beside it, from
// data/attention_names.txt.
struct AttentionGuesses {
  std::unordered_map<std::uint32_t, ModuleId> usual_attention;
};

// The recipe book.
struct RecipeFacts {
  Claims recipes;  // by node
  // By neighbours in the recording, or doubtful. Rules for norms and attention
  // are better.
  Claims loose_recipes;
  std::shared_ptr<const std::deque<std::string>> recipe_reasons;
  std::vector<RecipeClasses> recipe_classes;
  // The whole file is a recording of its own framework, operation by operation.
  bool is_recorded = false;
};

// The user's rules; by node.
struct RuleFacts {
  Claims ruled;
  std::vector<std::uint64_t> matches;  // by rule: its number of nodes
};

// The modules that run.
struct ModuleUses {
  std::vector<bool> called_modules;       // by module: has a scope
  IdVector<ModuleId, ModuleId> callable;  // by module

  // `module`, or its nearest ancestor that can be called. Lists contain modules
  // but have no operations; their owner has.
  ModuleId Callable(ModuleId module) const { return callable[module]; }
  // Whether the module has a scope.
  bool IsCalled(ModuleId id) const {
    return Index(id) < called_modules.size() && called_modules[Index(id)];
  }
};

// All facts. A rung or a test that needs one kind of facts takes that type.
struct Evidence : ExporterFacts,
                  ScopeFacts,
                  ParameterFacts,
                  FunctionFacts,
                  InlinedFacts,
                  MetadataFacts,
                  DialectFacts,
                  RecordedFacts,
                  HierarchyFacts,
                  AttentionGuesses,
                  RecipeFacts,
                  RuleFacts,
                  ModuleUses {
  const Model& model;
  const GraphFacts& graph;
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
};

// Additional facts from the user, and options.
struct WantedFacts {
  std::shared_ptr<const ModuleMap> hierarchy;  // the user's, or null
  const Recording* trace = nullptr;
  const Recording* fx = nullptr;
  bool anchored = false;  // the recordings are evidence among other
  const recipes::Book* book = nullptr;
  const Rules* rules = nullptr;  // must outlive the evidence
};

// The facts of the graph. The names of a file say which values stand for
// weights that the file leaves out: nothing defines them, or they are inputs
// with the name of a parameter.
GraphFacts GatherGraph(const Model& model);

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
// `modules`, and takes the results of other steps as arguments.
ScopeFacts GatherScopes(const GraphFacts& graph, const ExporterFacts& exporter);
ParameterFacts GatherParameters(const GraphFacts& graph,
                                const ExporterFacts& exporter,
                                const ScopeFacts& scopes,
                                const FunctionTable& functions,
                                ModuleTree& modules, GivenNames given = {});
// Finds the modules of the functions and their calls.
void PlaceFunctions(const Model& model, const ScopeFacts& scopes,
                    const ParameterFacts& parameters, ModuleTree& modules,
                    FunctionTable& functions);
// Uses the numbers of onnx.inliner, else the order of names that onnx_ir left.
InlinedFacts GatherInlined(const Model& model, const ParameterFacts& parameters,
                           ModuleTree& modules);
InlinedFacts GatherInlinedOrder(const Model& model,
                                const ParameterFacts& parameters,
                                ModuleTree& modules);
MetadataFacts GatherMetadata(const Model& model,
                             const ParameterFacts& parameters,
                             ModuleTree& modules);
// Withdraws the trust in parameters whose consumers have metadata of different
// modules: a tied tensor, or equal tensors that were merged.
ParameterFacts DistrustShared(const Model& model, const MetadataFacts& metadata,
                              ParameterFacts parameters);
DialectFacts GatherDialectNames(const Model& model,
                                const ExporterFacts& exporter,
                                const ParameterFacts& parameters,
                                ModuleTree& modules);
// nullopt if the file is not from Keras on torch. If it is, scopes and metadata
// with only the root are not evidence.
std::optional<DialectFacts> GatherKerasOnTorch(const Model& model,
                                               const ExporterFacts& exporter,
                                               const ScopeFacts& scopes,
                                               const ParameterFacts& parameters,
                                               const MetadataFacts& metadata,
                                               ModuleTree& modules);
RecordedFacts GatherRecordings(const GraphFacts& graph, const Recording* trace,
                               const Recording* fx, ModuleTree& modules);
// The same as further evidence: laid along the nodes whose modules the file
// says.
RecordedFacts GatherAnchored(const GraphFacts& graph, const ScopeFacts& scopes,
                             const ParameterFacts& parameters,
                             const MetadataFacts& metadata,
                             const Recording* trace, const Recording* fx,
                             ModuleTree& modules);
// What the order of calls in the user's hierarchy says; empty if it has none.
Claims GatherCalls(const GraphFacts& graph, const ExporterFacts& exporter,
                   const ScopeFacts& scopes, const ParameterFacts& parameters,
                   const MetadataFacts& metadata, const KnownModules& known,
                   ModuleTree& modules);
// Empty if the hierarchy has no calls or no shapes.
GivenNames NameWeights(const Model& model, const ParameterFacts& parameters,
                       const KnownModules& known, const Claims& called,
                       const ModuleTree& modules);
// The facts that a hierarchy is compared with.
struct HierarchyInputs {
  const Model& model;
  const ScopeFacts& scopes;
  const ParameterFacts& parameters;
  const MetadataFacts& metadata;
  const RecordedFacts& recorded;
};
KnownModules FitHierarchy(const HierarchyInputs& file,
                          std::shared_ptr<const ModuleMap> map,
                          ModuleTree& modules);
// Returns the scopes with their modules.
ScopeFacts AlignScopes(const Model& model, const ParameterFacts& parameters,
                       ScopeFacts scopes, KnownModules& known,
                       ModuleTree& modules);
// With more consecutive missing numbers, a Sequential has items that were not
// exported: the numbers of its items have no gaps.
constexpr std::uint32_t kMostMissing = 3;
// The number of a torch.nn.Sequential's item; nullopt if the atom is not a
// number.
std::optional<std::uint32_t> ItemNumber(std::string_view atom);
// Adds the items without parameters between known items, and those that may
// follow the last or precede the first.
void AddMissingNumbers(ModuleTree& tree);
AttentionGuesses GuessAttentionNames(const ParameterFacts& parameters,
                                     ModuleTree& modules);
// Empty if there is no book, or if names are sufficient. `named_otherwise`:
// nodes that metadata and inlined calls place.
RecipeFacts GatherRecipes(const GraphFacts& graph,
                          const ExporterFacts& exporter,
                          const ScopeFacts& scopes, std::size_t named_otherwise,
                          const recipes::Book* book, ModuleTree& modules);
using Captures = std::vector<std::string_view>;
// Which nodes a rule of the user is about: whether the conditions on the node
// itself are true, all but that on its module. `captures` are in the order of
// the conditions.
bool HoldsForNode(const Rule& rule, const Model& model,
                  const ParameterFacts& parameters, NodeId node,
                  Captures& captures);
// The modules in rules without a condition on the module. `rules` may be null.
RuleFacts GatherRules(const Model& model, const ParameterFacts& parameters,
                      const Rules* rules, ModuleTree& modules);
ModuleUses DescribeModules(const ModuleTree& tree, const ScopeTable& scopes,
                           const ParameterFacts& parameters,
                           const KnownModules& known);

}  // namespace onnx_tag

#endif  // ONNX_TAG_MAPPING_EVIDENCE_EVIDENCE_H_
