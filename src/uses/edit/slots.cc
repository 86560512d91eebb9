// Tested by tests/app/commands/slots_test.cc and tests/clients/check_slots.py.
#include "uses/edit/slots.h"

#include <fmt/core.h>

#include <initializer_list>
#include <unordered_map>

#include "core/graph/operators.h"
#include "core/tagging/tag_format.h"
#include "file/model/field_kinds.h"
#include "file/model/onnx_fields.h"
#include "file/protobuf/messages.h"
#include "file/wire/encoding.h"

namespace onnx_tag::edit {
namespace {

using onnx::GraphProto;
using onnx::NodeProto;
using onnx::TensorProto;

class SlotEncoder {
 public:
  explicit SlotEncoder(const Model& model) : model_(model) {}

  // The last node of the site under another output, and the nodes behind it.
  std::string Nodes(const Slot& slot, const Slot::Site& site,
                    Bytes last) const {
    const std::string_view result =
        model_.ValueName(model_.Outputs(site.last)[0]);
    const std::string_view product =
        model_.ValueName(model_.Outputs(site.product)[0]);
    const std::string base = NewValue(result, "base");
    const std::string a = NewValue(product, "lora_A");
    const std::string b = NewValue(product, "lora_B");
    std::string encoded;
    wire::AppendLengthDelimited(encoded, GraphProto::kNode,
                                WithOutput(last, base));
    const std::string_view x = model_.ValueName(model_.Inputs(site.product)[0]);
    AddNode(slot, site, Op::kMatMul, "_lora_A", {x, slot.Input("A")}, a,
            encoded);
    AddNode(slot, site, Op::kMatMul, "_lora_B", {a, slot.Input("B")}, b,
            encoded);
    AddNode(slot, site, Op::kAdd, "_lora", {base, b}, result, encoded);
    return encoded;
  }

  static std::string Input(const Slot& slot, std::string_view which,
                           const std::string& rank) {
    const bool is_a = which == "A";
    const std::string name = slot.Input(which);
    std::string tensor;
    for (const std::int64_t dim : {is_a ? slot.in : 0, is_a ? 0 : slot.out}) {
      wire::AppendVarintField(tensor, TensorProto::kDims,
                              static_cast<std::uint64_t>(dim));
    }
    wire::AppendVarintField(tensor, TensorProto::kDataType,
                            static_cast<std::uint64_t>(slot.type));
    wire::AppendLengthDelimited(tensor, TensorProto::kName, name);
    wire::AppendLengthDelimited(tensor, TensorProto::kRawData, "");
    std::string encoded;
    wire::AppendLengthDelimited(encoded, GraphProto::kInitializer, tensor);
    const protobuf::TensorDim open = {-1, rank};
    const protobuf::TensorDim fixed = {is_a ? slot.in : slot.out};
    const protobuf::TensorType type = {
        slot.type,
        {is_a ? std::vector{fixed, open} : std::vector{open, fixed}}};
    wire::AppendLengthDelimited(encoded, GraphProto::kInput,
                                protobuf::BuildValueInfo(name, {}, type));
    return encoded;
  }

 private:
  // Products have different outputs, so only names of the file can be taken.
  std::string NewValue(std::string_view value, std::string_view what) const {
    std::string name = fmt::format("{}_{}", value, what);
    while (model_.FindName(name) != kNo<NameId>) name += '_';
    return name;
  }

  static std::string WithOutput(Bytes node, std::string_view output) {
    std::string encoded;
    wire::FieldReader reader(node);
    for (wire::Field field; reader.Next(field);) {
      if (model::Is(field, NodeProto::kOutput)) {
        wire::AppendLengthDelimited(encoded, NodeProto::kOutput, output);
      } else {
        encoded += field.whole;
      }
    }
    return encoded;
  }

  void AddNode(const Slot& slot, const Slot::Site& site, Op op,
               std::string_view end,
               std::initializer_list<std::string_view> inputs,
               std::string_view output, std::string& encoded) const {
    std::string name(model_[site.product].name);
    if (name.empty()) name = slot.module + "/MatMul";
    std::string node;
    for (const std::string_view input : inputs) {
      wire::AppendLengthDelimited(node, NodeProto::kInput, input);
    }
    wire::AppendLengthDelimited(node, NodeProto::kOutput, output);
    wire::AppendLengthDelimited(node, NodeProto::kName,
                                name + std::string(end));
    wire::AppendLengthDelimited(node, NodeProto::kOpType, Describe(op).name);
    for (const MetadataEntry& entry : model_.Metadata(site.product)) {
      // The name is new: strip has none to restore.
      if (entry.key != keys::kNodeName) node += entry.whole;
    }
    wire::AppendLengthDelimited(encoded, GraphProto::kNode, node);
  }

  const Model& model_;
};

}  // namespace

std::string Slot::Input(std::string_view which) const {
  return fmt::format("{}{}lora_{}.weight", module, module.empty() ? "" : ".",
                     which);
}

NodeId LastOfProduct(const Model& model, NodeId product) {
  const ValueId result = model.Outputs(product)[0];
  const auto readers = model.Consumers(result);
  if (readers.size() != 1 || model[result].is_output ||
      FindOp(model.OpType(readers[0])) != Op::kAdd ||
      model[readers[0]].graph != GraphId{0}) {
    return product;
  }
  for (const ValueId input : model.Inputs(readers[0])) {
    const Initializer* const bias = model.InitializerOf(input);
    if (bias != nullptr && bias->rank == 1) return readers[0];
  }
  return product;
}

void AddSlots(const Model& model, const std::vector<Slot>& slots,
              std::uint64_t rank, GraphEdit& edit, const Release& release) {
  const SlotEncoder encoder(model);
  std::unordered_map<std::uint32_t, std::pair<const Slot*, const Slot::Site*>>
      by_last;
  for (const Slot& slot : slots) {
    for (const Slot::Site& site : slot.sites) {
      by_last[model[site.last].index] = {&slot, &site};
    }
  }
  edit.Keep(
      [&](const GraphEdit::Part& part) {
        // Widths of messages that have other numbers now.
        if (part.kind == GraphEdit::Kind::kMetadata) {
          return part.name != keys::kLayout;
        }
        if (part.kind != GraphEdit::Kind::kNode) return true;
        const auto at = by_last.find(part.index);
        if (at == by_last.end()) return true;
        edit.Insert(part, encoder.Nodes(*at->second.first, *at->second.second,
                                        part.bytes));
        return false;
      },
      release);
  // A name for the rank of each slot: runtimes give sizes of one name one
  // buffer, and ranks may differ.
  for (std::size_t i = 0; i < slots.size(); ++i) {
    std::string name = fmt::format("lora{}_rank", i);
    if (rank > 0) name += fmt::format("_max{}", rank);
    edit.Append(SlotEncoder::Input(slots[i], "A", name) +
                SlotEncoder::Input(slots[i], "B", name));
  }
}

}  // namespace onnx_tag::edit
