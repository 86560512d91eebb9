#include "commands/profile/kernels.h"

#include <algorithm>
#include <charconv>
#include <optional>

#include "base/text.h"
#include "exporters/tools/original_name.h"
#include "io/mapped_file.h"
#include "onnx_tag/error.h"
#include "profile/read_profile.h"

namespace onnx_tag {
KernelPlaces::KernelPlaces(const TaggedModel& model) : model_(model) {
  const NodeList& nodes = model.nodes();
  for (const NodeId node : nodes.All()) {
    const std::string_view name = nodes.Name(node);
    if (name.empty()) {
      unnamed_[nodes.IndexOf(node)].push_back(node);
    } else {
      by_name_[name].push_back(node);
    }
  }
  if (const Model* file = model.model()) {
    for (const NodeId node : file->Nodes()) {
      for (const ValueId value : file->Outputs(node)) {
        if (value == kNo<ValueId>) continue;
        by_output_[file->ValueName(value)].push_back(node);
      }
    }
  }
}

KernelPlaces::Place KernelPlaces::Choose(const std::vector<NodeId>& nodes,
                                         std::string_view op) const {
  std::vector<NodeId> fitting;
  for (const NodeId node : nodes) {
    if (model_.nodes().Op(node) == op) fitting.push_back(node);
  }
  if (fitting.empty()) fitting = nodes;
  // Names that repeat are harmless where all are of one module.
  const auto& tags = model_.tagging().tags;
  const bool one =
      std::all_of(fitting.begin(), fitting.end(), [&](NodeId node) {
        return tags[node].module == tags[fitting.front()].module;
      });
  return {one ? Kind::kNode : Kind::kSeveral, fitting.front()};
}

// The runtime calls a nameless node "MatMul_12": its operator, and its index,
// which optimizers leave alone.
KernelPlaces::Place KernelPlaces::FindUnnamed(
    const profile::Kernel& kernel) const {
  const std::string_view name = kernel.name;
  const std::size_t bar = name.rfind('_');
  if (bar == std::string_view::npos || name.substr(0, bar) != kernel.op) {
    return {};
  }
  std::uint32_t index = 0;
  const char* const end = name.data() + name.size();
  const auto [stop, error] = std::from_chars(name.data() + bar + 1, end, index);
  if (error != std::errc() || stop != end) return {};
  const auto at = unnamed_.find(index);
  if (at == unnamed_.end()) return {};
  std::vector<NodeId> fitting;
  for (const NodeId node : at->second) {
    if (model_.nodes().Op(node) == kernel.op) fitting.push_back(node);
  }
  return fitting.empty() ? Place() : Choose(fitting, kernel.op);
}

KernelPlaces::Place KernelPlaces::Find(const profile::Kernel& kernel) const {
  const auto named = by_name_.find(kernel.name);
  if (named != by_name_.end()) return Choose(named->second, kernel.op);
  const Place unnamed = FindUnnamed(kernel);
  if (unnamed.kind != Kind::kNone) return unnamed;
  // A table may name values.
  const auto output = by_output_.find(kernel.name);
  if (kernel.op.empty() && output != by_output_.end()) {
    return Choose(output->second, kernel.op);
  }
  const std::string_view undone = hierarchy::UndoNodeName(kernel.name).name;
  if (undone == kernel.name) return {};
  for (const auto* names : {&by_name_, &by_output_}) {
    const auto at = names->find(undone);
    if (at != names->end()) return Choose(at->second, kernel.op);
  }
  return {};
}

using profile::KernelId;
using profile::Profile;

Profile ReadProfileFile(const ProfileSource& source) {
  std::optional<MappedFile> layers;
  if (!source.layers.empty()) layers = MappedFile::Open(source.layers);
  return ReadMapped(source.file, [&](Bytes bytes) {
    return profile::ReadProfile(bytes, source.measure,
                                layers ? layers->bytes() : Bytes());
  });
}

bool RunsOthers(std::string_view op) {
  for (const std::string_view word :
       {"If", "Loop", "Scan", "BeamSearch", "GreedySearch", "Sampling",
        "WhisperBeamSearch"}) {
    if (op == word) return true;
  }
  return false;
}

NodeNumbers ReadNodeNumbers(const TaggedModel& model,
                            const ProfileSource& source) {
  Profile profile = ReadProfileFile(source);
  if (profile.measure.level) {
    Fail(ErrorKind::kUsage,
         "{}: {} is a level, which modules do not add up to\n  see it with: "
         "onnx-tag profile --measure {}",
         source.file, profile.measure.name, profile.measure.name);
  }
  const KernelPlaces places(model);
  IdVector<KernelId, KernelPlaces::Place> place;
  for (const profile::Kernel& kernel : profile.kernels) {
    place.Add(places.Find(kernel));
  }
  if (profile.measure.IsTime()) {
    CountSelfTimes(
        profile,
        [&](KernelId id) { return RunsOthers(profile.kernels[id].op); },
        [&](KernelId id) {
          if (place[id].kind == KernelPlaces::Kind::kNone) return false;
          const std::string_view graph = model.nodes().Graph(place[id].node);
          return !graph.empty() && !graph.starts_with("fn:");
        });
  }
  NodeNumbers result;
  result.numbers.resize(model.nodes().size(), -1);
  result.measure = profile.measure;
  for (const profile::KernelRun& run : profile.runs) {
    if (run.self < 0) {
      Fail(ErrorKind::kUsage,
           "{}: {} has negative numbers, which a page cannot draw\n  see them "
           "with: onnx-tag profile",
           source.file, profile.measure.name);
    }
    if (place[run.kernel].kind != KernelPlaces::Kind::kNode) continue;
    std::int64_t& number = result.numbers[place[run.kernel].node];
    number = std::max<std::int64_t>(number, 0) + run.self;
  }
  return result;
}

}  // namespace onnx_tag
