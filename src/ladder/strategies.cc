// The strategies: which rungs, what they need, what they leave out.
#include <algorithm>
#include <array>

#include "base/text.h"
#include "ladder/ladder.h"
#include "onnx_tag/error.h"
#include "onnx_tag/recording.h"
#include "recipes/book/packed_book.h"
#include "tagging/tag_format.h"

namespace onnx_tag {
namespace {

constexpr StrategyInfo kEnhancedSemantic = {
    "enhanced_semantic",
    "what the file says, then what its operations imply, then where its "
    "neighbours are",
    Need::kNothing};
constexpr StrategyInfo kUsageBased = {
    "usage_based",
    "only what the file says outright, and only below classes of the model's "
    "own",
    Need::kNothing};
constexpr StrategyInfo kHtp = {
    "htp",
    "a recorded run (--trace) laid over the nodes by operation, order, shape "
    "and dataflow",
    Need::kTrace};
constexpr StrategyInfo kUniversal = {
    "universal",
    "each node's deepest module with every class, torch.nn's too; best with "
    "--hierarchy",
    Need::kHierarchy};
constexpr StrategyInfo kFxGraph = {
    "fx_graph",
    "FX nodes laid over the nodes: dynamo's metadata in the file, or --fx",
    Need::kFx};

constexpr StrategyInfo kInfos[] = {kEnhancedSemantic, kUsageBased, kHtp,
                                   kUniversal, kFxGraph};

constexpr Rung kUsageBasedRungs[] = {
    {"metadata", "the exporter's metadata", &ProposeFromMetadata},
    {"function", "the local function it calls or stands in",
     &ProposeFromFunctions},
    {"dialect", "names of producers other than PyTorch", &ProposeFromDialect},
    {"scope", "the scope in the node's name", &ProposeFromScope},
    {"value_name", "the scope in an output's name", &ProposeFromValueName},
    {"parameter", "the parameters it uses", &ProposeFromParameters},
};

constexpr Rung kHtpRungs[] = {
    {"trace", "the operation that was recorded", &ProposeFromTrace},
    {"operands", "constants and sizes for one module's operations",
     &ProposeForTracedOperands},
    {"vote", "a vote of the nodes around it", &ProposeByVote},
    {"auxiliary", "auxiliary operations of no single module",
     &ProposeAuxiliary},
};

constexpr Rung kFxRungs[] = {
    {"metadata", "the exporter's metadata", &ProposeFromMetadata},
    {"fx", "the FX node it was made from", &ProposeFromFx},
    {"operands", "constants and sizes for one module's operations",
     &ProposeForFxOperands},
    {"vote", "a vote of the nodes around it", &ProposeByVote},
};

const std::array<Strategy, 5>& Table() {
  static const std::array<Strategy, 5> kTable = {{
      {kEnhancedSemantic, EnhancedSemanticRungs(), nullptr, false},
      {kUsageBased, kUsageBasedRungs, &PruneToUsage, false},
      {kHtp, kHtpRungs, nullptr, false},
      {kUniversal, EnhancedSemanticRungs(), nullptr, true},
      {kFxGraph, kFxRungs, nullptr, false},
  }};
  return kTable;
}

bool AsksBook(const Strategy& strategy) {
  return std::any_of(
      strategy.rungs.begin(), strategy.rungs.end(),
      [](const Rung& rung) { return rung.propose == &ProposeFromRecipes; });
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
  const std::string_view nearest = NearestWord(name, names);
  Fail(ErrorKind::kUsage, "unknown strategy '{}'{}", Printable(name),
       nearest.empty() ? std::string("\n  list them with: onnx-tag strategies")
                       : fmt::format(", did you mean '{}'?", nearest));
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

WantedFacts WantedBy(const Strategy& strategy, const Model& model,
                     const MappingOptions& options) {
  WantedFacts wanted;
  wanted.hierarchy = options.hierarchy;
  wanted.rules = options.rules;
  if (options.recipes && AsksBook(strategy)) {
    wanted.book =
        options.book == nullptr ? &recipes::BuiltInBook() : options.book;
  }
  // Every strategy takes every file of facts.
  wanted.trace = options.trace.get();
  wanted.fx = options.fx.get();
  wanted.anchored =
      strategy.info.need != Need::kTrace && strategy.info.need != Need::kFx;
  if (strategy.info.need == Need::kTrace) {
    if (options.trace == nullptr) {
      Fail(ErrorKind::kUsage,
           "{} needs a recorded run: --trace recording.json\n  record one: {}",
           strategy.info.name, kRecordCommand);
    }
  }
  if (strategy.info.need == Need::kFx) {
    if (wanted.fx == nullptr && !HasFxMetadata(model)) {
      Fail(ErrorKind::kUsage,
           "{} finds no metadata of the dynamo exporter in the file, and needs "
           "an FX graph: --fx recording.json\n  record one: {} --fx",
           strategy.info.name, kRecordCommand);
    }
  }
  return wanted;
}

}  // namespace onnx_tag
