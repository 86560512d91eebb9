// Pages of a file in memory.
#pragma once

#include <cstddef>
#include <cstdint>

namespace onnx_tag::io {

std::uint64_t PageSize();

// The first `size` bytes of the file; nullptr and errno where it cannot: on
// Windows ERANGE where the file has become shorter.
const char* MapFile(int fd, std::size_t size);
void UnmapFile(const char* data, std::size_t size);

// Advice about pages of a mapped file: nothing is lost where the system does
// not take it. `begin` is at the begin of a page.
void ReleasePages(const char* begin, std::size_t size);
void ReadPagesAhead(const char* begin, std::size_t size, bool on);
void FetchPages(const char* begin, std::size_t size);

// Survives reading a mapping whose file has shrunk.
//
// The first guarded mapping installs a SIGBUS handler. For an address in a
// guarded mapping it puts a page of zeros there and notes it; for any other it
// does what was to be done before.

// Guards [begin, begin + size), both whole pages or the end of a file. Returns
// the slot, or -1 if all slots are taken.
int GuardMapping(const char* begin, std::size_t size);

// Call before the mapping goes.
void UnguardMapping(int slot);

// Whether a page of the mapping was missing when it was read.
bool MappingFaulted(int slot);

}  // namespace onnx_tag::io
