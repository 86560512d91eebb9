// What a file says about where its nodes come from: gathered once, never
// changed after, shared by every strategy.
#ifndef ONNX_TAG_EVIDENCE_EVIDENCE_H_
#define ONNX_TAG_EVIDENCE_EVIDENCE_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "base/ids.h"
#include "evidence/scope_table.h"
#include "exporters/dialect_names.h"
#include "exporters/functions/function_table.h"
#include "hierarchy/module_map.h"
#include "onnx_tag/hierarchy.h"
#include "onnx_tag/model.h"
#include "projection/project.h"

namespace onnx_tag {

enum class ParameterId : std::uint32_t {};

// A tensor that carries a name from the source model's state_dict.
struct Parameter {
  std::string_view name;  // what tools added to it undone
  ModuleId module = ModuleId{0};
  std::uint32_t rank = 0;
  std::uint32_t uses = 0;  // nodes that read it, carriers not counted
  // Read from one place only: not shared, tied or merged with an equal tensor.
  bool trusted = false;
};

// What a node's metadata says.
struct MetadataFact {
  NodeId node;
  ModuleId module;
  bool merged = false;  // a rewriter made the node out of several
};

// What an inlined function's surviving names say of a node.
enum class InlinedTrust : std::uint8_t {
  kAround,  // it is of a call without a name, inside this module
  kOrder,   // it lies between the ends of two calls
  kName,    // it is of a call that is named after the module
  kKnown,   // and parameters know the module, too
};
struct InlinedFact {
  NodeId node;
  ModuleId module;
  InlinedTrust trust = InlinedTrust::kOrder;
};

// What a node's name says in a dialect with rules of its own.
struct NameFact {
  NodeId node;
  ModuleId module;
  Confidence confidence;
  std::string_view because;
  Source source = Source::kScope;
};

// The user's hierarchy, laid over the modules of the file.
struct KnownModules {
  std::shared_ptr<const ModuleMap> map;  // null: none was given
  // By module of the evidence: the map's, kNo where it has none. Modules that
  // were added later are not in it.
  IdVector<ModuleId, ModuleId> in_map;
  // And the other way round; kNo where the file is only a part.
  IdVector<ModuleId, ModuleId> in_file;
  // The module whose children are those of the map's root: the root, or what
  // a wrapper put in front of it.
  ModuleId top = ModuleTree::kRoot;
  std::vector<std::string> warnings;  // that the user should hear of

  ModuleId InMap(ModuleId id) const {
    return Index(id) < in_map.size() ? in_map[id] : kNo<ModuleId>;
  }
  // The file's module for one of the map's, added to `modules` where it is new;
  // kNo where the file is only a part of the model and this is outside.
  ModuleId Add(ModuleId id, ModuleTree& modules);
};

// What a recorded run says of a node.
struct ProjectedFact {
  NodeId node;
  ModuleId module;
  ProjectionTrust trust;
};

namespace recipes {
class Book;
}  // namespace recipes

// What the recipe book says of a node.
struct RecipeFact {
  NodeId node;
  ModuleId module;
  Confidence confidence;
  bool firm = false;  // told by the recording, and not by what stands around
  std::string_view because;
};

// Classes of a module in the recordings that the book found to fit.
struct RecipeClasses {
  ModuleId module;
  Confidence confidence;
  std::vector<std::string> names;  // the best first
};

// Each of the following is what one step of GatherEvidence finds.

// Scopes in names.
struct ScopeFacts {
  ScopeTable scopes;
  IdVector<NodeId, ScopeId> node_scope;   // kNo: none in its name
  IdVector<NodeId, ScopeId> value_scope;  // from its outputs' names
  IdVector<NodeId, bool> converter_name;  // a converter's or quantizer's

  // Whether a converter or quantizer named the node.
  bool IsConverterName(NodeId node) const { return converter_name[node]; }
};

// Parameters of the source model, and what carries them.
struct ParameterFacts {
  IdVector<ParameterId, Parameter> parameters;
  IdVector<ValueId, ParameterId> value_parameter;  // through carriers
  std::vector<bool> module_has_parameter;          // by module
  std::vector<bool> constant_value;  // by value: feeds on no input
  // Nodes that feed on nothing but weights and constants, and pass one on.
  IdVector<NodeId, bool> is_carrier;

  ParameterId ParameterOf(ValueId value) const {
    return value == kNo<ValueId> ? kNo<ParameterId> : value_parameter[value];
  }
  bool HasParameterAt(ModuleId id) const {
    return Index(id) < module_has_parameter.size() &&
           module_has_parameter[Index(id)];
  }
};

// Local functions that are still there.
struct FunctionFacts {
  FunctionTable functions;
};

// Local functions that were inlined; by node.
struct InlinedFacts {
  std::vector<InlinedFact> inlined;
};

// The metadata of the dynamo exporter; by node.
struct MetadataFacts {
  std::vector<MetadataFact> metadata;
};

// Names of other producers.
struct DialectFacts {
  std::vector<NameFact> name_facts;  // by node
  std::vector<Origin> origins;       // by node
  // The names say nothing but the root, although there is more: Keras' layers
  // are no modules to torch.
  bool only_root_is_named = false;
};

// Recordings, where the strategy asks for one.
struct RecordedFacts {
  std::vector<ProjectedFact> traced;
  std::vector<ProjectedFact> fx_traced;
  std::vector<NodeId> run_order;  // all nodes, as they run
};

// The user's hierarchy.
struct HierarchyFacts {
  KnownModules known;
};

// What an attention beside this norm is usually called: by the norm's module,
// the module that would be; see data/attention_names.txt.
struct AttentionGuesses {
  std::unordered_map<std::uint32_t, ModuleId> usual_attention;
};

// The recipe book.
struct RecipeFacts {
  std::vector<RecipeFact> recipes;  // by node
  std::shared_ptr<const std::vector<std::string>> recipe_reasons;
  std::vector<RecipeClasses> recipe_classes;
};

// Which modules run.
struct ModuleUses {
  std::vector<bool> called_modules;       // by module: has a scope
  IdVector<ModuleId, ModuleId> callable;  // by module

