// Tested by tests/app/commands/show_sizes_test.cc.
#include "app/commands/read/part_plan.h"

#include <fmt/core.h>

#include <algorithm>

#include "app/commands/read/closed_cut.h"
#include "app/render/render.h"
#include "core/tagging/words.h"
#include "onnx_tag/error.h"

namespace onnx_tag {
namespace {

// All pairs of borders are looked at, and each border is one pass over the
// steps after it: a second for 10^5 nodes.
constexpr std::size_t kMostBorders = 1500;
constexpr std::size_t kMostWork = 200'000'000;

}  // namespace

PartPlanner::PartPlanner(const TaggedModel& model, const ModelCosts& costs,
                         PlanBy by, const IdVector<NodeId, std::int64_t>* times)
    : model_(model),
      by_(by),
      run_(model.model(), costs.shapes, costs.assumptions.numbers(),
           costs.sizes.weights, ConstantNodes(model.model())),
      costs_(0) {
  if (times != nullptr) run_.SetCosts(*times);
  FindBorders();
}

// A part can begin where a module does: at the first of its nodes.
void PartPlanner::FindBorders() {
  const Tagging& tagging = model_.tagging();
  const ModuleTree& tree = tagging.modules;
  const std::vector<sizes::MainRun::Step>& steps = run_.steps();
  std::vector<bool> begun(tree.size());
  begun[Index(ModuleTree::kRoot)] = true;
  std::vector<std::size_t> at_depth(tree.size() + 1, 0);  // borders
  bool any = false;
  borders_.push_back({0, kNo<ModuleId>});
  for (std::size_t i = 0; i < steps.size(); ++i) {
    if (steps[i].is_constant) continue;
    const Tag& tag = tagging.tags[steps[i].node];
    ModuleId outermost = kNo<ModuleId>;
    if (tag.tagged()) {
      for (ModuleId at = tag.module; !begun[Index(at)];) {
        begun[Index(at)] = true;
        outermost = at;
        at = tree.Parent(at);
      }
    }
    if (any && outermost != kNo<ModuleId>) {
      borders_.push_back({i, outermost});
      ++at_depth[tree.Depth(outermost)];
    }
    any = true;
  }
  const std::size_t most = std::clamp<std::size_t>(
      kMostWork / (steps.size() + 1), 100, kMostBorders);
  if (borders_.size() > most) {
    // Without the modules that are furthest inside; where a level does not fit
    // as a whole (a list of 10,000 layers), evenly spaced ones of it.
    std::size_t depth = 0;
    std::size_t kept = 1;
    while (kept + at_depth[depth + 1] <= most) kept += at_depth[++depth];
    const std::size_t some = most - kept;
    const std::size_t all = at_depth[depth + 1];
    std::size_t seen = 0;
    std::erase_if(borders_, [&](const Border& border) {
      if (border.module == kNo<ModuleId>) return false;
      const std::size_t at = tree.Depth(border.module);
      if (at != depth + 1) return at > depth + 1;
      const std::size_t before = seen++;
      return before * some / all == seen * some / all;
    });
    only_outer_ = true;
  }
  Sweep();
}

void PartPlanner::Sweep() {
  const std::size_t count = borders_.size();
  costs_ = sizes::PartCosts(count);
  using Measure = sizes::PartSweep::Measure;
  sizes::PartSweep sweep(run_, by_ == PlanBy::kWeights  ? Measure::kWeights
                               : by_ == PlanBy::kMemory ? Measure::kMemory
                                                        : Measure::kFlops);
  std::vector<std::size_t> lasts;
  for (std::size_t i = 1; i < count; ++i) lasts.push_back(borders_[i].step);
  lasts.push_back(run_.steps().size());
  for (std::size_t first = 0; first < count; ++first) {
    const std::vector<std::uint64_t> costs =
        sweep.From(borders_[first].step, std::span(lasts).subspan(first));
    for (std::size_t i = 0; i < costs.size(); ++i) {
      costs_.At(first, first + 1 + i) = costs[i];
    }
  }
}

PartPlan PartPlanner::Plan(std::size_t parts) const {
  const std::vector<std::uint64_t> crossing = run_.Crossing();
  const auto across = Mapped(
      borders_, [&](const Border& border) { return crossing[border.step]; });
  const auto best = sizes::BestPartition(costs_, across, parts);
  PartPlan plan;
  plan.by = by_;
  plan.borders = borders_.size() - 1;
  plan.only_outer = only_outer_;
  plan.unknown = by_ == PlanBy::kFlops    ? run_.unknown_flops()
                 : by_ == PlanBy::kMemory ? run_.unknown_values()
                                          : 0;
  for (std::size_t i = 0; i < parts; ++i) {
    const std::size_t first = best->starts[i];
    const std::size_t last =
        i + 1 < parts ? best->starts[i + 1] : borders_.size();
    PlannedPart part{.at = borders_[first].module,
                     .nodes = {},
                     .cost = costs_.At(first, last),
                     .across = i == 0 ? 0 : across[first]};
    const std::size_t end =
        last < borders_.size() ? borders_[last].step : run_.steps().size();
    for (std::size_t step = borders_[first].step; step < end; ++step) {
      if (run_.steps()[step].is_constant) continue;
      part.nodes.push_back(run_.steps()[step].node);
    }
    plan.parts.push_back(std::move(part));
  }
  return plan;
}

PartPlan PartPlanner::InParts(std::size_t parts) const {
  if (parts > borders_.size()) {
    Fail(ErrorKind::kUsage,
         "the model can be cut into {} at most: a part begins with a module",
         Count(borders_.size(), "part"));
  }
  return Plan(parts);
}

PartPlan PartPlanner::Within(std::uint64_t budget) const {
  // What is over 2^63 fits into no budget.
  const auto parts =
      sizes::FewestParts(costs_, std::min(budget, sizes::kOver - 1));
  if (!parts) {
    std::vector<std::string> large;
    for (std::size_t i = 0; i < borders_.size(); ++i) {
      if (costs_.At(i, i + 1) <= budget) continue;
      large.push_back(Message(
          "{}: {}",
          borders_[i].module == kNo<ModuleId>
              ? "the start"
              : Short{model_.tagging().modules.Path(borders_[i].module), 200}
                    .name,
          CostText(by_, costs_.At(i, i + 1))));
    }
    Fail(ErrorKind::kUsage,
         "no split fits into {}; these modules alone are larger{}",
         CostText(by_, budget), Ours{ListLines(large)});
  }
  return Plan(*parts);
}

PartPlanner::Prefix PartPlanner::ModulesWithin(
    std::uint64_t budget, const std::vector<NodeId>& selected) const {
  const Tagging& tagging = model_.tagging();
  std::vector<std::vector<NodeId>> nodes(tagging.modules.size());
  for (const NodeId node : selected) {
    const Tag& tag = tagging.tags[node];
    if (tag.tagged()) nodes[Index(tag.module)].push_back(node);
  }
  // The steps of each module that has selected nodes, in the order in which
  // the modules begin.
  std::vector<ModuleId> order;
  std::vector<std::vector<std::size_t>> steps(tagging.modules.size());
  for (std::size_t i = 0; i < run_.steps().size(); ++i) {
    const Tag& tag = tagging.tags[run_.steps()[i].node];
    if (!tag.tagged() || tag.module == ModuleTree::kRoot ||
        nodes[Index(tag.module)].empty()) {
      continue;
    }
    if (steps[Index(tag.module)].empty()) order.push_back(tag.module);
    steps[Index(tag.module)].push_back(i);
  }
  const std::vector<std::uint64_t> live = run_.Live();
  std::vector<bool> seen(run_.items().size());
  std::uint64_t weights = 0;
  std::uint64_t peak = 0;
  Prefix prefix;
  for (const ModuleId module : order) {
    for (const std::size_t step : steps[Index(module)]) {
      peak = std::max(peak, live[step]);
      for (const std::uint32_t id : run_.steps()[step].reads) {
        const sizes::MainRun::Item& item = run_.items()[id];
        if (!item.is_weight || seen[id]) continue;
        seen[id] = true;
        weights = sizes::CappedSum(weights, item.bytes);
      }
    }
    const std::uint64_t cost =
        by_ == PlanBy::kMemory ? sizes::CappedSum(weights, peak) : weights;
    if (cost > budget || cost >= sizes::kOver) {
      prefix.next = module;
      prefix.with_next = cost;
      break;
    }
    prefix.cost = cost;
    const std::vector<NodeId>& own = nodes[Index(module)];
    prefix.nodes.insert(prefix.nodes.end(), own.begin(), own.end());
  }
  std::sort(prefix.nodes.begin(), prefix.nodes.end());
  return prefix;
}

std::string CostText(PlanBy by, std::uint64_t cost) {
  if (by == PlanBy::kWeights || by == PlanBy::kMemory) {
    return AmountText(cost, Unit::kBytes);
  }
  if (cost >= sizes::kOver) return AmountText(cost);
  if (by == PlanBy::kFlops) return AmountText(cost) + " FLOPs";
  // Times are microseconds.
  return fmt::format("{:.3f} ms", static_cast<double>(cost) / 1000);
}

std::string PlanText(const PartPlan& plan) {
  std::uint64_t most = 0;
  std::uint64_t across = 0;
  for (const PlannedPart& part : plan.parts) {
    most = std::max(most, part.cost);
    across = sizes::CappedSum(across, part.across);
  }
  std::string text = fmt::format(" by {}", EnumToWord(kPlanByNames, plan.by));
  if (!plan.dimensions.empty()) {
    text += Message(" for {}", Short{plan.dimensions, 200});
  }
  text += fmt::format(": {} at most, {} across", CostText(plan.by, most),
                      BytesText(across));
  if (plan.unknown > 0) {
    text += fmt::format("; {} without a number", WithThousands(plan.unknown));
  }
  if (plan.only_outer) {
    text += fmt::format("\n  of {}, those of outer modules first",
                        Count(plan.borders, "border"));
  }
  return text;
}

}  // namespace onnx_tag
