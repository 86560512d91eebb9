// A model with its tags, and the files that they come from.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "app/commands/commands.h"
#include "core/tagging/parameter_counts.h"
#include "core/tagging/sidecar.h"
#include "file/io/inputs.h"
#include "file/io/terminal.h"
#include "file/model/model_file.h"
#include "uses/library/facts.h"

namespace onnx_tag {

class MappingObserver;  // mapping/mapping/observed_mapping.h

// A model with its tags, or what a sidecar says of both. A sidecar is enough
// for every command but `explain`.
class TaggedModel {
 public:
  static constexpr std::string_view kInFile = "tags in the file";
  static constexpr std::string_view kSidecar = "sidecar";
  static constexpr std::string_view kMapped = "mapped";

  // `path` names a model or a sidecar. Says on stderr where the tags are from.
  // If the model is mapped now, `observer` follows the mapping; it may be null.
  static TaggedModel Load(const std::string& path,
                          const TagSourceOptions& options, Terminal& terminal,
                          MappingObserver* observer = nullptr);
  static TaggedModel Load(const TaggedModelOptions& options,
                          Terminal& terminal) {
    return Load(options.model, options.source, terminal);
  }

  const Tagging& tagging() const { return tagging_; }
  const SidecarModel& about() const { return about_; }
  // Of the model, or as the sidecar says.
  ParameterCounts parameters() const;
  // kInFile, kSidecar or kMapped.
  std::string_view source() const { return source_; }
  // One node for each of tagging().tags. If only a sidecar is at hand, it has
  // names and edges, but no weights, types and attributes.
  const Model& model() const { return file_ ? file_->model() : graph_; }
  // Null if only a sidecar is at hand.
  const ModelFile* file() const { return file_.get(); }
  // Every file that Load() was given or found.
  const Inputs& inputs() const { return inputs_; }

 private:
  std::unique_ptr<const ModelFile> file_;  // views of it outlive a move
  Model graph_;                            // of a sidecar
  Tagging tagging_;
  SidecarModel about_;
  std::string_view source_;
  Inputs inputs_;
};

inline bool IsSidecarName(std::string_view path) {
  return path.ends_with(".json");
}

// Removes tags below `least`, and their origins.
void DropWeaker(Confidence least, Tagging& tagging);

// Where the sidecar of a model is looked for: "bert.onnx" and
// "bert.tagged.onnx" have "bert.tags.json", and `-o X.onnx` made "X.tags.json".
std::vector<std::string> SidecarsBeside(const std::string& path);

// Tags that a model has already.
struct ExistingTags {
  Tagging tagging;
  std::string_view source;  // kInFile or kSidecar
  std::string sidecar;      // the file that was read
  SidecarModel about;       // what it says of the model
  Model graph;              // and of its nodes
};

// The tags in the model at `path`, else those of its sidecar; none if it must
// be mapped. `model` is null if `path` itself is a sidecar. Says on stderr
// where they are from.
std::optional<ExistingTags> FindTags(const std::string& path,
                                     const TagSourceOptions& options,
                                     const Model* model, Terminal& terminal);

// What `read` makes of the bytes of a file, - for standard input. An error
// names the file.
template <typename Read>
auto ReadMapped(const std::string& path, const Read& read) {
  const MappedFile file =
      path == "-" ? MappedFile::FromStdin() : MappedFile::Open(path);
  try {
    auto result = read(file.bytes());
    file.CheckUnchanged();
    return result;
  } catch (const Error& error) {
    file.CheckUnchanged();
    throw error.In(path);
  }
}

// A note may name modules, and those may be long.
constexpr std::size_t kLongestNote = 4000;

// Opens a model for a command: one reading, one verdict, one warning.

// Warns of weights and constants that cannot be read. Throws Error(kInput).
ModelFile OpenModel(const std::string& path, Terminal& terminal);

// The warnings, for a command that has its own place for them.
std::vector<std::string> ReadingWarnings(const Model& model);

}  // namespace onnx_tag