  // `module`, or the nearest module around it that can be called: lists hold
  // modules and run nothing, their owner does.
  ModuleId Callable(ModuleId module) const { return callable[module]; }
  // Whether some scope stands for the module.
  bool IsCalled(ModuleId id) const {
    return Index(id) < called_modules.size() && called_modules[Index(id)];
  }
};

// All of it. A rung or a test that needs one kind of facts takes that type.
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
                  ModuleUses {
  const Model& model;
  ModuleTree modules;  // all that some fact names

  ModuleId CommonCaller(ModuleId a, ModuleId b) const {
    return callable[modules.CommonAncestor(a, b)];
  }

  // Whether the hierarchy, if there is one, rules this module out.
  bool IsImpossible(ModuleId id) const {
    return known.map != nullptr && known.map->complete &&
           known.InMap(id) == kNo<ModuleId> && id != known.top &&
           modules.IsAncestor(known.top, id);
  }
};

// What there is beside what the file says.
struct WantedFacts {
  std::shared_ptr<const ModuleMap> hierarchy;  // the user's, or null
  const Recording* trace = nullptr;
  const Recording* fx = nullptr;
  const recipes::Book* book = nullptr;
};

// Throws Error(kUsage) where the hierarchy or a recording is that of another
// model.
Evidence GatherEvidence(const Model& model, const WantedFacts& wanted = {});

// Adds modules that the user's rules name. After GatherEvidence, before any
// rung.
std::vector<ModuleId> AddModules(const std::vector<std::string>& paths,
                                 Evidence& evidence);

// The steps of GatherEvidence. Each adds to `modules` what its facts name, and
// takes what other steps found as arguments.
ScopeFacts GatherScopes(const Model& model, const ExporterFacts& exporter);
ParameterFacts GatherParameters(const Model& model,
                                const ExporterFacts& exporter,
                                const ScopeFacts& scopes,
                                const FunctionTable& functions,
                                ModuleTree& modules);
// Says which modules the functions and their calls stand for.
void PlaceFunctions(const Model& model, const ScopeFacts& scopes,
                    const ParameterFacts& parameters, ModuleTree& modules,
                    FunctionTable& functions);
// By the numbers of onnx.inliner, else by the order of what onnx_ir left.
InlinedFacts GatherInlined(const Model& model, const ParameterFacts& parameters,
                           ModuleTree& modules);
InlinedFacts GatherInlinedOrder(const Model& model,
                                const ParameterFacts& parameters,
                                ModuleTree& modules);
MetadataFacts GatherMetadata(const Model& model, ModuleTree& modules);
DialectFacts GatherDialectNames(const Model& model,
                                const ExporterFacts& exporter,
                                ModuleTree& modules);
// Nothing where the file is not one of Keras on torch. Where it is, scopes and
// metadata that say the root are no evidence.
std::optional<DialectFacts> GatherKerasOnTorch(const Model& model,
                                               const ExporterFacts& exporter,
                                               const ScopeFacts& scopes,
                                               const ParameterFacts& parameters,
                                               const MetadataFacts& metadata,
                                               ModuleTree& modules);
RecordedFacts GatherRecordings(const Model& model, const Recording* trace,
                               const Recording* fx, ModuleTree& modules);
// What a hierarchy is compared with.
struct HierarchyInputs {
  const ScopeFacts& scopes;
  const ParameterFacts& parameters;
  const MetadataFacts& metadata;
  const RecordedFacts& recorded;
};
KnownModules FitHierarchy(const HierarchyInputs& file,
                          std::shared_ptr<const ModuleMap> map,
                          ModuleTree& modules);
// The scopes with the modules that they stand for.
ScopeFacts AlignScopes(const Model& model, const ParameterFacts& parameters,
                       ScopeFacts scopes, KnownModules& known,
                       ModuleTree& modules);
AttentionGuesses GuessAttentionNames(const ParameterFacts& parameters,
                                     ModuleTree& modules);
// Nothing where there is no book, or names say enough. `named_otherwise`: nodes
// that metadata and inlined calls place.
RecipeFacts GatherRecipes(const Model& model, const ExporterFacts& exporter,
                          const ScopeFacts& scopes, std::size_t named_otherwise,
                          const recipes::Book* book, ModuleTree& modules);
ModuleUses DescribeModules(const ModuleTree& tree, const ScopeTable& scopes,
                           const ParameterFacts& parameters,
                           const KnownModules& known);

}  // namespace onnx_tag

#endif  // ONNX_TAG_EVIDENCE_EVIDENCE_H_
