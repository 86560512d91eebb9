// Writes the man pages and completion scripts: make_documents FOLDER
//
// Everything in them comes from the program's own table of commands.
#include <fmt/core.h>

#include <cstdio>
#include <exception>
#include <filesystem>
#include <fstream>
#include <stdexcept>

#include "document_maker/completions.h"
#include "document_maker/described.h"
#include "document_maker/man_page.h"

namespace {

using namespace onnx_tag::cli;  // NOLINT: a program of one page

void Write(const std::filesystem::path& path, const std::string& text) {
  std::filesystem::create_directories(path.parent_path());
  std::ofstream file(path, std::ios::binary);
  file << text;
  if (!file.flush()) {
    throw std::runtime_error("could not write " + path.string());
  }
}

void WriteAll(const std::filesystem::path& folder) {
  const std::vector<DescribedCommand> commands = DescribeCommands();
  Write(folder / "man/onnx-tag.1", OverviewPage());
  for (const DescribedCommand& command : commands) {
    Write(folder / fmt::format("man/onnx-tag-{}.1", command.command->name),
          CommandPage(command));
  }
  Write(folder / "bash/onnx-tag", BashCompletion(commands));
  Write(folder / "zsh/_onnx-tag", ZshCompletion(commands));
  Write(folder / "fish/onnx-tag.fish", FishCompletion(commands));
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 2) {
    std::fputs("usage: make_documents FOLDER\n", stderr);
    return 2;
  }
  try {
    WriteAll(argv[1]);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "make_documents: %s\n", error.what());
    return 1;
  }
  return 0;
}
