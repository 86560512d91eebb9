// Tested by tests/app/commands/show_sizes_test.cc.
#include "app/commands/show/memory_view.h"

#include <algorithm>
#include <set>
#include <utility>

#include "app/commands/read/nodes.h"
#include "app/render/render.h"
#include "base/text.h"
#include "core/graph/operators.h"

namespace onnx_tag {
MemoryView::MemoryView(const TaggedModel& model, const ModelCosts& costs)
    : model_(model),
      costs_(costs),
      run_(model.model(), costs.shapes, costs.assumptions.numbers(),
           costs.sizes.weights,
           std::vector<bool>(model.model()[GraphId{0}].nodes.size())),
      live_(run_.Live()),
      is_cache_(model.model().value_count()) {
  for (std::size_t i = 0; i < live_.size(); ++i) {
    if (live_[i] > live_[peak_step_]) peak_step_ = i;
  }
  FindCaches();
}

void MemoryView::AddCache(ValueId value, bool is_input) {
  if (is_cache_[Index(value)]) return;
  is_cache_[Index(value)] = true;
  const sizes::MainRun::Item* const item = run_.Find(value);
  if (item == nullptr) return;
  caches_.push_back({model_.model().ValueName(value), item->bytes, is_input});
}

// An output is a cache if it is an input with more added to it, if an attention
// operator returns it beside its result, or if exporters name it so.
void MemoryView::FindCaches() {
  const Model& model = model_.model();
  const auto is_input = [&](ValueId value) {
    return value != kNo<ValueId> && model[value].is_input &&
           model.InitializerOf(value) == nullptr &&
           model[value].graph == GraphId{0};
  };
  const auto rank_of = [&](ValueId value) -> std::size_t {
    const std::optional<sizes::Shape>& shape = costs_.shapes.Of(value);
    return shape ? shape->size() : 0;
  };
  std::set<std::pair<NodeId, std::size_t>> looked_for;
  for (const ValueId output : model[GraphId{0}].outputs) {
    const NodeId maker =
        output == kNo<ValueId> ? kNo<NodeId> : model.Producer(output);
    if (maker == kNo<NodeId>) continue;
    const OpKinds kinds =
        Describe(FindOp(model.OpType(maker), model.Domain(maker))).kinds;
    const std::string_view name = model.ValueName(output);
    const auto inputs = model.Inputs(maker);
    const bool beside =
        kinds.HasAnyOf(OpKind::kCache) && model.Outputs(maker)[0] != output;
    const bool longer = kinds.HasAnyOf({OpKind::kConcat, OpKind::kScatter}) &&
                        !inputs.empty() && is_input(inputs[0]) &&
                        rank_of(inputs[0]) > 2;
    if (!beside && !longer && !name.starts_with("present") &&
        !name.starts_with("past_key_values")) {
      continue;
    }
    AddCache(output, false);
    // A call may have as many inputs, and results of this name, as the file
    // has values: each rank is looked for once.
    const std::size_t rank = rank_of(output);
    const std::span<const ValueId> asked =
        !beside ? inputs.first(inputs.size() > 0)
        : looked_for.insert({maker, rank}).second ? inputs
                                                  : inputs.first(0);
    for (const ValueId input : asked) {
      if (is_input(input) && rank_of(input) == rank) AddCache(input, true);
    }
  }
  if (caches_.empty()) return;
  for (const ValueId input : model[GraphId{0}].inputs) {
    if (is_input(input) && model.ValueName(input).starts_with("past")) {
      AddCache(input, true);
    }
  }
}

std::uint64_t MemoryView::SumOf(bool is_input) const {
  std::uint64_t sum = 0;
  for (const Cache& cache : caches_) {
    if (cache.is_input == is_input) sum = sizes::CappedSum(sum, cache.bytes);
  }
  return sum;
}

std::vector<std::uint32_t> MemoryView::HeldAtPeak() const {
  std::vector<std::uint32_t> held;
  for (std::uint32_t id = 0; id < run_.items().size(); ++id) {
    const sizes::MainRun::Item& item = run_.items()[id];
    const bool is_made =
        item.maker == sizes::MainRun::kNobody || item.maker <= peak_step_;
    const bool stays = item.maker == sizes::MainRun::kNobody ||
                       item.is_output || item.last >= peak_step_;
    if (!item.is_weight && is_made && stays && item.bytes > 0) {
      held.push_back(id);
    }
  }
  std::stable_sort(held.begin(), held.end(), [&](auto a, auto b) {
    return run_.items()[a].bytes > run_.items()[b].bytes;
  });
  return held;
}

void MemoryView::AddHeader(Result& result) const {
  const std::string dimensions =
      costs_.sizes.dimensions.empty() ? "" : " for " + costs_.sizes.dimensions;
  result.Line("  memory      {} at most beside the weights{}{}",
              BytesText(peak()), dimensions,
              run_.unknown_values() == 0
                  ? ""
                  : ", without " + Count(run_.unknown_values(), "value") +
                        " of unknown size");
  if (!live_.empty()) {
    result.Line(
        "  peak        {}",
        Ours{NodeText(model_.model(), run_.steps()[peak_step_].node, 100)});
  }
  if (!caches_.empty()) {
    result.Line("  caches      {} of earlier tokens, {} returned",
                BytesText(SumOf(true)), BytesText(SumOf(false)));
  }
}

void MemoryView::AddPeak(Result& result) const {
  if (live_.empty()) return;
  constexpr std::size_t kShown = 8;
  const Model& model = model_.model();
  const std::vector<std::uint32_t> held = HeldAtPeak();
  result.Line("\nheld at the peak:");
  for (std::size_t i = 0; i < held.size() && i < kShown; ++i) {
    const sizes::MainRun::Item& item = run_.items()[held[i]];
    result.Line(
        "  {:>9}  {}{}  {}", BytesText(item.bytes),
        Short{model.ValueName(item.value), 100},
        is_cache_[Index(item.value)] ? " (cache)" : "",
        Ours{item.maker == sizes::MainRun::kNobody
                 ? "an input"
                 : "of " +
                       NodeText(model, run_.steps()[item.maker].node, 100)});
  }
  if (held.size() > kShown) {
    std::uint64_t rest = 0;
    for (std::size_t i = kShown; i < held.size(); ++i) {
      rest = sizes::CappedSum(rest, run_.items()[held[i]].bytes);
    }
    result.Line("  {:>9}  {} more", BytesText(rest), held.size() - kShown);
  }
  const std::uint64_t inside = run_.steps()[peak_step_].inside;
  if (inside > 0) {
    const bool copies =
        FindOp(model.OpType(run_.steps()[peak_step_].node)) == Op::kEinsum;
    result.Line("  {:>9}  {}", BytesText(inside),
                copies ? "in copies of operands and result that it makes"
                       : "inside its body");
  }
  result.Line("\nAssumed: {}.", kAssumptions);
}

Datum MemoryView::Data() const {
  // Null for what no node makes.
  const auto node = [&](bool is_made, std::size_t step) {
    return is_made ? NodeValue(model_.model(), run_.steps()[step].node)
                   : Datum();
  };
  return Datum::Object(
      {{"peak", peak()},
       {"peak_node", node(!live_.empty(), peak_step_)},
       {"held", ListOf(HeldAtPeak(),
                       [&](std::uint32_t id) {
                         const sizes::MainRun::Item& item = run_.items()[id];
                         return Datum::Object(
                             {{"value", model_.model().ValueName(item.value)},
                              {"bytes", item.bytes},
                              {"node",
                               node(item.maker != sizes::MainRun::kNobody,
                                    item.maker)}});
                       })},
       {"unknown_values", run_.unknown_values()},
       {"caches", ListOf(caches_,
                         [](const Cache& cache) {
                           return Datum::Object({{"value", cache.name},
                                                 {"bytes", cache.bytes},
                                                 {"input", cache.is_input}});
                         })},
       {"assumptions", kAssumptions}});
}

}  // namespace onnx_tag
