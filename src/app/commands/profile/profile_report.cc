#include "app/commands/profile/profile_report.h"

#include <fmt/core.h>

#include <algorithm>
#include <map>
#include <span>

#include "app/commands/read/modules.h"
#include "app/commands/read/nodes.h"
#include "app/render/render.h"
#include "base/word_list.h"
#include "core/hierarchy/name_parts.h"
#include "core/hierarchy/roll_up.h"
#include "core/tagging/words.h"
#include "generated/command_words.h"

namespace onnx_tag {
namespace {

using profile::KernelGroups;
using profile::KernelId;
using profile::Profile;
using profile::Spread;

class ProfileCounter {
 public:
  ProfileCounter(const TaggedModel& model, const ProfileOptions& options)
      : model_(model), options_(options), finder_(model) {
    report_.model = model.about().file;
    report_.tags_from = model.source();
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
    IdVector<KernelId, ProfileRow*> rows;
    for (const KernelId id : AllIds<KernelId>(profile.kernels.size())) {
      rows.Add(sums[id].calls == 0
                   ? nullptr
                   : AddKernel(profile.kernels[id], places[id], sums[id]));
    }
    AddSpreads(profile, rows);
    if (report_.two()) return;
    report_.placement = PlacementOf(model_, profile, places, sums);
    for (const ProfileRow* row : rows) {
      report_.module_of_kernel.Add(
          row != nullptr && row->placed ? row->module : kNo<ModuleId>);
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
  // Group 0 is all kernels. With --by module, a group for each module comes
  // next, then the rows without a module.
  void AddSpreads(const Profile& profile,
                  const IdVector<KernelId, ProfileRow*>& rows) {
    const bool tree = options_.by == ProfileKey::kModule;
    const ModuleTree& modules = model_.tagging().modules;
    KernelGroups groups;
    groups.parents = {KernelGroups::kNone};
    if (tree) {
      for (std::size_t i = 0; i < modules.size(); ++i) {
        const auto id = MakeId<ModuleId>(i);
        groups.parents.push_back(i == 0 ? 0 : GroupOf(modules.Parent(id)));
      }
    }
    std::map<const ProfileRow*, std::uint32_t> of_row;
    for (const ProfileRow* row : rows) {
      if (row == nullptr) {
        groups.of_kernel.Add(KernelGroups::kNone);
      } else if (tree && row->placed) {
        groups.of_kernel.Add(GroupOf(row->module));
        of_row.emplace(row, GroupOf(row->module));
      } else {
        const auto [at, added] = of_row.try_emplace(
            row, static_cast<std::uint32_t>(groups.parents.size()));
        if (added) groups.parents.push_back(0);
        groups.of_kernel.Add(at->second);
      }
    }
    const std::vector<Spread> spreads = SpreadsOf(profile, groups);
    const std::size_t side = report_.sides.size() - 1;
    report_.sides[side].spread = spreads[0];
    for (auto& [key, row] : rows_) {
      const auto at = of_row.find(&row);
      if (at != of_row.end()) row.spreads[side] = spreads[at->second];
    }
  }
  static std::uint32_t GroupOf(ModuleId module) {
    return static_cast<std::uint32_t>(Index(module)) + 1;
  }

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

  ProfileRow* AddKernel(const profile::Kernel& kernel,
                        const KernelPlaces::Place& place,
                        const KernelSum& sum) {
    const std::size_t side = report_.sides.size() - 1;
    ProfileRow row = RowOf(kernel, place);
    if (side == 0 && options_.stacks != StackFormat::kNone) {
      ProfileStack stack{StackOf(row, place), sum.self};
      stack.frames.push_back(kernel.op.empty() ? kernel.name : kernel.op);
      report_.stacks.push_back(std::move(stack));
    }
    const bool in_model = place.kind != KernelPlaces::Kind::kNone;
    if (!row.placed || !in_model) {
      report_.unplaced.push_back(
          {kernel.name, kernel.op, side, sum.self, sum.calls,
           in_model ? row.name : std::string(kNotInModel)});
    }
    const auto at =
        rows_.try_emplace(std::pair(!row.placed, row.name), row).first;
    at->second.numbers[side].Add({sum.self, sum.self, sum.calls},
                                 report_.measure);
    return &at->second;
  }

  ProfileRow RowOf(const profile::Kernel& kernel,
                   const KernelPlaces::Place& place) const {
    ProfileRow row;
    row.provider = kernel.provider;
    // The runtime says these two, also of kernels that the model lacks.
    if (options_.by == ProfileKey::kProvider) {
      row.placed = !kernel.provider.empty();
      row.name = row.placed ? kernel.provider : "[not recorded]";
      return row;
    }
    if (options_.by == ProfileKey::kOp && !kernel.op.empty()) {
      row.placed = true;
      row.name = kernel.op;
      return row;
    }
    if (place.kind == KernelPlaces::Kind::kNone) {
      row.name = kNotInModel;
      return row;
    }
    const Tagging& tagging = model_.tagging();
    const Tag& tag = tagging.tags[place.node];
    if (place.kind == KernelPlaces::Kind::kSeveral) {
      row.name = "[one of several nodes]";
      return row;
    }
    if (!tag.tagged() && options_.by != ProfileKey::kNode &&
        options_.by != ProfileKey::kLine && options_.by != ProfileKey::kOp) {
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
    const std::string module = ModuleOf(tagging, node, "-");
    switch (options_.by) {
      case ProfileKey::kModule:
        row.name = module;
        row.detail = ClassOf(tagging, tag.module);
        return;
      case ProfileKey::kClass:
        row.name = ClassOf(tagging, tag.module);
        if (row.name.empty()) row.name = "[class unknown]";
        return;
      case ProfileKey::kLayer:
        row.name = LayerOf(module, tagging.roles[tag.role].layer);
        return;
      case ProfileKey::kRole:
        row.name = RoleText(tagging.roles[tag.role]);
        return;
      case ProfileKey::kNode:
        row.name =
            fmt::format("{} {}", model_.model().Address(node), kernel.name);
        row.detail = module;
        return;
      case ProfileKey::kLine:
        row.name = "[no line]";
        if (const std::optional<SourceLine> line = tagging.lines.Of(node)) {
          row.name = fmt::format("{}:{}", line->file, line->line);
          row.detail = line->text;
        }
        return;
      case ProfileKey::kOp:
        row.name = model_.model().OpType(node);
        return;
      case ProfileKey::kProvider:
        return;
    }
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
      if (row.placed) report_.modules[row.module] = row.numbers;
    }
    RollUp(
        tree, report_.modules,
        [&](ProfilePair& parent, const ProfilePair& below) {
          for (std::size_t i = 0; i < parent.size(); ++i) {
            parent[i].Add({0, below[i].total, below[i].calls}, report_.measure);
          }
        });
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
  if (maker == "QNN" && !options.profile.op_trace.empty()) maker += "-traced";
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
    Profile& profile = profiles.emplace_back(
        ReadProfileFile({file, options.profile.measure, options.profile.layers,
                         options.profile.op_trace}));
    profile::SkipRuns(profile, options.skip_runs);
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
  AddProfileText(model, *report, profiles.front(), options, result);
  result.data = ProfileData(model, report, options);
  return result;
}

}  // namespace onnx_tag
