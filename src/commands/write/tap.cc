#include <fmt/core.h>

#include <unordered_set>

#include "base/glob.h"
#include "base/text.h"
#include "commands/new_model_commands.h"
#include "commands/output/destinations.h"
#include "commands/read/tag_source.h"
#include "commands/write/module_values.h"
#include "commands/write/new_models.h"
#include "edit/graph_edit.h"
#include "edit/part.h"
#include "json/writer.h"
#include "model/onnx_fields.h"
#include "protobuf/messages.h"
#include "sizes/element_types.h"
#include "wire/encoding.h"

namespace onnx_tag {
namespace {

// A value that becomes an output of the graph.
struct Tap {
  ModuleId module;
  ValueId value;
  std::string output;  // what it is called
  bool is_new;         // false: it was an output before
};

struct Skipped {
  ModuleId module;
  std::string why;  // and what to do
};

struct Taps {
  std::vector<Tap> list;
  std::vector<Skipped> skipped;
};

bool IsAsked(const TapOptions& options, const std::string& path) {
  for (const std::string& pattern : options.modules) {
    if (MatchesPattern(pattern, path, '.')) return true;
  }
  return false;
}

// Names for new outputs: after the module, and no value's yet.
class OutputNames {
 public:
  explicit OutputNames(const Model& model) : model_(model) {}

  std::string Make(const std::string& module, bool input, std::size_t number) {
    std::string base = module.empty() ? "<root>" : module;
    if (input) base += ".input";
    if (number > 0) base += fmt::format(":{}", number);
    std::string name = base;
    for (int i = 2; IsTaken(name); ++i) name = fmt::format("{}~{}", base, i);
    given_.insert(name);
    return name;
  }

 private:
  bool IsTaken(const std::string& name) const {
    return model_.FindName(name) != kNo<NameId> || given_.contains(name);
  }

