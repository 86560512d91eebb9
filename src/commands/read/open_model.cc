// Tested by tests/commands/verdict_test.cc.
#include "commands/read/open_model.h"

#include <fmt/core.h>

#include "commands/output/destinations.h"

namespace onnx_tag {

std::vector<std::string> ReadingWarnings(const Model& model) {
  const std::vector<std::string_view>& names = model.unreadable();
  if (names.empty()) return {};
  const std::string others =
      names.size() == 1 ? "" : fmt::format(" and {} more", names.size() - 1);
  return {
      Message("the numbers of '{}'{} cannot be read: a packed field ends "
              "inside a number; their values count as unknown",
              Short{names.front(), 200}, others)};
}

ModelFile OpenModel(const std::string& path, Terminal& terminal) {
  ModelFile file = ModelFile::Open(path);
  for (const std::string& warning : ReadingWarnings(file.model())) {
    terminal.Note("{}: warning: {}", ShownInput(path), Ours{warning});
  }
  return file;
}

}  // namespace onnx_tag
