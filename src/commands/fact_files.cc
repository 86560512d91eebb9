#include "commands/fact_files.h"

#include <fmt/core.h>

#include "base/interner.h"
#include "base/text.h"
#include "hierarchy/module_map.h"
#include "io/paths.h"
#include "onnx_tag/error.h"

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

std::shared_ptr<const ModuleMap> ReadHierarchy(const std::string& path) {
  const std::string text = ReadNamed(path);
  try {
    ModuleMap map = ReadModuleMap(text);
    map.name = path;
    return std::make_shared<const ModuleMap>(std::move(map));
  } catch (const Error& error) {
    throw error.In(Printable(path));
  }
}

// --skip-current must see that a file says something else by now.
std::string FactsDigest(const MappingOptions& options) {
  std::string digest;
  for (const std::string* const path : {&options.hierarchy_file}) {
    if (!path->empty()) {
      digest += fmt::format("{:016x}", HashBytes(ReadNamed(*path)));
    }
  }
  return digest;
}

}  // namespace

MappingOptions WithFacts(const MappingOptions& options) {
  MappingOptions result = options;
  if (!options.hierarchy_file.empty() && options.hierarchy == nullptr) {
    result.hierarchy = ReadHierarchy(options.hierarchy_file);
  }
  result.facts_digest = FactsDigest(options);
  return result;
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
