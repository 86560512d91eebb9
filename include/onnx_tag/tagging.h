// The tags of a model: its modules, and for each node at most one tag.
//
// The code that makes a Tagging (mapping a file, reading tags from a file or a
// sidecar) and the code that uses it (write, show, query) do not depend on each
// other.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "onnx_tag/hierarchy.h"
#include "onnx_tag/ids.h"
#include "onnx_tag/model.h"
#include "onnx_tag/source_lines.h"

namespace onnx_tag {

// The confidence of a tag. Each level is a promise about precision, measured on
// models with known answers (docs/how/accuracy.md).
enum class Confidence : std::uint8_t { kLow, kMedium, kHigh, kCertain };
constexpr std::array<std::string_view, 4> kConfidenceNames = {
    "low", "medium", "high", "certain"};

// The kind of evidence for a tag.
enum class Source : std::uint8_t {
  kMetadata,
  kScope,
  kScopeAndParameter,
  kValueName,
  kParameter,
  kOperation,
  kLocality,
  kHierarchy,
  kTrace,
  kFx,
  kRule,
  kTransfer,
  kAuxiliary,
  kStructure,  // a block found in the graph alone; its name is invented
  kPlacement,  // a trained network, by its surroundings
};
constexpr std::array<std::string_view, 15> kSourceNames = {
    "metadata",  "scope",    "scope+parameter", "value_name", "parameter",
    "operation", "locality", "hierarchy",       "trace",      "fx",
    "rule",      "transfer", "auxiliary",       "structure",  "placement"};

// The kinds of evidence, from the strongest. A weaker kind never overrules a
// stronger one, whatever their levels.
enum class EvidenceKind : std::uint8_t {
  kRule,        // the user's
  kMetadata,    // of the exporter
  kScope,       // in a name, confirmed by parameters or by siblings
  kRecording,   // a recorded operation, aligned with the node
  kMerged,      // metadata of nodes that a rewriter merged
  kName,        // a scope that nothing confirms
  kAligned,     // carried from another version that only its graph matches
  kParameter,   // parameters that one module reads
  kCalls,       // the order in which the modules of a map are called
  kPattern,     // composites and the recipe book
  kNeighbours,  // placed nodes around it
  kStructure,   // the graph alone
};
constexpr std::array<std::string_view, 12> kEvidenceNames = {
    "rule",    "metadata",  "scope", "recording", "merged",     "name",
    "aligned", "parameter", "calls", "pattern",   "neighbours", "structure"};

// The kind behind a tag of a file that does not say it.
constexpr EvidenceKind EvidenceOf(Source source, Confidence confidence) {
  const bool certain = confidence == Confidence::kCertain;
  switch (source) {
    case Source::kMetadata:
      return certain ? EvidenceKind::kMetadata : EvidenceKind::kMerged;
    case Source::kScope:
    case Source::kScopeAndParameter:
    case Source::kValueName:
      return certain ? EvidenceKind::kScope : EvidenceKind::kName;
    case Source::kParameter:
      return EvidenceKind::kParameter;
    case Source::kOperation:
      return EvidenceKind::kPattern;
    case Source::kLocality:
    case Source::kAuxiliary:
    case Source::kPlacement:
      return EvidenceKind::kNeighbours;
    case Source::kHierarchy:
      return EvidenceKind::kCalls;
    case Source::kTrace:
    case Source::kFx:
      return EvidenceKind::kRecording;
    case Source::kRule:
      return EvidenceKind::kRule;
    case Source::kTransfer:
      return EvidenceKind::kAligned;
    case Source::kStructure:
      return EvidenceKind::kStructure;
  }
  return EvidenceKind::kNeighbours;
}

// The purpose of a node.
enum class RoleType : std::uint8_t {
  kAttention,
  kFeedForward,
  kNormalization,
  kEmbedding,
  kPosition,
  kPooling,
  kHead,
  kConvolution,
  kRecurrent,
  kSsm,
  kActivation,
  kResidual,
  kRouting,
  kAdapter,
  kCache,
  kMask,
  kShape,
  kConstant,
  kQuantization,
  kOther,
};
constexpr std::array<std::string_view, 20> kRoleTypeNames = {
    "attention",  "feed_forward", "normalization", "embedding",    "position",
    "pooling",    "head",         "convolution",   "recurrent",    "ssm",
    "activation", "residual",     "routing",       "adapter",      "cache",
    "mask",       "shape",        "constant",      "quantization", "other"};

enum class AttentionKind : std::uint8_t { kNone, kSelf, kCross };
constexpr std::array<std::string_view, 3> kAttentionKindNames = {"", "self",
                                                                 "cross"};

struct Role {
  RoleType type = RoleType::kOther;
  std::string component;  // "query", "output", ...; may be empty
  AttentionKind attention_kind = AttentionKind::kNone;
  std::int32_t layer = -1;                   // -1: none
  Confidence confidence = Confidence::kLow;  // in the type

  bool operator==(const Role&) const = default;
};

enum class RoleId : std::uint32_t {};

struct Tag {
  ModuleId module = kNo<ModuleId>;  // kNo: the node is untagged
  RoleId role = RoleId{0};
  Confidence confidence = Confidence::kLow;
  Source source = Source::kScope;
  EvidenceKind evidence = EvidenceKind::kNeighbours;

