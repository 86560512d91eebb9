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

constexpr StrategyInfo kInfos[] = {
    {"enhanced_semantic",
     "what the file says, then what its operations imply, then where its "
     "neighbours are",
     Need::kNothing},
    {"usage_based",
     "only what the file says outright, and only below classes of the model's "
     "own",
     Need::kNothing},
    {"htp",
     "a recorded run (--trace) laid over the nodes by operation, order, shape "
     "and dataflow",
     Need::kTrace},
    {"universal",
     "each node's deepest module with every class, torch.nn's too; best with "
     "--hierarchy",
     Need::kHierarchy},
    {"fx_graph",
     "FX nodes laid over the nodes: dynamo's metadata in the file, or --fx",
     Need::kFx},
};

const std::array<Strategy, std::size(kInfos)>& Table() {
  static const std::array<Strategy, std::size(kInfos)> kTable = {{
      {kInfos[0], RungsOf(kEnhancedSemantic), nullptr, false},
      {kInfos[1], RungsOf(kUsageBased), &PruneToUsage, false},
      {kInfos[2], RungsOf(kHtp), nullptr, false},
      {kInfos[3], RungsOf(kUniversal), nullptr, true},
      {kInfos[4], RungsOf(kFxGraph), nullptr, false},
  }};
  return kTable;
}

bool AsksBook(const Strategy& strategy) {
  return std::any_of(strategy.rungs.begin(), strategy.rungs.end(),
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
  if (options.trace != nullptr && strategy.info.need != Need::kTrace) {
    Fail(
        ErrorKind::kUsage,
        "{} does not use a recorded run\n  htp does: --strategy htp --trace {}",
        strategy.info.name, options.trace->file);
  }
  if (options.fx != nullptr && strategy.info.need != Need::kFx) {
    Fail(ErrorKind::kUsage,
         "{} does not use an FX graph\n  fx_graph does: --strategy fx_graph "
         "--fx "
         "{}",
         strategy.info.name, options.fx->file);
  }
  if (strategy.info.need == Need::kTrace) {
    if (options.trace == nullptr) {
      Fail(ErrorKind::kUsage,
           "{} needs a recorded run: --trace recording.json\n  record one: {}",
           strategy.info.name, kRecordCommand);
    }
    wanted.trace = options.trace.get();
  }
  if (strategy.info.need == Need::kFx) {
    wanted.fx = options.fx.get();
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
