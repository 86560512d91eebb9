// What a file says about where its nodes come from: gathered once, never
// changed after, shared by every strategy.
#ifndef ONNX_TAG_EVIDENCE_EVIDENCE_H_
#define ONNX_TAG_EVIDENCE_EVIDENCE_H_

#include <cstdint>
#include <memory>
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

  ModuleId InMap(ModuleId id) const {
    return Index(id) < in_map.size() ? in_map[id] : kNo<ModuleId>;
  }
};

// What a recorded run says of a node.
struct ProjectedFact {
  NodeId node;
  ModuleId module;
  ProjectionTrust trust;
};

// A node that a rule of the user's places.
struct RuleFact {
  NodeId node;
  ModuleId module;
  std::uint32_t rule;  // its place in the file
};

struct Rules;  // rules/rules.h
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

struct Evidence {
  explicit Evidence(const Model& m) : model(m) {}

  const Model& model;
  ModuleTree modules;
  KnownModules known;

  ScopeTable scopes;
  IdVector<NodeId, ScopeId> node_scope;   // kNo: none in its name
  IdVector<NodeId, ScopeId> value_scope;  // from its outputs' names
  IdVector<NodeId, bool> converter_name;  // a converter's or quantizer's

  IdVector<ParameterId, Parameter> parameters;
  IdVector<ValueId, ParameterId> value_parameter;  // through carriers
  std::vector<bool> module_has_parameter;          // by module
  std::vector<bool> called_modules;                // by module: has a scope
  IdVector<ModuleId, ModuleId> callable;           // by module
  std::vector<bool> constant_value;  // by value: feeds on no input

  // What an attention beside this norm is usually called: by the norm's
  // module, the module that would be; see data/attention_names.txt.
  std::unordered_map<std::uint32_t, ModuleId> usual_attention;

  FunctionTable functions;
  std::vector<InlinedFact> inlined;
  hierarchy::Dialect dialect = hierarchy::Dialect::kUnknown;
  std::shared_ptr<const DialectNames> names;  // null: scopes and metadata
  std::vector<NameFact> name_facts;           // by node
  std::vector<Origin> origins;                // by node
  // The names say nothing but the root, although there is more: Keras' layers
  // are no modules to torch.
  bool only_root_is_named = false;

  std::shared_ptr<const Rules> rules;       // the user's; null: none
  std::vector<RuleFact> rule_facts;         // by node
  std::vector<std::uint64_t> rule_matches;  // by rule
  IdVector<NodeId, int> moved;      // by which rule, -1: none; may be empty
  std::vector<RecipeFact> recipes;  // by node; see gather_recipes.cc
  std::shared_ptr<const std::vector<std::string>> recipe_reasons;
  std::vector<RecipeClasses> recipe_classes;

  std::vector<MetadataFact> metadata;  // by node
  std::vector<std::string> notes;      // set aside, and why
  std::vector<std::string> warnings;   // that the user should hear of

  // From recordings, where the strategy asks for one.
  std::vector<ProjectedFact> traced;
  std::vector<ProjectedFact> fx_traced;
  std::vector<NodeId> run_order;  // all nodes, as they run

  // Nodes that feed on nothing but weights and constants, and pass one on.
  IdVector<NodeId, bool> is_carrier;

  // `module`, or the nearest module around it that can be called: lists hold
  // modules and run nothing, their owner does.
  ModuleId Callable(ModuleId module) const { return callable[module]; }
  ModuleId CommonCaller(ModuleId a, ModuleId b) const {
    return callable[modules.CommonAncestor(a, b)];
  }

  // Whether the hierarchy, if there is one, rules this module out.
  bool IsImpossible(ModuleId id) const {
    return known.map != nullptr && known.map->complete &&
           known.InMap(id) == kNo<ModuleId> && id != known.top &&
           modules.IsAncestor(known.top, id);
  }

  bool HasParameterAt(ModuleId id) const {
    return Index(id) < module_has_parameter.size() &&
           module_has_parameter[Index(id)];
  }
  // Whether some scope stands for the module.
  bool IsCalled(ModuleId id) const {
    return Index(id) < called_modules.size() && called_modules[Index(id)];
  }
  // Whether a converter or quantizer named the node.
  bool IsConverterName(NodeId node) const { return converter_name[node]; }
  ParameterId ParameterOf(ValueId value) const {
    return value == kNo<ValueId> ? kNo<ParameterId> : value_parameter[value];
  }
};

// What there is beside what the file says.
struct WantedFacts {
  std::shared_ptr<const ModuleMap> hierarchy;  // the user's, or null
  std::shared_ptr<const Rules> rules;
  const Recording* trace = nullptr;
  const Recording* fx = nullptr;
  const recipes::Book* book = nullptr;
};

// Throws Error(kUsage) where the hierarchy or a recording is that of another
// model.
Evidence GatherEvidence(const Model& model, const WantedFacts& wanted = {});

// The exporter's dialect, for reports.
std::string FileDialect(const Evidence& evidence);

// The steps of it, in order.
void GatherScopes(Evidence& evidence);
void GatherParameters(Evidence& evidence);
void GatherFunctions(Evidence& evidence);
void GatherInlined(Evidence& evidence);
void GatherInlinedOrder(Evidence& evidence);
void GatherMetadata(Evidence& evidence);
void GatherDialectNames(Evidence& evidence);
void GatherKerasOnTorch(Evidence& evidence);
void FitHierarchy(Evidence& evidence, std::shared_ptr<const ModuleMap> map);
void GatherTrace(Evidence& evidence, const Recording& recording);
void GatherFx(Evidence& evidence, const Recording& recording);
void AlignScopes(Evidence& evidence);

// The evidence's module for one of the map's, added where it is new; kNo where
// the file is only a part of the model and this is outside.
ModuleId ModuleOfMap(Evidence& evidence, ModuleId in_map);
void GuessAttentionNames(Evidence& evidence);
// The numbers that a Sequential's parts without parameters must have.
void AddMissingParts(Evidence& evidence);
void GatherRecipes(Evidence& evidence, const recipes::Book& book);
void DescribeModules(Evidence& evidence);

}  // namespace onnx_tag

#endif  // ONNX_TAG_EVIDENCE_EVIDENCE_H_
