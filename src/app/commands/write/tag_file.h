// One model tagged and written: what `tag` and `transfer` share.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "app/commands/commands.h"
#include "app/commands/output/destinations.h"
#include "file/io/inputs.h"
#include "file/io/terminal.h"
#include "file/model/model_file.h"

namespace onnx_tag {

// What became of a model.
struct TagReport {
  std::string file;
  std::string output;   // empty: none
  std::string sidecar;  // empty: none
  PendingOutputs::Fate output_fate = PendingOutputs::Fate::kUnknown;
  PendingOutputs::Fate sidecar_fate = PendingOutputs::Fate::kUnknown;
  bool dry_run = false;
  Coverage coverage;
  std::uint64_t renamed = 0;  // nodes
  std::string dialect;
  std::string root_class;
  std::vector<std::string> warnings;  // weights not found, odd facts
  std::vector<std::string> findings;  // gates that are not met
  bool current = false;               // --skip-current: nothing was to be done
  bool streams = false;               // an output goes to standard output
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

// Writes the tagged model, the sidecar or both, all or nothing, and notes in
// `report` what became of them, also where it throws. `inputs` are the files
// that the command read besides `file`, whose nodes get the names that they are
// written with.
// `documents` are written beside them.
struct PendingDocument {
  std::string path;
  std::string head;  // how each of its kind begins
  std::string text;
};
using Documents = std::vector<PendingDocument>;
void WriteTagged(ModelFile& file, const Tagging& tagging, Inputs inputs,
                 const Destinations& destinations, const TagOptions& options,
                 const Documents& documents, Terminal& terminal,
                 TagReport& report);

// What people and programs are told of it.
void AddSummary(const TagReport& report, Result& result);
Datum::Members SummaryMembers(const TagReport& report);

}  // namespace onnx_tag
