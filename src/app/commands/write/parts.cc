// The commands that cut a model: `extract` and `split`.
#include <fmt/core.h>

#include <algorithm>
#include <memory>
#include <optional>
#include <set>

#include "app/commands/commands.h"
#include "app/commands/output/data_names.h"
#include "app/commands/output/destinations.h"
#include "app/commands/profile/kernels.h"
#include "app/commands/read/closed_cut.h"
#include "app/commands/read/modules.h"
#include "app/commands/read/nodes.h"
#include "app/commands/read/part_plan.h"
#include "app/commands/write/new_models.h"
#include "app/render/render.h"
#include "base/lists.h"
#include "core/hierarchy/roll_up.h"
#include "core/tagging/words.h"
#include "file/io/paths.h"
#include "file/model/element_types.h"
#include "onnx_tag/error.h"
#include "uses/edit/part.h"

namespace onnx_tag {
namespace {

// Nodes of a model cut out as a model of its own.
struct CutPart {
  std::string path;
  Cut cut;
  std::unique_ptr<edit::WeightPacker> packer;  // null: weights stay apart
  std::unique_ptr<const edit::PartWriter> writer;
  std::vector<std::string> left;  // weights of an older output
};

// Outputs of the model that no node makes: inputs and weights.
struct Passed {
  std::vector<std::string> inputs;  // those of `outputs` that are inputs
  std::vector<std::string> outputs;
};

Passed FindPassed(const Model& model) {
  Passed passed;
  for (const ValueId output : model[GraphId{0}].outputs) {
    if (output == kNo<ValueId> || model.Producer(output) != kNo<NodeId>) {
      continue;
    }
    const std::string name(model.ValueName(output));
    if (model.InitializerOf(output) == nullptr) passed.inputs.push_back(name);
    passed.outputs.push_back(name);
  }
  return passed;
}

// The files whose weights are packed for parts that are written to the folder
// of `path`; none where they are not copied, or where a subgraph has some: that
// is copied as it stands.
edit::WeightPacker::Files FilesToPack(const ModelFile& file,
                                      const std::string& path,
                                      DataChoice choice) {
  const Model& model = file.model();
  edit::WeightPacker::Files files;
  for (const Initializer& tensor : model.initializers()) {
    const bool in_main = model[tensor.value].graph == GraphId{0};
    if (tensor.external && (!in_main || tensor.sparse)) return files;
  }
  const auto copied = CopiedData(file, path, choice);
  for (const std::string_view location : model.external_files()) {
    const auto at = copied.find(std::string(location));
    if (at == copied.end()) continue;
    files[location] = {at->second, MappedFile::Open(at->second).size()};
  }
  return files;
}

// Cuts parts out of one model.
class PartMaker {
 public:
  // `folder_of`: one of the outputs, which all go to one folder.
  PartMaker(const ModelFile& file, const std::string& folder_of,
            const WriteOptions& options, Terminal& terminal)
      : file_(file),
        options_(options),
        terminal_(terminal),
        shapes_(ShapesOf(file)),
        files_(FilesToPack(file, folder_of, options.data)),
        source_(file.model(), ReleaserOf(file)) {}

  // The part of a cut, with what it passes on. Where it cannot be cut out, says
  // why and gives nothing. `name` is for messages.
  std::optional<CutPart> Make(Cut cut, const std::string& name,
                              const std::string& path,
                              const Passed& passed = {}) const {
    std::vector<std::string> obstacles =
        ObstacleLines(file_.model(), cut.obstacles);
    if (obstacles.empty() && cut.outputs.empty() && passed.outputs.empty()) {
      obstacles.emplace_back("this part has no output");
    }
    if (!obstacles.empty()) {
      terminal_.Report("{} cannot be cut out{}", name,
                       Ours{ListLines(obstacles)});
      return std::nullopt;
    }
    CutPart result;
    result.path = path;
    result.cut = std::move(cut);
    Write(PartOf(result.cut, passed), result);
    WarnOfUntyped(file_.path(), result.writer->inputs(), terminal_);
    WarnOfUntyped(file_.path(), result.writer->outputs(), terminal_);
    return result;
  }

