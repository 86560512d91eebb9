// Tested by tests/app/commands/slots_test.cc and tests/clients/check_slots.py.

#include "uses/edit/slots.h"

#include <algorithm>
#include <map>
#include <set>

#include "app/commands/output/destinations.h"
#include "app/commands/read/nodes.h"
#include "app/commands/write/new_models.h"
#include "app/render/render.h"
#include "base/lists.h"
#include "core/graph/operators.h"
#include "core/hierarchy/name_parts.h"
#include "file/model/attributes.h"
#include "file/model/element_types.h"
#include "onnx_tag/error.h"
#include "uses/weights/use_reader.h"
#include "uses/weights/weight_map.h"

namespace onnx_tag {
namespace {

using edit::Slot;
using weights::Use;
using weights::Weight;

struct Refused {
  std::string module;
  NodeId node;
  std::string why;
};

struct Slots {
  std::vector<Slot> list;  // in the order of the file
  std::vector<Refused> refused;
};

class SlotFinder {
 public:
  SlotFinder(const Model& model, const Tagging& tagging)
      : model_(model), tagging_(tagging), ops_(model), uses_(model, ops_) {}

  Slots Find(const std::vector<NodeId>& selected) {
    IdVector<NodeId, bool> is_selected(model_.node_count(), false);
    for (const NodeId node : selected) is_selected[node] = true;
    // Every call of a module gets its adapter, as in PyTorch.
    std::map<std::string, bool> wanted;
    const std::vector<Weight> list = weights::MapWeights(model_, tagging_);
    const auto each = [&](const auto& use_product) {
      for (const Weight& weight : list) {
        if (weight.parameters.empty()) continue;
        const auto& tensor = model_.initializers()[weight.initializer];
        for (const Use& use : uses_.Of(tensor.value)) {
          if (IsOfWeight(use)) use_product(weight, tensor, use);
        }
      }
    };
    each([&](const Weight& weight, const Initializer&, const Use& use) {
      wanted[ModuleOf(weight, use)] |= is_selected[use.node];
    });
    each([&](const Weight& weight, const Initializer& tensor, const Use& use) {
      const std::string module = ModuleOf(weight, use);
      if (wanted.at(module)) Add(module, weight, tensor, use);
    });
    std::set<std::string_view> refused;
    for (const Refused& one : slots_.refused) refused.insert(one.module);
    std::erase_if(slots_.list, [&](const Slot& slot) {
      return refused.contains(slot.module);
    });
    SortBy(slots_.list, [](const Slot& slot) { return slot.sites[0].product; });
    return std::move(slots_);
  }

 private:
  bool IsOfWeight(const Use& use) const {
    switch (use.operand) {
      case Operand::kWeight:
      case Operand::kMatrix:
      case Operand::kQuantized:
      case Operand::kQkvWeight:
      case Operand::kGatesIn:
        return ops_.Is(use.node, {OpKind::kProduct, OpKind::kConvolution,
                                  OpKind::kRecurrent, OpKind::kAttention});
      default:
        return false;
    }
  }

  // A tied weight has several owners: the node says which is meant.
  std::string ModuleOf(const Weight& weight, const Use& use) const {
    const Tag& tag = tagging_.tags[use.node];
    const std::string own =
        tag.tagged() ? tagging_.modules.Path(tag.module) : "";
    if (Holds(weight, own) || weight.parameters.size() > 1) return own;
    std::string_view only = weight.parameters[0];
    return hierarchy::ConsumeSuffix(only, ".weight") ? std::string(only) : own;
  }
  static bool Holds(const Weight& weight, const std::string& module) {
    return IsAmong(weights::Join(module, "weight"), weight.parameters);
  }

  std::string WhyNot(const std::string& module, const Weight& weight,
                     const Initializer& tensor, const Use& use) const {
    const Bytes node = model_.NodeBytes(use.node);
    const auto alpha = FindAttribute(node, "alpha");
    if (ops_.Is(use.node, OpKind::kConvolution)) return "is a convolution";
    if (!IsFloat(tensor.data_type)) return "is quantized";
    if (ops_[use.node] != Op::kMatMul && ops_[use.node] != Op::kGemm) {
      return Message("is {}, not MatMul or Gemm", model_.OpType(use.node));
    }
    if (model_[use.node].graph != GraphId{0}) {
      return "is in a branch, a loop body or a local function";
    }
    if (tensor.rank != 2 || use.slot != 1 || use.sliced || use.dequantized) {
      return "its weight is not one whole matrix on the right";
    }
    if (IntAttribute(node, "transA", 0) != 0 ||
        (alpha && alpha->real.value_or(1) != 1)) {
      return "has transA or alpha";
    }
    if (!Holds(weight, module)) {
      return Message("its weight holds {}",
                     Short{Join(weight.parameters), 300});
    }
    if (weight.confidence == Confidence::kLow) {
      return "its weight has a name of low confidence";
    }
    return "";
  }

