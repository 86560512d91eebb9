#include "file/io/paths.h"

#include <algorithm>
#include <cerrno>

#include "file/io/descriptor.h"
#include "file/io/file_status.h"
#include "file/io/inputs.h"
#include "file/io/system_calls.h"
#include "onnx_tag/error.h"

namespace onnx_tag {

std::filesystem::path ToPath(std::string_view name) {
  return std::filesystem::path(std::u8string(name.begin(), name.end()));
}

std::string ToText(const std::filesystem::path& path) {
  const std::u8string text = path.generic_u8string();
  return std::string(text.begin(), text.end());
}

bool IsRegularFile(const std::string& path) {
  const auto status = io::StatusOf(path);
  return status && status->regular();
}

bool IsSymlink(const std::string& path) {
  const auto status = io::StatusOfLink(path);
  return status && status->kind == io::FileKind::kLink;
}

bool Exists(const std::string& path) {
  return io::StatusOfLink(path).has_value();
}

std::string ParentFolder(std::string_view path) {
  std::size_t end = path.size();
  while (end > 0 && !IsSeparator(path[end - 1])) --end;
  if (end == 0) return ".";
  return std::string(path.substr(0, end == 1 ? 1 : end - 1));
}

std::string FileName(std::string_view path) {
  return ToText(ToPath(path).filename());
}

std::string JoinPath(std::string_view folder, std::string_view name) {
  std::string path(folder);
  if (!path.empty() && !IsSeparator(path.back())) path += '/';
  return path.append(name);
}

std::string WithoutOnnx(std::string_view path) {
  constexpr std::string_view kSuffix = ".onnx";
  // A file called ".onnx" has no other name.
  if (path.ends_with(kSuffix) && FileName(path) != kSuffix) {
    path.remove_suffix(kSuffix.size());
  }
  return std::string(path);
}

bool SameFile(const std::string& a, const std::string& b) {
  const auto first = io::StatusOf(a);
  const auto second = io::StatusOf(b);
  return first && second && first->id == second->id;
}

std::string FileKeys::Of(const std::string& path) {
  if (IsSymlink(path)) {
    if (const auto target = RealPath(path)) return io::FoldName(*target);
  }
  const std::string parent = ParentFolder(path);
  const auto [at, added] = folders_.try_emplace(parent);
  if (added) {
    // A folder that is still to be made: the part of its name that exists.
    std::filesystem::path above = ToPath(parent);
    std::filesystem::path below;
    std::optional<std::string> real = RealPath(parent);
    while (!real && above.has_filename()) {
      below = above.filename() / below;
      above = above.parent_path();
      real = RealPath(above.empty() ? "." : ToText(above));
    }
    at->second =
        real ? ToText((ToPath(*real) / below).lexically_normal()) : parent;
  }
  return io::FoldName(ToText(ToPath(at->second) / ToPath(path).filename()));
}

std::optional<FileStamp> StampOf(const std::string& path) {
  const auto status = io::StatusOf(path);
  if (!status || !status->regular()) return std::nullopt;
  return FileStamp{status->size, status->modified};
}

std::string ReadWholeFile(const std::string& path, std::uint64_t limit) {
  const io::Descriptor file(io::OpenStream(path.c_str()));
  if (file.get() < 0) {
    Fail(ErrorKind::kInput, "{}: could not read: {}", path,
         io::SystemMessage(errno));
  }
  const auto status = io::StatusOf(file.get());
  io::RefuseAsStandardOutput(status, path);
  std::string content;
  if (status && status->regular() && status->size <= limit) {
    content.reserve(static_cast<std::size_t>(status->size) + 1);
  }
  // A pipe gives 64 KB at a time: what is not read yet is cleared only once.
  for (std::size_t used = 0;;) {
    constexpr std::size_t kChunk = 64 * 1024;
    if (used == content.size()) {
      content.resize(std::max(content.capacity(), 2 * used + kChunk));
    }
    const std::ptrdiff_t count =
        io::ReadSome(file.get(), content.data() + used, content.size() - used);
    if (count < 0) {
      Fail(ErrorKind::kInput, "{}: could not read: {}", path,
           io::SystemMessage(errno));
    }
    used += static_cast<std::size_t>(count);
    if (count == 0) {
      content.resize(used);
      return content;
    }
    if (used > limit) {
      Fail(ErrorKind::kInput, "{}: larger than {} bytes", path, limit);
    }
  }
}

}  // namespace onnx_tag
