#include "uses/sizes/module_sizes.h"

#include <algorithm>
#include <span>
#include <unordered_map>
#include <utility>

#include "core/graph/constant_weights.h"
#include "core/hierarchy/roll_up.h"
#include "core/tagging/parameter_counts.h"
#include "file/model/tensor_data.h"

namespace onnx_tag::sizes {
namespace {

// A function's body is followed through calls of other modules for at most so
// many nodes, in times of the nodes of the file; beyond, as it is tagged.
constexpr std::size_t kMostFollowed = 8;

// Calls `use` with the FLOPs and results of each node in each module that runs
// it: a node of a function's body in the modules of all calls.
template <typename Use>
void ForEachRun(const Model& model, const Tagging& tagging, Shapes& shapes,
                const Use& use) {
  using RunId = Shapes::RunId;
  const CallModules modules(model, tagging);
  const FunctionCalls& calls = modules.calls();
  Formulas& formulas = shapes.formulas();
  std::size_t left = kMostFollowed * model.node_count();
  // By run: how often it happens, by the module that calls its function.
  std::unordered_map<RunId, std::map<ModuleId, Dim>> times;
  for (std::size_t i = shapes.order().size(); i-- > 0;) {
    const RunId id = shapes.order()[i];
    const Shapes::Run& run = shapes[id];
    const FunctionId function = calls.OwnerOf(run.graph);
    auto by_call = std::move(times[id]);
    times.erase(id);
    if (model[run.graph].kind == GraphKind::kMain) by_call[kNo<ModuleId>] = 1;
    for (const auto& entry : by_call) {
      const auto& [call, count] = entry;
      ModuleId tagged = kNo<ModuleId>;
      ModuleId module = kNo<ModuleId>;
      const auto module_of = [&](NodeId node) {
        const ModuleId own = tagging.tags[node].module;
        if (own != std::exchange(tagged, own)) {
          module = function == kNo<FunctionId>
                       ? own
                       : modules.In(function, entry.first, own);
        }
        return module;
      };
      for (const auto& [inside, repeated, node] : run.inside) {
        ModuleId caller =
            calls.Of(node) == kNo<FunctionId> ? call : module_of(node);
        auto& counts = times[inside];
        const std::size_t nodes = model[shapes[inside].graph].nodes.size();
        if (!counts.contains(caller)) {
          if (nodes > left) caller = kNo<ModuleId>;
          left -= std::min(left, nodes);
        }
        Dim& sum = counts.try_emplace(caller, 0).first->second;
        sum = formulas.Plus(sum, formulas.Times(count, repeated));
      }
      if (run.flops.empty()) continue;  // not inferred: nothing is known
      for (const NodeId node : model[run.graph].nodes) {
        const std::uint32_t index = model[node].index;
        use(node, module_of(node), formulas.Times(run.flops[index], count),
            formulas.Times(run.written[index], count));
      }
    }
  }
}

}  // namespace

Sums& Sums::operator+=(const Sums& other) {
  parameters = CappedSum(parameters, other.parameters);
  bytes = CappedSum(bytes, other.bytes);
  flops = CappedSum(flops, other.flops);
  unknown_flops += other.unknown_flops;
  written = CappedSum(written, other.written);
  return *this;
}

IdVector<ModuleId, Sums> ModelSizes::Totals(const ModuleTree& tree) const {
  IdVector<ModuleId, Sums> totals = own;
  RollUp(tree, totals);
  return totals;
}

namespace {

std::vector<Weight> FindWeights(const Model& model, const Tagging& tagging) {
  std::vector<Weight> weights;
  const WeightOwners owners(model, tagging);
  const auto add = [&](ValueId value, std::int32_t data_type,
                       std::uint64_t elements) {
    if (elements == 0) return;
    weights.push_back({value, owners.Of(value), data_type, elements,
                       CountBytes(elements, data_type)});
  };
  for (const Initializer& tensor : model.initializers()) {
    add(tensor.value, tensor.data_type, CountElements(model.Dims(tensor)));
  }
  for (const ConstantWeight& tensor : FindConstantWeights(model)) {
    add(tensor.value, tensor.data_type, tensor.elements);
  }
  return weights;
}

}  // namespace

void ForEachCost(const Model& model, const Tagging& tagging, Shapes& shapes,
                 const Assumptions& assumptions,
                 const std::vector<Weight>& weights,
                 const std::function<void(const Cost&)>& use) {
  for (const Weight& weight : weights) {
    const std::span<const NodeId> readers = model.Consumers(weight.value);
    const auto tagged = std::find_if(
        readers.begin(), readers.end(),
        [&](NodeId reader) { return tagging.tags[reader].tagged(); });
    use({tagged != readers.end() ? *tagged
         : readers.empty()       ? kNo<NodeId>
                                 : readers.front(),
         weight.module,
         {.parameters = weight.elements, .bytes = weight.bytes}});
  }
  const Evaluation& numbers = assumptions.numbers();
  for (const NodeId node : model.Nodes()) {
    if (CountOf(numbers(shapes.Flops(node)))) continue;
    use({node, tagging.tags[node].module, {.unknown_flops = 1}});
  }
  const auto part = [&](Dim of, Dim whole) {
    return CountOf(numbers(whole)) ? CountOf(numbers(of)).value_or(kOver) : 0;
  };
  ForEachRun(model, tagging, shapes,
             [&](NodeId node, ModuleId module, Dim flops, Dim written) {
               use({node,
                    module,
                    {.flops = part(flops, shapes.Flops(node)),
                     .written = part(written, shapes.Written(node))}});
             });
}

ModelSizes CountSizes(const Model& model, const Tagging& tagging,
                      Shapes& shapes, const Assumptions& assumptions) {
  ModelSizes sizes;
  sizes.dimensions = assumptions.Text();
  sizes.own.resize(tagging.modules.size());
  sizes.flops.resize(model.node_count());
  sizes.weights = FindWeights(model, tagging);
  for (const Weight& weight : sizes.weights) {
    if (weight.bytes == 0) continue;
    std::uint64_t& sum = sizes.bytes_by_type[TypeName(weight.data_type)];
    sum = CappedSum(sum, weight.bytes);
  }
  for (const NodeId node : model.Nodes()) {
    sizes.flops[node] = assumptions.numbers()(shapes.Flops(node));
  }
  ForEachCost(model, tagging, shapes, assumptions, sizes.weights,
              [&](const Cost& cost) {
                (cost.module == kNo<ModuleId> ? sizes.untagged
                                              : sizes.own[cost.module]) +=
                    cost.sums;
              });
  sizes.all = sizes.untagged;
  for (const Sums& sums : sizes.own) sizes.all += sums;
  return sizes;
}

ModelFormulas SumFormulas(const Model& model, const Tagging& tagging,
                          Shapes& shapes) {
  struct Sum {
    FormulaSum flops, written;
  };
  Formulas& formulas = shapes.formulas();
  const ModuleTree& tree = tagging.modules;
  // The last is for nodes without a module.
  std::vector<Sum> sums(tree.size() + 1,
                        {FormulaSum(formulas), FormulaSum(formulas)});
  ForEachRun(model, tagging, shapes,
             [&](NodeId node, ModuleId module, Dim flops, Dim written) {
               Sum& sum =
                   module == kNo<ModuleId> ? sums.back() : sums[Index(module)];
               if (shapes.Flops(node).known()) sum.flops.Add(flops);
               if (shapes.Written(node).known()) sum.written.Add(written);
             });
  ModelFormulas result;
  result.untagged = {sums.back().flops.Total(), sums.back().written.Total()};
  for (std::size_t i = 0; i < tree.size(); ++i) {
    result.own.Add({sums[i].flops.Total(), sums[i].written.Total()});
  }
  const auto add = [&](FormulaSums& to, const FormulaSums& from) {
    to.flops = formulas.Plus(to.flops, from.flops);
    to.written = formulas.Plus(to.written, from.written);
  };
  result.totals = result.own;
  RollUp(tree, result.totals, add);
  result.all = result.untagged;
  if (tree.size() > 0) add(result.all, result.totals[ModuleTree::kRoot]);
  return result;
}

}  // namespace onnx_tag::sizes