  bool tagged() const { return module != kNo<ModuleId>; }
};

// Facts about a module besides its path and class.
struct ModuleFacts {
  Confidence class_confidence = Confidence::kLow;
  std::vector<std::string> candidates;  // other classes that fit equally well
  std::uint64_t parameters = 0;         // elements of its own weights
};

// The paths of a module as a file or a rule gives them. What is empty,
// ModuleFormat makes.
struct GivenPaths {
  std::string hierarchy_tag;
  std::string role_path;
};

// A module that was found in the graph alone, with an invented name.
struct FoundBlock {
  ModuleId module;
  // "block 3 of 12 equal blocks; operators 41-63"; empty if it is no copy, or
  // if version 0.2 tagged the model.
  std::string description;
};

struct Origin {
  NodeId node;
  ModuleId module;  // another module of a fused node
};

struct CallSite {
  std::uint32_t function;  // index in Model::functions()
  NodeId node;
  ModuleId module;
};

struct RootClass {
  std::string name;  // empty: unknown
  Confidence confidence = Confidence::kLow;
  std::vector<std::string> alternatives;

  std::string_view ConfidenceName() const;  // empty: the class is unknown
};

extern const std::array<std::string_view, 9> kDefaultExceptions;

// Which classes a hierarchy tag contains.
struct TagFormat {
  bool torch_nn = false;  // granularity torch_nn: all of them
  // The torch.nn classes that granularity hf keeps.
  std::vector<std::string> exceptions{kDefaultExceptions.begin(),
                                      kDefaultExceptions.end()};
};

struct Tagging {
  ModuleTree modules;
  // May be shorter than the tree. Empty in a model that version 0.2 tagged: it
  // does not say how sure classes are.
  IdVector<ModuleId, ModuleFacts> facts;
  // Empty where the model is mapped: with a module for each node, it would be
  // 90 bytes a node.
  IdVector<ModuleId, GivenPaths> given;  // may be shorter than the tree
  IdVector<NodeId, Tag> tags;            // one per node of the model
  IdVector<RoleId, Role> roles;          // role 0 is "other"
  std::vector<Origin> origins;           // by node
  std::vector<FoundBlock> found;         // by module
  std::vector<CallSite> call_sites;
  SourceLines lines;
  RootClass root;
  // The prefixes of classes of the model's families ("Bert"). Role paths omit
  // them. If empty, the prefix is taken from the root class.
  std::vector<std::string> family_words;
  std::string strategy;
  TagFormat format;
  std::string options;  // a hash of all other options that affect the result
  std::string dialect;
  // Warnings for the user: contradicting facts, a hierarchy that does not fit,
  // rules that match nothing.
  std::vector<std::string> notes;

  // Null if nothing is known besides the class.
  const ModuleFacts* FactsOf(ModuleId module) const {
    return Index(module) < facts.size() ? &facts[module] : nullptr;
  }
  // "high"; "" if the class or its confidence is unknown.
  std::string_view ClassConfidenceName(ModuleId module) const;

  // The other modules of a fused node.
  std::span<const Origin> OriginsOf(NodeId node) const;

  // Null if the module is not a found one.
  const FoundBlock* FindFound(ModuleId module) const;

  // The given paths of a module of the tree, to be changed.
  GivenPaths& Give(ModuleId module);
};

// Counts that must add up to the model's number of nodes.
struct Coverage {
  std::uint64_t nodes = 0;
  std::uint64_t tagged = 0;
  // Medium or better, and not found in the graph alone.
  std::uint64_t sure = 0;
  std::array<std::uint64_t, 4> by_confidence = {};
  std::array<std::uint64_t, kSourceNames.size()> by_source = {};
  std::array<std::uint64_t, 20> by_type = {};

  std::uint64_t untagged() const { return nodes - tagged; }
  std::uint64_t found() const {
    return by_source[static_cast<std::size_t>(Source::kStructure)];
  }
  // Low, and not found in the graph alone.
  std::uint64_t guessed() const { return tagged - found() - sure; }
  double share() const { return ShareOf(tagged); }
  // In [0, 1]; `none` for a model without nodes.
  double ShareOf(std::uint64_t part, double none = 1) const {
    return nodes == 0 ? none
                      : static_cast<double>(part) / static_cast<double>(nodes);
  }
};
Coverage CountTags(const Tagging& tagging);

// Lists in `tagging.found` the modules all of whose tagged nodes, in them and
// below them, are found ones.
void ListFound(Tagging& tagging);

// The metadata keys to write into nodes.
struct KeyChoice {
  bool tags = true;
  bool name_space = false;  // `namespace`, as Model Explorer reads it
  bool layer_ann = false;   // as ONNX Runtime reads it
  bool class_hierarchy = false;
  // The line of code of each node. It is private, so only on request.
  bool source_line = false;
};

// Whether the model has tags of onnx-tag.
bool HasTags(const Model& model);

// The tags in a tagged model.
Tagging ReadTagging(const Model& model);

}  // namespace onnx_tag
