// Tested by tests/core/tagging/node_names_test.cc.
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>

#include "core/hierarchy/name_parts.h"
#include "core/tagging/tag_format.h"
#include "core/tagging/tag_writer.h"
#include "file/model/model_builder.h"

namespace onnx_tag {
namespace {

using hierarchy::IsWordChar;

// Equal for names that some engine makes equal: they replace each byte, each
// character or each run of them that is no word's by `_`.
std::string Sanitized(std::string_view name) {
  std::string text;
  for (const char c : name) {
    if (IsWordChar(c) && c != '_') {
      text += c;
    } else if (!text.ends_with('_')) {
      text += '_';
    }
  }
  return text;
}

class NodeNamer {
 public:
  explicit NodeNamer(const Tagging& tagging) : tagging_(tagging) {}

  bool IsNamed(NodeId node) const {
    const Tag& tag = tagging_.tags[node];
    return tag.tagged() && tag.confidence >= Confidence::kHigh &&
           tag.source != Source::kStructure;
  }

  // False if it is taken.
  bool Take(std::string_view name) {
    return taken_.insert(Sanitized(name)).second;
  }

  // `<base>`, `<base>_1`, ...; the first number is `first`.
  std::string Numbered(const std::string& base, std::uint32_t first) {
    // Numbers that others of this base have are not tried again. Bases with
    // equal sanitized forms take names from each other.
    std::uint32_t& next =
        next_.try_emplace(Sanitized(base), first).first->second;
    for (;; ++next) {
      std::string name = next == 0 ? base : base + "_" + std::to_string(next);
      if (Take(name)) return name;
    }
  }

  std::string ModuleName(NodeId node, std::string_view op) {
    std::string name = tagging_.modules.Path(tagging_.tags[node].module);
    name.append("/").append(op);
    for (char& c : name) {
      if (!IsWordChar(c) && c != '.' && c != '/' && c != '-') c = '_';
    }
    return Numbered(name, 0);
  }

 private:
  const Tagging& tagging_;
  std::unordered_set<std::string> taken_;                // sanitized
  std::unordered_map<std::string, std::uint32_t> next_;  // by sanitized base
};

}  // namespace

std::uint64_t RenameNodes(const Tagging& tagging, Model& model) {
  NodeNamer namer(tagging);
  IdVector<NodeId, bool> keeps(model.node_count(), false);
  for (const NodeId node : model.Nodes()) {
    const std::string_view name = ExporterName(model, node);
    keeps[node] = !namer.IsNamed(node) && !name.empty() && namer.Take(name);
  }
  std::uint64_t renamed = 0;
  for (const NodeId node : model.Nodes()) {
    const std::string old(ExporterName(model, node));
    std::string name = old;
    if (namer.IsNamed(node)) {
      name = namer.ModuleName(node, model.OpType(node));
    } else if (!keeps[node]) {
      name = namer.Numbered(Sanitized(model.OpType(node)), 1);
    }
    renamed += name != old;
    if (name != model[node].name) ModelBuilder::Rename(model, node, name);
  }
  return renamed;
}

}  // namespace onnx_tag
