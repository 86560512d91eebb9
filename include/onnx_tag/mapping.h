// Finds the module of each node.
//
// Every source of knowledge writes clues about the nodes; the strongest kind of
// evidence wins. Then the rungs of inference, the most certain first, propose
// modules for the nodes that are still open. A node without a clue stays
// untagged.
//
//   const Tagging tagging = MapNodes(model, options, facts);
#pragma once

#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "onnx_tag/recording.h"
#include "onnx_tag/tagging.h"

namespace onnx_tag {

struct ModuleMap;  // core/hierarchy/module_map.h
struct Rules;      // mapping/rules/rules.h
namespace recipes {
class Book;
}  // namespace recipes

// What the user asked for.
struct MappingOptions {
  std::string strategy = "enhanced_semantic";
  TagFormat format;
  // Weaker tags are dropped.
  Confidence min_confidence = Confidence::kLow;
  // Whether to consult the recipe book if a file has too few names.
  bool recipes = true;
  // Whether classes may come from the catalogue of model libraries.
  bool catalogue = true;
  // Whether the trained network places nodes that no source claims, instead of
  // rules.
  bool placement = false;
  // Whether nodes that no rung places get blocks found in the graph alone.
  // usage_based and fx_graph never use them.
  bool structure = true;
  // Whether to keep all frames of tracebacks, not only the line of the model.
  bool frames = false;

  // Files with facts; empty: none. ReadFacts() of the commands reads them
  // into MappingFacts. Mapping with a file name whose file was not read is a
  // programming error.
  std::string recording_file;  // all sections of the companion's recording
  std::string hierarchy_file;
  std::string rules_file;
  std::string trace_file;
  std::string fx_file;
};

// What the files say that the options name.
struct MappingFacts {
  std::shared_ptr<const ModuleMap> hierarchy;  // null: none
  std::shared_ptr<const Rules> rules;          // null: none
  std::shared_ptr<const Recording> trace;      // a recorded run; null: none
  std::shared_ptr<const Recording> fx;         // the same as an FX graph
  // The recipe book; null: the built-in one.
  const recipes::Book* book = nullptr;

  // Hashes of the contents of those files; "" if there is no file.
  struct Digests {
    std::string recording;
    std::string hierarchy;
    std::string rules;
    std::string trace;
    std::string fx;
  };
  Digests digests;
};

// Throws Error(kUsage) if the strategy is unknown or the hierarchy belongs to
// another model.
Tagging MapNodes(const Model& model, const MappingOptions& options,
                 const MappingFacts& facts = {});

// A module that the trained network thinks of, and how probable it is.
struct PlacedChoice {
  std::string module;
  std::uint32_t permille = 0;
};

// What one source, or one rung of inference, says of one node, as `explain`
// shows it.
struct ExplainedClaim {
  std::string rung;
  std::string module;
  Confidence confidence;
  Source source;
  std::string because;
  bool wins = false;
  std::vector<PlacedChoice> choices = {};  // of a placement: at most three
};

struct Explanation {
  std::vector<ExplainedClaim> claims;  // the strongest kind first
  std::vector<std::string> notes;      // evidence that was not used, and why
};

// The clues about `node`. `all`: also what each rung of inference says of it,
// as if it were open.
Explanation Explain(const Model& model, const MappingOptions& options,
                    const MappingFacts& facts, NodeId node, bool all = false);

// What a strategy needs in addition to the model.
enum class Need : std::uint8_t {
  kNothing,
  kHierarchy,  // better with --hierarchy
  kTrace,      // requires --trace
  kFx,         // requires --fx or dynamo's metadata in the file
};

struct StrategyInfo {
  std::string_view name;
  std::string_view help;
  Need need = Need::kNothing;
};

std::span<const StrategyInfo> Strategies();

// Whether the model's nodes have the metadata of the dynamo exporter.
bool HasFxMetadata(const Model& model);

}  // namespace onnx_tag
