#include <fmt/core.h>

#include <algorithm>
#include <unordered_set>
#include <utility>

#include "app/commands/commands.h"
#include "app/commands/output/destinations.h"
#include "app/commands/read/modules.h"
#include "app/commands/read/nodes.h"
#include "app/commands/write/new_models.h"
#include "app/render/render.h"
#include "base/glob.h"
#include "base/lists.h"
#include "core/graph/graph_facts.h"
#include "core/graph/neighbours.h"
#include "core/graph/order.h"
#include "core/graph/walk.h"
#include "core/hierarchy/roll_up.h"
#include "file/model/element_types.h"
#include "file/model/onnx_fields.h"
#include "file/protobuf/messages.h"
#include "file/wire/encoding.h"
#include "uses/edit/graph_edit.h"
#include "uses/edit/part.h"
#include "uses/sizes/formulas.h"

namespace onnx_tag {
namespace {

// What goes into each module and what comes out of it: values of the main
// graph that cross the module's border.
class ModuleValues {
 public:
  // Takes time in edges and the depth of the module tree.
  ModuleValues(const Model& model, const Tagging& tagging,
               const sizes::Shapes& shapes)
      : model_(model),
        tagging_(tagging),
        shapes_(shapes),
        outputs_(tagging.modules.size()),
        inputs_(tagging.modules.size()),
        places_(tagging.modules.size()) {
    FindPlaces();
    FindMembers();
    FindOutputs();
    FindInputs();
    PreferData(outputs_);
    PreferData(inputs_);
    PutResultsFirst();
  }

  // The module's result first: of the values that others read, the one made
  // last. Then the others in the order in which they are made. Masks, sizes and
  // constants are left out where the module has other values.
  const std::vector<ValueId>& Outputs(ModuleId id) const {
    return outputs_[id];
  }
  // In the order in which they are first read, without masks, sizes and
  // constants likewise.
  const std::vector<ValueId>& Inputs(ModuleId id) const { return inputs_[id]; }

  // Where the nodes of the module and of those below it are. Only values of the
  // main graph can be graph outputs.
  struct Places {
    bool main = false;
    bool subgraph = false;
    bool function = false;
  };
  const Places& PlacesOf(ModuleId id) const { return places_[id]; }

 private:
  using Lists = IdVector<ModuleId, std::vector<ValueId>>;

  void FindPlaces() {
    for (const NodeId node : model_.Nodes()) {
      if (!tagging_.tags[node].tagged()) continue;
      Places& places = places_[tagging_.tags[node].module];
      const Graph* graph = &model_[model_[node].graph];
      bool inside = false;
      while (graph->kind == GraphKind::kSubgraph) {
        inside = true;
        graph = &model_[graph->parent];
      }
      places.function |= graph->kind == GraphKind::kFunction;
      places.subgraph |= inside;
      places.main |= graph->kind == GraphKind::kMain && !inside;
    }
    RollUp(tagging_.modules, places_, [](Places& around, const Places& places) {
      around.main |= places.main;
      around.subgraph |= places.subgraph;
      around.function |= places.function;
    });
  }

  // A module ends with nodes that have evidence. A node that takes their result
  // apart, such as a Split of torch.chunk without metadata, may be its
  // caller's: so it is if only nodes outside, or a further call of the module,
  // read it.
  void FindMembers() {
    const ModuleTree& tree = tagging_.modules;
    IdVector<ModuleId, NodeId> first(tree.size(), kNo<NodeId>);
    for (const NodeId node : model_.Nodes()) {
      const Tag& tag = tagging_.tags[node];
      is_member_.Add(tag.tagged());
      if (!tag.tagged()) continue;
      if (first[tag.module] == kNo<NodeId>) first[tag.module] = node;
      const ValueId input = FirstInput(model_, node);
      if (tag.confidence > Confidence::kLow ||
          tag.source == Source::kStructure || tag.module == ModuleTree::kRoot ||
          model_.Outputs(node).size() < 2 || input == kNo<ValueId> ||
          !Describe(FindOp(model_.OpType(node)))
               .kinds.HasAnyOf(OpKind::kSlice)) {
        continue;
      }
      const NodeId maker = model_.Producer(input);
      is_member_[node] = maker == kNo<NodeId> ||
                         !tagging_.tags[maker].tagged() ||
                         tagging_.tags[maker].confidence == Confidence::kLow;
    }
    for (const NodeId node : model_.Nodes()) {
      const Tag& tag = tagging_.tags[node];
      if (is_member_[node] || !tag.tagged()) continue;
      for (const NodeId reader : Readers(model_, node)) {
        const Tag& read = tagging_.tags[reader];
        is_member_[node] =
            is_member_[node] || (read.tagged() && first[read.module] > node &&
                                 tree.IsAncestor(tag.module, read.module));
      }
    }
  }

