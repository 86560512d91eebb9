#include <fmt/core.h>

#include <algorithm>

#include "base/text.h"
#include "commands/new_model_commands.h"
#include "commands/output/destinations.h"
#include "commands/read/closed_cut.h"
#include "commands/read/tag_source.h"
#include "commands/write/cut_part.h"
#include "commands/write/new_models.h"
#include "json/writer.h"
#include "onnx_tag/error.h"

namespace onnx_tag {
namespace {

struct Border {
  std::string path;
  ModuleId module;
  std::size_t first;  // index of its first node in the main graph
};

// The modules that begin a part, in the order in which they run.
std::vector<Border> FindBorders(const SplitOptions& options, const Model& model,
                                const Tagging& tagging) {
  std::vector<Border> borders;
  for (const std::string& path : options.at) {
    const ModuleId module = FindModule(tagging.modules, path);
    const std::vector<NodeId>& nodes = model[GraphId{0}].nodes;
    std::size_t first = 0;
    for (; first < nodes.size(); ++first) {
      const Tag& tag = tagging.tags[nodes[first]];
      if (tag.tagged() && tagging.modules.IsAncestor(module, tag.module)) break;
    }
    if (first == nodes.size()) {
      Fail(ErrorKind::kUsage, "no node of the main graph is of the module '{}'",
           Printable(path));
    }
    borders.push_back({path, module, first});
  }
  std::stable_sort(
      borders.begin(), borders.end(),
      [](const Border& a, const Border& b) { return a.first < b.first; });
  for (std::size_t i = 1; i < borders.size(); ++i) {
    if (borders[i].first == borders[i - 1].first) {
      Fail(ErrorKind::kUsage, "'{}' and '{}' begin with the same node",
           Printable(borders[i - 1].path), Printable(borders[i].path));
    }
  }
  return borders;
}

// The part of each node of the main graph: the last border that it is behind,
// counting what its inputs are behind. So no part needs a later one. A node
// that no border is before goes into the first part, wherever it stands.
std::vector<std::size_t> PartsOfNodes(const Model& model,
                                      const Tagging& tagging,
                                      const std::vector<Border>& borders) {
  std::vector<std::size_t> parts(model.node_count(), 0);
  for (const NodeId node : model[GraphId{0}].nodes) {
    std::size_t& part = parts[Index(node)];
    const Tag& tag = tagging.tags[node];
    for (std::size_t i = 0; i < borders.size() && tag.tagged(); ++i) {
      if (tagging.modules.IsAncestor(borders[i].module, tag.module)) {
        part = i + 1;
      }
    }
    for (const ValueId value : edit::ReadsOf(model, node)) {
      const NodeId maker = model.Producer(value);
      if (maker != kNo<NodeId>) part = std::max(part, parts[Index(maker)]);
    }
  }
  return parts;
}

bool GivesOutput(const Model& model, NodeId node) {
  for (const ValueId output : model.Outputs(node)) {
    if (output != kNo<ValueId> && model[output].is_output) return true;
  }
  return false;
}

// The nodes of each part. Constants go where they are read, except those that
// are results themselves.
std::vector<std::vector<NodeId>> NodesOfParts(
    const TaggedModel& tagged, const std::vector<Border>& borders) {
  const Model& model = *tagged.model();
  const std::vector<std::size_t> parts =
      PartsOfNodes(model, tagged.tagging(), borders);
  const std::vector<bool> constant = ConstantNodes(tagged);
  std::vector<std::vector<NodeId>> nodes(borders.size() + 1);
  const std::vector<NodeId>& main = model[GraphId{0}].nodes;
  for (std::size_t i = 0; i < main.size(); ++i) {
    if (!constant[i]) {
      nodes[parts[Index(main[i])]].push_back(main[i]);
    } else if (GivesOutput(model, main[i])) {
      nodes.back().push_back(main[i]);
    }
  }
  return nodes;
}

std::string PathOfPart(const SplitOptions& options, std::size_t part) {
  return ModelDestination(options.model, options.write,
                          fmt::format("part{}", part));
}

void RefuseInputOnlyOutputs(const Model& model) {
  for (const ValueId output : model[GraphId{0}].outputs) {
    if (output == kNo<ValueId> || model.Producer(output) != kNo<NodeId>) {
      continue;
    }
    Fail(ErrorKind::kInput,
         "the output {} is an input or a weight, which no part makes",
         Printable(model.ValueName(output), 200));
  }
}

}  // namespace

ExitCode RunSplit(const SplitOptions& options, Terminal& terminal) {
  const TaggedModel model =
      TaggedModel::Load(options.model, options.source, terminal);
  const ModelFile& file = ModelToWrite(model.file(), options.model);
  RefuseInputOnlyOutputs(file.model());
  const std::vector<Border> borders =
      FindBorders(options, file.model(), model.tagging());
  const std::vector<std::vector<NodeId>> nodes = NodesOfParts(model, borders);
  const sizes::Shapes shapes(file.model(), {});
  std::vector<CutPart> parts;
  std::vector<NewModel> models;
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    const std::string name =
        i == 0 ? "the part before " + borders[0].path : borders[i - 1].path;
    if (nodes[i].empty()) {
      terminal.Complain(fmt::format("onnx-tag: {}: nothing is in {}\n",
                                    Printable(options.model),
                                    Printable(name, 200)));
      return ExitCode::kFindings;
    }
    std::optional<CutPart> part =
        CutPartOut(model, shapes, nodes[i], name, terminal);
    if (!part) return ExitCode::kFindings;
    WarnOfUntyped(options.model, part->writer->inputs(), terminal);
    WarnOfUntyped(options.model, part->writer->outputs(), terminal);
    const edit::PartWriter* const writer = part->writer.get();
    models.push_back(
        {PathOfPart(options, i), writer->new_size(),
         [writer](wire::Rewrite::Sink& sink) { writer->Write(sink); }});
    parts.push_back(*std::move(part));
  }
  WriteNewModels(model, options.write, terminal, models);

  if (options.json) {
    JsonWriter json;
    json.BeginObject();
    json.Key("file").String(options.model);
    json.Key("parts").BeginArray();
    for (std::size_t i = 0; i < parts.size(); ++i) {
      json.BeginObject();
      json.Key("at");
      if (i == 0) {
        json.Null();
      } else {
        json.String(borders[i - 1].path);
      }
      AddPart(json, parts[i], models[i]);
      json.EndObject();
    }
    json.EndArray().EndObject();
    terminal.Out(json.Take() + "\n");
  } else if (!options.quiet) {
    std::string text = fmt::format(
        "{}: {}\n",
        options.model == "-" ? "standard input" : Printable(options.model),
        Count(parts.size(), "part"));
    for (std::size_t i = 0; i < parts.size(); ++i) {
      text += DeedLine(models[i], options.write.dry_run);
      text += fmt::format(
          "    {}, {}, from {}\n", Count(parts[i].nodes, "node"),
          Count(parts[i].writer->weights(), "weight"),
          i == 0 ? "the start" : Printable(borders[i - 1].path, 200));
    }
    terminal.Out(text);
  }
  return ExitCode::kOk;
}

}  // namespace onnx_tag
