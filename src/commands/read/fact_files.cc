#include "commands/read/fact_files.h"

#include <fmt/core.h>

#include "base/text.h"
#include "commands/read/digest.h"
#include "hierarchy/module_map.h"
#include "io/mapped_file.h"
#include "io/paths.h"
#include "onnx_tag/error.h"
#include "onnx_tag/recording.h"
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

struct OpenedRecording {
  std::shared_ptr<const Recording> recording;
  std::shared_ptr<const ModuleMap> modules;
  std::string digest;
};

OpenedRecording OpenRecording(const std::string& path,
                              const std::string& option) {
  auto recording = std::make_shared<Recording>();
  auto modules = std::make_shared<ModuleMap>();
  std::string digest;
  try {
    const MappedFile file = MappedFile::Open(path);
    *recording = ReadRecording(file.bytes());
    *modules = ReadModuleMap(file.bytes());
    digest = DigestOf(file.bytes());
    file.CheckUnchanged();
  } catch (const Error& error) {
    // A file that is not there, too: it is no model that is missing.
    std::string what = error.what();
    const std::string place = Printable(path) + ": ";
    if (!what.starts_with(place)) what = place + what;
    throw Error(ErrorKind::kUsage, fmt::format("{}: {}\n  record one: {}",
                                               option, what, kRecordCommand));
  }
  recording->file = Printable(path);
  modules->name = path;
  return {std::move(recording), std::move(modules), std::move(digest)};
}

[[noreturn]] void FailWithoutSection(const std::string& option,
                                     const std::string& path,
                                     std::string_view what,
                                     std::string_view more) {
  Fail(ErrorKind::kUsage, "{}: {}: the file has no {}\n  record one: {}{}",
       option, Printable(path), what, kRecordCommand, more);
}

}  // namespace

MappingFacts ReadFacts(const MappingOptions& options) {
  MappingFacts facts;
  if (!options.hierarchy_file.empty()) {
    facts.hierarchy =
        ReadHierarchy(options.hierarchy_file, facts.digests.hierarchy);
  }
  if (!options.rules_file.empty()) {
    facts.rules = ReadRulesFile(options.rules_file, facts.digests.rules);
  }
  // The strategy that a recording is for also takes classes from it.
  const auto use_modules = [&](std::string_view strategy,
                               OpenedRecording& opened) {
    if (options.strategy == strategy && facts.hierarchy == nullptr) {
      facts.hierarchy = std::move(opened.modules);
    }
  };
  if (!options.trace_file.empty()) {
    OpenedRecording opened = OpenRecording(options.trace_file, "--trace");
    if (opened.recording->trace.empty()) {
      FailWithoutSection("--trace", options.trace_file,
                         "trace of a run (section \"events\")", "");
    }
    facts.trace = std::move(opened.recording);
    facts.digests.trace = opened.digest;
    use_modules("htp", opened);
  }
  if (!options.fx_file.empty()) {
    OpenedRecording opened = OpenRecording(options.fx_file, "--fx");
    if (opened.recording->fx.empty()) {
      FailWithoutSection("--fx", options.fx_file, "FX graph (section \"fx\")",
                         " --fx");
    }
    facts.fx = std::move(opened.recording);
    facts.digests.fx = opened.digest;
    use_modules("fx_graph", opened);
  }
  return facts;
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
