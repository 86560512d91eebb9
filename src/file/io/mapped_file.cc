// Tested by tests/file/io/mapped_file_test.cc.
#include "file/io/mapped_file.h"

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <utility>

#include "file/io/inputs.h"
#include "file/io/mapping.h"
#include "file/io/paths.h"
#include "file/io/system_calls.h"
#include "onnx_tag/error.h"

namespace onnx_tag {
namespace {

// What comes through a pipe is held in memory, so it needs a bound; protobuf
// reads no more than this anyway.
constexpr std::size_t kMaxPiped = std::size_t{1} << 31;

[[noreturn]] void FailToRead(const std::string& path, int error) {
  Fail(ErrorKind::kInput, "{}: could not read: {}", path,
       io::SystemMessage(error));
}

[[noreturn]] void FailAsChanged(const std::string& path) {
  Fail(ErrorKind::kInput,
       "{}: the file changed while it was read\n  try again when no program "
       "writes to it",
       path);
}

const char* KindName(io::FileKind kind) {
  if (kind == io::FileKind::kFolder) return "a folder";
  if (kind == io::FileKind::kPipe) return "a pipe";
  if (kind == io::FileKind::kSocket) return "a socket";
  if (kind == io::FileKind::kDevice) return "a device";
  return "not a regular file";
}

// Why what was opened as `fd` cannot be mapped, "" if it can. Call it before
// errno changes.
std::string WhyNotMapped(int fd) {
  // A socket cannot be opened at all: say so as for its like.
  if (fd < 0 && errno == ENXIO) return "is a socket or a pipe, not a file";
  const std::optional<io::FileStatus> status =
      fd < 0 ? std::nullopt : io::StatusOf(fd);
  if (!status) return "could not read: " + io::SystemMessage(errno);
  if (status->regular()) return "";
  return Message("is {}, not a file", KindName(status->kind));
}

}  // namespace

MappedFile MappedFile::Open(const std::string& path) {
  MappedFile file;
  file.path_ = path;
  file.has_name_ = true;
  file.fd_ = io::Descriptor(io::OpenForReading(path.c_str()));
  if (const std::string why = WhyNotMapped(file.fd()); !why.empty()) {
    Fail(ErrorKind::kInput, "{}: {}", path, Ours{why});
  }
  file.Map();
  return file;
}

MappedFile MappedFile::FromStdin() {
  return FromDescriptor(STDIN_FILENO, "<stdin>");
}

MappedFile MappedFile::FromDescriptor(int fd, const std::string& path) {
  MappedFile file;
  file.path_ = path;
  const std::optional<io::FileStatus> status = io::StatusOf(fd);
  if (!status) FailToRead(path, errno);
  if (status->kind == io::FileKind::kFolder) {
    Fail(ErrorKind::kInput, "{}: is a folder, not a file", path);
  }
  // `onnx-tag - < model.onnx` is as cheap as naming the file.
  if (status->regular() && lseek(fd, 0, SEEK_CUR) == 0) {
    file.fd_ = io::Descriptor(io::DuplicateDescriptor(fd));
    if (file.fd() < 0) FailToRead(path, errno);
    file.Map();
  } else {
    file.ReadAll(fd);
  }
  return file;
}

MappedFile MappedFile::FromBytes(Bytes bytes, const std::string& path) {
  MappedFile file;
  file.path_ = path;
  if (bytes.empty()) return file;
  auto* const memory = static_cast<char*>(std::malloc(bytes.size()));
  if (memory == nullptr) FailToRead(path, ENOMEM);
  std::memcpy(memory, bytes.data(), bytes.size());
  file.data_ = memory;
  file.size_ = file.mapped_ = bytes.size();
  return file;
}

MappedFile::MappedFile(MappedFile&& other) noexcept {
  *this = std::move(other);
}

MappedFile& MappedFile::operator=(MappedFile&& other) noexcept {
  if (this == &other) return *this;
  Unmap();
  data_ = std::exchange(other.data_, nullptr);
  size_ = std::exchange(other.size_, 0);
  mapped_ = std::exchange(other.mapped_, 0);
  slot_ = std::exchange(other.slot_, -1);
  fd_ = std::move(other.fd_);
  path_ = std::move(other.path_);
  has_name_ = other.has_name_;
  status_ = other.status_;
  return *this;
}

MappedFile::~MappedFile() { Unmap(); }

void MappedFile::Map() {
  const std::optional<io::FileStatus> status = io::StatusOf(fd());
  if (!status) FailToRead(path_, errno);
  io::RefuseAsStandardOutput(status, path_);
  status_ = *status;
  const auto size = static_cast<std::size_t>(status_.size);
  if (size == 0) return;
  data_ = io::MapFile(fd(), size);
  if (data_ == nullptr && errno == ERANGE) FailAsChanged(path_);
  if (data_ == nullptr) FailToRead(path_, errno);
  size_ = mapped_ = size;
  slot_ = io::GuardMapping(data_, size_);
  if (slot_ < 0) Fail(ErrorKind::kInput, "{}: too many files are open", path_);
}

// realloc() moves pages of large memory; it does not copy them.
void MappedFile::ReadAll(int fd) {
  std::size_t capacity = 0;
  for (;;) {
    if (size_ == capacity) {
      const std::size_t wanted = capacity == 0 ? 1 << 20 : capacity * 2;
      auto* const memory =
          static_cast<char*>(std::realloc(const_cast<char*>(data_), wanted));
      if (memory == nullptr) FailToRead(path_, ENOMEM);
      data_ = memory;
      capacity = mapped_ = wanted;
    }
    const std::ptrdiff_t count =
        io::ReadSome(fd, const_cast<char*>(data_) + size_, capacity - size_);
    if (count < 0) FailToRead(path_, errno);
    if (count == 0) return;
    size_ += static_cast<std::size_t>(count);
    if (size_ > kMaxPiped) {
      Fail(ErrorKind::kInput, "{}: larger than 2 GiB, the limit of protobuf",
           path_);
    }
  }
}

void MappedFile::Unmap() {
  if (slot_ >= 0) io::UnguardMapping(std::exchange(slot_, -1));
  if (mapped_ != 0 && fd() >= 0) {
    io::UnmapFile(data_, mapped_);
  } else if (mapped_ != 0) {
    std::free(const_cast<char*>(data_));
  }
  data_ = nullptr;
  size_ = mapped_ = 0;
}

void MappedFile::CheckUnchanged() const {
  if (fd() < 0) return;
  const std::optional<io::FileStatus> now = io::StatusOf(fd());
  bool same = (slot_ < 0 || !io::MappingFaulted(slot_)) && now &&
              now->size == size_ && now->modified == status_.modified;
  // A new file under the old name: what we read is whole, but writing in place
  // would throw the new file away.
  if (same && has_name_) {
    const std::optional<io::FileStatus> named = io::StatusOf(path_);
    same = named && named->id == status_.id;
  }
  if (!same) FailAsChanged(path_);
}

void MappedFile::Release(std::uint64_t begin, std::uint64_t end) const {
  // In memory only, the pages are the sole copy.
  if (fd() < 0) return;
  const auto page = io::PageSize();
  // The walk has left the beginning of this page behind, too. Kept, one page of
  // each step would add up: 60 MB for 10 GB in steps of 256 KiB.
  begin = begin / page * page;
  end = end / page * page;
  if (begin >= end || end > mapped_) return;
  io::ReleasePages(data_ + begin, static_cast<std::size_t>(end - begin));
}

void MappedFile::ReadAhead(bool on) const {
  if (mapped_ > 0) io::ReadPagesAhead(data_, mapped_, on);
}

void MappedFile::Fetch(std::uint64_t begin, std::uint64_t end) const {
  if (fd() < 0) return;
  const auto page = io::PageSize();
  begin = begin / page * page;
  end = std::min<std::uint64_t>(end, mapped_);
  if (begin >= end) return;
  io::FetchPages(data_ + begin, static_cast<std::size_t>(end - begin));
}

}  // namespace onnx_tag