  ModuleId ModuleOf(NodeId node) const {
    return is_member_[node] ? tagging_.tags[node].module : ModuleTree::kRoot;
  }

  // A value leaves every module from its maker's up to the first that holds all
  // of its readers, too.
  void FindOutputs() {
    const ModuleTree& tree = tagging_.modules;
    for (const NodeId node : model_[GraphId{0}].nodes) {
      if (!is_member_[node]) continue;
      const ModuleId maker = tagging_.tags[node].module;
      for (const ValueId value : model_.Outputs(node)) {
        if (value == kNo<ValueId>) continue;
        ModuleId around = maker;
        for (const NodeId reader : model_.Consumers(value)) {
          around = tree.CommonAncestor(around, ModuleOf(reader));
        }
        const bool returned = model_[value].is_output;
        for (ModuleId id = maker; id != kNo<ModuleId>; id = tree.Parent(id)) {
          if (!returned && tree.Depth(id) <= tree.Depth(around)) break;
          outputs_[id].push_back(value);
        }
      }
    }
  }

  void FindInputs() {
    const ModuleTree& tree = tagging_.modules;
    for (const NodeId node : model_[GraphId{0}].nodes) {
      if (!is_member_[node]) continue;
      const ModuleId reader = tagging_.tags[node].module;
      for (const ValueId value : edit::ReadsOf(model_, node)) {
        if (model_.InitializerOf(value) != nullptr) continue;
        const NodeId maker = model_.Producer(value);
        const ModuleId around =
            maker == kNo<NodeId> ? ModuleTree::kRoot
                                 : tree.CommonAncestor(reader, ModuleOf(maker));
        for (ModuleId id = reader; tree.Depth(id) > tree.Depth(around);
             id = tree.Parent(id)) {
          inputs_[id].push_back(value);
        }
      }
    }
    // Each once, where it is first read. A module may have as many inputs as
    // the file has nodes: they are marked, not searched.
    IdVector<ValueId, ModuleId> listed(model_.value_count(), kNo<ModuleId>);
    for (const ModuleId id : AllIds<ModuleId>(inputs_.size())) {
      std::erase_if(inputs_[id], [&](ValueId value) {
        return std::exchange(listed[value], id) == id;
      });
    }
  }

  // Leaves out what is not preferred, where a list has something that is.
  template <typename IsPreferred>
  static void Prefer(Lists& lists, IsPreferred is_preferred) {
    for (std::vector<ValueId>& list : lists) {
      if (std::none_of(list.begin(), list.end(), is_preferred)) continue;
      list.erase(
          std::remove_if(list.begin(), list.end(),
                         [&](ValueId value) { return !is_preferred(value); }),
          list.end());
    }
  }

  // A mask depends on data of an input, but it is not what the module computes.
  bool IsMask(ValueId value) const {
    const NodeId maker = model_.Producer(value);
    if (maker == kNo<NodeId> || !tagging_.tags[maker].tagged()) return false;
    const RoleType type = tagging_.roles[tagging_.tags[maker].role].type;
    return type == RoleType::kMask || type == RoleType::kShape ||
           type == RoleType::kConstant;
  }

