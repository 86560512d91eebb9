#include <memory>

#include "app/commands/commands.h"
#include "app/commands/profile/kernels.h"
#include "app/commands/profile/profile_report.h"
#include "app/commands/read/nodes.h"
#include "app/commands/read/tagged_model.h"

namespace onnx_tag {

using profile::Profile;

Result RunProfile(const ProfileOptions& options, Terminal& terminal) {
  const TaggedModel model =
      TaggedModel::Load(options.model, options.source, terminal);
  std::vector<NodeId> all;
  for (std::size_t i = 0; i < model.tagging().tags.size(); ++i) {
    all.push_back(MakeId<NodeId>(i));
  }
  if (Result refused; !MayRestOn(all, model, options.model, options.source,
                                 terminal, refused)) {
    return refused;
  }
  std::vector<Profile> profiles;
  std::vector<std::string> files = {options.profile.file};
  if (!options.against.empty()) files.push_back(options.against);
  for (const std::string& file : files) {
    Profile& profile = profiles.emplace_back(ReadProfileFile(
        {file, options.profile.measure, options.profile.layers}));
    profile::SkipRuns(profile, options.skip_runs);
    if (!profile.cut_off) continue;
    terminal.Note("{}: ends in the middle of an event; that event is ignored",
                  file);
  }
  if (profiles.size() > 1) profile::MakeComparable(profiles[0], profiles[1]);
  const auto report = std::make_shared<const ProfileReport>(
      RollUpProfiles(model, options, profiles, files));
  Result result;
  if (options.stacks != StackFormat::kNone) {
    result.document = options.stacks == StackFormat::kFolded
                          ? FoldedStacks(*report)
                          : SpeedscopeStacks(*report);
    return result;
  }
  AddProfileText(model, *report, profiles.front(), options, result);
  result.data = ProfileData(model, report, options);
  return result;
}

}  // namespace onnx_tag