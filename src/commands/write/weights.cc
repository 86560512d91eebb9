#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <optional>

#include "base/text.h"
#include "commands/new_model_commands.h"
#include "commands/read/tag_source.h"
#include "commands/write/rename_weights.h"
#include "io/mapped_file.h"
#include "json/writer.h"
#include "onnx_tag/error.h"
#include "sizes/element_types.h"
#include "weights/check.h"
#include "weights/reference.h"
#include "weights/weight_map.h"

namespace onnx_tag {
namespace {

using weights::Change;
using weights::Weight;

constexpr std::size_t kListed = 20;

std::string ShapeText(std::span<const std::int64_t> dims) {
  std::string text = "[";
  for (std::size_t i = 0; i < dims.size(); ++i) {
    text += fmt::format("{}{}", i == 0 ? "" : ",", dims[i]);
  }
  return text + "]";
}

std::string Joined(const std::vector<std::string>& names) {
  std::string text;
  for (const std::string& name : names) {
    if (!text.empty()) text += ' ';
    text += Printable(name, 300);
  }
  return text.empty() ? "-" : text;
}

// One row: what the text and the TSV say of an initializer.
struct Cells {
  std::string name;
  std::string parameters;
  std::string_view change;
  std::string shape;
  std::string_view type;
  std::uint64_t bytes;
  std::string module;
  std::string_view confidence;
};

Cells CellsOf(const TaggedModel& model, const Weight& weight) {
  const Model& file = *model.model();
  const Initializer& tensor = file.initializers()[weight.initializer];
  return {Printable(file.ValueName(tensor.value), 300),
          Joined(weight.parameters),
          weights::kChangeNames[static_cast<std::size_t>(weight.change)],
          ShapeText(file.Dims(tensor)),
          sizes::TypeNameOrUnknown(tensor.data_type),
          weights::BytesOf(file, tensor),
          weight.module == kNo<ModuleId>
              ? "-"
              : Printable(model.tagging().modules.Path(weight.module), 300),
          kConfidenceNames[static_cast<std::size_t>(weight.confidence)]};
}

std::string Tsv(const TaggedModel& model, const std::vector<Weight>& list) {
  std::string text =
      "initializer\tparameters\tchange\tshape\ttype\tbytes\tmodule\t"
      "confidence\twhy\n";
  for (const Weight& weight : list) {
    const Cells cells = CellsOf(model, weight);
    text +=
        fmt::format("{}\t{}\t{}\t{}\t{}\t{}\t{}\t{}\t{}\n", cells.name,
                    cells.parameters, cells.change, cells.shape, cells.type,
                    cells.bytes, cells.module, cells.confidence, weight.why);
  }
  return text;
}

// "39 initializers: 21 same, 12 transposed, 6 constant"
std::string CountsText(const std::vector<Weight>& list) {
  std::array<std::uint64_t, weights::kChangeNames.size()> counts = {};
  for (const Weight& weight : list) {
    ++counts[static_cast<std::size_t>(weight.change)];
  }
  std::string text = Count(list.size(), "initializer");
  bool first = true;
  for (std::size_t i = 0; i < counts.size(); ++i) {
    if (counts[i] == 0) continue;
    text += fmt::format("{}{} {}", first ? ": " : ", ", counts[i],
                        weights::kChangeNames[i]);
    first = false;
  }
  return text;
}

std::string Text(const WeightsOptions& options, const TaggedModel& model,
                 const std::vector<Weight>& list) {
  std::string text =
      fmt::format("{}: {}\n\n", Printable(options.model), CountsText(list));
  std::array<std::size_t, 4> widths = {11, 9, 6, 5};
  std::vector<Cells> rows;
  for (const Weight& weight : list) {
    const Cells& cells = rows.emplace_back(CellsOf(model, weight));
    widths[0] = std::max(widths[0], cells.name.size());
    widths[1] = std::max(widths[1], cells.parameters.size());
    widths[2] = std::max(widths[2], cells.change.size());
    widths[3] = std::max(widths[3], cells.shape.size());
  }
  for (std::size_t& width : widths) width = std::min<std::size_t>(width, 60);
  const auto line = [&](std::string_view name, std::string_view parameters,
                        std::string_view change, std::string_view shape,
                        std::string_view type, std::string_view confidence) {
    text += fmt::format("{:<{}}  {:<{}}  {:<{}}  {:<{}}  {:<8}  {}\n", name,
                        widths[0], parameters, widths[1], change, widths[2],
                        shape, widths[3], type, confidence);
  };
  line("initializer", "parameter", "change", "shape", "type", "confidence");
  for (const Cells& cells : rows) {
    line(cells.name, cells.parameters, cells.change, cells.shape, cells.type,
         cells.confidence);
  }
  return text;
}

void AddDims(JsonWriter& json, std::span<const std::int64_t> dims) {
  json.BeginArray();
  for (const std::int64_t dim : dims) json.Integer(dim);
  json.EndArray();
}

void AddNames(JsonWriter& json, std::string_view key,
              const std::vector<std::string>& names) {
  json.Key(key).BeginArray();
  for (const std::string& name : names) json.String(name);
  json.EndArray();
}

void AddWeights(JsonWriter& json, const TaggedModel& model,
                const std::vector<Weight>& list) {
  const Model& file = *model.model();
  json.Key("weights").BeginArray();
  for (const Weight& weight : list) {
    const Initializer& tensor = file.initializers()[weight.initializer];
    json.BeginObject();
    json.Key("initializer").String(file.ValueName(tensor.value));
    json.Key("graph").String(file.GraphPath(file[tensor.value].graph));
    AddNames(json, "parameters", weight.parameters);
    json.Key("change").String(
        weights::kChangeNames[static_cast<std::size_t>(weight.change)]);
    json.Key("shape");
    AddDims(json, file.Dims(tensor));
    json.Key("type").String(sizes::TypeNameOrUnknown(tensor.data_type));
    json.Key("bytes").Number(weights::BytesOf(file, tensor));
    json.Key("external").Bool(tensor.external);
    json.Key("module");
    if (weight.module == kNo<ModuleId>) {
      json.Null();
    } else {
      json.String(model.tagging().modules.Path(weight.module));
    }
    json.Key("confidence")
        .String(kConfidenceNames[static_cast<std::size_t>(weight.confidence)]);
    json.Key("why").String(weight.why);
    json.EndObject();
  }
  json.EndArray();
}

weights::CheckResult CheckAgainst(const std::string& path, const Model& model,
                                  const std::vector<Weight>& list) {
  const MappedFile file = MappedFile::Open(path);
  try {
    return weights::Check(model, list,
                          weights::IsSafetensors(file.bytes())
                              ? weights::ReadSafetensorsHead(file.bytes())
                              : weights::ReadModuleParameters(file.bytes()));
  } catch (const Error& error) {
    throw error.In(Printable(path));
  }
}

std::string ListText(std::string_view title,
                     const std::vector<std::string>& names) {
  if (names.empty()) return "";
  std::string text = fmt::format("{} {}\n", names.size(), title);
  for (std::size_t i = 0; i < names.size() && i < kListed; ++i) {
    text += fmt::format("  {}\n", Printable(names[i], 300));
  }
  if (names.size() > kListed) {
    text += fmt::format("  and {} more\n", names.size() - kListed);
  }
  return text;
}

std::string CheckText(const weights::CheckResult& result) {
  std::string text = fmt::format("{} fit\n", Count(result.fit, "parameter"));
  text += ListText("are missing from the model", result.missing);
  text += ListText("are not in the file", result.left_over);
  std::vector<std::string> shapes;
  for (const auto& misfit : result.shapes) {
    shapes.push_back(fmt::format("{}: {} in the file, {} in the model",
                                 misfit.name, ShapeText(misfit.expected),
                                 ShapeText(misfit.found)));
  }
  return text + ListText("have another shape", shapes);
}

void AddCheck(JsonWriter& json, const weights::CheckResult& result) {
  json.Key("check").BeginObject();
  json.Key("fit").Number(result.fit);
  AddNames(json, "missing", result.missing);
  AddNames(json, "left_over", result.left_over);
  json.Key("shapes").BeginArray();
  for (const auto& misfit : result.shapes) {
    json.BeginObject();
    json.Key("name").String(misfit.name);
    json.Key("expected");
    AddDims(json, misfit.expected);
    json.Key("found");
    AddDims(json, misfit.found);
    json.EndObject();
  }
  json.EndArray().EndObject();
}

}  // namespace

ExitCode RunWeights(const WeightsOptions& options, Terminal& terminal) {
  const TaggedModel model =
      TaggedModel::Load(options.model, options.source, terminal);
  if (model.model() == nullptr) {
    Fail(ErrorKind::kUsage,
         "{}: is a sidecar, which does not list initializers\n  name the model",
         Printable(options.model));
  }
  const std::vector<Weight> list =
      weights::MapWeights(*model.model(), model.tagging());
  if (options.rename) return RenameWeights(options, model, list, terminal);

  std::optional<weights::CheckResult> check;
  if (!options.check.empty()) {
    check = CheckAgainst(options.check, *model.model(), list);
  }
  if (options.json) {
    JsonWriter json;
    json.BeginObject();
    json.Key("file").String(options.model);
    AddWeights(json, model, list);
    if (check) AddCheck(json, *check);
    json.EndObject();
    terminal.Out(json.Take() + "\n");
  } else if (options.tsv) {
    terminal.Out(Tsv(model, list));
  } else {
    terminal.Out(check ? CheckText(*check) : Text(options, model, list));
  }
  return check && !check->ok() ? ExitCode::kFindings : ExitCode::kOk;
}

}  // namespace onnx_tag
