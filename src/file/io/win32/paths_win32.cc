#include <cerrno>
#include <system_error>

#include "file/io/paths.h"
#include "file/io/win32/win32.h"

namespace onnx_tag {

bool IsSeparator(char c) { return c == '/' || c == '\\'; }

std::optional<std::string> RealPath(const std::string& path) {
  const io::Handle file(
      CreateFileW(io::WidePath(path).c_str(), 0,
                  FILE_SHARE_READ | FILE_SHARE_WRITE | FILE_SHARE_DELETE,
                  nullptr, OPEN_EXISTING, FILE_FLAG_BACKUP_SEMANTICS, nullptr));
  if (!file.valid()) {
    io::FailWithLastError();
    return std::nullopt;
  }
  std::wstring name(
      GetFinalPathNameByHandleW(file.get(), nullptr, 0, FILE_NAME_NORMALIZED),
      L'\0');
  name.resize(GetFinalPathNameByHandleW(file.get(), name.data(),
                                        static_cast<DWORD>(name.size()),
                                        FILE_NAME_NORMALIZED));
  std::string text = io::ToUtf8(name);
  // The prefix of long names, which WidePath() sets again where needed.
  if (text.starts_with("\\\\?\\UNC\\")) {
    text.replace(0, 8, "\\\\");
  } else if (text.starts_with("\\\\?\\")) {
    text.erase(0, 4);
  }
  for (char& c : text) {
    if (c == '\\') c = '/';
  }
  return text;
}

namespace io {

std::string SystemMessage(int error) {
  if (error == EBUSY) return "another program has the file open";
  return std::generic_category().message(error);
}

std::string FoldName(std::string_view name) {
  std::wstring wide = ToWide(name);
  CharLowerBuffW(wide.data(), static_cast<DWORD>(wide.size()));
  return ToUtf8(wide);
}

}  // namespace io
}  // namespace onnx_tag
