// Where a model is cut by what its parts cost: `split --parts`, `split
// --budget` and `select --for layer-ann --budget`.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "app/commands/read/model_sizes.h"
#include "app/commands/read/tagged_model.h"
#include "uses/sizes/main_run.h"
#include "uses/sizes/partition.h"

namespace onnx_tag {

struct PlannedPart {
  ModuleId at = kNo<ModuleId>;  // begins it; kNo: the start of the model
  std::vector<NodeId> nodes;    // of the main graph, without constants
  std::uint64_t cost = 0;
  std::uint64_t across = 0;  // bytes that cross the border before it
};

struct PartPlan {
  PlanBy by = PlanBy::kWeights;
  std::vector<PlannedPart> parts;
  std::size_t borders = 0;      // places where a part could begin
  bool only_outer = false;      // there are more, of modules further inside
  std::uint64_t unknown = 0;    // values or nodes without a number
  std::string dimensions = {};  // what the numbers are for
};

// The main graph of a model with what its steps cost.
class PartPlanner {
 public:
  // `times`: a number for each node in place of FLOPs; null for other measures.
  PartPlanner(const TaggedModel& model, const ModelCosts& costs, PlanBy by,
              const IdVector<NodeId, std::int64_t>* times);

  // Parts that begin with a module: the largest one as small as possible, then
  // the fewest bytes across. Throws Error(kUsage) if there are too few modules.
  PartPlan InParts(std::size_t parts) const;
  // The fewest parts that fit. Throws Error(kUsage) with the modules that do
  // not fit alone.
  PartPlan Within(std::uint64_t budget) const;

  // The nodes of the first modules, in the order in which they run, that
  // together need no more than `budget`: all nodes of a module or none.
  struct Prefix {
    std::vector<NodeId> nodes;
    std::uint64_t cost = 0;
    ModuleId next = kNo<ModuleId>;  // the first one that does not fit
    std::uint64_t with_next = 0;
  };
  Prefix ModulesWithin(std::uint64_t budget,
                       const std::vector<NodeId>& selected) const;

 private:
  struct Border {
    std::size_t step;
    ModuleId module;  // kNo: the start
  };
  void FindBorders();
  PartPlan Plan(std::size_t parts) const;
  void Sweep();

  const TaggedModel& model_;
  const PlanBy by_;
  sizes::MainRun run_;
  std::vector<Border> borders_;  // the start is the first one
  bool only_outer_ = false;
  sizes::PartCosts costs_;  // of the pieces between borders
};

// "1.31 GB", "23.0 G", "4.2 ms"
std::string CostText(PlanBy by, std::uint64_t cost);
// " by memory for assumed batch=1: 1.2 MB at most, 3.4 kB across"
std::string PlanText(const PartPlan& plan);

}  // namespace onnx_tag
