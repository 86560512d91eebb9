#include "core/tagging/scope_path.h"

#include <vector>

#include "base/text.h"
#include "core/tagging/tag_format.h"
#include "file/model/model_builder.h"

namespace onnx_tag {

std::string_view ScopePath(const Model& model, NodeId node) {
  if (const MetadataEntry* const known =
          FindEntry(model.Metadata(node), kScopePathKey)) {
    return known->value;
  }
  const std::string_view scope = ScopeOfName(ExporterName(model, node));
  if (!scope.empty()) return scope;
  if (model[node].metadata_count == 0) return "";
  // "['', 'encoder', 'encoder.layer.0', 'linear_3']": the last is the
  // operation.
  const std::vector<std::string_view> words =
      Split(ForeignMetadata(model, node, keys::kNameScopes), '\'');
  return words.size() < 5 ? "" : words[words.size() - 4];
}

}  // namespace onnx_tag
