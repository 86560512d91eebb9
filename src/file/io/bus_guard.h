// Survives reading a mapping whose file has shrunk.
//
// The first guarded mapping installs a SIGBUS handler. For an address in a
// guarded mapping it puts a page of zeros there and notes it; for any other it
// does what was to be done before.
#ifndef ONNX_TAG_FILE_IO_BUS_GUARD_H_
#define ONNX_TAG_FILE_IO_BUS_GUARD_H_

#include <cstddef>

namespace onnx_tag::io {

// Guards [begin, begin + size), both whole pages or the end of a file. Returns
// the slot, or -1 if all slots are taken.
int GuardMapping(const char* begin, std::size_t size);

// Call before the mapping goes.
void UnguardMapping(int slot);

// Whether a page of the mapping was missing when it was read.
bool MappingFaulted(int slot);

}  // namespace onnx_tag::io

#endif  // ONNX_TAG_FILE_IO_BUS_GUARD_H_
