// The bytes of an input file, mapped and never copied.
//
// A mapping is a view of a file that others may change. When it shrinks, the
// pages behind its new end raise SIGBUS: they then read as zeros, and
// CheckUnchanged() throws. So a walk over the bytes never crashes, may see
// nonsense, and must not be believed before CheckUnchanged(). Windows lets
// nobody shrink a mapped file; mapping.h says what happens when a share goes.
#pragma once

#include <cstdint>
#include <string>

#include "file/io/descriptor.h"
#include "file/io/file_status.h"
#include "onnx_tag/bytes.h"

namespace onnx_tag {

class MappedFile {
 public:
  // Throws Error(kInput) for what is not a readable regular file; never waits
  // for a pipe or a device. An empty file gives no bytes.
  static MappedFile Open(const std::string& path);

  // Standard input: mapped where it is a file, otherwise read to its end.
  static MappedFile FromStdin();

  // All that `fd` gives, under the name `path` in messages; `fd` stays open.
  static MappedFile FromDescriptor(int fd, const std::string& path);

  static MappedFile FromBytes(Bytes bytes, const std::string& path);

  MappedFile(MappedFile&& other) noexcept;
  MappedFile& operator=(MappedFile&& other) noexcept;
  ~MappedFile();

  Bytes bytes() const { return Bytes(data_, size_); }
  std::uint64_t size() const { return size_; }

  // -1 if the bytes are in memory only.
  int fd() const { return fd_.get(); }

  // The name it was opened by.
  const std::string& path() const { return path_; }

  // Permission bits of the file; 0666 where the bytes are in memory only.
  unsigned mode() const { return status_.mode; }

  // Nanoseconds since the epoch; 0 if the bytes are in memory only.
  std::int64_t modified() const { return status_.modified; }

  // Throws Error(kInput) if the file is not what it was when it was opened,
  // or its name leads to another file by now.
  void CheckUnchanged() const;

  // Gives back the pages from that of `begin` to `end`, which a walk has left
  // behind. They can be read again, from the system's cache. On a file of
  // 1.5 GB with 2,571 initializers a walk keeps 162 MB without this, 5 MB with.
  void Release(std::uint64_t begin, std::uint64_t end) const;

  // Whether the system loads what follows a page that is read; at first it
  // does. For a walk that jumps: 2,571 fields of a file of 1.5 GB that was not
  // in the cache took 1.0 s and read 1.4 GB with this, 0.08 s and 10 MB
  // without.
  void ReadAhead(bool on) const;
  // Has the system load [begin, end) while we do something else. Tagging 10^6
  // nodes (144 MB, not in the cache) took 2.7 s when each page was waited for,
  // and takes 1.7 s.
  void Fetch(std::uint64_t begin, std::uint64_t end) const;

 private:
  MappedFile() = default;
  void Map();
  void ReadAll(int fd);
  void Unmap();

  const char* data_ = nullptr;
  std::size_t size_ = 0;
  std::size_t mapped_ = 0;  // bytes to unmap
  int slot_ = -1;           // in the registry of the SIGBUS handler
  io::Descriptor fd_;
  std::string path_;
  bool has_name_ = false;
  io::FileStatus status_;  // when it was opened
};

}  // namespace onnx_tag
