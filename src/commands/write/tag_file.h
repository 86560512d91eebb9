// One model tagged, and what there is to say about it.
#ifndef ONNX_TAG_COMMANDS_WRITE_TAG_FILE_H_
#define ONNX_TAG_COMMANDS_WRITE_TAG_FILE_H_

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "commands/options.h"
#include "commands/output/destinations.h"
#include "commands/read/tag_summary.h"
#include "io/terminal.h"

namespace onnx_tag {

struct TagReport {
  TagSummary summary;
  Coverage coverage;
  std::string dialect;
  std::string root_class;
  std::vector<std::string> warnings;        // weights not found, odd facts
  std::vector<std::string> findings;        // gates that are not met
  std::vector<std::string> finding_titles;  // none: all are such gates
  bool current = false;  // --skip-current: nothing was to be done
  bool streams = false;  // an output goes to standard output
};

// Takes lines of NDJSON, whole ones.
using NodeLines = std::function<void(std::string_view)>;

// Maps `input` and writes what `options` ask for where `destinations` say.
// `facts` are those of options.mapping. `nodes`, if it is given, gets a line
// for each node. Throws Error; `report` then has what was known until then.
// Prints nothing but progress and outputs that go to "-".
void TagFile(const std::string& input, const Destinations& destinations,
             const TagOptions& options, const MappingFacts& facts,
             const NodeLines& nodes, Terminal& terminal, TagReport& report);

}  // namespace onnx_tag

#endif  // ONNX_TAG_COMMANDS_WRITE_TAG_FILE_H_