 private:
  edit::Part PartOf(const Cut& cut, const Passed& passed) const {
    edit::Part part;
    for (const NodeId node : cut.nodes) {
      part.nodes.push_back(file_.model()[node].index);
    }
    part.inputs = cut.inputs;
    part.outputs = cut.outputs;
    std::set<std::string_view> own(cut.inputs.begin(), cut.inputs.end());
    for (const std::string& input : passed.inputs) {
      if (own.insert(input).second) part.inputs.push_back(input);
    }
    part.outputs.insert(part.outputs.end(), passed.outputs.begin(),
                        passed.outputs.end());
    return part;
  }

  void Write(const edit::Part& part, CutPart& result) const {
    const auto build = [&](const std::string& location) {
      if (!files_.empty()) {
        result.packer = std::make_unique<edit::WeightPacker>(files_, location);
      }
      result.writer = std::make_unique<const edit::PartWriter>(
          source_, shapes_, part, result.packer.get());
    };
    const std::string preferred = FileName(result.path) + ".data";
    build(preferred);
    if (result.packer == nullptr) return;
    DataNames names(result.path, options_);
    const std::vector<DataPiece>& pieces = result.packer->pieces();
    const std::string location =
        names.Take(preferred, SizeOf(pieces), Packed(pieces));
    if (location != preferred) build(location);
    result.left = names.Left();
  }

