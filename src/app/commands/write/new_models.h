// Models made out of another: tapped, extracted, split, renamed.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "app/commands/commands.h"
#include "app/commands/output/pending_outputs.h"
#include "app/commands/read/tagged_model.h"
#include "file/io/terminal.h"
#include "file/model/model_file.h"
#include "file/wire/rewrite.h"
#include "uses/edit/part.h"

namespace onnx_tag {

// A file of weights that is made for a new model.
struct NewData {
  std::string path;
  std::uint64_t size;
  Produce produce;
};

struct NewModel {
  std::string path;
  std::uint64_t size;
  Produce produce;
  // Whether `data` takes the place of the old model's files of weights.
  bool packs = false;
  std::vector<NewData> data = {};
  std::vector<std::string> left = {};  // weights of an older output
  PendingOutputs::Fate fate = PendingOutputs::Fate::kUnknown;
};

// What `writer` writes, which must outlive it.
template <typename Writer>
NewModel ModelOf(Writer& writer, std::string path) {
  return {
      .path = std::move(path),
      .size = writer.new_size(),
      .produce = [&writer](wire::Rewrite::Sink& sink) { writer.Write(sink); }};
}

// Writes `models`, made out of `file` and `inputs`, which must all go to one
// folder, with the weights that lie outside the file: all or nothing. Notes in
// each what became of it, and in `result` whether one went to standard output.
void WriteNewModels(const ModelFile& file, Inputs inputs,
                    const WriteOptions& options, Terminal& terminal,
                    std::vector<NewModel>& models, Result& result);

// "  wrote out.onnx"
void AddDeed(const NewModel& model, const WriteOptions& options,
             Result& result);

// Both, for one model.
void WriteNewModel(const ModelFile& file, const Inputs& inputs,
                   const WriteOptions& options, Terminal& terminal,
                   NewModel model, Result& result);

// Tells the system that the pages of a file will not be read again soon.
Release ReleaserOf(const ModelFile& file);

sizes::Shapes ShapesOf(const ModelFile& file);

// The model of a command that writes. Throws Error(kUsage) for a sidecar.
const ModelFile& ModelToWrite(const TaggedModel& model,
                              const std::string& path);

// Says which inputs and outputs have no type or rank.
void WarnOfUntyped(const std::string& model,
                   const std::vector<edit::PartValue>& values,
                   Terminal& terminal);

}  // namespace onnx_tag
