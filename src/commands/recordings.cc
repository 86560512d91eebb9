#include "commands/recordings.h"

#include "base/interner.h"
#include "base/text.h"
#include "io/mapped_file.h"
#include "onnx_tag/error.h"
#include "onnx_tag/recording.h"

namespace onnx_tag {
namespace {

std::shared_ptr<const Recording> Open(const std::string& path,
                                      const std::string& option,
                                      std::string& facts) {
  auto recording = std::make_shared<Recording>();
  try {
    const MappedFile file = MappedFile::Open(path);
    *recording = ReadRecording(file.bytes());
    file.CheckUnchanged();
    facts += fmt::format("{}={:016x};", option, HashBytes(file.bytes()));
  } catch (const Error& error) {
    // A file that is not there, too: it is no model that is missing.
    std::string what = error.what();
    const std::string place = Printable(path) + ": ";
    if (!what.starts_with(place)) what = place + what;
    throw Error(ErrorKind::kUsage, fmt::format("{}: {}\n  record one: {}",
                                               option, what, kRecordCommand));
  }
  recording->file = Printable(path);
  return recording;
}

[[noreturn]] void FailWithoutSection(const std::string& option,
                                     const std::string& path,
                                     std::string_view what,
                                     std::string_view more) {
  Fail(ErrorKind::kUsage, "{}: {}: it has no {}\n  record one: {}{}", option,
       Printable(path), what, kRecordCommand, more);
}

}  // namespace

MappingOptions WithRecordings(MappingOptions options) {
  if (!options.trace_file.empty()) {
    options.trace = Open(options.trace_file, "--trace", options.facts);
    if (options.trace->trace.empty()) {
      FailWithoutSection("--trace", options.trace_file,
                         "trace of a run (section \"events\")", "");
    }
  }
  if (!options.fx_file.empty()) {
    options.fx = options.fx_file == options.trace_file
                     ? options.trace
                     : Open(options.fx_file, "--fx", options.facts);
    if (options.fx->fx.empty()) {
      FailWithoutSection("--fx", options.fx_file, "FX graph (section \"fx\")",
                         " --fx");
    }
  }
  return options;
}

}  // namespace onnx_tag
