// Where a command's tags come from: the file itself, a sidecar, or mapping.
#ifndef ONNX_TAG_COMMANDS_READ_TAG_SOURCE_H_
#define ONNX_TAG_COMMANDS_READ_TAG_SOURCE_H_

#include <memory>
#include <string>
#include <string_view>

#include "commands/options.h"
#include "io/inputs.h"
#include "io/terminal.h"
#include "model/model_file.h"
#include "tagging/node_list.h"
#include "tagging/parameter_counts.h"
#include "tagging/sidecar.h"

namespace onnx_tag {

class MappingObserver;  // mapping/observed_mapping.h

// A model with its tags, or what a sidecar says of both. A sidecar is enough
// for every command but `explain`.
class TaggedModel {
 public:
  static constexpr std::string_view kMapped = "mapped";

  // `path` names a model or a sidecar. Says on stderr where the tags are from.
  // If the model is mapped now, `observer` follows the mapping; it may be null.
  static TaggedModel Load(const std::string& path,
                          const TagSourceOptions& options, Terminal& terminal,
                          MappingObserver* observer = nullptr);

  const Tagging& tagging() const { return tagging_; }
  // One for each of tagging().tags.
  const NodeList& nodes() const { return nodes_; }
  const SidecarModel& about() const { return about_; }
  // Of the model, or as the sidecar says.
  ParameterCounts parameters() const;
  // "tags in the file", "sidecar", "mapped"
  const std::string& source() const { return source_; }
  // Null if only a sidecar is at hand.
  const Model* model() const { return file_ ? &file_->model() : nullptr; }
  const ModelFile* file() const { return file_.get(); }
  // Every file that Load() was given or found.
  const Inputs& inputs() const { return inputs_; }

 private:
  void UseSidecar(Sidecar sidecar);

  std::unique_ptr<const ModelFile> file_;  // views of it outlive a move
  NodeList nodes_;
  Tagging tagging_;
  SidecarModel about_;
  std::string source_;
  Inputs inputs_;
};

// Where the sidecar of a model is looked for: "bert.onnx" and
// "bert.tagged.onnx" have "bert.tags.json", and `-o X.onnx` made "X.tags.json".
std::vector<std::string> SidecarsBeside(const std::string& path);

}  // namespace onnx_tag

#endif  // ONNX_TAG_COMMANDS_READ_TAG_SOURCE_H_
