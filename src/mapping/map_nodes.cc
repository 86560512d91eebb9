// The first rung alone, direct scope: `/a/b/Op` was made by the module a.b.
#include <array>
#include <optional>

#include "base/text.h"
#include "hierarchy/torchscript.h"
#include "onnx_tag/error.h"
#include "onnx_tag/mapping.h"

namespace onnx_tag {
namespace {

constexpr std::array<StrategyInfo, 1> kStrategyTable = {{
    {"enhanced_semantic",
     "scopes in names, then parameters and operations, then neighbours"},
}};

// A hostile name must not make a tree of 10^5 levels.
constexpr std::size_t kMaxDepth = 200;

void CheckStrategy(const std::string& name) {
  for (const StrategyInfo& strategy : kStrategyTable) {
    if (strategy.name == name) return;
  }
  Fail(ErrorKind::kUsage, "unknown strategy '{}'", Printable(name));
}

std::optional<std::string> ModuleOf(std::string_view node_name) {
  const hierarchy::ScopedName scoped = hierarchy::SplitScopedName(node_name);
  if (!scoped.ok) return std::nullopt;
  const auto atoms = hierarchy::CollapseScope(scoped.scope);
  if (atoms.size() > kMaxDepth) return std::nullopt;
  std::string path;
  for (const std::string_view atom : atoms) {
    if (!path.empty()) path += '.';
    path += atom;
  }
  return path;
}

}  // namespace

Tagging MapNodes(const Model& model, const MappingOptions& options) {
  CheckStrategy(options.strategy);
  Tagging tagging;
  tagging.strategy = options.strategy;
  tagging.format = options.format;
  tagging.roles.Add(Role());
  tagging.tags.resize(model.node_count());
  for (const NodeId node : model.Nodes()) {
    const std::optional<std::string> path = ModuleOf(model[node].name);
    if (!path || options.min_confidence > Confidence::kHigh) continue;
    tagging.tags[node] = {.module = tagging.modules.Add(*path),
                          .role = RoleId{0},
                          .confidence = Confidence::kHigh,
                          .source = Source::kScope};
    tagging.dialect = "torchscript";
  }
  if (tagging.dialect.empty()) tagging.dialect = "unknown";
  return tagging;
}

Explanation Explain(const Model& model, const MappingOptions& options,
                    NodeId node) {
  CheckStrategy(options.strategy);
  Explanation explanation;
  const std::optional<std::string> path = ModuleOf(model[node].name);
  if (path) {
    explanation.claims.push_back(
        {.rung = "direct scope",
         .module = *path,
         .confidence = Confidence::kHigh,
         .source = Source::kScope,
         .because = "the node's name is its scope",
         .wins = options.min_confidence <= Confidence::kHigh});
  }
  return explanation;
}

std::span<const StrategyInfo> Strategies() { return kStrategyTable; }

}  // namespace onnx_tag
