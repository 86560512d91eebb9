// What Linux and macOS do in different ways: system_linux.cc, system_macos.cc.
// Functions that return an int or a count give -1 and errno where they fail.
#pragma once

#include <sys/stat.h>

#include <cstddef>
#include <cstdint>

namespace onnx_tag::io {

timespec ModifiedTime(const struct stat& status);

// A new file in `folder` without a name; EOPNOTSUPP where the system has none.
int OpenUnnamedFile(const char* folder, unsigned mode);
// Gives it a name that nothing has yet.
int NameUnnamedFile(int fd, const char* path);

// Copies from `offset` of `in` to where `out` stands, within the kernel.
std::ptrdiff_t CopyInKernel(int in, std::int64_t offset, int out,
                            std::size_t size);

// Takes `size` bytes of the disk for the file.
int ReserveSpace(int fd, std::int64_t size);

// Fails with EEXIST if `to` exists, EINVAL where the file system cannot tell.
int RenameToNewName(const char* from, const char* to);

}  // namespace onnx_tag::io
