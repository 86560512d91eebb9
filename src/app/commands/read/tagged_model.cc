#include "app/commands/read/tagged_model.h"

#include <fmt/core.h>

#include <optional>

#include "app/commands/output/destinations.h"
#include "clues/exporters/traceback.h"
#include "file/io/mapped_file.h"
#include "file/io/paths.h"
#include "mapping/mapping/observed_mapping.h"
#include "onnx_tag/error.h"

namespace onnx_tag {
namespace {

struct FoundSidecar {
  std::string path;
  Sidecar sidecar;
};

// The sidecar that the user names, or the first beside `path` that is of this
// very graph. `model` is null if `path` itself is a sidecar.
std::optional<FoundSidecar> FindSidecar(const std::string& path,
                                        const TagSourceOptions& options,
                                        const Model* model) {
  const bool named = model == nullptr || !options.sidecar.empty();
  std::vector<std::string> candidates;
  if (named) {
    candidates = {model == nullptr ? path : options.sidecar};
  } else if (path != "-") {
    candidates = SidecarsBeside(path);
  }
  for (const std::string& candidate : candidates) {
    if (!named && !IsRegularFile(candidate)) continue;
    try {
      Sidecar sidecar = ReadMapped(candidate, ReadSidecar);
      if (model == nullptr || BelongsTo(sidecar, *model)) {
        return FoundSidecar{candidate, std::move(sidecar)};
      }
      Fail(ErrorKind::kInput,
           "{}: belongs to another graph, not to {}\n  make a new one: "
           "onnx-tag {} --sidecar-only",
           candidate, path, path);
    } catch (const Error& refusal) {
      // One that is standard output is refused; another is not ours.
      if (named || refusal.kind() == ErrorKind::kOutput) throw;
    }
  }
  return std::nullopt;
}

// The option that asks for a mapping, whatever tags there are; "" if there is
// none. Facts and ways to map are for the mapping: tags that exist would ignore
// them.
std::string_view OptionToMap(const TagSourceOptions& options) {
  if (options.remap) return "--remap";
  const MappingOptions& mapping = options.mapping;
  if (!mapping.recording_file.empty()) return "--recording";
  if (!mapping.hierarchy_file.empty()) return "--hierarchy";
  if (!mapping.trace_file.empty()) return "--trace";
  if (!mapping.fx_file.empty()) return "--fx";
  if (!mapping.rules_file.empty()) return "--rules";
  const MappingOptions usual;
  if (options.facts_only) return "";
  if (mapping.strategy != usual.strategy) return "--strategy";
  if (mapping.format.torch_nn != usual.format.torch_nn) return "--granularity";
  if (mapping.format.exceptions != usual.format.exceptions) {
    return "--torch-nn-exceptions";
  }
  if (mapping.recipes != usual.recipes) return "--no-recipes";
  if (mapping.catalogue != usual.catalogue) return "--no-catalogue";
  if (mapping.placement != usual.placement) return "--placement";
  return mapping.structure != usual.structure ? "--no-structure" : "";
}

void PrintNotes(const std::string& path, const Tagging& tagging,
                Terminal& terminal) {
  for (const std::string& note : tagging.notes) {
    terminal.Note("{}: warning: {}", ShownInput(path),
                  Short{note, kLongestNote});
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

void DropWeaker(Confidence least, Tagging& tagging) {
  for (Tag& tag : tagging.tags) {
    if (tag.tagged() && tag.confidence < least) tag = Tag();
  }
  std::erase_if(tagging.origins, [&](const Origin& origin) {
    return !tagging.tags[origin.node].tagged();
  });
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

std::optional<ExistingTags> FindTags(const std::string& path,
                                     const TagSourceOptions& options,
                                     const Model* model, Terminal& terminal) {
  const std::string_view remap = OptionToMap(options);
  if (!remap.empty() && model == nullptr) {
    Fail(ErrorKind::kUsage, "{} needs the model, but {} is a sidecar", remap,
         path);
  }
  if (!remap.empty()) return std::nullopt;
  ExistingTags tags;
  if (model != nullptr && HasTags(*model)) tags.tagging = ReadTagging(*model);
  // None where only keys for other programs were written.
  if (CountTags(tags.tagging).tagged > 0) {
    tags.source = TaggedModel::kInFile;
    terminal.Note("{}", TaggedModel::kInFile);
  } else if (std::optional<FoundSidecar> found =
                 FindSidecar(path, options, model)) {
    Sidecar& sidecar = found->sidecar;
    terminal.Note("tags of the sidecar {}", found->path);
    tags = {.tagging = std::move(sidecar.tagging),
            .source = TaggedModel::kSidecar,
            .sidecar = std::move(found->path),
            .about = std::move(sidecar.model),
            .graph = std::move(sidecar.graph)};
  } else {
    return std::nullopt;
  }
  PrintNotes(path, tags.tagging, terminal);
  DropWeaker(options.mapping.min_confidence, tags.tagging);
  if (model != nullptr) {
    AddSourceLines(*model, options.mapping.frames, tags.tagging.lines);
  }
  return tags;
}

TaggedModel TaggedModel::Load(const std::string& path,
                              const TagSourceOptions& options,
                              Terminal& terminal, MappingObserver* observer) {
  TaggedModel result;
  if (!IsSidecarName(path)) {
    result.file_ = std::make_unique<const ModelFile>(OpenModel(path, terminal));
    AddModelInputs(*result.file_, result.inputs_);
    AddFactFiles(options.mapping, result.inputs_);
    result.inputs_.Add(options.sidecar, "--sidecar");
  }
  if (std::optional<ExistingTags> tags = FindTags(
          path, options, result.file_ ? &result.model() : nullptr, terminal)) {
    result.source_ = tags->source;
    result.inputs_.Add(tags->sidecar, "the sidecar");
    result.tagging_ = std::move(tags->tagging);
    if (result.file_ == nullptr) {
      result.about_ = std::move(tags->about);
      result.graph_ = std::move(tags->graph);
    }
  } else {
    const MappingFacts facts = ReadFacts(options.mapping);
    result.tagging_ = result.file_->Map([&](const Model& model) {
      return MapNodes(model, options.mapping, facts, observer);
    });
    result.source_ = kMapped;
    if (result.tagging_.strategy != MappingOptions().strategy) {
      terminal.Note("mapped with strategy {}", result.tagging_.strategy);
    }
    PrintNotes(path, result.tagging_, terminal);
  }
  if (result.file_ != nullptr) {
    result.about_ = AboutModel(FileName(path), result.model(), result.tagging_);
    result.file_->file().CheckUnchanged();
  }
  return result;
}

// Tested by tests/app/commands/verdict_test.cc.

std::vector<std::string> ReadingWarnings(const Model& model) {
  const std::vector<std::string_view>& names = model.unreadable();
  if (names.empty()) return {};
  const std::string others =
      names.size() == 1 ? "" : fmt::format(" and {} more", names.size() - 1);
  return {
      Message("the numbers of '{}'{} cannot be read: a packed field ends "
              "inside a number; their values count as unknown",
              Short{names.front(), 200}, others)};
}

ModelFile OpenModel(const std::string& path, Terminal& terminal) {
  ModelFile file = ModelFile::Open(path);
  for (const std::string& warning : ReadingWarnings(file.model())) {
    terminal.Note("{}: warning: {}", ShownInput(path), Ours{warning});
  }
  return file;
}

}  // namespace onnx_tag
