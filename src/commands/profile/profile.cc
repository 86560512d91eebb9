#include <fmt/core.h>

#include <algorithm>
#include <map>
#include <optional>

#include "base/text.h"
#include "commands/commands.h"
#include "commands/profile/profile_file.h"
#include "commands/profile/profile_output.h"
#include "commands/profile/profile_places.h"
#include "commands/read/tag_source.h"
#include "tagging/words.h"

namespace onnx_tag {
namespace {

using profile::KernelId;
using profile::Profile;

class RollUp {
 public:
  RollUp(const TaggedModel& model, const ProfileOptions& options)
      : model_(model), options_(options), finder_(model) {
    report_.model = model.about().file;
    report_.tags_from = model.source();
  }

  // The first, then the one beside it.
  void Add(Profile& profile, const std::string& file) {
    IdVector<KernelId, KernelPlaces::Place> places;
    for (const profile::Kernel& kernel : profile.kernels) {
      places.Add(finder_.Find(kernel));
    }
    report_.measure = profile.measure;
    ProfileSide side;
    side.file = file;
    side.total = CountSelf(profile, places);
    side.model_runs = profile.model_runs;
    side.calls = profile.runs.size() * profile.calls_each;
    side.cut_off = profile.cut_off;
    side.outside = Outside(profile, side.total);
    report_.sides.push_back(std::move(side));
    const IdVector<KernelId, Sum> sums = SumKernels(profile);
    for (const KernelId id : AllIds<KernelId>(profile.kernels.size())) {
      if (sums[id].calls == 0) continue;
      AddKernel(profile.kernels[id], places[id], sums[id]);
    }
  }

  ProfileReport Take() {
    for (auto& [key, row] : rows_) report_.rows.push_back(std::move(row));
    std::stable_sort(report_.rows.begin(), report_.rows.end(),
                     [](const ProfileRow& a, const ProfileRow& b) {
                       return a.numbers[0].self > b.numbers[0].self;
                     });
    if (options_.by == ProfileKey::kModule) AddTotals();
    return std::move(report_);
  }

 private:
  struct Sum {
    std::int64_t self = 0;
    std::uint64_t calls = 0;
  };

  bool IsInner(const KernelPlaces::Place& place) const {
    if (place.kind == KernelPlaces::Kind::kNone) return false;
    const std::string_view graph = model_.nodes().Graph(place.node);
    return !graph.empty() && !graph.starts_with("fn:");
  }

  // What is not time does not contain that of others.
  std::int64_t CountSelf(
      Profile& profile,
      const IdVector<KernelId, KernelPlaces::Place>& places) const {
    if (profile.measure.IsTime()) {
      return CountSelfTimes(
          profile,
          [&](KernelId id) { return RunsOthers(profile.kernels[id].op); },
          [&](KernelId id) { return IsInner(places[id]); });
    }
    std::int64_t total = 0;
    for (const profile::KernelRun& run : profile.runs) {
      total = profile.measure.Add(total, run.self);
    }
    return total;
  }

  // Kernels that run side by side can take longer than the runs. A profile
  // that was cut off has kernels of a run that it does not have.
  static std::optional<std::int64_t> Outside(const Profile& profile,
                                             std::int64_t kernels) {
    if (!profile.measure.IsTime() || profile.cut_off) return std::nullopt;
    std::int64_t runs = 0;
    for (const profile::ModelRun& run : profile.run_times) runs += run.duration;
    if (runs < kernels || runs == 0) return std::nullopt;
    return runs - kernels;
  }

  static IdVector<KernelId, Sum> SumKernels(const Profile& profile) {
    IdVector<KernelId, Sum> sums(profile.kernels.size());
    for (const profile::KernelRun& run : profile.runs) {
      Sum& sum = sums[run.kernel];
      sum.self = profile.measure.Add(sum.self, run.self);
      sum.calls += profile.calls_each;
    }
    return sums;
  }

  void AddKernel(const profile::Kernel& kernel,
                 const KernelPlaces::Place& place, const Sum& sum) {
    const std::size_t side = report_.sides.size() - 1;
    ProfileRow row = RowOf(kernel, place);
    if (side == 0) {
      ProfileStack stack{StackOf(row, place), sum.self};
      stack.frames.push_back(kernel.op.empty() ? kernel.name : kernel.op);
      report_.stacks.push_back(std::move(stack));
    }
    if (!row.placed) {
      report_.unplaced.push_back(
          {kernel.name, kernel.op, side, sum.self, sum.calls, row.name});
    }
    const auto at =
        rows_.try_emplace(std::pair(!row.placed, row.name), row).first;
    at->second.numbers[side].Add({sum.self, sum.self, sum.calls},
                                 report_.measure);
  }

  ProfileRow RowOf(const profile::Kernel& kernel,
                   const KernelPlaces::Place& place) const {
    ProfileRow row;
    if (place.kind == KernelPlaces::Kind::kNone) {
      row.name = "[not in the model]";
      return row;
    }
    const Tagging& tagging = model_.tagging();
    const Tag& tag = tagging.tags[place.node];
    if (place.kind == KernelPlaces::Kind::kSeveral) {
      row.name = "[one of several nodes]";
      return row;
    }
    if (!tag.tagged() && options_.by != ProfileKey::kNode) {
      row.name = "[untagged]";
      return row;
    }
    row.placed = true;
    row.module = tag.module;
    Name(kernel, place.node, tag, row);
    return row;
  }

