#include "commands/write/new_models.h"

#include <fmt/core.h>

#include "base/text.h"
#include "commands/output/external_data.h"
#include "commands/read/tag_summary.h"
#include "onnx_tag/error.h"
#include "sizes/element_types.h"
#include "tagging/tag_writer.h"

namespace onnx_tag {
namespace {

void RefuseBeyondTwoGigabytes(const NewModel& model) {
  if (model.size <= kMaxModelBytes) return;
  Fail(ErrorKind::kOutput,
       "{}: would have {} bytes; protobuf readers stop at {}\n  keep the "
       "weights in a file of their own (external data)",
       Printable(model.path), model.size, kMaxModelBytes);
}

}  // namespace

void WriteNewModels(const TaggedModel& model, const WriteOptions& options,
                    Terminal& terminal, std::vector<NewModel>& models) {
  const ModelFile& file = *model.file();
  Inputs inputs = model.inputs();
  AddModelInputs(file, inputs);
  PendingOutputs outputs(file.file(), inputs, options, terminal);
  for (const NewModel& made : models) {
    RefuseBeyondTwoGigabytes(made);
    outputs.AddModel(made.path, made.size, made.produce);
  }
  CarryExternalData(file, models.front().path, options.data, outputs);
  WarnOfExternalData(file, terminal);
  outputs.Finish();
  for (NewModel& made : models) made.fate = outputs.FateOf(made.path);
}

Release ReleaserOf(const ModelFile& file) {
  return [&file](std::uint64_t begin, std::uint64_t end) {
    file.file().Release(begin, end);
  };
}

ModuleId FindModule(const ModuleTree& modules, const std::string& path) {
  const ModuleId found = modules.Find(path);
  if (found != kNo<ModuleId>) return found;
  std::vector<std::string> paths;
  for (const ModuleId id : modules.All()) {
    paths.push_back(modules.Path(id));
  }
  const std::vector<std::string_view> views(paths.begin(), paths.end());
  const std::string_view near = NearestWord(path, views);
  Fail(ErrorKind::kUsage, "the model has no module '{}'{}", Printable(path),
       near.empty() ? "\n  see its modules with: onnx-tag show MODEL"
                    : fmt::format(", did you mean '{}'?", Printable(near)));
}

const ModelFile& ModelToWrite(const ModelFile* file, const std::string& path) {
  if (file == nullptr) {
    Fail(ErrorKind::kUsage, "{}: is a sidecar; a model is needed to write one",
         Printable(path));
  }
  return *file;
}

std::string ValueLines(std::string_view title,
                       const std::vector<edit::PartValue>& values) {
  std::string text;
  for (const edit::PartValue& value : values) {
    std::string shape = "[...]";
    if (value.type.rank >= 0) {
      shape = "[";
      for (std::int32_t i = 0; i < value.type.rank; ++i) {
        shape += i == 0 ? "?" : ", ?";
      }
      shape += "]";
    }
    text +=
        fmt::format("  {:<8} {}  {} {}\n", title, Printable(value.name, 200),
                    sizes::TypeNameOrUnknown(value.type.element), shape);
  }
  return text;
}

void AddValues(JsonWriter& json, std::string_view key,
               const std::vector<edit::PartValue>& values) {
  json.Key(key).BeginArray();
  for (const edit::PartValue& value : values) {
    json.BeginObject();
    json.Key("name").String(value.name);
    json.Key("type").String(sizes::TypeNameOrUnknown(value.type.element));
    json.Key("rank");
    if (value.type.rank < 0) {
      json.Null();
    } else {
      json.Integer(value.type.rank);
    }
    json.EndObject();
  }
  json.EndArray();
}

void WarnOfUntyped(const std::string& model,
                   const std::vector<edit::PartValue>& values,
                   Terminal& terminal) {
  for (const edit::PartValue& value : values) {
    if (value.complete) continue;
    terminal.Err(fmt::format(
        "onnx-tag: {}: warning: the {} of {} is not known; ONNX's checker "
        "asks for it\n  infer shapes in the model first: "
        "onnx.shape_inference.infer_shapes_path\n",
        Printable(model),
        value.type.element == sizes::kUndefined ? "type" : "shape",
        Printable(value.name, 200)));
  }
}

std::string DeedLine(const NewModel& model, bool dry_run) {
  return fmt::format(
      "  {} {}\n", Deed(model.fate, dry_run),
      model.path == "-" ? "standard output" : Printable(model.path));
}

void PrintResult(const std::string& text, const WriteOptions& options,
                 Terminal& terminal) {
  if (options.path == "-" && !options.dry_run) {
    terminal.Err(text);
  } else {
    terminal.Out(text);
  }
}

}  // namespace onnx_tag
