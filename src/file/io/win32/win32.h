// What the files for Windows share: names, errors and handles.
#pragma once

#define WIN32_LEAN_AND_MEAN
#define NOMINMAX
#include <windows.h>
// Needs windows.h before it.
#include <shellapi.h>

#include <string>
#include <string_view>

namespace onnx_tag::io {

std::wstring ToWide(std::string_view text);
std::string ToUtf8(std::wstring_view text);

// A name for the system's functions. A long one becomes absolute and begins
// with \\?\, which lifts the limit of 260 characters.
std::wstring WidePath(std::string_view path);

// The nearest errno value. A file that another program has open is EBUSY.
int ErrnoOf(DWORD error);

// Sets errno from GetLastError() and returns -1.
int FailWithLastError();

// INVALID_HANDLE_VALUE, and errno, where `fd` is not open.
HANDLE HandleOf(int fd);

// A handle that closes itself.
class Handle {
 public:
  explicit Handle(HANDLE handle) : handle_(handle) {}
  ~Handle() {
    if (valid()) CloseHandle(handle_);
  }
  Handle(const Handle&) = delete;
  Handle& operator=(const Handle&) = delete;

  HANDLE get() const { return handle_; }
  bool valid() const {
    return handle_ != INVALID_HANDLE_VALUE && handle_ != nullptr;
  }

 private:
  HANDLE handle_;
};

}  // namespace onnx_tag::io