  void Name(const profile::Kernel& kernel, NodeId node, const Tag& tag,
            ProfileRow& row) const {
    const Tagging& tagging = model_.tagging();
    const std::string path =
        tag.tagged() ? tagging.modules.Path(tag.module) : "";
    const std::string module = !tag.tagged()  ? "-"
                               : path.empty() ? "<root>"
                                              : path;
    switch (options_.by) {
      case ProfileKey::kModule:
        row.name = module;
        row.detail = ClassOf(tag.module);
        return;
      case ProfileKey::kClass:
        row.name = ClassOf(tag.module);
        if (row.name.empty()) row.name = "[class unknown]";
        return;
      case ProfileKey::kLayer:
        row.name = LayerOf(path, tagging.roles[tag.role].layer);
        return;
      case ProfileKey::kRole: {
        const Role& role = tagging.roles[tag.role];
        row.name = EnumToWord(kRoleTypeNames, role.type);
        if (!role.component.empty()) row.name += "/" + role.component;
        return;
      }
      case ProfileKey::kNode:
        row.name =
            fmt::format("{} {}", model_.nodes().Address(node), kernel.name);
        row.detail = module;
        return;
    }
  }

  std::string ClassOf(ModuleId module) const {
    const Tagging& tagging = model_.tagging();
    const std::string_view name = tagging.modules.Class(module);
    return std::string(module == ModuleTree::kRoot && name.empty()
                           ? std::string_view(tagging.root.name)
                           : name);
  }

  // "encoder.layer.3": encoders and decoders count alike, so the list they
  // count in is named, too.
  static std::string LayerOf(const std::string& path, std::int32_t layer) {
    if (layer < 0) return "[no layer]";
    const std::string index = std::to_string(layer);
    std::string prefix;
    for (const std::string_view atom : Split(path, '.')) {
      if (!prefix.empty()) prefix += '.';
      prefix += atom;
      if (atom == index) return prefix;
    }
    return fmt::format("layer {}", layer);
  }

  // The modules around, outermost first: "BertModel", "encoder", "layer.0".
  std::vector<std::string> StackOf(const ProfileRow& row,
                                   const KernelPlaces::Place& place) const {
    std::vector<std::string> frames;
    const Tagging& tagging = model_.tagging();
    const Tag tag = place.kind == KernelPlaces::Kind::kNode
                        ? tagging.tags[place.node]
                        : Tag();
    if (!tag.tagged()) return {row.placed ? "[untagged]" : row.name};
    for (ModuleId id = tag.module; id != ModuleTree::kRoot;
         id = tagging.modules.Parent(id)) {
      std::string atom(tagging.modules.Atom(id));
      const bool index = atom.find_first_not_of("0123456789") == atom.npos;
      const ModuleId parent = tagging.modules.Parent(id);
      if (index && parent != ModuleTree::kRoot) {
        atom = fmt::format("{}.{}", tagging.modules.Atom(parent), atom);
        id = parent;
      }
      frames.push_back(std::move(atom));
    }
    frames.push_back(tagging.root.name.empty() ? "<root>" : tagging.root.name);
    std::reverse(frames.begin(), frames.end());
    return frames;
  }

  // Of each module with all below it.
  void AddTotals() {
    const ModuleTree& tree = model_.tagging().modules;
    report_.modules.resize(tree.size());
    for (const ProfileRow& row : report_.rows) {
      if (row.placed) report_.modules[row.module] = row.numbers;
    }
    for (std::size_t i = tree.size(); --i > 0;) {
      const ProfilePair& below = report_.modules[MakeId<ModuleId>(i)];
      ProfilePair& parent = report_.modules[tree.Parent(MakeId<ModuleId>(i))];
      for (std::size_t side = 0; side < parent.size(); ++side) {
        parent[side].Add({0, below[side].total, below[side].calls},
                         report_.measure);
      }
    }
    for (ProfileRow& row : report_.rows) {
      if (!row.placed) continue;
      for (std::size_t side = 0; side < row.numbers.size(); ++side) {
        row.numbers[side].total = report_.modules[row.module][side].total;
      }
    }
  }

  const TaggedModel& model_;
  const ProfileOptions& options_;
  const KernelPlaces finder_;
  ProfileReport report_;
  std::map<std::pair<bool, std::string>, ProfileRow> rows_;
};

}  // namespace

ExitCode RunProfile(const ProfileOptions& options, Terminal& terminal) {
  const TaggedModel model =
      TaggedModel::Load(options.model, options.source, terminal);
  std::vector<Profile> profiles;
  std::vector<std::string> files = {options.profile.file};
  if (!options.against.empty()) files.push_back(options.against);
  for (const std::string& file : files) {
    Profile& profile = profiles.emplace_back(ReadProfileFile(
        {file, options.profile.measure, options.profile.layers}));
    profile::SkipRuns(profile, options.skip_runs);
    if (!profile.cut_off) continue;
    terminal.Err(fmt::format(
        "onnx-tag: {}: ends in the middle of an event; that event is ignored\n",
        Printable(file)));
  }
  if (profiles.size() > 1) profile::MakeComparable(profiles[0], profiles[1]);
  RollUp roll_up(model, options);
  for (std::size_t i = 0; i < files.size(); ++i) {
    roll_up.Add(profiles[i], files[i]);
  }
  PrintProfile(model, roll_up.Take(), options, terminal);
  return ExitCode::kOk;
}

}  // namespace onnx_tag
