// Tested by tests/app/commands/placement_test.cc.
#include <algorithm>
#include <map>
#include <set>

#include "app/commands/profile/profile_report.h"
#include "core/graph/neighbours.h"
#include "core/hierarchy/roll_up.h"

namespace onnx_tag {
namespace {

using profile::KernelId;

bool IsCopy(std::string_view op) { return op.starts_with("Memcpy"); }

// The provider of each node that the profile has, as a number; -1: none.
using ProviderOfNode = std::vector<int>;

// Each value that leaves a provider counts once for each provider it goes to.
std::uint64_t CountBorders(const Model& model,
                           const ProviderOfNode& providers) {
  std::set<std::pair<ValueId, int>> borders;
  for (const NodeId node : model.Nodes()) {
    const int provider = providers[Index(node)];
    if (provider < 0) continue;
    for (const ValueId input : model.Inputs(node)) {
      const NodeId maker = ProducerOf(model, input);
      if (maker == kNo<NodeId> || providers[Index(maker)] < 0 ||
          providers[Index(maker)] == provider) {
        continue;
      }
      borders.emplace(input, provider);
    }
  }
  return borders.size();
}

// Kernels of a module: on the CPU, and at all.
struct KernelCounts {
  std::uint64_t kernels = 0;
  std::uint64_t on_cpu = 0;
  std::int64_t cpu_self = 0;

  KernelCounts& operator+=(const KernelCounts& other) {
    kernels += other.kernels;
    on_cpu += other.on_cpu;
    cpu_self += other.cpu_self;
    return *this;
  }
};

void AddFallbacks(const ModuleTree& tree,
                  const IdVector<ModuleId, KernelCounts>& own,
                  std::vector<Placement::Fallback>& fallbacks) {
  IdVector<ModuleId, KernelCounts> all = own;
  RollUp(tree, all);
  // Below a module that is wholly on the CPU, nothing more is said.
  IdVector<ModuleId, char> said(all.size());
  for (const ModuleId id : AllIds<ModuleId>(all.size())) {
    if (id != ModuleTree::kRoot && said[tree.Parent(id)]) {
      said[id] = 1;
    } else if (all[id].on_cpu == 0) {
      continue;
    } else if (all[id].on_cpu == all[id].kernels) {
      said[id] = 1;
      fallbacks.push_back({id, true, all[id].on_cpu, all[id].cpu_self});
    } else if (own[id].on_cpu > 0) {
      fallbacks.push_back({id, false, own[id].on_cpu, own[id].cpu_self});
    }
  }
}

}  // namespace

Placement PlacementOf(const TaggedModel& model, const profile::Profile& profile,
                      const IdVector<KernelId, KernelPlaces::Place>& places,
                      const IdVector<KernelId, KernelSum>& sums) {
  Placement placement;
  std::map<std::string_view, int> numbers;
  ProviderOfNode of_node(model.model().node_count(), -1);
  IdVector<ModuleId, KernelCounts> modules(model.tagging().modules.size());
  Placement::Fallback without_module;
  for (const KernelId id : AllIds<KernelId>(profile.kernels.size())) {
    const profile::Kernel& kernel = profile.kernels[id];
    const KernelSum& sum = sums[id];
    if (kernel.provider.empty() || sum.calls == 0) continue;
    const auto [at, added] = numbers.try_emplace(
        kernel.provider, static_cast<int>(placement.providers.size()));
    if (added) placement.providers.push_back({kernel.provider});
    Placement::Provider& provider =
        placement.providers[static_cast<std::size_t>(at->second)];
    ++provider.kernels;
    provider.calls += sum.calls;
    provider.self += sum.self;
    if (IsCopy(kernel.op)) {
      placement.copy_calls += sum.calls;
      placement.copy_self += sum.self;
      continue;  // it belongs to both sides
    }
    const bool cpu = kernel.provider == Placement::kCpu;
    if (places[id].kind == KernelPlaces::Kind::kNode) {
      of_node[Index(places[id].node)] = at->second;
      const Tag& tag = model.tagging().tags[places[id].node];
      if (tag.tagged()) {
        modules[tag.module] += {1, cpu ? 1u : 0u, cpu ? sum.self : 0};
        continue;
      }
    }
    if (!cpu) continue;
    ++without_module.kernels;
    without_module.self += sum.self;
  }
  if (placement.is_mixed()) {
    placement.borders = CountBorders(model.model(), of_node);
    if (numbers.contains(Placement::kCpu)) {
      AddFallbacks(model.tagging().modules, modules, placement.fallbacks);
      if (without_module.kernels > 0) {
        placement.fallbacks.push_back(without_module);
      }
    }
  }
  const auto by_self = [](const auto& a, const auto& b) {
    return a.self > b.self;
  };
  std::stable_sort(placement.providers.begin(), placement.providers.end(),
                   by_self);
  std::stable_sort(placement.fallbacks.begin(), placement.fallbacks.end(),
                   by_self);
  return placement;
}

}  // namespace onnx_tag
