#include "commands/read/tag_source.h"

#include <fmt/core.h>

#include <filesystem>
#include <optional>
#include <vector>

#include "base/text.h"
#include "commands/output/destinations.h"
#include "commands/output/external_data.h"
#include "commands/read/fact_files.h"
#include "io/mapped_file.h"
#include "mapping/observed_mapping.h"
#include "onnx_tag/error.h"

namespace onnx_tag {
namespace {

Sidecar OpenSidecar(const std::string& path) {
  const MappedFile file = MappedFile::Open(path);
  try {
    Sidecar sidecar = ReadSidecar(file.bytes());
    file.CheckUnchanged();
    return sidecar;
  } catch (const Error& error) {
    file.CheckUnchanged();
    throw error.In(Printable(path));
  }
}

}  // namespace

std::vector<std::string> SidecarsBeside(const std::string& path) {
  const std::string stem = WithoutOnnx(path);
  std::vector<std::string> beside = {stem + ".tags.json"};
  constexpr std::string_view kTagged = ".tagged";
  if (stem.ends_with(kTagged)) {
    beside.push_back(stem.substr(0, stem.size() - kTagged.size()) +
                     ".tags.json");
  }
  return beside;
}

namespace {

// The first sidecar beside `path` that is of this very graph.
std::optional<Sidecar> FindSidecar(const std::string& path, const Model& model,
                                   std::string& found) {
  if (path == "-") return std::nullopt;
  for (const std::string& candidate : SidecarsBeside(path)) {
    std::error_code error;
    if (!std::filesystem::is_regular_file(candidate, error)) continue;
    try {
      Sidecar sidecar = OpenSidecar(candidate);
      if (!BelongsTo(sidecar, model)) continue;
      found = candidate;
      return sidecar;
    } catch (const Error& refusal) {
      if (refusal.kind() == ErrorKind::kOutput) throw;  // it is standard output
      continue;                                         // not ours
    }
  }
  return std::nullopt;
}

void Say(Terminal& terminal, const std::string& text) {
  terminal.Err(fmt::format("onnx-tag: {}\n", text));
}

void SaySidecar(Terminal& terminal, const std::string& path,
                const Sidecar& sidecar) {
  Say(terminal, fmt::format("tags of the sidecar {}{}", Printable(path),
                            IsOldFingerprint(sidecar.model.fingerprint)
                                ? " (fingerprint made the old way, by 0.1)"
                                : ""));
}

bool IsSidecarName(const std::string& path) { return path.ends_with(".json"); }

}  // namespace

void TaggedModel::UseSidecar(Sidecar sidecar) {
  about_ = std::move(sidecar.model);
  tagging_ = std::move(sidecar.tagging);
  if (file_ == nullptr) nodes_ = NodeList(std::move(sidecar.nodes));
  source_ = "sidecar";
}

ParameterCounts TaggedModel::parameters() const {
  if (file_ != nullptr) return CountParameters(file_->model(), tagging_);
  ParameterCounts counts;
  counts.own.resize(tagging_.modules.size());
  for (const ModuleId id : AllIds<ModuleId>(tagging_.facts.size())) {
    counts.own[id] = tagging_.facts[id].parameters;
    counts.all += counts.own[id];
  }
  counts.unplaced = about_.unplaced_parameters;
  counts.all += counts.unplaced;
  return counts;
}

TaggedModel TaggedModel::Load(const std::string& path,
                              const TagSourceOptions& options,
                              Terminal& terminal, MappingObserver* observer) {
  TaggedModel result;
  // Facts are for the mapping; tags made without them would ignore them.
  const bool facts = !options.mapping.hierarchy_file.empty() ||
                     !options.mapping.rules_file.empty();
  const bool remap = options.remap || facts;
  if (IsSidecarName(path)) {
    if (remap) {
      Fail(ErrorKind::kUsage, "{} needs the model, but {} is a sidecar",
           options.remap                            ? "--remap"
           : options.mapping.hierarchy_file.empty() ? "--rules"
                                                    : "--hierarchy",
           Printable(path));
    }
    result.inputs_.Add(path, "the sidecar");
    Sidecar sidecar = OpenSidecar(path);
    SaySidecar(terminal, path, sidecar);
    result.UseSidecar(std::move(sidecar));
    return result;
  }

  result.file_ = std::make_unique<const ModelFile>(ModelFile::Open(path));
  AddModelInputs(*result.file_, result.inputs_);
  AddFactFiles(options.mapping, result.inputs_);
  result.inputs_.Add(options.sidecar, "--sidecar");
  const Model& model = result.file_->model();
  result.nodes_ = NodeList(model);
  std::string found;
  if (!remap && HasTags(model)) result.tagging_ = ReadTagging(model);
  // None where only keys for other programs were written.
  if (CountTags(result.tagging_).tagged > 0) {
    result.source_ = "tags in the file";
    Say(terminal, "tags in the file");
  } else if (!remap && !options.sidecar.empty()) {
    Sidecar sidecar = OpenSidecar(options.sidecar);
    if (!BelongsTo(sidecar, model)) {
      Fail(ErrorKind::kInput,
           "{}: belongs to another graph, not to {}\n  make a new one: "
           "onnx-tag {} "
           "--sidecar-only",
           Printable(options.sidecar), Printable(path), Printable(path));
    }
    SaySidecar(terminal, options.sidecar, sidecar);
    result.UseSidecar(std::move(sidecar));
  } else if (std::optional<Sidecar> sidecar =
                 remap ? std::nullopt : FindSidecar(path, model, found)) {
    result.inputs_.Add(found, "the sidecar");
    SaySidecar(terminal, found, *sidecar);
    result.UseSidecar(*std::move(sidecar));
  } else {
    const MappingFacts facts_read = ReadFacts(options.mapping);
    result.tagging_ = result.file_->Map([&](const Model& read) {
      return MapNodes(read, options.mapping, facts_read, observer);
    });
    result.source_ = kMapped;
    Say(terminal,
        fmt::format("mapped with strategy {}", result.tagging_.strategy));
    SayNotes(path, result.tagging_, terminal);
  }
  result.about_ = AboutModel(FileName(path), model, result.tagging_);
  result.file_->file().CheckUnchanged();
  return result;
}

}  // namespace onnx_tag
