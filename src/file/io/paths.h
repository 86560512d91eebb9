// Questions about names of files, and whole small files. Names are UTF-8 on
// every system, and any bytes but '\\0' on POSIX.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>

namespace onnx_tag {

// '/', and on Windows '\\' too.
bool IsSeparator(char c);

// For work on the text of a name. A std::string would be read in the code page
// of the user on Windows.
std::filesystem::path ToPath(std::string_view name);
// With '/' on every system.
std::string ToText(const std::filesystem::path& path);

// A regular file, through links; a link itself; anything of that name.
bool IsRegularFile(const std::string& path);
bool IsSymlink(const std::string& path);
bool Exists(const std::string& path);

// The absolute name without links; none where there is no such file.
std::optional<std::string> RealPath(const std::string& path);

// The folder a name stands in: "out" for "out/x", "." for "x", "/" for "/x".
std::string ParentFolder(std::string_view path);

// The name in it: "x" for "out/x".
std::string FileName(std::string_view path);
// "zoo" and "a.onnx" -> "zoo/a.onnx"; "" and "a.onnx" -> "a.onnx".
std::string JoinPath(std::string_view folder, std::string_view name);
// "dir/bert.onnx" -> "dir/bert"
std::string WithoutOnnx(std::string_view path);

// Whether both names lead to the same file, through links of any kind.
bool SameFile(const std::string& a, const std::string& b);

// One word for all names of a file, whether it exists or not: for two outputs
// that may be one file. Remembers folders, so that a batch asks for each once.
class FileKeys {
 public:
  std::string Of(const std::string& path);

 private:
  std::unordered_map<std::string, std::string> folders_;
};

// Size and time of a regular file, through links; none if there is none.
struct FileStamp {
  std::uint64_t bytes;
  std::int64_t modified;  // nanoseconds since the epoch
};
std::optional<FileStamp> StampOf(const std::string& path);

// All bytes of a file that may also be a pipe: rules, a trace, a sidecar.
// Throws Error(kInput) if it cannot be read or has more than `limit` bytes.
std::string ReadWholeFile(const std::string& path,
                          std::uint64_t limit = std::uint64_t{1} << 31);

namespace io {

// What the system says about an errno value: "No space left on device".
std::string SystemMessage(int error);

// A name as the file system compares it.
std::string FoldName(std::string_view name);

}  // namespace io
}  // namespace onnx_tag
