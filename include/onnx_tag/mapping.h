// How a node's module is found.
//
// One immutable body of evidence is gathered from the file, once. A strategy
// is a ladder of rungs over it, most certain first; each proposes modules for
// the nodes that are still open, the first claim on a node wins, and what
// nobody claims stays untagged.
//
//   const Tagging tagging = MapNodes(model, options);
#ifndef ONNX_TAG_MAPPING_H_
#define ONNX_TAG_MAPPING_H_

#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "onnx_tag/recording.h"
#include "onnx_tag/tagging.h"

namespace onnx_tag {

struct ModuleMap;  // hierarchy/module_map.h
struct Rules;      // mapping/rules.h
namespace recipes {
class Book;
}  // namespace recipes

struct MappingOptions {
  std::string strategy = "enhanced_semantic";
  TagFormat format;
  // Weaker tags are dropped.
  Confidence min_confidence = Confidence::kLow;

  // Files with facts, by name, as the user gave them; commands/fact_files.h
  // reads them into what follows. To map with a name whose file was not read
  // is a mistake of the program.
  std::string hierarchy_file;
  std::shared_ptr<const ModuleMap> hierarchy;  // null: none
  std::string rules_file;
  std::shared_ptr<const Rules> rules;  // null: none

  // Recorded runs.
  std::string trace_file;
  std::shared_ptr<const Recording> trace;
  std::string fx_file;
  std::shared_ptr<const Recording> fx;

  // Stand for what was read from those files; "" where none was.
  struct Digests {
    std::string hierarchy;
    std::string rules;
    std::string trace;
    std::string fx;
  };
  Digests digests;

  // Whether the recipe book is asked where names say too little.
  bool recipes = true;
  // The book to ask; null: the built-in one.
  const recipes::Book* book = nullptr;
};

// Throws Error(kUsage) where the strategy is unknown, or the hierarchy is that
// of another model.
Tagging MapNodes(const Model& model, const MappingOptions& options);

// One rung's word on one node, as `explain` shows it.
struct ExplainedClaim {
  std::string rung;
  std::string module;
  Confidence confidence;
  Source source;
  std::string because;
  bool wins = false;
};

struct Explanation {
  std::vector<ExplainedClaim> claims;  // in the order of the ladder
  std::vector<std::string> notes;      // evidence that was set aside, and why
};

// Every rung's claim for `node`, as if it were open.
Explanation Explain(const Model& model, const MappingOptions& options,
                    NodeId node);

// What a strategy works with beside the model.
enum class Need : std::uint8_t {
  kNothing,
  kHierarchy,  // better with --hierarchy
  kTrace,      // not without --trace
  kFx,         // not without --fx or dynamo's metadata in the file
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

#endif  // ONNX_TAG_MAPPING_H_
