#include <sys/mman.h>
#include <unistd.h>

#include "file/io/mapping.h"
#include "file/io/system_posix.h"

namespace onnx_tag::io {
namespace {

char* PointerOrNull(void* memory) {
  return memory == MAP_FAILED ? nullptr : static_cast<char*>(memory);
}

}  // namespace

std::uint64_t PageSize() {
  return static_cast<std::uint64_t>(sysconf(_SC_PAGESIZE));
}

const char* MapFile(int fd, std::size_t size) {
  return PointerOrNull(mmap(nullptr, size, PROT_READ, MAP_SHARED, fd, 0));
}

void UnmapFile(const char* data, std::size_t size) {
  munmap(const_cast<char*>(data), size);
}

char* AllocatePages(std::size_t size) {
  return PointerOrNull(mmap(nullptr, size, PROT_READ | PROT_WRITE,
                            MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1,
                            0));
}

char* GrowPages(char* data, std::size_t size, std::size_t wanted) {
  return PointerOrNull(MoveMemory(data, size, wanted));
}

void FreePages(char* data, std::size_t size) { munmap(data, size); }

void ReleasePages(const char* begin, std::size_t size) {
  madvise(const_cast<char*>(begin), size, MADV_DONTNEED);
}

void ReadPagesAhead(const char* begin, std::size_t size, bool on) {
  madvise(const_cast<char*>(begin), size, on ? MADV_NORMAL : MADV_RANDOM);
}

void FetchPages(const char* begin, std::size_t size) {
  madvise(const_cast<char*>(begin), size, MADV_WILLNEED);
}

}  // namespace onnx_tag::io