  const ModelFile& file_;
  const WriteOptions& options_;
  Terminal& terminal_;
  const sizes::Shapes shapes_;
  const edit::WeightPacker::Files files_;
  const edit::PartSource source_;
};

// "  input    hidden_states  float32 [batch, sequence, 128]", a line for each
void AddValues(std::string_view title,
               const std::vector<edit::PartValue>& values, Result& result) {
  for (const edit::PartValue& value : values) {
    const auto size = [](const protobuf::TensorDim& dim) {
      return dim.number >= 0    ? std::to_string(dim.number)
             : dim.name.empty() ? "?"
                                : dim.name.substr(0, 100);
    };
    const auto& dims = value.type.dims;
    result.Line("  {:<8} {}  {}{} [{}]", title, Short{value.name, 200},
                value.type.sequence ? "sequence of " : "",
                TypeNameOrUnknown(value.type.element),
                dims ? Join(Mapped(*dims, size)) : "...");
  }
}

Datum ValuesValue(const std::vector<edit::PartValue>& values) {
  return ListOf(values, [](const edit::PartValue& value) {
    const auto& dims = value.type.dims;
    const auto size = [](const protobuf::TensorDim& dim) {
      return dim.number >= 0 ? Datum(dim.number) : Datum::OrNull(dim.name);
    };
    return Datum::Object({{"name", value.name},
                          {"type", TypeNameOrUnknown(value.type.element)},
                          {"rank", dims ? Datum(dims->size()) : Datum()},
                          {"dims", dims ? ListOf(*dims, size) : Datum()}});
  });
}

Datum::Members PartMembers(const CutPart& part) {
  return {{"output", part.path},
          {"nodes", part.cut.nodes.size()},
          {"added_between", part.cut.between.size()},
          {"added_constants", part.cut.constants.size()},
          {"weights", part.writer->weights()},
          {"bytes", part.writer->new_size()},
          {"inputs", ValuesValue(part.writer->inputs())},
          {"outputs", ValuesValue(part.writer->outputs())}};
}

NewModel NewPart(const CutPart& part) {
  NewModel made = ModelOf(*part.writer, part.path);
  if (part.packer == nullptr) return made;
  made.packs = true;
  made.left = part.left;
  const std::vector<DataPiece>& pieces = part.packer->pieces();
  if (pieces.empty()) return made;
  made.data.push_back(
      {JoinPath(ParentFolder(made.path), part.packer->location()),
       SizeOf(pieces), Packed(pieces)});
  return made;
}

// ---------------------------------------------------------------- extract
std::vector<NodeId> NodesUnder(const Tagging& tagging,
                               const std::vector<ModuleId>& modules) {
  IdVector<ModuleId, char> inside(tagging.modules.size());
  for (const ModuleId module : modules) inside[module] = 1;
  PassDown(tagging.modules, inside,
           [](char& here, char around) { here |= around; });
  std::vector<NodeId> nodes;
  for (const NodeId node : AllIds<NodeId>(tagging.tags.size())) {
    const Tag& tag = tagging.tags[node];
    if (tag.tagged() && inside[tag.module]) nodes.push_back(node);
  }
  return nodes;
}

// The nodes that depend on an input, or all if there are none. Copies of
// constants, which exporters place anywhere, come along where they are read.
std::vector<NodeId> WithoutConstants(const Model& model,
                                     const std::vector<NodeId>& nodes) {
  const std::vector<bool> constant = ConstantNodes(model);
  std::vector<NodeId> fed;
  for (const NodeId node : nodes) {
    const bool in_main = model[node].graph == GraphId{0};
    if (!in_main || !constant[model[node].index]) fed.push_back(node);
  }
  return fed.empty() ? nodes : fed;
}

// The modules of nodes that come along, but for those that hold `module`.
std::vector<std::string> Neighbours(const Tagging& tagging, ModuleId module,
                                    const std::vector<NodeId>& between) {
  const ModuleTree& tree = tagging.modules;
  std::set<ModuleId> found;
  for (const NodeId node : between) {
    const Tag& tag = tagging.tags[node];
    if (tag.tagged() && !tree.IsAncestor(tag.module, module)) {
      found.insert(tag.module);
    }
  }
  return Mapped(found, [&](ModuleId id) { return tree.Shown(id); });
}

// ---------------------------------------------------------------- split
struct Border {
  std::string path;
  ModuleId module;
  std::size_t first;  // index of its first node in the main graph
};

// By module: the place of the first node of the main graph that is in it or
// below it and depends on an input; the number of nodes if there is none.
// Exporters put constants, such as copies of shared weights, first.
IdVector<ModuleId, std::size_t> FirstNodes(const Model& model,
                                           const Tagging& tagging,
                                           const std::vector<bool>& constant) {
  const std::vector<NodeId>& nodes = model[GraphId{0}].nodes;
  IdVector<ModuleId, std::size_t> first(tagging.modules.size(), nodes.size());
  for (std::size_t i = nodes.size(); i-- > 0;) {
    const Tag& tag = tagging.tags[nodes[i]];
    if (tag.tagged() && !constant[i]) first[tag.module] = i;
  }
  RollUp(tagging.modules, first, [](std::size_t& around, std::size_t below) {
    around = std::min(around, below);
  });
  return first;
}

// The modules that begin a part, in the order in which they run.
std::vector<Border> FindBorders(const SplitOptions& options, const Model& model,
                                const Tagging& tagging,
                                const std::vector<bool>& constant) {
  std::vector<Border> borders;
  const IdVector<ModuleId, std::size_t> first =
      FirstNodes(model, tagging, constant);
  for (const std::string& path : options.at) {
    const ModuleId module = FindModule(tagging.modules, path, options.model);
    if (first[module] == model[GraphId{0}].nodes.size()) {
      Fail(ErrorKind::kUsage,
           "{}: the module '{}' has no node in the main graph that depends on "
           "an input",
           options.model, path);
    }
    borders.push_back({path, module, first[module]});
  }
  SortBy(borders, &Border::first);
  for (std::size_t i = 1; i < borders.size(); ++i) {
    if (borders[i].first == borders[i - 1].first) {
      Fail(ErrorKind::kUsage, "'{}' and '{}' begin with the same node",
           borders[i - 1].path, borders[i].path);
    }
  }
  return borders;
}

// The nodes of each part. A node of the main graph is in the part of the last
// border that it is behind, counting what its inputs are behind. So no part
// needs a later one. A node that no border is before goes into the first part,
// wherever it stands. Constants are behind no border: they go where they are
// read.
std::vector<std::vector<NodeId>> NodesOfParts(
    const Model& model, const Tagging& tagging,
    const std::vector<Border>& borders, const std::vector<bool>& constant) {
  IdVector<ModuleId, std::size_t> behind(tagging.modules.size(), 0);
  for (std::size_t i = 0; i < borders.size(); ++i) {
    behind[borders[i].module] = i + 1;
  }
  PassDown(tagging.modules, behind, [](std::size_t& here, std::size_t around) {
    here = std::max(here, around);
  });
  std::vector<std::vector<NodeId>> nodes(borders.size() + 1);
  IdVector<NodeId, std::size_t> parts(model.node_count(), 0);
  const std::vector<NodeId>& main = model[GraphId{0}].nodes;
  for (std::size_t i = 0; i < main.size(); ++i) {
    if (constant[i]) continue;
    const NodeId node = main[i];
    std::size_t& part = parts[node];
    const Tag& tag = tagging.tags[node];
    if (tag.tagged()) part = behind[tag.module];
    for (const ValueId value : edit::ReadsOf(model, node)) {
      const NodeId maker = model.Producer(value);
      if (maker != kNo<NodeId>) part = std::max(part, parts[maker]);
    }
    nodes[part].push_back(node);
  }
  return nodes;
}

// A constant that is a result is in the last part.
void AddConstantOutputs(const Model& model, const std::vector<bool>& constant,
                        std::vector<NodeId>& last) {
  const std::vector<NodeId>& main = model[GraphId{0}].nodes;
  for (std::size_t i = 0; i < main.size(); ++i) {
    const auto outputs = model.Outputs(main[i]);
    if (constant[i] &&
        std::any_of(outputs.begin(), outputs.end(), [&](ValueId output) {
          return output != kNo<ValueId> && model[output].is_output;
        })) {
      last.push_back(main[i]);
    }
  }
}

// ---------------------------------------------------------------- by cost
std::optional<PartPlan> PlanOf(const SplitOptions& options,
                               const TaggedModel& model) {
  if (!options.at.empty()) return std::nullopt;
  const ModelCosts costs(model, options.shapes);
  std::optional<NodeNumbers> times;
  if (options.by == PlanBy::kTime) {
    times = ReadNodeNumbers(model, options.profile);
  }
  const PartPlanner planner(model, costs, options.by,
                            times ? &times->numbers : nullptr);
  PartPlan plan;
  try {
    plan = options.budget ? planner.Within(*options.budget)
                          : planner.InParts(options.parts);
  } catch (const Error& error) {
    throw error.In(options.model);
  }
  if (plan.by == PlanBy::kFlops || plan.by == PlanBy::kMemory) {
    plan.dimensions = costs.sizes.dimensions;
  }
  return plan;
}

}  // namespace

Result RunExtract(const ExtractOptions& options, Terminal& terminal) {
  const TaggedModel model = TaggedModel::Load(options, terminal);
  const ModelFile& file = ModelToWrite(model, options.model);
  const ModuleId module =
      FindModule(model.tagging().modules, options.module, options.model);
  const std::vector<NodeId> nodes = NodesUnder(model.tagging(), {module});
  Result result;
  if (nodes.empty()) {
    result.Finding("{}: the module {} has no node", options.model,
                   ShownPath(options.module));
    return result;
  }
  if (!MayRestOn(nodes, model, options, terminal, result)) {
    return result;
  }
  const std::string path =
      ModelDestination(options.model, options.write, "extracted");
  const PartMaker maker(file, path, options.write, terminal);
  Cut cut = PartCutter(file.model())
                .CutOutClosed(WithoutConstants(file.model(), nodes));
  const std::vector<std::string> neighbours =
      Neighbours(model.tagging(), module, cut.between);
  if (!neighbours.empty() && !options.with_neighbours) {
    result.Finding(
        "{}: {} of other modules run between nodes of {}: {}\n  "
        "--with-neighbours takes them, too",
        options.model, Count(cut.between.size(), "node"),
        ShownPath(options.module), Ours{FirstOf(neighbours, 5, 100)});
    return result;
  }
  const std::optional<CutPart> part =
      maker.Make(std::move(cut), options.module, path);
  if (!part) {
    result.exit_code = ExitCode::kFindings;
    return result;
  }
  result.Line("{}: {}, {}, {}", ShownInput(options.model),
              ShownPath(options.module), Count(part->cut.nodes.size(), "node"),
              Count(part->writer->weights(), "weight"));
  AddValues("input", part->writer->inputs(), result);
  AddValues("output", part->writer->outputs(), result);
  WriteNewModel(file, model.inputs(), options.write, terminal, NewPart(*part),
                result);
  result.data =
      Datum::Object({{"file", options.model}, {"module", options.module}});
  result.data.Add(PartMembers(*part));
  return result;
}

Result RunSplit(const SplitOptions& options, Terminal& terminal) {
  const TaggedModel model = TaggedModel::Load(options, terminal);
  const ModelFile& file = ModelToWrite(model, options.model);
  const std::optional<PartPlan> plan = PlanOf(options, model);
  const std::vector<bool> constant = ConstantNodes(file.model());
  std::vector<std::string> starts = {""};  // the modules that begin the parts
  std::vector<ModuleId> behind;            // what decides where the cuts are
  std::vector<std::vector<NodeId>> nodes;
  const auto begin_with = [&](ModuleId module) {
    starts.push_back(model.tagging().modules.Path(module));
    behind.push_back(module);
  };
  if (plan) {
    for (const PlannedPart& part : plan->parts) {
      if (part.at != kNo<ModuleId>) begin_with(part.at);
      nodes.push_back(part.nodes);
    }
  } else {
    const std::vector<Border> borders =
        FindBorders(options, file.model(), model.tagging(), constant);
    for (const Border& border : borders) begin_with(border.module);
    nodes = NodesOfParts(file.model(), model.tagging(), borders, constant);
  }
  AddConstantOutputs(file.model(), constant, nodes.back());
  if (Result refused; !MayRestOn(NodesUnder(model.tagging(), behind), model,
                                 options, terminal, refused)) {
    return refused;
  }
  const auto path_of = [&](std::size_t part) {
    return ModelDestination(options.model, options.write,
                            fmt::format("part{}", part));
  };
  PartCutter cutter(file.model());
  const PartMaker maker(file, path_of(0), options.write, terminal);
  Result result;
  std::vector<CutPart> parts;
  std::vector<NewModel> models;
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    const std::string name = i > 0 ? starts[i]
                             : starts.size() == 1
                                 ? "the whole model"
                                 : "the part before " + starts[1];
    if (nodes[i].empty()) {
      result.Finding("{}: no node is in {}", options.model, name);
      return result;
    }
    std::optional<CutPart> part =
        maker.Make(cutter.CutOut(nodes[i]), name, path_of(i),
                   i + 1 == nodes.size() ? FindPassed(file.model()) : Passed());
    if (!part) {
      result.exit_code = ExitCode::kFindings;
      return result;
    }
    models.push_back(NewPart(*part));
    parts.push_back(*std::move(part));
  }
  WriteNewModels(file, model.inputs(), options.write, terminal, models, result);

