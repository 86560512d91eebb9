#include "commands/profile/profile_file.h"

#include <algorithm>
#include <optional>

#include "base/text.h"
#include "commands/profile/profile_places.h"
#include "io/mapped_file.h"
#include "onnx_tag/error.h"
#include "profile/read_profile.h"

namespace onnx_tag {

using profile::KernelId;
using profile::Profile;

Profile ReadProfileFile(const ProfileSource& source) {
  const MappedFile file = MappedFile::Open(source.file);
  std::optional<MappedFile> layer_file;
  if (!source.layers.empty()) layer_file = MappedFile::Open(source.layers);
  try {
    Profile profile =
        profile::ReadProfile(file.bytes(), source.measure,
                             layer_file ? layer_file->bytes() : Bytes());
    file.CheckUnchanged();
    return profile;
  } catch (const Error& error) {
    file.CheckUnchanged();
    throw error.In(Printable(source.file));
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

NodeNumbers ReadNodeNumbers(const TaggedModel& model,
                            const ProfileSource& source) {
  Profile profile = ReadProfileFile(source);
  if (profile.measure.level) {
    Fail(ErrorKind::kUsage,
         "{}: {} is a level, which modules do not add up to\n  see it with: "
         "onnx-tag profile --measure {}",
         Printable(source.file), profile.measure.name, profile.measure.name);
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
           Printable(source.file), Printable(profile.measure.name));
    }
    if (place[run.kernel].kind != KernelPlaces::Kind::kNode) continue;
    std::int64_t& number = result.numbers[place[run.kernel].node];
    number = std::max<std::int64_t>(number, 0) + run.self;
  }
  return result;
}

}  // namespace onnx_tag
