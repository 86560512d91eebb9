#include "uses/library/facts.h"

#include <fmt/core.h>

#include <memory>

#include "base/text.h"
#include "clues/recording/module_map.h"
#include "file/io/mapped_file.h"
#include "file/io/paths.h"
#include "mapping/rules/rules.h"
#include "onnx_tag/error.h"
#include "onnx_tag/interner.h"
#include "onnx_tag/recording.h"

namespace onnx_tag {
namespace {

// A file named on the command line that cannot be read, or is wrong, is wrong
// usage. The message begins with its name.
template <typename Read>
void ReadNamed(const std::string& path, const Read& read) {
  try {
    read();
  } catch (const Error& error) {
    const std::string place = Message("{}: ", path);
    const std::string_view what = error.what();
    throw Error(ErrorKind::kUsage, what.starts_with(place)
                                       ? std::string(what)
                                       : place + std::string(what));
  }
}

struct OpenedRecording {
  std::shared_ptr<const Recording> recording;
  std::shared_ptr<const ModuleMap> modules;
  std::string digest;
};

// What an option wants of a recording.
enum class Section : std::uint8_t { kTrace, kFx, kAny };

OpenedRecording OpenRecording(const std::string& path, std::string_view option,
                              Section section) {
  auto recording = std::make_shared<Recording>();
  auto modules = std::make_shared<ModuleMap>();
  std::string digest;
  try {
    ReadNamed(path, [&] {
      const MappedFile file = MappedFile::Open(path);
      *recording = ReadRecording(file.bytes());
      *modules = ReadModuleMap(file.bytes());
      digest = DigestOf(file.bytes());
      file.CheckUnchanged();
    });
    const bool fx = section == Section::kFx;
    if (section != Section::kAny &&
        (fx ? recording->fx.empty() : recording->trace.empty())) {
      Fail(ErrorKind::kUsage, "{}: the file has no {}", path,
           fx ? "FX graph (section \"fx\")"
              : "trace of a run (section \"events\")");
    }
  } catch (const Error& error) {
    const bool lacks_fx = section == Section::kFx && !digest.empty();
    Fail(ErrorKind::kUsage, "{}: {}\n  record one: {}{}", option,
         Ours{error.what()}, kRecordCommand, lacks_fx ? " --fx" : "");
  }
  recording->file = Message("{}", path);
  modules->name = path;
  return {std::move(recording), std::move(modules), std::move(digest)};
}

}  // namespace

MappingFacts ReadFacts(const MappingOptions& options) {
  MappingFacts facts;
  const auto read = [](const std::string& path, std::string& digest,
                       const auto& use) {
    if (path.empty()) return;
    ReadNamed(path, [&] {
      const std::string text = ReadWholeFile(path);
      digest = DigestOf(text);
      use(text);
    });
  };
  read(options.hierarchy_file, facts.digests.hierarchy,
       [&](const std::string& text) {
         ModuleMap map = ReadModuleMap(text);
         map.name = options.hierarchy_file;
         facts.hierarchy = std::make_shared<const ModuleMap>(std::move(map));
       });
  read(options.rules_file, facts.digests.rules, [&](const std::string& text) {
    facts.rules =
        std::make_shared<const Rules>(ReadRules(text, options.rules_file));
  });
  // The modules of a recording are facts, whatever else was asked for.
  const auto use_modules = [&](OpenedRecording& opened) {
    if (facts.hierarchy == nullptr) {
      facts.hierarchy = std::move(opened.modules);
    }
  };
  const auto open =
      [&](const std::string& path, std::string_view option, Section section,
          std::shared_ptr<const Recording>& recording, std::string& digest) {
        if (path.empty()) return;
        OpenedRecording opened = OpenRecording(path, option, section);
        recording = std::move(opened.recording);
        digest = opened.digest;
        use_modules(opened);
      };
  open(options.trace_file, "--trace", Section::kTrace, facts.trace,
       facts.digests.trace);
  open(options.fx_file, "--fx", Section::kFx, facts.fx, facts.digests.fx);
  if (!options.recording_file.empty()) {
    OpenedRecording opened =
        OpenRecording(options.recording_file, "--recording", Section::kAny);
    facts.digests.recording = opened.digest;
    use_modules(opened);
    // A run says where its operations came from; its FX graph says the same.
    const bool has_run = !opened.recording->trace.empty();
    if (has_run && facts.trace == nullptr) facts.trace = opened.recording;
    const bool wants_fx = !has_run || options.strategy == "fx_graph";
    if (wants_fx && !opened.recording->fx.empty() && facts.fx == nullptr) {
      facts.fx = opened.recording;
    }
  }
  return facts;
}

void AddFactFiles(const MappingOptions& options, Inputs& inputs) {
  inputs.Add(options.recording_file, "--recording");
  inputs.Add(options.hierarchy_file, "--hierarchy");
  inputs.Add(options.rules_file, "--rules");
  inputs.Add(options.trace_file, "--trace");
  inputs.Add(options.fx_file, "--fx");
}

std::string DigestOf(std::string_view bytes) {
  return fmt::format("{:016x}", HashBytes(bytes));
}

}  // namespace onnx_tag
