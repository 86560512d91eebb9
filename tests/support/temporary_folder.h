// A folder of its own for a test, removed with all that is in it.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <random>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

namespace onnx_tag::test {

class TemporaryFolder {
 public:
  TemporaryFolder() {
    std::random_device random;
    for (int attempt = 0; attempt < 100; ++attempt) {
      path_ = std::filesystem::path(testing::TempDir()).generic_string() +
              "/onnx_tag_test_" + std::to_string(random());
      std::error_code error;
      if (std::filesystem::create_directory(path_, error)) return;
    }
    throw std::runtime_error("could not make " + path_);
  }
  ~TemporaryFolder() {
    std::error_code ignored;
    std::filesystem::permissions(path_, std::filesystem::perms::owner_all,
                                 ignored);
    std::filesystem::remove_all(path_, ignored);
  }
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;

  const std::string& path() const { return path_; }
  std::string operator/(std::string_view name) const {
    return path_ + "/" + std::string(name);
  }

  // Makes a file and gives its path.
  std::string Write(std::string_view name, std::string_view content) const {
    const std::string path = *this / name;
    std::ofstream(path, std::ios::binary | std::ios::trunc) << content;
    return path;
  }

  // All names in it, sorted.
  std::vector<std::string> Names() const {
    std::vector<std::string> names;
    for (const auto& entry : std::filesystem::directory_iterator(path_)) {
      names.push_back(entry.path().filename().string());
    }
    std::sort(names.begin(), names.end());
    return names;
  }

 private:
  std::string path_;
};

// Whether links to files can be made: Windows asks for a right, wine has none.
inline bool CanMakeLinks() {
  const TemporaryFolder folder;
  std::error_code error;
  std::filesystem::create_symlink("target", folder / "link", error);
  return std::filesystem::is_symlink(folder / "link", error);
}

// Whether a folder without the permission to write can be written to: nothing
// stops root, and Windows has no such permission for folders.
inline bool WritesEverywhere() {
  const TemporaryFolder folder;
  std::filesystem::permissions(
      folder.path(),
      std::filesystem::perms::owner_read | std::filesystem::perms::owner_exec);
  folder.Write("file", "");
  return std::filesystem::exists(folder / "file");
}

inline std::string ReadFile(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  std::string content;
  // In pieces: byte by byte takes most of a test's time with sanitizers.
  std::vector<char> piece(std::size_t{1} << 16);
  do {
    file.read(piece.data(), static_cast<std::streamsize>(piece.size()));
    content.append(piece.data(), static_cast<std::size_t>(file.gcount()));
  } while (file);
  return content;
}

}  // namespace onnx_tag::test