  void Add(const std::string& module, const Weight& weight,
           const Initializer& tensor, const Use& use) {
    std::string why = WhyNot(module, weight, tensor, use);
    if (!why.empty()) {
      slots_.refused.push_back({module, use.node, std::move(why)});
      return;
    }
    const auto dims = model_.Dims(tensor);
    const bool turned =
        use.transposed !=
        (IntAttribute(model_.NodeBytes(use.node), "transB", 0) != 0);
    Slot slot = {module,
                 {{use.node, edit::LastOfProduct(model_, use.node)}},
                 dims[turned ? 1 : 0],
                 dims[turned ? 0 : 1],
                 tensor.data_type};
    const auto [at, is_new] = by_module_.emplace(module, slots_.list.size());
    if (is_new) {
      if (model_.FindName(slot.Input("A")) != kNo<NameId> ||
          model_.FindName(slot.Input("B")) != kNo<NameId>) {
        slots_.refused.push_back({module, use.node, "has an adapter already"});
      }
      slots_.list.push_back(std::move(slot));
      return;
    }
    Slot& known = slots_.list[at->second];
    if (known.in != slot.in || known.out != slot.out ||
        known.type != slot.type) {
      slots_.refused.push_back(
          {module, use.node, "its calls have weights of different shapes"});
    }
    known.sites.push_back(slot.sites[0]);
  }

  const Model& model_;
  const Tagging& tagging_;
  const Operators ops_;
  const weights::Uses uses_;
  Slots slots_;
  std::map<std::string, std::size_t> by_module_;
};

Facts SlotFacts(const Slot& slot) {
  return {{{"module", "module"}, Datum::Module(slot.module)},
          {{"in", "in"}, slot.in},
          {{"out", "out"}, slot.out},
          {{.key = "type", .heading = "type", .width = 8}, TypeName(slot.type)},
          {{"products", "products"}, slot.sites.size()},
          {{"a", "a", For::kPrograms}, slot.Input("A")},
          {{"b", "b", For::kPrograms}, slot.Input("B")}};
}

}  // namespace

Result LoraSlots(const WeightsOptions& options, Terminal& terminal) {
  const Selection selection =
      SelectNodes(options, options.lora_slots, terminal);
  const TaggedModel& model = selection.model;
  const ModelFile& file = ModelToWrite(model, options.model);
  if (file.model().ir_version() < edit::kLeastIrOfSlots) {
    Fail(ErrorKind::kInput,
         "{}: has IR version {}; optional inputs need {}\n  set ir_version to "
         "{} with Python's onnx package, or export it again",
         options.model, file.model().ir_version(), edit::kLeastIrOfSlots,
         edit::kLeastIrOfSlots);
  }
  const Slots slots = file.Map([&](const Model& graph) {
    return SlotFinder(graph, model.tagging()).Find(selection.nodes);
  });
  Result result;
  std::vector<NodeId> products;
  for (const Slot& slot : slots.list) {
    for (const Slot::Site& site : slot.sites) products.push_back(site.product);
  }
  std::sort(products.begin(), products.end());
  const auto lines = Mapped(slots.refused, [](const Refused& one) {
    return Message("{}: {}", ShownPath(one.module), one.why);
  });
  if (products.empty()) {
    result.Finding(
        "{}: no product of a weight that can have slots is selected{}",
        options.model, Ours{ListLines(lines)});
    return result;
  }
  if (!MayRestOn(products, model, options, terminal, result)) {
    return result;
  }
  edit::GraphEdit edit(file.model());
  edit::AddSlots(file.model(), slots.list, options.rank, edit,
                 ReleaserOf(file));
  edit.Finish();
  result.Line("{}: {} at {}", options.model, Count(slots.list.size(), "slot"),
              Count(products.size(), "product"));
  const std::string path =
      ModelDestination(options.model, options.write, "slots");
  WriteNewModel(file, model.inputs(), options.write, terminal,
                ModelOf(edit, path), result);
  if (!lines.empty()) {
    result.Line("{} cannot have slots{}", Count(lines.size(), "product"),
                Ours{ListLines(lines)});
  }
  const Table table = TableOf(slots.list, SlotFacts);
  result.rows.push_back(table);
  result.Line("");
  result.Add(table);
  result.data = Datum::Object(
      {{"file", options.model},
       {"output", path},
       {"rank", options.rank == 0 ? Datum() : Datum(options.rank)},
       {"slots", table},
       {"refused", ListOf(slots.refused, [&](const Refused& one) {
          return Datum::Object({{"module", one.module},
                                {"node", file.model().Address(one.node)},
                                {"op", file.model().OpType(one.node)},
                                {"why", one.why}});
        })}});
  return result;
}

}  // namespace onnx_tag