  void PreferData(Lists& lists) const {
    const GraphFacts graph(model_);
    const auto quantizer_of = [&](ValueId value) {
      const NodeId maker = model_.Producer(value);
      return maker != kNo<NodeId> && graph.ops.Is(maker, {OpKind::kQuantizer})
                 ? maker
                 : kNo<NodeId>;
    };
    Prefer(lists, [&](ValueId value) { return graph.data.Contains(value); });
    // Not the scale and the zero point that a quantizer gives beside its
    // result.
    Prefer(lists, [&](ValueId value) {
      const NodeId quantizer = quantizer_of(value);
      return quantizer == kNo<NodeId> || model_.Outputs(quantizer)[0] == value;
    });
    // A result may be on 8 bits; wider integers are indices and sums.
    Prefer(lists, [&](ValueId value) {
      const std::int32_t type = shapes_.TypeOf(value);
      return type != kBool && (!IsInteger(type) || BitsPerElement(type) <= 8);
    });
    Prefer(lists, [&](ValueId value) { return !IsMask(value); });
    // What is there before a quantizer is not listed again behind it.
    IdVector<ValueId, std::size_t> listed(model_.value_count(), 0);
    std::size_t number = 0;
    for (std::vector<ValueId>& list : lists) {
      ++number;
      for (const ValueId value : list) listed[value] = number;
      std::erase_if(list, [&](ValueId value) {
        const NodeId quantizer = quantizer_of(value);
        if (quantizer == kNo<NodeId>) return false;
        const ValueId input = FirstInput(model_, quantizer);
        return input != kNo<ValueId> && listed[input] == number;
      });
    }
  }

  // What the first layer makes for all layers, such as a mask or an activated
  // embedding, is made before the layer's own result.
  void PutResultsFirst() {
    IdVector<NodeId, std::uint32_t> made(model_.node_count(), 0);
    std::uint32_t count = 0;
    for (const NodeId node : ExecutionOrder(model_, GraphId{0})) {
      made[node] = ++count;
    }
    for (std::vector<ValueId>& list : outputs_) {
      // Of the results of one node, the first is the main one.
      const auto last =
          std::max_element(list.begin(), list.end(), [&](ValueId a, ValueId b) {
            return made[model_.Producer(a)] < made[model_.Producer(b)];
          });
      if (last != list.end()) std::rotate(list.begin(), last, last + 1);
    }
  }

