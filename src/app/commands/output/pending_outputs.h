// The one gate for what a command writes: all outputs are judged before one is
// made, and all are made before one gets its name.
//
//   Inputs inputs;
//   AddModelInputs(file, inputs);     // the model and its weights
//   PendingOutputs outputs(file.file(), inputs, options, terminal);
//   outputs.AddModel("out.onnx", size, produce);
//   outputs.AddSidecar("out.tags.json", produce);
//   outputs.Judge();   // throws where something may not be replaced
//   outputs.Write();   // a full disk is found here
//   outputs.Commit();
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "app/commands/commands.h"
#include "file/io/inputs.h"
#include "file/io/mapped_file.h"
#include "file/io/output_file.h"
#include "file/io/terminal.h"
#include "file/wire/rewrite.h"
#include "uses/edit/part.h"

namespace onnx_tag {

// Hands a file to the sink, in order. May be called twice: to compare with
// what exists, and to write.
using Produce = std::function<void(wire::Rewrite::Sink&)>;

// Bytes of a file, and where they go. Pieces are in the order of `at`.
using DataPiece = edit::WeightPacker::Piece;

class PendingOutputs {
 public:
  // What becomes of an output.
  enum class Fate { kUnknown, kCreated, kReplaced, kUnchanged, kStreamed };

  // What the command writes, and so which files of its own it may replace
  // without --force.
  enum class Kind {
    kTaggedModel,  // replaces a model with our tags
    kModel,        // a model without them: replaces nothing
    kSidecar,      // replaces a sidecar
    kDocument,     // replaces what begins like it
    kShare,
    kCopy,
    kPacked,
  };

  // `source` is what the sinks copy from; no output is ever one of `inputs`,
  // except the source with --in-place. All must outlive this.
  PendingOutputs(const MappedFile& source, const Inputs& inputs,
                 const WriteOptions& options, Terminal& terminal)
      : source_(source),
        inputs_(inputs),
        options_(options),
        terminal_(terminal) {}

  // "-" is standard output.
  void AddTaggedModel(const std::string& path, std::uint64_t size,
                      Produce produce) {
    Add(Kind::kTaggedModel, path, size, std::move(produce));
  }
  void AddModel(const std::string& path, std::uint64_t size, Produce produce) {
    Add(Kind::kModel, path, size, std::move(produce));
  }
  void AddSidecar(const std::string& path, Produce produce) {
    Add(Kind::kSidecar, path, std::nullopt, std::move(produce));
  }
  // Text of another kind. `head` is how every document of this kind begins; ""
  // if that does not tell ours from others'.
  void AddDocument(const std::string& path, std::string_view head,
                   Produce produce);
  // A file of weights: a copy, or where `share` is set one that shares its
  // bytes with the original. Write() throws where the file system cannot do
  // that. (Further names of one file would do harm: onnx refuses weights with
  // hard links, also the original, and ONNX Runtime refuses symbolic ones.)
  void AddData(const std::string& from, const std::string& to, bool share);
  // A new file of weights that `produce` makes; it never calls Copy().
  void AddWeights(const std::string& path, std::uint64_t size,
                  Produce produce) {
    Add(Kind::kPacked, path, size, std::move(produce));
  }
  // A file of weights that Commit() removes last, unless it is an input or a
  // model in its folder reads it.
  void AddLeftover(const std::string& path) { leftovers_.push_back(path); }

  // Compares each with what stands there. Equal bytes are left alone; what
  // onnx-tag wrote is replaced; for anything else throws Error(kOutput)
  // unless the options say force. Inputs are refused in any case.
  void Judge();

  // Makes what is new, without its name; copies of weights get theirs already
  // where they replace nothing.
  void Write();

  // Names what Write() made, after a last look at the source.
  void Commit();

  // All three, but for a dry run only the first.
  void Finish();

  // Of a path added before; after Judge().
  Fate FateOf(const std::string& path) const;
  bool streams() const { return by_path_.contains("-"); }

 private:
  struct Output {
    Kind kind;
    std::string path;
    std::optional<std::uint64_t> size;  // where it is known beforehand
    Produce produce;
    std::string data;    // kShare, kCopy: the file it is of
    std::string head;    // kDocument
    std::string target;  // where `path` leads, when it is a link
    Fate fate = Fate::kUnknown;
    std::optional<OutputFile> file;
  };

  void Add(Kind kind, const std::string& path,
           std::optional<std::uint64_t> size, Produce produce);
  void RefuseSharedTargets() const;
  void RefuseInput(const Output& output) const;
  Fate JudgeStreamed(const Output& output) const;
  Fate Judge(const Output& output) const;
  bool IsInPlace(const Output& output) const;
  bool IsOurs(const Output& output, const MappedFile& existing) const;
  bool EqualsExisting(const Output& output) const;
  void WriteFile(Output& output);
  void Name(Output& output, OutputFile& file);
  // Whether it is a copy of weights in the place of others.
  static bool ReplacesData(const Output& output);
  void TakeAwayModels();
  void RemoveLeftovers() const;

  const MappedFile& source_;
  const Inputs& inputs_;
  const WriteOptions& options_;
  Terminal& terminal_;
  std::vector<Output> outputs_;
  std::unordered_map<std::string, std::size_t> by_path_;  // the first of a path
  std::vector<std::string> leftovers_;
};

// Whether the file at `path` has these bytes. `produce` never calls Copy().
bool HasBytes(const std::string& path, std::uint64_t size,
              const Produce& produce);

// The bytes of `pieces`, whose paths must outlive it.
Produce Packed(std::vector<DataPiece> pieces);
std::uint64_t SizeOf(const std::vector<DataPiece>& pieces);

// "wrote", "would replace", "unchanged"
std::string_view Deed(PendingOutputs::Fate fate, bool dry_run);

}  // namespace onnx_tag
