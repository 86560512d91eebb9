#include <cerrno>
#include <cstring>

#include "file/io/mapping.h"
#include "file/io/win32/win32.h"

namespace onnx_tag::io {

std::uint64_t PageSize() {
  SYSTEM_INFO info;
  GetSystemInfo(&info);
  return info.dwPageSize;
}

const char* MapFile(int fd, std::size_t size) {
  // The view keeps the mapping.
  const Handle mapping(
      CreateFileMappingW(HandleOf(fd), nullptr, PAGE_READONLY, 0, 0, nullptr));
  const void* const view =
      mapping.valid() ? MapViewOfFile(mapping.get(), FILE_MAP_READ, 0, 0, size)
                      : nullptr;
  if (view == nullptr) {
    // What Windows says of an empty file, and of a view beyond the end.
    const DWORD error = GetLastError();
    const bool shorter = mapping.valid() ? error == ERROR_ACCESS_DENIED
                                         : error == ERROR_FILE_INVALID;
    errno = shorter ? ERANGE : ErrnoOf(error);
  }
  return static_cast<const char*>(view);
}

void UnmapFile(const char* data, std::size_t) { UnmapViewOfFile(data); }

char* AllocatePages(std::size_t size) {
  void* const memory =
      VirtualAlloc(nullptr, size, MEM_RESERVE | MEM_COMMIT, PAGE_READWRITE);
  if (memory == nullptr) FailWithLastError();
  return static_cast<char*>(memory);
}

char* GrowPages(char* data, std::size_t size, std::size_t wanted) {
  char* const grown = AllocatePages(wanted);
  if (grown == nullptr) return nullptr;
  std::memcpy(grown, data, size);
  FreePages(data, size);
  return grown;
}

void FreePages(char* data, std::size_t) { VirtualFree(data, 0, MEM_RELEASE); }

void ReleasePages(const char* begin, std::size_t size) {
  // Pages that are not locked leave the working set: documented so.
  VirtualUnlock(const_cast<char*>(begin), size);
}

void ReadPagesAhead(const char*, std::size_t, bool) {}  // Windows decides

void FetchPages(const char* begin, std::size_t size) {
  WIN32_MEMORY_RANGE_ENTRY range = {const_cast<char*>(begin), size};
  PrefetchVirtualMemory(GetCurrentProcess(), 1, &range, 0);
}

}  // namespace onnx_tag::io
