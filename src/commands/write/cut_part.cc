#include "commands/write/cut_part.h"

#include <fmt/core.h>

#include "base/text.h"
#include "commands/read/closed_cut.h"

namespace onnx_tag {
namespace {

constexpr std::size_t kListed = 20;

// What keeps these nodes from being a model; one line each.
std::vector<std::string> Obstacles(const TaggedModel& model, const Cut& cut) {
  std::vector<std::string> lines;
  for (const Cut::Obstacle& obstacle : cut.obstacles) {
    lines.push_back(fmt::format(
        "{}  {}: {}", Printable(model.nodes().Address(obstacle.node)),
        Printable(model.nodes().Name(obstacle.node), 100),
        Printable(obstacle.why, 300)));
  }
  if (lines.empty() && cut.outputs.empty()) {
    lines.emplace_back("nothing comes out of this part");
  }
  return lines;
}

}  // namespace

std::optional<CutPart> CutPartOut(const TaggedModel& model,
                                  const sizes::Shapes& shapes,
                                  const std::vector<NodeId>& nodes,
                                  const std::string& name, Terminal& terminal) {
  const Cut cut = CutOut(model, nodes, CutBy::kOurselves);
  const std::vector<std::string> obstacles = Obstacles(model, cut);
  if (!obstacles.empty()) {
    std::string text =
        fmt::format("onnx-tag: {} cannot be cut out\n", Printable(name, 200));
    for (std::size_t i = 0; i < obstacles.size() && i < kListed; ++i) {
      text += fmt::format("  {}\n", obstacles[i]);
    }
    if (obstacles.size() > kListed) {
      text += fmt::format("  and {} more\n", obstacles.size() - kListed);
    }
    terminal.Complain(text);
    return std::nullopt;
  }
  const Model& whole = *model.model();
  edit::Part part;
  part.nodes.assign(whole[GraphId{0}].nodes.size(), false);
  for (const NodeId node : cut.nodes) part.nodes[whole[node].index] = true;
  part.inputs = cut.inputs;
  part.outputs = cut.outputs;
  CutPart result;
  result.nodes = cut.nodes.size();
  result.between = cut.between.size();
  result.constants = cut.constants.size();
  result.writer = std::make_unique<const edit::PartWriter>(
      whole, shapes, part, ReleaserOf(*model.file()));
  return result;
}

void AddPart(JsonWriter& json, const CutPart& part, const NewModel& written) {
  json.Key("output").String(written.path);
  json.Key("nodes").Number(part.nodes);
  json.Key("added_between").Number(part.between);
  json.Key("added_constants").Number(part.constants);
  json.Key("weights").Number(part.writer->weights());
  json.Key("bytes").Number(part.writer->new_size());
  AddValues(json, "inputs", part.writer->inputs());
  AddValues(json, "outputs", part.writer->outputs());
}

}  // namespace onnx_tag
