// The strategies: which rungs, what they need, what they leave out.
#include <fmt/core.h>

#include <array>
#include <unordered_set>

#include "base/lists.h"
#include "base/text.h"
#include "clues/recipes/book/packed_book.h"
#include "core/tagging/module_format.h"
#include "core/tagging/tag_format.h"
#include "mapping/ladder/ladder.h"
#include "onnx_tag/error.h"
#include "onnx_tag/recording.h"

namespace onnx_tag {
namespace {

constexpr StrategyInfo kInfos[] = {
    {"enhanced_semantic",
     "uses names and metadata, then patterns of operations, then "
     "neighbours",
     Need::kNothing},
    {"usage_based",
     "uses direct evidence only, and only below classes outside torch.nn",
     Need::kNothing},
    {"htp",
     "matches a recorded run (--trace) with the nodes by operation, order, "
     "shape and dataflow",
     Need::kTrace},
    {"universal",
     "gives each node its deepest module, with torch.nn classes in the tag; "
     "best with --hierarchy",
     Need::kHierarchy},
    {"fx_graph",
     "matches FX nodes with the nodes: dynamo's metadata in the file, or --fx",
     Need::kFx},
};

// usage_based: where a false positive hurts, a tag must say more than torch.nn.
void PruneToUsage(Tagging& tagging) {
  const std::unordered_set<std::string_view>& torch_nn = TorchNnClasses();
  const std::unordered_set<std::string_view> exceptions(
      tagging.format.exceptions.begin(), tagging.format.exceptions.end());
  const ModuleTree& tree = tagging.modules;
  // By module: below the root, its class path has a class outside torch.nn or
  // one of the exceptions. Parents come before their children.
  IdVector<ModuleId, bool> telling(tree.size(), false);
  for (const ModuleId id : tree.All()) {
    if (id == ModuleTree::kRoot) continue;
    const std::string_view name = tree.Class(id);
    telling[id] = telling[tree.Parent(id)] ||
                  (!name.empty() &&
                   (!torch_nn.contains(name) || exceptions.contains(name)));
  }
  std::uint64_t kept = 0;
  std::uint64_t plain = 0;  // placed, and nothing but torch.nn around it
  for (Tag& tag : tagging.tags) {
    if (!tag.tagged()) continue;
    const bool sure = tag.confidence >= Confidence::kHigh;
    plain += sure && !telling[tag.module];
    if (sure && telling[tag.module]) {
      ++kept;
    } else {
      tag = Tag();
    }
  }
  if (kept == 0) {
    tagging.notes.push_back(
        plain > 0
            ? fmt::format("usage_based gives no tags: {} with direct evidence "
                          "have only "
                          "torch.nn classes on their path; add classes with "
                          "--torch-nn-exceptions, or use enhanced_semantic",
                          Count(plain, "node"))
            : "usage_based gives no tags: there is no direct evidence; "
              "enhanced_semantic also infers modules");
  }
}

const std::array<Strategy, std::size(kInfos)>& Table() {
  static const std::array<Strategy, std::size(kInfos)> kTable = {{
      {kInfos[0], kEnhancedSemantic, RungsOf(kEnhancedSemantic), nullptr, false,
       true},
      {kInfos[1], kUsageBased, RungsOf(kUsageBased), &PruneToUsage, false,
       false},
      {kInfos[2], kHtp, RungsOf(kHtp), nullptr, false, true},
      {kInfos[3], kEnhancedSemantic, RungsOf(kEnhancedSemantic), nullptr, true,
       true},
      {kInfos[4], kFxGraph, RungsOf(kFxGraph), nullptr, false, false},
  }};
  return kTable;
}

bool AsksBook(const Strategy& strategy) {
  return AnyIn(strategy.rungs,
               [](const Rung& rung) { return rung.name == "recipe"; });
}

}  // namespace

std::span<const StrategyInfo> Strategies() { return kInfos; }

std::span<const Strategy> AllStrategies() { return Table(); }

const Strategy& FindStrategy(std::string_view name) {
  std::vector<std::string_view> names;
  for (const Strategy& strategy : AllStrategies()) {
    if (strategy.info.name == name) return strategy;
    names.push_back(strategy.info.name);
  }
  Fail(
      ErrorKind::kUsage, "unknown strategy '{}'{}", name,
      Ours{DidYouMean(name, names, "\n  list them with: onnx-tag strategies")});
}

bool HasFxMetadata(const Model& model) {
  for (const NodeId node : model.Nodes()) {
    for (const std::string_view key :
         {"pkg.torch.onnx.name_scopes", "pkg.torch.onnx.fx_node"}) {
      if (!ForeignMetadata(model, node, key).empty()) return true;
    }
  }
  return false;
}

WantedFacts WantedBy(const Strategy& strategy, const Model& model, bool recipes,
                     const MappingFacts& facts) {
  WantedFacts wanted;
  wanted.hierarchy = facts.hierarchy;
  wanted.rules = facts.rules.get();
  // A recording of the model itself is better than the book.
  const bool recorded = facts.trace != nullptr || facts.fx != nullptr;
  if (recipes && !recorded && AsksBook(strategy)) {
    wanted.book = facts.book == nullptr ? &recipes::BuiltInBook() : facts.book;
  }
  // Every strategy takes every file of facts.
  wanted.trace = facts.trace.get();
  wanted.fx = facts.fx.get();
  wanted.anchored = recorded && strategy.info.need != Need::kTrace &&
                    strategy.info.need != Need::kFx;
  if (strategy.info.need == Need::kTrace) {
    if (facts.trace == nullptr) {
      Fail(ErrorKind::kUsage,
           "{} needs a recorded run: --trace recording.json\n  record one: {}",
           strategy.info.name, kRecordCommand);
    }
  }
  if (strategy.info.need == Need::kFx) {
    if (wanted.fx == nullptr && !HasFxMetadata(model)) {
      Fail(ErrorKind::kUsage,
           "the file has no metadata of the dynamo exporter, so {} needs "
           "an FX graph: --fx recording.json\n  record one: {} --fx",
           strategy.info.name, kRecordCommand);
    }
  }
  return wanted;
}

}  // namespace onnx_tag
