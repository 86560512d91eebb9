#include "commands/read/recordings.h"

#include "base/text.h"
#include "commands/read/digest.h"
#include "hierarchy/module_map.h"
#include "io/mapped_file.h"
#include "onnx_tag/error.h"
#include "onnx_tag/recording.h"

namespace onnx_tag {
namespace {

struct Opened {
  std::shared_ptr<const Recording> recording;
  std::shared_ptr<const ModuleMap> modules;
  std::string digest;
};

Opened Open(const std::string& path, const std::string& option) {
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

MappingOptions WithRecordings(MappingOptions options) {
  // The strategy that a recording is for also takes classes from it.
  const auto use_modules = [&](std::string_view strategy, Opened& opened) {
    if (options.strategy == strategy && options.hierarchy == nullptr) {
      options.hierarchy = std::move(opened.modules);
    }
  };
  if (!options.trace_file.empty() && options.trace == nullptr) {
    Opened opened = Open(options.trace_file, "--trace");
    if (opened.recording->trace.empty()) {
      FailWithoutSection("--trace", options.trace_file,
                         "trace of a run (section \"events\")", "");
    }
    options.trace = std::move(opened.recording);
    options.digests.trace = opened.digest;
    use_modules("htp", opened);
  }
  if (!options.fx_file.empty() && options.fx == nullptr) {
    Opened opened = Open(options.fx_file, "--fx");
    if (opened.recording->fx.empty()) {
      FailWithoutSection("--fx", options.fx_file, "FX graph (section \"fx\")",
                         " --fx");
    }
    options.fx = std::move(opened.recording);
    options.digests.fx = opened.digest;
    use_modules("fx_graph", opened);
  }
  return options;
}

}  // namespace onnx_tag