  const Model& model_;
  const Tagging& tagging_;
  const sizes::Shapes& shapes_;
  Lists outputs_;
  Lists inputs_;
  IdVector<ModuleId, Places> places_;
  IdVector<NodeId, bool> is_member_;  // of the module that its tag names
};
// ---------------------------------------------------------------- taps
// A value that becomes an output of the graph.
struct Tap {
  ModuleId module;
  ValueId value;
  std::string output;  // the name of the new output
  bool is_new;         // false: the value was an output before
};

struct Skipped {
  ModuleId module;
  std::string why;  // and what to do
};

struct Taps {
  std::vector<Tap> list;
  std::vector<Skipped> skipped;
};

// By module, whether the user names it. Names without wildcards are looked up:
// a script may give as many as there are modules.
IdVector<ModuleId, bool> Asked(const ModuleTree& tree,
                               const TapOptions& options) {
  IdVector<ModuleId, bool> asked(tree.size(), false);
  for (const std::string& word : options.modules) {
    if (HasWildcards(word)) {
      for (const ModuleId id : tree.All()) {
        if (MatchesPattern(word, tree.Path(id), '.')) asked[id] = true;
      }
    } else {
      asked[FindModule(tree, word, options.model)] = true;
    }
  }
  return asked;
}

// The name of a new output: after the module.
std::string NameOfTap(const std::string& module, bool input,
                      std::size_t number) {
  return fmt::format("{}{}{}", ShownPath(module), input ? ".input" : "",
                     number > 0 ? fmt::format(":{}", number) : "");
}

std::string WhySkipped(const ModuleValues& values, const ModuleTree& tree,
                       ModuleId id, bool inputs) {
  const ModuleValues::Places& places = values.PlacesOf(id);
  if (places.main) {
    return inputs ? "it has no inputs" : "it has no outputs";
  }
  if (places.function) {
    return "its nodes are in a local function, and only values of the main "
           "graph can be outputs: inline the functions first, for example with "
           "onnx.inliner.inline_local_functions";
  }
  if (!places.subgraph) return "it has no nodes";
  std::string why =
      "its nodes are in a branch or a loop body, and only values of the main "
      "graph can be outputs";
  for (ModuleId around = tree.Parent(id); around != kNo<ModuleId>;
       around = tree.Parent(around)) {
    if (!(inputs ? values.Inputs(around) : values.Outputs(around)).empty()) {
      why += ": tap the module around it, " + tree.Shown(around);
      break;
    }
  }
  return why;
}

Taps FindTaps(const TapOptions& options, const Model& model,
              const Tagging& tagging, const sizes::Shapes& shapes) {
  const ModuleValues values(model, tagging, shapes);
  edit::FreeNames names(model);
  const IdVector<ModuleId, bool> asked = Asked(tagging.modules, options);
  Taps taps;
  for (const ModuleId id : tagging.modules.All()) {
    if (!asked[id]) continue;
    const std::string path = tagging.modules.Path(id);
    const std::vector<ValueId>& list =
        options.inputs ? values.Inputs(id) : values.Outputs(id);
    if (list.empty()) {
      taps.skipped.push_back(
          {id, WhySkipped(values, tagging.modules, id, options.inputs)});
      continue;
    }
    for (std::size_t i = 0; i < list.size(); ++i) {
      taps.list.push_back({id, list[i],
                           names.Take(NameOfTap(path, options.inputs, i)),
                           !model[list[i]].is_output});
    }
  }
  return taps;
}

// The new outputs, and the nodes that give them their names.
std::string EncodeTaps(const Taps& taps, const Model& model,
                       const sizes::Shapes& shapes,
                       const edit::GraphEdit& edit) {
  std::string encoded;
  for (const Tap& tap : taps.list) {
    const std::string_view value = model.ValueName(tap.value);
    wire::AppendLengthDelimited(encoded, onnx::GraphProto::kNode,
                                protobuf::BuildIdentity("", value, tap.output));
    wire::AppendLengthDelimited(
        encoded, onnx::GraphProto::kOutput,
        protobuf::BuildValueInfo(tap.output, edit.InfoOf(value),
                                 edit::TensorTypeOf(shapes, tap.value)));
  }
  return encoded;
}

// "float32 [batch, 8, 32]"; only the type if the rank is unknown.
std::string TypeAndShape(const sizes::Shapes& shapes, ValueId value) {
  std::string text(TypeName(shapes.TypeOf(value)));
  if (!shapes.Of(value)) return text;
  const auto size = [&](sizes::Dim dim) {
    return sizes::FormulaText(shapes.formulas(), dim);
  };
  return fmt::format("{}{}[{}]", text, text.empty() ? "" : " ",
                     Join(Mapped(*shapes.Of(value), size)));
}

void AddText(const Taps& taps, const TaggedModel& model,
             const sizes::Shapes& shapes, const TapOptions& options,
             Result& result) {
  const ModuleTree& tree = model.tagging().modules;
  std::unordered_set<ModuleId> modules;
  for (const Tap& tap : taps.list) modules.insert(tap.module);
  result.Line("{}: {} of {}", ShownInput(options.model),
              Count(taps.list.size(), options.inputs ? "input" : "output"),
              Count(modules.size(), "module"));
  for (const Tap& tap : taps.list) {
    const std::string_view name = tree.Class(tap.module);
    const std::string shape = TypeAndShape(shapes, tap.value);
    result.Line("  {}  {}{}{}{}", Short{tap.output, 200},
                name.empty() ? "-" : name, shape.empty() ? "" : "  ",
                Short{shape, 200},
                tap.is_new ? "" : "  (an output of the graph, too)");
  }
}

// Numbers, and formulas as text; null if the rank is unknown.
Datum ShapeDatum(const sizes::Shapes& shapes, ValueId value) {
  if (!shapes.Of(value)) return Datum();
  return ListOf(*shapes.Of(value), [&](sizes::Dim dim) {
    return dim.IsNumber() ? Datum(dim.number())
                          : Datum(sizes::FormulaText(shapes.formulas(), dim));
  });
}

Datum Data(const Taps& taps, const TaggedModel& model,
           const sizes::Shapes& shapes, const std::string& output,
           const TapOptions& options) {
  const ModuleTree& tree = model.tagging().modules;
  const Model& file = model.model();
  const auto tapped = [&](const Tap& tap) {
    const NodeId maker = file.Producer(tap.value);
    return Datum::Object(
        {{"module", tree.Path(tap.module)},
         {"class", Datum::OrNull(tree.Class(tap.module))},
         {"output", tap.output},
         {"value", file.ValueName(tap.value)},
         {"type", TypeNameOrUnknown(shapes.TypeOf(tap.value))},
         {"shape", ShapeDatum(shapes, tap.value)},
         {"node", maker == kNo<NodeId> ? Datum() : Datum(file[maker].index)},
         {"new", tap.is_new}});
  };
  const auto skipped = [&](const Skipped& one) {
    return Datum::Object({{"module", tree.Path(one.module)}, {"why", one.why}});
  };
  return Datum::Object({{"file", options.model},
                        {"output", output},
                        {"taps", ListOf(taps.list, tapped)},
                        {"skipped", ListOf(taps.skipped, skipped)}});
}

void WarnOfUntypedTaps(const Taps& taps, const Model& model,
                       const sizes::Shapes& shapes, const edit::GraphEdit& edit,
                       const std::string& path, Terminal& terminal) {
  std::vector<edit::PartValue> values;
  for (const Tap& tap : taps.list) {
    const protobuf::TensorType type = edit::TensorTypeOf(shapes, tap.value);
    values.push_back({tap.output, type,
                      protobuf::IsCompleteInfo(
                          edit.InfoOf(model.ValueName(tap.value)), type)});
  }
  WarnOfUntyped(path, values, terminal);
}

}  // namespace

Result RunTap(const TapOptions& options, Terminal& terminal) {
  const TaggedModel model = TaggedModel::Load(options, terminal);
  const ModelFile& file = ModelToWrite(model, options.model);
  const sizes::Shapes shapes = ShapesOf(file);
  const Taps taps = FindTaps(options, file.model(), model.tagging(), shapes);
  for (const Skipped& skipped : taps.skipped) {
    terminal.Note("{}: {}: {}", ShownInput(options.model),
                  model.tagging().modules.Shown(skipped.module), skipped.why);
  }
  Result result;
  if (taps.list.empty()) {
    result.Finding(
        "{}: no module matches, or it has no {}\n  see the modules with: "
        "onnx-tag show "
        "MODEL",
        options.model, options.inputs ? "inputs" : "outputs");
    return result;
  }
  std::vector<NodeId> tapped;
  for (const Tap& tap : taps.list) {
    const NodeId maker = file.model().Producer(tap.value);
    if (maker != kNo<NodeId>) tapped.push_back(maker);
  }
  // A value is that of every module that it leaves.
  SortUnique(tapped);
  if (!MayRestOn(tapped, model, options, terminal, result)) {
    return result;
  }
  edit::GraphEdit edit(file.model());
  edit.Keep([](const edit::GraphEdit::Part&) { return true; },
            ReleaserOf(file));
  edit.Append(EncodeTaps(taps, file.model(), shapes, edit));
  edit.Finish();
  WarnOfUntypedTaps(taps, file.model(), shapes, edit, options.model, terminal);

  AddText(taps, model, shapes, options, result);
  const std::string path =
      ModelDestination(options.model, options.write, "tapped");
  WriteNewModel(file, model.inputs(), options.write, terminal,
                ModelOf(edit, path), result);
  result.data = Data(taps, model, shapes, path, options);
  return result;
}

}  // namespace onnx_tag
