#include "base/glob.h"
#include "base/text.h"
#include "commands/show/show_view.h"
#include "onnx_tag/error.h"

namespace onnx_tag {
namespace {

[[noreturn]] void FailOnModule(const ModuleTree& tree,
                               const std::string& path) {
  std::vector<std::string> paths;
  for (const ModuleId id : tree.All()) {
    if (paths.size() < 10'000) paths.push_back(tree.Path(id));
  }
  const std::vector<std::string_view> views(paths.begin(), paths.end());
  const std::string_view near = NearestWord(path, views);
  if (near.empty()) {
    Fail(ErrorKind::kUsage, "no module '{}'\n  see onnx-tag show MODEL",
         Printable(path));
  }
  Fail(ErrorKind::kUsage, "no module '{}', did you mean '{}'?", Printable(path),
       Printable(near));
}

}  // namespace

std::vector<ModuleId> FindTops(const Tagging& tagging,
                               const std::string& path) {
  if (path.empty() || path == "<root>") return {ModuleTree::kRoot};
  const ModuleTree& tree = tagging.modules;
  const ModuleId id = tree.Find(path);
  if (id != kNo<ModuleId>) return {id};
  std::vector<ModuleId> tops;
  std::vector<char> inside(tree.size());  // below one that fits
  for (const ModuleId module : tree.All()) {
    if (module == ModuleTree::kRoot) continue;
    if (!HasWildcards(path)) break;
    inside[Index(module)] = inside[Index(tree.Parent(module))];
    if (inside[Index(module)] ||
        !MatchesPattern(path, tree.Path(module), '.')) {
      continue;
    }
    inside[Index(module)] = 1;
    tops.push_back(module);
  }
  if (tops.empty()) FailOnModule(tree, path);
  return tops;
}

}  // namespace onnx_tag