  const Model& model_;
  std::unordered_set<std::string> given_;
};

std::string WhySkipped(const ModuleValues& values, const ModuleTree& tree,
                       ModuleId id, bool inputs) {
  const ModuleValues::Places& places = values.PlacesOf(id);
  if (places.main) {
    return inputs ? "nothing goes into it" : "nothing comes out of it";
  }
  if (places.function) {
    return "its nodes are in a local function, and only values of the main "
           "graph can be outputs: inline the functions first, for example with "
           "onnx.inliner.inline_local_functions";
  }
  if (!places.subgraph) return "no node is of this module";
  std::string why =
      "its nodes are in a branch or a loop body, and only values of the main "
      "graph can be outputs";
  for (ModuleId around = tree.Parent(id); around != kNo<ModuleId>;
       around = tree.Parent(around)) {
    if (!(inputs ? values.Inputs(around) : values.Outputs(around)).empty()) {
      why += fmt::format(
          ": tap the module around it, {}",
          around == ModuleTree::kRoot ? "<root>" : tree.Path(around));
      break;
    }
  }
  return why;
}

Taps FindTaps(const TapOptions& options, const Model& model,
              const Tagging& tagging) {
  const ModuleValues values(model, tagging);
  OutputNames names(model);
  Taps taps;
  for (const ModuleId id : tagging.modules.All()) {
    const std::string path = tagging.modules.Path(id);
    if (!IsAsked(options, path)) continue;
    const std::vector<ValueId>& list =
        options.inputs ? values.Inputs(id) : values.Outputs(id);
    if (list.empty()) {
      taps.skipped.push_back(
          {id, WhySkipped(values, tagging.modules, id, options.inputs)});
      continue;
    }
    for (std::size_t i = 0; i < list.size(); ++i) {
      const bool known = model[list[i]].is_output;
      taps.list.push_back({id, list[i],
                           known ? std::string(model.ValueName(list[i]))
                                 : names.Make(path, options.inputs, i),
                           !known});
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
    if (!tap.is_new) continue;
    const std::string_view value = model.ValueName(tap.value);
    wire::AppendLengthDelimited(
        encoded, onnx::GraphProto::kNode,
        protobuf::BuildIdentity("onnx_tag/tap/" + tap.output, value,
                                tap.output));
    wire::AppendLengthDelimited(
        encoded, onnx::GraphProto::kOutput,
        protobuf::BuildValueInfo(tap.output, edit.InfoOf(value),
                                 edit::TensorTypeOf(shapes, tap.value)));
  }
  return encoded;
}

std::string TapsText(const Taps& taps, const TaggedModel& model,
                     const NewModel& written, const TapOptions& options) {
  const ModuleTree& tree = model.tagging().modules;
  std::unordered_set<ModuleId> modules;
  for (const Tap& tap : taps.list) modules.insert(tap.module);
  std::string text = fmt::format(
      "{}: {} of {}\n",
      options.model == "-" ? "standard input" : Printable(options.model),
      Count(taps.list.size(), options.inputs ? "input" : "output"),
      Count(modules.size(), "module"));
  for (const Tap& tap : taps.list) {
    const std::string_view name = tree.Class(tap.module);
    text +=
        fmt::format("  {}  {}{}\n", Printable(tap.output, 200),
                    name.empty() ? "-" : Printable(name, 100),
                    tap.is_new ? "" : "  (was an output of the graph already)");
  }
  return text + DeedLine(written, options.write.dry_run);
}

std::string TapsJson(const Taps& taps, const TaggedModel& model,
                     const sizes::Shapes& shapes, const NewModel& written,
                     const TapOptions& options) {
  const ModuleTree& tree = model.tagging().modules;
  JsonWriter json;
  json.BeginObject();
  json.Key("file").String(options.model);
  json.Key("output").String(written.path);
  json.Key("taps").BeginArray();
  for (const Tap& tap : taps.list) {
    json.BeginObject();
    json.Key("module").String(tree.Path(tap.module));
    json.Key("class").StringOrNull(tree.Class(tap.module));
    json.Key("output").String(tap.output);
    json.Key("value").String(model.model()->ValueName(tap.value));
    json.Key("type").String(sizes::TypeNameOrUnknown(shapes.TypeOf(tap.value)));
    json.Key("node");
    const NodeId maker = model.model()->Producer(tap.value);
    if (maker == kNo<NodeId>) {
      json.Null();
    } else {
      json.Number((*model.model())[maker].index);
    }
    json.Key("new").Bool(tap.is_new);
    json.EndObject();
  }
  json.EndArray().Key("skipped").BeginArray();
  for (const Skipped& skipped : taps.skipped) {
    json.BeginObject();
    json.Key("module").String(tree.Path(skipped.module));
    json.Key("why").String(skipped.why);
    json.EndObject();
  }
  json.EndArray().EndObject();
  return json.Take() + "\n";
}

void WarnOfUntypedTaps(const Taps& taps, const Model& model,
                       const sizes::Shapes& shapes, const edit::GraphEdit& edit,
                       const std::string& path, Terminal& terminal) {
  std::vector<edit::PartValue> values;
  for (const Tap& tap : taps.list) {
    if (!tap.is_new) continue;
    const protobuf::TensorType type = edit::TensorTypeOf(shapes, tap.value);
    values.push_back({tap.output, type,
                      protobuf::IsCompleteInfo(
                          edit.InfoOf(model.ValueName(tap.value)), type)});
  }
  WarnOfUntyped(path, values, terminal);
}

}  // namespace

ExitCode RunTap(const TapOptions& options, Terminal& terminal) {
  const TaggedModel model =
      TaggedModel::Load(options.model, options.source, terminal);
  const ModelFile& file = ModelToWrite(model.file(), options.model);
  const Taps taps = FindTaps(options, file.model(), model.tagging());
  for (const Skipped& skipped : taps.skipped) {
    terminal.Err(fmt::format(
        "onnx-tag: {}: {}\n",
        Printable(model.tagging().modules.Path(skipped.module), 200),
        Printable(skipped.why, 1000)));
  }
  if (taps.list.empty()) {
    terminal.Complain(fmt::format(
        "onnx-tag: {}: no module with {} fits\n  see the modules with: "
        "onnx-tag show MODEL\n",
        Printable(options.model), options.inputs ? "inputs" : "outputs"));
    return ExitCode::kFindings;
  }
  const sizes::Shapes shapes(file.model(), {});
  edit::GraphEdit edit(file.model());
  edit.Keep([](const edit::GraphEdit::Part&) { return true; },
            ReleaserOf(file));
  edit.Append(EncodeTaps(taps, file.model(), shapes, edit));
  edit.Finish();
  WarnOfUntypedTaps(taps, file.model(), shapes, edit, options.model, terminal);

  std::vector<NewModel> models = {
      {ModelDestination(options.model, options.write, "tapped"),
       edit.new_size(), [&](wire::Rewrite::Sink& sink) { edit.Write(sink); }}};
  WriteNewModels(model, options.write, terminal, models);
  if (options.json) {
    terminal.Out(TapsJson(taps, model, shapes, models.front(), options));
  } else if (!options.quiet) {
    PrintResult(TapsText(taps, model, models.front(), options), options.write,
                terminal);
  }
  return ExitCode::kOk;
}

}  // namespace onnx_tag
