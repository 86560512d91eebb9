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

#include "onnx_tag/tagging.h"

namespace onnx_tag {

struct ModuleMap;  // hierarchy/module_map.h

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
  std::string facts_digest;  // of what those files say; "": there are none
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

struct StrategyInfo {
  std::string_view name;
  std::string_view help;
};
std::span<const StrategyInfo> Strategies();

}  // namespace onnx_tag

#endif  // ONNX_TAG_MAPPING_H_
