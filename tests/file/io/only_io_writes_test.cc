// Outputs go through one gate: OutputFile and its like in src/file/io. No other
// source file opens, makes, renames or removes files, and no command but the
// gate makes an OutputFile.
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <regex>
#include <string>

namespace onnx_tag {
namespace {

namespace fs = std::filesystem;

// Lines of `file`, comments left out, that `pattern` finds.
std::string LinesWith(const fs::path& file, const std::regex& pattern) {
  std::ifstream stream(file);
  std::string found;
  for (std::string line; std::getline(stream, line);) {
    line = line.substr(0, line.find("//"));
    if (std::regex_search(line, pattern)) found += line + "\n";
  }
  return found;
}

template <typename Use>
int ForEachSource(Use use) {
  int count = 0;
  for (const auto& entry :
       fs::recursive_directory_iterator(ONNX_TAG_SOURCE_FOLDER)) {
    const fs::path path =
        fs::relative(entry.path(), fs::path(ONNX_TAG_SOURCE_FOLDER));
    if (path.extension() != ".cc" && path.extension() != ".h") continue;
    use(entry.path(), path.generic_string());
    ++count;
  }
  return count;
}

TEST(OnlyIoWrites, NoOtherLayerTouchesFiles) {
  const std::regex writes(
      R"(\b(ofstream|fstream|fopen|freopen|O_WRONLY|O_RDWR|O_CREAT|mkstemp)"
      R"(|renameat2?|unlink|unlinkat|linkat|symlink|truncate|ftruncate|mkdir)"
      R"(|create_directory|create_directories|create_hard_link|create_symlink)"
      R"(|copy_file|remove_all|resize_file|last_write_time)\b)"
      R"(|fs::(rename|remove|copy|permissions)\b|::(rename|remove|open)\()");
  const int seen =
      ForEachSource([&](const fs::path& path, const std::string& name) {
        if (name.starts_with("file/io/")) return;
        EXPECT_EQ(LinesWith(path, writes), "") << name;
      });
  EXPECT_GT(seen, 200);
}

// What differs between systems is in file/io alone.
TEST(OnlyIoWrites, NoOtherLayerIncludesHeadersOfTheSystem) {
  const std::regex headers(
      R"(#include <(unistd|fcntl|dirent|windows|io|sys/\w+)\.h>)");
  ForEachSource([&](const fs::path& path, const std::string& name) {
    // main() gets the standard streams from the system.
    if (name.starts_with("file/io/") || name == "app/cli/main.cc") return;
    EXPECT_EQ(LinesWith(path, headers), "") << name;
  });
}

TEST(OnlyIoWrites, OnlyTheGateMakesOutputs) {
  const std::regex makes(R"(\bOutputFile::Create\b)");
  int gates = 0;
  ForEachSource([&](const fs::path& path, const std::string& name) {
    if (name.starts_with("file/io/")) return;
    const bool found = !LinesWith(path, makes).empty();
    gates += found ? 1 : 0;
    // The commands have one gate, programs of others another.
    EXPECT_EQ(found, name == "app/commands/output/pending_outputs.cc" ||
                         name == "uses/library/tagger.cc")
        << name;
  });
  EXPECT_EQ(gates, 2);
}

}  // namespace
}  // namespace onnx_tag