  result.Line("{}: {}{}", ShownInput(options.model),
              Count(parts.size(), "part"), Ours{plan ? PlanText(*plan) : ""});
  Datum::List list;
  for (std::size_t i = 0; i < parts.size(); ++i) {
    if (plan && i > 0) {
      result.Line("    {} across", BytesText(plan->parts[i].across));
    }
    AddDeed(models[i], options.write, result);
    result.Line("    {}{}, {}, from {}",
                plan ? CostText(plan->by, plan->parts[i].cost) + ": " : "",
                Count(parts[i].cut.nodes.size(), "node"),
                Count(parts[i].writer->weights(), "weight"),
                i == 0 ? "the start" : starts[i]);
    Datum part = Datum::Object({{"at", Datum::OrNull(starts[i])}});
    if (plan) {
      part.Add({{"cost", plan->parts[i].cost},
                {"bytes_across", plan->parts[i].across}});
    }
    part.Add(PartMembers(parts[i]));
    list.push_back(std::move(part));
  }
  result.data = Datum::Object({{"file", options.model}});
  if (plan) {
    result.data.Add({{"by", EnumToWord(kPlanByNames, plan->by)},
                     {"borders", plan->borders},
                     {"unknown", plan->unknown}});
  }
  result.data.Set("parts", std::move(list));
  return result;
}

}  // namespace onnx_tag
