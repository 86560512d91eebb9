#include <fmt/core.h>

#include <algorithm>
#include <map>

#include "base/text.h"
#include "commands/commands.h"
#include "commands/read/profile_file.h"
#include "commands/read/profile_output.h"
#include "commands/read/profile_places.h"
#include "commands/read/tag_source.h"
#include "io/mapped_file.h"
#include "onnx_tag/error.h"
#include "tagging/words.h"

namespace onnx_tag {
namespace {

using profile::KernelId;
using profile::OrtProfile;

class RollUp {
 public:
  RollUp(const TaggedModel& model, OrtProfile& profile,
         const ProfileOptions& options)
      : model_(model), profile_(profile), options_(options) {
    const KernelPlaces places(model);
    for (const profile::Kernel& kernel : profile.kernels) {
      places_.Add(places.Find(kernel));
    }
  }

  ProfileReport Report() {
    ProfileReport report;
    report.total = profile::CountSelfTimes(
        profile_,
        [&](KernelId id) { return RunsOthers(profile_.kernels[id].op); },
        [&](KernelId id) { return IsInner(id); });
    report.model_runs = profile_.model_runs;
    report.kernel_runs = profile_.runs.size();
    report.cut_off = profile_.cut_off;
    SumKernels();
    for (const KernelId id : AllIds<KernelId>(profile_.kernels.size())) {
      AddKernel(id, report);
    }
    for (auto& [key, row] : rows_) report.rows.push_back(std::move(row));
    std::stable_sort(report.rows.begin(), report.rows.end(),
                     [](const ProfileRow& a, const ProfileRow& b) {
                       return a.self > b.self;
                     });
    if (options_.by == ProfileKey::kModule) AddTotals(report);
    return report;
  }

 private:
  struct Sum {
    std::int64_t self = 0;
    std::uint64_t calls = 0;
  };

  bool IsInner(KernelId id) const {
    const KernelPlaces::Place& place = places_[id];
    if (place.kind == KernelPlaces::Kind::kNone) return false;
    const std::string_view graph = model_.nodes().Graph(place.node);
    return !graph.empty() && !graph.starts_with("fn:");
  }

  void SumKernels() {
    sums_.resize(profile_.kernels.size());
    for (const profile::KernelRun& run : profile_.runs) {
      sums_[run.kernel].self += run.self;
      ++sums_[run.kernel].calls;
    }
  }

  void AddKernel(KernelId id, ProfileReport& report) {
    const profile::Kernel& kernel = profile_.kernels[id];
    const KernelPlaces::Place& place = places_[id];
    ProfileRow row = RowOf(kernel, place);
    row.self = sums_[id].self;
    row.calls = sums_[id].calls;
    ProfileStack stack{StackOf(row, place), row.self};
    stack.frames.push_back(kernel.op.empty() ? kernel.name : kernel.op);
    report.stacks.push_back(std::move(stack));
    if (!row.placed) {
      report.unplaced.push_back(
          {kernel.name, kernel.op, row.self, row.calls, row.name});
    }
    const auto [at, added] =
        rows_.try_emplace(std::pair(!row.placed, row.name), row);
    if (added) return;
    at->second.self += row.self;
    at->second.calls += row.calls;
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
  void AddTotals(ProfileReport& report) const {
    const ModuleTree& tree = model_.tagging().modules;
    std::vector<std::int64_t> totals(tree.size(), 0);
    for (const ProfileRow& row : report.rows) {
      if (row.placed) totals[Index(row.module)] += row.self;
    }
    for (std::size_t i = tree.size(); --i > 0;) {
      totals[Index(tree.Parent(MakeId<ModuleId>(i)))] += totals[i];
    }
    for (ProfileRow& row : report.rows) {
      row.total = row.placed ? totals[Index(row.module)] : row.self;
    }
  }

  const TaggedModel& model_;
  OrtProfile& profile_;
  const ProfileOptions& options_;
  IdVector<KernelId, KernelPlaces::Place> places_;
  IdVector<KernelId, Sum> sums_;
  std::map<std::pair<bool, std::string>, ProfileRow> rows_;
};

}  // namespace

ExitCode RunProfile(const ProfileOptions& options, Terminal& terminal) {
  const TaggedModel model =
      TaggedModel::Load(options.model, options.source, terminal);
  OrtProfile profile = ReadProfileFile(options.profile);
  if (profile.cut_off) {
    terminal.Err(fmt::format(
        "onnx-tag: {}: ends in the middle of an event; that event is ignored\n",
        Printable(options.profile)));
  }
  ProfileReport report = RollUp(model, profile, options).Report();
  report.model = model.about().file;
  report.profile = options.profile;
  report.tags_from = model.source();
  PrintProfile(report, options, terminal);
  return ExitCode::kOk;
}

}  // namespace onnx_tag
