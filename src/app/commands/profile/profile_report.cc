#include "app/commands/profile/profile_report.h"

#include <fmt/core.h>

#include <algorithm>
#include <optional>
#include <span>

#include "app/commands/read/nodes.h"
#include "app/render/render.h"
#include "base/lists.h"
#include "base/word_list.h"
#include "core/hierarchy/name_parts.h"
#include "core/hierarchy/roll_up.h"
#include "generated/command_words.h"

namespace onnx_tag {
namespace {

using profile::KernelId;
using profile::Profile;

// Whether the profile says the key: a provider, or a column of a table.
bool IsOfProfile(std::string_view by) {
  return by == "provider" || !IsAmong(by, RowKeyNames());
}

// The source of a profile, with the column for a key that the model lacks.
ProfileSource SourceOf(const ProfileOptions& options, const std::string& file) {
  ProfileSource source = options.profile;
  source.file = file;
  if (IsOfProfile(options.by)) source.key = options.by;
  return source;
}

class ProfileCounter {
 public:
  ProfileCounter(const TaggedModel& model, const ProfileOptions& options)
      : model_(model), options_(options), finder_(model) {
    report_.model = model.about().file;
    report_.tags_from = model.source();
    if (IsOfProfile(options.by)) return;
    key_.emplace(model, options.by);
    report_.detail = key_->detail();
  }

  // The first, then the one beside it.
  void Add(Profile& profile, const std::string& file) {
    const IdVector<KernelId, KernelPlaces::Place> places =
        finder_.FindAll(profile);
    report_.measure = profile.measure;
    ProfileSide side;
    side.file = file;
    side.total = CountSelf(profile, places);
    side.model_runs = profile.model_runs;
    side.calls = profile.runs.size() * profile.calls_each;
    side.cut_off = profile.cut_off;
    side.outside = Outside(profile, side.total);
    report_.sides.push_back(std::move(side));
    const IdVector<KernelId, KernelSum> sums = SumKernels(profile);
    for (const KernelId id : AllIds<KernelId>(profile.kernels.size())) {
      if (sums[id].calls == 0) continue;
      AddKernel(profile.kernels[id], places[id], sums[id]);
    }
    if (report_.two()) return;
    report_.placement = PlacementOf(model_, profile, places, sums);
  }

  ProfileReport Take() {
    for (auto& row : rows_.Take()) {
      row.amounts.label = std::move(row.label);
      report_.rows.push_back(std::move(row.amounts));
    }
    std::stable_sort(report_.rows.begin(), report_.rows.end(),
                     [](const ProfileRow& a, const ProfileRow& b) {
                       return a.numbers[0].self > b.numbers[0].self;
                     });
    if (key_ && key_->is_tree()) AddTotals();
    return std::move(report_);
  }

 private:
  // What is not time does not contain that of others.
  std::int64_t CountSelf(
      Profile& profile,
      const IdVector<KernelId, KernelPlaces::Place>& places) const {
    if (profile.measure.IsTime()) return finder_.CountSelf(places, profile);
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

  static IdVector<KernelId, KernelSum> SumKernels(const Profile& profile) {
    IdVector<KernelId, KernelSum> sums(profile.kernels.size());
    for (const profile::KernelRun& run : profile.runs) {
      KernelSum& sum = sums[run.kernel];
      sum.self = profile.measure.Add(sum.self, run.self);
      sum.calls += profile.calls_each;
    }
    return sums;
  }

  void AddKernel(const profile::Kernel& kernel,
                 const KernelPlaces::Place& place, const KernelSum& sum) {
    const std::size_t side = report_.sides.size() - 1;
    const RowLabel label = LabelOf(kernel, place);
    if (side == 0 && options_.stacks != StackFormat::kNone) {
      ProfileStack stack{StackOf(label, place), sum.self};
      stack.frames.push_back(kernel.op.empty() ? kernel.name : kernel.op);
      report_.stacks.push_back(std::move(stack));
    }
    const bool in_model = place.kind != KernelPlaces::Kind::kNone;
    if (!label.placed || !in_model) {
      report_.unplaced.push_back(
          {kernel.name, kernel.op, side, sum.self, sum.calls,
           in_model ? label.name : std::string(kNotInModel)});
    }
    ProfileRow& row = rows_[label];
    if (row.provider.empty()) row.provider = kernel.provider;
    if (in_model) row.module = model_.tagging().tags[place.node].module;
    row.numbers[side].Add({sum.self, sum.self, sum.calls}, report_.measure);
  }

  RowLabel LabelOf(const profile::Kernel& kernel,
                   const KernelPlaces::Place& place) const {
    // The runtime says these two, also of kernels that the model lacks.
    if (!key_) {
      const bool known = !kernel.provider.empty();
      return {known ? kernel.provider : "[not recorded]", "", known};
    }
    if (options_.by == "op" && !kernel.op.empty()) return {kernel.op, ""};
    if (place.kind == KernelPlaces::Kind::kNone) {
      return {std::string(kNotInModel), "", false};
    }
    if (place.kind == KernelPlaces::Kind::kSeveral) {
      return {"[one of several nodes]", "", false};
    }
    RowLabel label = key_->Of(place.node);
    if (options_.by == "node") {
      label.name =
          fmt::format("{} {}", model_.model().Address(place.node), kernel.name);
    }
    return label;
  }

  // The modules around, outermost first: "BertModel", "encoder", "layer.0".
  std::vector<std::string> StackOf(const RowLabel& row,
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
      const ModuleId parent = tagging.modules.Parent(id);
      if (hierarchy::IsNumeric(atom) && parent != ModuleTree::kRoot) {
        atom = fmt::format("{}.{}", tagging.modules.Atom(parent), atom);
        id = parent;
      }
      frames.push_back(std::move(atom));
    }
    frames.emplace_back(tagging.root.name.empty()
                            ? kRootText
                            : std::string_view(tagging.root.name));
    std::reverse(frames.begin(), frames.end());
    return frames;
  }

