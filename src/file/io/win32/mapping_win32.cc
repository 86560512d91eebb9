#include <array>
#include <atomic>
#include <cerrno>
#include <mutex>
#include <string_view>

#include "file/io/mapping.h"
#include "file/io/signals.h"
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

// Windows refuses to shrink a mapped file, so that no page of a local file goes
// missing. A page of a share or of a stick does when the device goes: then the
// program says so and ends with 3, because no page can take its place.
namespace onnx_tag::io {
namespace {

struct GuardedRange {
  std::atomic<bool> taken{false};
  std::atomic<ULONG_PTR> begin{0};
  std::atomic<ULONG_PTR> end{0};
};
constexpr std::size_t kRanges = 1024;
std::array<GuardedRange, kRanges> ranges;

bool IsGuarded(ULONG_PTR address) {
  for (const GuardedRange& range : ranges) {
    if (address >= range.begin && address < range.end) return true;
  }
  return false;
}

LONG CALLBACK OnInPageError(EXCEPTION_POINTERS* exception) {
  const EXCEPTION_RECORD& record = *exception->ExceptionRecord;
  if (record.ExceptionCode != EXCEPTION_IN_PAGE_ERROR ||
      record.NumberParameters < 2 ||
      !IsGuarded(record.ExceptionInformation[1])) {
    return EXCEPTION_CONTINUE_SEARCH;
  }
  constexpr std::string_view kMessage =
      "onnx-tag: could not read the rest of an input file\n  the drive or "
      "share that has it is gone; try again when it is back\n";
  DWORD written = 0;
  WriteFile(GetStdHandle(STD_ERROR_HANDLE), kMessage.data(),
            static_cast<DWORD>(kMessage.size()), &written, nullptr);
  RemoveTemporaryFiles();
  TerminateProcess(GetCurrentProcess(), 3);
  return EXCEPTION_CONTINUE_SEARCH;
}

}  // namespace

int GuardMapping(const char* begin, std::size_t size) {
  static std::once_flag once;
  std::call_once(once, [] { AddVectoredExceptionHandler(1, OnInPageError); });
  for (std::size_t i = 0; i < kRanges; ++i) {
    bool free = false;
    if (!ranges[i].taken.compare_exchange_strong(free, true)) continue;
    ranges[i].begin = reinterpret_cast<ULONG_PTR>(begin);
    ranges[i].end = reinterpret_cast<ULONG_PTR>(begin) + size;
    return static_cast<int>(i);
  }
  return -1;
}

void UnguardMapping(int slot) {
  GuardedRange& freed = ranges[static_cast<std::size_t>(slot)];
  freed.end = 0;
  freed.taken = false;
}

bool MappingFaulted(int) { return false; }

}  // namespace onnx_tag::io
