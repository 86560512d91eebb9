// Files about to be written: all are judged before one is made, and all are
// made before one gets its name.
//
//   PendingOutputs outputs(file.file(), options, terminal);
//   outputs.AddModel("out.onnx", size, produce);
//   outputs.AddSidecar("out.tags.json", produce);
//   outputs.Judge();   // throws where something may not be replaced
//   outputs.Write();   // a full disk is found here
//   outputs.Commit();
#ifndef ONNX_TAG_COMMANDS_WRITE_PENDING_OUTPUTS_H_
#define ONNX_TAG_COMMANDS_WRITE_PENDING_OUTPUTS_H_

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "commands/options.h"
#include "io/mapped_file.h"
#include "io/output_file.h"
#include "io/terminal.h"
#include "wire/rewrite.h"

namespace onnx_tag {

// Hands a file to the sink, in order. May be called twice: to compare with
// what exists, and to write.
using Produce = std::function<void(wire::Rewrite::Sink&)>;

class PendingOutputs {
 public:
  // What becomes of an output.
  enum class Fate { kUnknown, kCreated, kReplaced, kUnchanged, kStreamed };

  // `input` is what the sinks copy from. All must outlive this.
  PendingOutputs(const MappedFile& input, const WriteOptions& options,
                 Terminal& terminal)
      : input_(input), options_(options), terminal_(terminal) {}

  // "-" is standard output.
  void AddModel(const std::string& path, std::uint64_t size, Produce produce);
  void AddSidecar(const std::string& path, Produce produce);
  // A file of weights: by a link, or by a copy.
  void AddData(const std::string& from, const std::string& to, bool link);

  // Compares each with what stands there. Equal bytes are left alone; what
  // onnx-tag wrote is replaced; for anything else throws Error(kOutput)
  // unless the options say force.
  void Judge();

  // Makes what is new, without its name; weights get theirs already.
  void Write();

  // Names what Write() made, after a last look at the input.
  void Commit();

  // Of a path added before; after Judge().
  Fate FateOf(const std::string& path) const;
  bool streams() const;

 private:
  enum class Kind { kModel, kSidecar, kLink, kCopy };
  struct Output {
    Kind kind;
    std::string path;
    std::optional<std::uint64_t> size;  // where it is known beforehand
    Produce produce;
    std::string data;    // kLink, kCopy: the file it is of
    std::string target;  // where `path` leads, when it is a link
    Fate fate = Fate::kUnknown;
    std::optional<OutputFile> file;
  };

  Fate Judge(Output& output) const;
  bool EqualsExisting(const Output& output) const;
  void WriteFile(Output& output);
  void Link(const Output& output) const;
  void Name(Output& output, OutputFile& file);

  const MappedFile& input_;
  const WriteOptions& options_;
  Terminal& terminal_;
  std::vector<Output> outputs_;
};

}  // namespace onnx_tag

#endif  // ONNX_TAG_COMMANDS_WRITE_PENDING_OUTPUTS_H_
