#include "commands/read/fact_files.h"

#include <fmt/core.h>

#include "base/text.h"
#include "commands/read/digest.h"
#include "commands/read/recordings.h"
#include "hierarchy/module_map.h"
#include "io/paths.h"
#include "onnx_tag/error.h"
#include "rules/rules.h"

namespace onnx_tag {
namespace {

// A file named on the command line that cannot be read is wrong usage.
std::string ReadNamed(const std::string& path) {
  try {
    return ReadWholeFile(path);
  } catch (const Error& error) {
    throw Error(ErrorKind::kUsage, error.what());
  }
}

std::shared_ptr<const ModuleMap> ReadHierarchy(const std::string& path,
                                               std::string& digest) {
  const std::string text = ReadNamed(path);
  digest = DigestOf(text);
  try {
    ModuleMap map = ReadModuleMap(text);
    map.name = path;
    return std::make_shared<const ModuleMap>(std::move(map));
  } catch (const Error& error) {
    throw error.In(Printable(path));
  }
}

std::shared_ptr<const Rules> ReadRulesFile(const std::string& path,
                                           std::string& digest) {
  const std::string text = ReadNamed(path);
  digest = DigestOf(text);
  try {
    return std::make_shared<const Rules>(ReadRules(text, path));
  } catch (const Error& error) {
    throw error.In(Printable(path));
  }
}

}  // namespace

MappingOptions WithFacts(const MappingOptions& options) {
  MappingOptions result = options;
  if (!options.hierarchy_file.empty() && options.hierarchy == nullptr) {
    result.hierarchy =
        ReadHierarchy(options.hierarchy_file, result.digests.hierarchy);
  }
  if (!options.rules_file.empty() && options.rules == nullptr) {
    result.rules = ReadRulesFile(options.rules_file, result.digests.rules);
  }
  return WithRecordings(std::move(result));
}

void AddFactFiles(const MappingOptions& options, Inputs& inputs) {
  const auto add = [&](const std::string& path, std::string_view option) {
    if (!path.empty()) inputs.Add(path, option);
  };
  add(options.hierarchy_file, "--hierarchy");
  add(options.rules_file, "--rules");
  add(options.trace_file, "--trace");
  add(options.fx_file, "--fx");
}

void SayNotes(const std::string& input, const Tagging& tagging,
              Terminal& terminal) {
  for (const std::string& note : tagging.notes) {
    terminal.Err(fmt::format("onnx-tag: {}: warning: {}\n",
                             input == "-" ? "standard input" : Printable(input),
                             Printable(note, kLongestNote)));
  }
}

}  // namespace onnx_tag
