// Questions about names of files, and whole small files.
#ifndef ONNX_TAG_IO_PATHS_H_
#define ONNX_TAG_IO_PATHS_H_

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>

namespace onnx_tag {

// The folder a name stands in: "out" for "out/x", "." for "x", "/" for "/x".
std::string ParentFolder(std::string_view path);

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

}  // namespace io
}  // namespace onnx_tag

#endif  // ONNX_TAG_IO_PATHS_H_
