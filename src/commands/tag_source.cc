#include "commands/tag_source.h"

#include <fmt/core.h>

#include <filesystem>

#include "base/text.h"
#include "commands/fact_files.h"
#include "commands/output_paths.h"
#include "io/mapped_file.h"
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

// "bert.onnx" and "bert.tagged.onnx" have the sidecar "bert.tags.json", and
// `-o X.onnx` made "X.tags.json".
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

bool Fits(const Sidecar& sidecar, const Model& model) {
  return sidecar.nodes.size() == model.node_count() &&
         sidecar.model.fingerprint == Fingerprint(model);
}

// The first sidecar beside `path` that is of this very graph.
std::optional<Sidecar> FindSidecar(const std::string& path, const Model& model,
                                   std::string& found) {
  if (path == "-") return std::nullopt;
  for (const std::string& candidate : SidecarsBeside(path)) {
    std::error_code error;
    if (!std::filesystem::is_regular_file(candidate, error)) continue;
    try {
      Sidecar sidecar = OpenSidecar(candidate);
      if (!Fits(sidecar, model)) continue;
      found = candidate;
      return sidecar;
    } catch (const Error&) {
      continue;  // not ours
    }
  }
  return std::nullopt;
}

void Say(Terminal& terminal, const std::string& text) {
  terminal.Err(fmt::format("onnx-tag: {}\n", text));
}

bool IsSidecarName(const std::string& path) { return path.ends_with(".json"); }

}  // namespace

void TaggedModel::UseSidecar(Sidecar sidecar, bool keep_nodes) {
  about_ = std::move(sidecar.model);
  tagging_ = std::move(sidecar.tagging);
  if (keep_nodes) nodes_ = std::move(sidecar.nodes);
  source_ = "sidecar";
}

TaggedModel TaggedModel::Load(const std::string& path,
                              const TagSourceOptions& options,
                              Terminal& terminal) {
  TaggedModel result;
  // Facts are for the mapping; tags made without them would ignore them.
  const bool facts = !options.mapping.hierarchy_file.empty() ||
                     !options.mapping.rules_file.empty();
  const bool remap = options.remap || facts;
  if (IsSidecarName(path)) {
    if (remap) {
      Fail(ErrorKind::kUsage, "{} needs the model, and {} is a sidecar",
           options.remap                            ? "--remap"
           : options.mapping.hierarchy_file.empty() ? "--rules"
                                                    : "--hierarchy",
           Printable(path));
    }
    result.UseSidecar(OpenSidecar(path), true);
    Say(terminal, fmt::format("tags of the sidecar {}", Printable(path)));
    return result;
  }

  result.file_.emplace(ModelFile::Open(path));
  const Model& model = result.file_->model();
  std::string found;
  if (!remap && HasTags(model)) result.tagging_ = ReadTagging(model);
  // None where only keys for other programs were written.
  if (CountTags(result.tagging_).tagged > 0) {
    result.source_ = "tags in the file";
    Say(terminal, "tags in the file");
  } else if (!remap && !options.sidecar.empty()) {
    Sidecar sidecar = OpenSidecar(options.sidecar);
    if (!Fits(sidecar, model)) {
      Fail(
          ErrorKind::kInput,
          "{}: belongs to another graph than {}\n  make a new one: onnx-tag {} "
          "--sidecar-only",
          Printable(options.sidecar), Printable(path), Printable(path));
    }
    result.UseSidecar(std::move(sidecar), false);
    Say(terminal,
        fmt::format("tags of the sidecar {}", Printable(options.sidecar)));
  } else if (std::optional<Sidecar> sidecar =
                 remap ? std::nullopt : FindSidecar(path, model, found)) {
    result.UseSidecar(*std::move(sidecar), false);
    Say(terminal, fmt::format("tags of the sidecar {}", Printable(found)));
  } else {
    result.tagging_ = MapNodes(model, WithFacts(options.mapping));
    result.source_ = "mapped";
    Say(terminal, fmt::format("mapped now with {}", result.tagging_.strategy));
    SayNotes(path, result.tagging_, terminal);
  }
  result.about_ = AboutModel(FileName(path), model, result.tagging_);
  result.file_->file().CheckUnchanged();
  return result;
}

TaggedModel::NodeLabel TaggedModel::Label(NodeId node) const {
  if (file_) {
    const Model& model = file_->model();
    return {.graph = model.GraphPath(model[node].graph),
            .index = model[node].index,
            .name = model[node].name,
            .op = model.OpType(node)};
  }
  const SidecarNode& row = nodes_[Index(node)];
  return {row.graph, row.index, row.name, row.op};
}

}  // namespace onnx_tag
