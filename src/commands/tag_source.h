// Where a command's tags come from: the file itself, a sidecar, or mapping.
#ifndef ONNX_TAG_COMMANDS_TAG_SOURCE_H_
#define ONNX_TAG_COMMANDS_TAG_SOURCE_H_

#include <optional>
#include <string>
#include <vector>

#include "commands/options.h"
#include "io/terminal.h"
#include "model/model_file.h"
#include "tagging/sidecar.h"

namespace onnx_tag {

// A model with its tags, or what a sidecar says of both.
class TaggedModel {
 public:
  // `path` names a model or a sidecar. Says on stderr where the tags are from.
  static TaggedModel Load(const std::string& path,
                          const TagSourceOptions& options, Terminal& terminal);

  const Tagging& tagging() const { return tagging_; }
  const SidecarModel& about() const { return about_; }
  // "tags in the file", "sidecar", "mapped"
  const std::string& source() const { return source_; }

  // What a node is called; the same for a model and for a sidecar.
  struct NodeLabel {
    std::string graph;
    std::uint32_t index;
    std::string_view name;
    std::string_view op;
  };
  NodeLabel Label(NodeId node) const;

 private:
  void UseSidecar(Sidecar sidecar, bool keep_nodes);

  std::optional<ModelFile> file_;   // none: only a sidecar is at hand
  std::vector<SidecarNode> nodes_;  // then these are its nodes
  Tagging tagging_;
  SidecarModel about_;
  std::string source_;
};

}  // namespace onnx_tag

#endif  // ONNX_TAG_COMMANDS_TAG_SOURCE_H_
