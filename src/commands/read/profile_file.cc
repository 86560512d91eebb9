#include "commands/read/profile_file.h"

#include <algorithm>
#include <optional>

#include "base/text.h"
#include "commands/read/profile_places.h"
#include "io/mapped_file.h"
#include "onnx_tag/error.h"
#include "profile/read_profile.h"

namespace onnx_tag {

using profile::KernelId;
using profile::Profile;

Profile ReadProfileFile(const std::string& path, std::string_view measure,
                        const std::string& layers) {
  const MappedFile file = MappedFile::Open(path);
  std::optional<MappedFile> layer_file;
  if (!layers.empty()) layer_file = MappedFile::Open(layers);
  try {
    Profile profile = profile::ReadProfile(
        file.bytes(), measure, layer_file ? layer_file->bytes() : Bytes());
    file.CheckUnchanged();
    return profile;
  } catch (const Error& error) {
    file.CheckUnchanged();
    throw error.In(Printable(path));
  }
}

bool RunsOthers(std::string_view op) {
  for (const std::string_view word :
       {"If", "Loop", "Scan", "BeamSearch", "GreedySearch", "Sampling",
        "WhisperBeamSearch"}) {
    if (op == word) return true;
  }
  return false;
}

IdVector<NodeId, std::int64_t> NodeTimes(const TaggedModel& model,
                                         const std::string& path) {
  Profile profile = ReadProfileFile(path, profile::Measure::kTime, "");
  if (!profile.measure.IsTime()) {
    Fail(ErrorKind::kUsage, "{}: has no times", Printable(path));
  }
  const KernelPlaces places(model);
  IdVector<KernelId, KernelPlaces::Place> place;
  for (const profile::Kernel& kernel : profile.kernels) {
    place.Add(places.Find(kernel));
  }
  CountSelfTimes(
      profile, [&](KernelId id) { return RunsOthers(profile.kernels[id].op); },
      [&](KernelId id) {
        if (place[id].kind == KernelPlaces::Kind::kNone) return false;
        const std::string_view graph = model.nodes().Graph(place[id].node);
        return !graph.empty() && !graph.starts_with("fn:");
      });
  IdVector<NodeId, std::int64_t> times(model.nodes().size(), -1);
  for (const profile::KernelRun& run : profile.runs) {
    if (place[run.kernel].kind != KernelPlaces::Kind::kNode) continue;
    std::int64_t& time = times[place[run.kernel].node];
    time = std::max<std::int64_t>(time, 0) + run.self;
  }
  return times;
}

}  // namespace onnx_tag
