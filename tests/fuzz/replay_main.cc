// Runs the files of folders through a fuzz target, without a fuzzer: what was
// found once stays found. Besides each file its first bytes up to some lengths,
// since cut files are what goes wrong most.
#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <set>
#include <string>
#include <vector>

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data,
                                      std::size_t size);

namespace {

// In memory of exactly this size, so that a sanitizer sees a byte too many.
void Run(const std::string& content, std::size_t size) {
  const std::vector<std::uint8_t> bytes(
      content.begin(),
      content.begin() + static_cast<std::string::difference_type>(size));
  LLVMFuzzerTestOneInput(bytes.data(), bytes.size());
}

}  // namespace

int main(int argc, char** argv) {
  // Sorted, so that a crash comes at the same file each time.
  std::set<std::filesystem::path> files;
  for (int i = 1; i < argc; ++i) {
    for (const auto& entry :
         std::filesystem::recursive_directory_iterator(argv[i])) {
      if (entry.is_regular_file()) files.insert(entry.path());
    }
  }
  for (const std::filesystem::path& path : files) {
    std::ifstream file(path, std::ios::binary);
    const std::string content{std::istreambuf_iterator<char>(file), {}};
    std::fprintf(stderr, "%s (%zu bytes)\n", path.c_str(), content.size());
    Run(content, content.size());
    const std::size_t step = 1 + content.size() / 200;
    for (std::size_t size = 0; size < content.size(); size += step) {
      Run(content, size);
    }
  }
  if (files.empty()) std::fprintf(stderr, "no files: nothing was tested\n");
  return files.empty() ? 1 : 0;
}
