// What is wrong with the tags of a model.
#ifndef ONNX_TAG_APP_COMMANDS_CHECK_CHECK_TAGS_H_
#define ONNX_TAG_APP_COMMANDS_CHECK_CHECK_TAGS_H_

#include <string>
#include <string_view>
#include <vector>

#include "core/tagging/sidecar.h"
#include "onnx_tag/mapping.h"

namespace onnx_tag {

struct TagFinding {
  std::string_view rule;      // "duplicate-key"; docs/cli.md lists them
  NodeId node = kNo<NodeId>;  // kNo: of the model, or of the sidecar
  std::string message;
};

// Entries that nobody can read, or that contradict each other.
void CheckEntries(const Model& model, std::vector<TagFinding>& findings);

// Tags that the names in the file contradict: it was changed after tagging.
void CheckStale(const Model& model, const Tagging& tags,
                std::vector<TagFinding>& findings);

// Tags that contradict the parameters that the nodes read. Adds the modules of
// the parameters to `tags`.
void CheckTagsByLaws(const Model& model, Tagging& tags,
                     std::vector<TagFinding>& findings);

// A sidecar in itself: counts, and modules that it does not list. `glance` is
// what its head and its statistics say.
void CheckSidecar(const Sidecar& sidecar, const SidecarGlance* glance,
                  std::vector<TagFinding>& findings);

// A sidecar against the model it lies beside. `tags` are those in the file,
// where there are some.
void CheckSidecarOf(const Sidecar& sidecar, const Model& model,
                    const Tagging* tags, std::vector<TagFinding>& findings);

}  // namespace onnx_tag

#endif  // ONNX_TAG_APP_COMMANDS_CHECK_CHECK_TAGS_H_