  // Of each module with all below it.
  void AddTotals() {
    const ModuleTree& tree = model_.tagging().modules;
    report_.modules.resize(tree.size());
    for (const ProfileRow& row : report_.rows) {
      if (row.label.placed) report_.modules[row.module] = row.numbers;
    }
    RollUp(
        tree, report_.modules,
        [&](ProfilePair& parent, const ProfilePair& below) {
          for (std::size_t i = 0; i < parent.size(); ++i) {
            parent[i].Add({0, below[i].total, below[i].calls}, report_.measure);
          }
        });
    for (ProfileRow& row : report_.rows) {
      if (!row.label.placed) continue;
      for (std::size_t side = 0; side < row.numbers.size(); ++side) {
        row.numbers[side].total = report_.modules[row.module][side].total;
      }
    }
  }

  const TaggedModel& model_;
  const ProfileOptions& options_;
  const KernelPlaces finder_;
  std::optional<NodeKey> key_;  // none: the profile itself says the key
  ProfileReport report_;
  Rollup<ProfileRow> rows_;
};

}  // namespace

double ShareNotInModel(const ProfileReport& report) {
  std::int64_t self = 0;
  for (const UnplacedKernel& kernel : report.unplaced) {
    if (kernel.side != 0 || kernel.why != kNotInModel) continue;
    self = report.measure.Add(self, kernel.self);
  }
  return report.measure.level ? 0.0 : ShareOf(self, report.sides[0].total);
}

bool IsTable(const ProfileReport& report) {
  return report.placement.providers.empty() &&
         std::all_of(
             report.unplaced.begin(), report.unplaced.end(),
             [](const UnplacedKernel& kernel) { return kernel.op.empty(); });
}

KernelAdvice ProfileAdvice(const ProfileReport& report,
                           const ProfileOptions& options) {
  const auto& providers = report.placement.providers;
  std::string maker = IsTable(report)     ? "table"
                      : providers.empty() ? "-"
                                          : providers.front().name;
  std::string base = options.model;
  if (base.ends_with(".onnx")) base.resize(base.size() - 5);
  const Values values = {{"model", options.model},
                         {"profile", options.profile.file},
                         {"base", base}};
  const auto rows = [&](std::string_view list) {
    std::vector<std::string> lines;
    for (const auto& row : RowsOf(kCommandWords, list)) {
      if (row[0] != maker) continue;
      lines.push_back(Filled(Join(std::span(row).subspan(1), " "), values));
    }
    return lines;
  };
  if (rows("kernels").empty()) maker = "-";
  // Not one name is known: no optimizer makes all nodes new.
  if (ShareNotInModel(report) == 1) {
    return {fmt::format("no {} has the name of a node or a value of {}: is it "
                        "the profile of another model?",
                        IsTable(report) ? "line" : "kernel", options.model),
            {}};
  }
  return {rows("kernels").front(), rows("step")};
}

std::string FallbackName(const TaggedModel& model,
                         const Placement::Fallback& fallback) {
  if (fallback.module == kNo<ModuleId>) return "[no module]";
  return model.tagging().modules.Shown(fallback.module);
}

Result RunProfile(const ProfileOptions& options, Terminal& terminal) {
  const TaggedModel model = TaggedModel::Load(options, terminal);
  std::vector<NodeId> all;
  for (const NodeId node : model.model().Nodes()) all.push_back(node);
  if (Result refused; !MayRestOn(all, model, options, terminal, refused)) {
    return refused;
  }
  std::vector<Profile> profiles;
  std::vector<std::string> files = {options.profile.file};
  if (!options.against.empty()) files.push_back(options.against);
  for (const std::string& file : files) {
    Profile& profile =
        profiles.emplace_back(ReadProfileFile(SourceOf(options, file)));
    if (!profile.cut_off) continue;
    terminal.Note("{}: ends in the middle of an event; that event is ignored",
                  file);
  }
  if (profiles.size() > 1) profile::MakeComparable(profiles[0], profiles[1]);
  ProfileCounter counter(model, options);
  for (std::size_t i = 0; i < files.size(); ++i) {
    counter.Add(profiles[i], files[i]);
  }
  const auto report = std::make_shared<const ProfileReport>(counter.Take());
  Result result;
  if (options.stacks != StackFormat::kNone) {
    result.document = options.stacks == StackFormat::kFolded
                          ? FoldedStacks(*report)
                          : SpeedscopeStacks(*report);
    return result;
  }
  AddProfileText(model, *report, options, result);
  result.data = ProfileData(model, report, options);
  return result;
}

}  // namespace onnx_tag
