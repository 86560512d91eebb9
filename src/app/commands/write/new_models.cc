#include "app/commands/write/new_models.h"

#include "app/commands/output/destinations.h"
#include "core/tagging/tag_writer.h"
#include "file/model/element_types.h"
#include "onnx_tag/error.h"

namespace onnx_tag {

void WriteNewModels(const ModelFile& file, Inputs inputs,
                    const WriteOptions& options, Terminal& terminal,
                    std::vector<NewModel>& models, Result& result) {
  AddModelInputs(file, inputs);
  PendingOutputs outputs(file.file(), inputs, options, terminal);
  for (const NewModel& made : models) {
    if (made.size > kMaxModelBytes) {
      Fail(ErrorKind::kOutput,
           "{}: would have {} bytes; protobuf readers stop at {}\n  keep the "
           "weights in a file of their own (external data)",
           made.path, made.size, kMaxModelBytes);
    }
    // First, so that a model never stands there without its weights.
    for (const NewData& data : made.data) {
      outputs.AddWeights(data.path, data.size, data.produce);
    }
    for (const std::string& left : made.left) outputs.AddLeftover(left);
    outputs.AddModel(made.path, made.size, made.produce);
  }
  if (!models.front().packs && !options.in_place) {
    CarryExternalData(file, models.front().path, options.data, outputs);
  }
  WarnOfExternalData(file, terminal);
  outputs.Finish();
  for (NewModel& made : models) made.fate = outputs.FateOf(made.path);
  result.streams = outputs.streams() && !options.dry_run;
}

void AddDeed(const NewModel& model, const WriteOptions& options,
             Result& result) {
  result.Line("  {} {}", Deed(model.fate, options.dry_run),
              ShownOutput(model.path));
}

void WriteNewModel(const ModelFile& file, const Inputs& inputs,
                   const WriteOptions& options, Terminal& terminal,
                   NewModel model, Result& result) {
  std::vector<NewModel> models = {std::move(model)};
  WriteNewModels(file, inputs, options, terminal, models, result);
  AddDeed(models.front(), options, result);
}

Release ReleaserOf(const ModelFile& file) {
  return [&file](std::uint64_t begin, std::uint64_t end) {
    file.file().Release(begin, end);
  };
}

sizes::Shapes ShapesOf(const ModelFile& file) {
  return file.Map([](const Model& model) { return sizes::Shapes(model, {}); });
}

const ModelFile& ModelToWrite(const TaggedModel& model,
                              const std::string& path) {
  if (model.file() == nullptr) {
    Fail(ErrorKind::kUsage, "{}: is a sidecar; a model is needed to write one",
         path);
  }
  return *model.file();
}

void WarnOfUntyped(const std::string& model,
                   const std::vector<edit::PartValue>& values,
                   Terminal& terminal) {
  for (const edit::PartValue& value : values) {
    if (value.complete) continue;
    terminal.Note(
        "{}: warning: the {} of {} is not known; ONNX's checker asks for it\n"
        "  infer shapes in the model first: "
        "onnx.shape_inference.infer_shapes_path",
        model, value.type.element == kUndefined ? "type" : "shape", value.name);
  }
}

}  // namespace onnx_tag
