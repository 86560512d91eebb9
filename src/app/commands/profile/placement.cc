// Tested by tests/app/commands/placement_test.cc.
#include "app/commands/profile/placement.h"

#include <algorithm>
#include <map>
#include <set>
#include <unordered_map>

#include "core/graph/neighbours.h"

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

// Kernels of modules and of all below them: on the CPU, and at all.
class ModuleKernels {
 public:
  explicit ModuleKernels(const ModuleTree& tree)
      : tree_(tree), own_(tree.size()), all_(tree.size()) {}

  void Add(ModuleId module, bool cpu, std::int64_t self) {
    Counts& counts = own_[Index(module)];
    ++counts.kernels;
    if (!cpu) return;
    ++counts.on_cpu;
    counts.cpu_self += self;
  }

  void AddFallbacks(std::vector<Placement::Fallback>& fallbacks) {
    all_ = own_;
    for (std::size_t i = all_.size(); --i > 0;) {
      Counts& parent = all_[Index(tree_.Parent(MakeId<ModuleId>(i)))];
      parent.kernels += all_[i].kernels;
      parent.on_cpu += all_[i].on_cpu;
      parent.cpu_self += all_[i].cpu_self;
    }
    // Parents come first: below a module that is wholly on the CPU, nothing
    // more is said.
    std::vector<bool> said(all_.size(), false);
    for (std::size_t i = 0; i < all_.size(); ++i) {
      const auto id = MakeId<ModuleId>(i);
      if (i > 0 && said[Index(tree_.Parent(id))]) {
        said[i] = true;
        continue;
      }
      if (all_[i].on_cpu == 0) continue;
      if (all_[i].on_cpu == all_[i].kernels) {
        said[i] = true;
        fallbacks.push_back({id, true, all_[i].on_cpu, all_[i].cpu_self});
      } else if (own_[i].on_cpu > 0) {
        fallbacks.push_back({id, false, own_[i].on_cpu, own_[i].cpu_self});
      }
    }
  }

 private:
  struct Counts {
    std::uint64_t kernels = 0;
    std::uint64_t on_cpu = 0;
    std::int64_t cpu_self = 0;
  };

  const ModuleTree& tree_;
  std::vector<Counts> own_;
  std::vector<Counts> all_;
};

}  // namespace

Placement PlacementOf(const TaggedModel& model, const profile::Profile& profile,
                      const IdVector<KernelId, KernelPlaces::Place>& places,
                      const IdVector<KernelId, KernelSum>& sums) {
  Placement placement;
  std::map<std::string_view, int> numbers;
  ProviderOfNode of_node(model.model().node_count(), -1);
  ModuleKernels modules(model.tagging().modules);
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
        modules.Add(tag.module, cpu, sum.self);
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
      modules.AddFallbacks(placement.fallbacks);
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
