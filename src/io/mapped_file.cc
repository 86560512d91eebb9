// Tested by tests/io/mapped_file_test.cc.
#include "io/mapped_file.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include <algorithm>
#include <cstring>
#include <utility>

#include "io/bus_guard.h"
#include "io/inputs.h"
#include "io/paths.h"
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

std::int64_t Nanoseconds(const timespec& time) {
  return std::int64_t{time.tv_sec} * 1'000'000'000 + time.tv_nsec;
}

const char* KindOf(mode_t mode) {
  if (S_ISDIR(mode)) return "a folder";
  if (S_ISFIFO(mode)) return "a pipe";
  if (S_ISSOCK(mode)) return "a socket";
  if (S_ISCHR(mode) || S_ISBLK(mode)) return "a device";
  return "not a regular file";
}

}  // namespace

MappedFile MappedFile::Open(const std::string& path) {
  // O_NONBLOCK: opening a pipe that nobody writes to must not wait.
  MappedFile file;
  file.path_ = path;
  file.has_name_ = true;
  file.fd_ = io::Descriptor(io::Retry([&] {
    return open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
  }));
  // A socket cannot be opened at all: say so as for its like.
  if (file.fd() < 0 && errno == ENXIO) {
    Fail(ErrorKind::kInput, "{}: is a socket or a pipe, not a file", path);
  }
  if (file.fd() < 0) FailToRead(path, errno);
  struct stat status;
  if (fstat(file.fd(), &status) != 0) FailToRead(path, errno);
  if (!S_ISREG(status.st_mode)) {
    Fail(ErrorKind::kInput, "{}: is {}, not a file", path,
         KindOf(status.st_mode));
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
  struct stat status;
  if (fstat(fd, &status) != 0) FailToRead(path, errno);
  if (S_ISDIR(status.st_mode)) {
    Fail(ErrorKind::kInput, "{}: is a folder, not a file", path);
  }
  // `onnx-tag - < model.onnx` is as cheap as naming the file.
  if (S_ISREG(status.st_mode) && lseek(fd, 0, SEEK_CUR) == 0) {
    file.fd_ = io::Descriptor(fcntl(fd, F_DUPFD_CLOEXEC, 3));
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
  void* const memory = mmap(nullptr, bytes.size(), PROT_READ | PROT_WRITE,
                            MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) FailToRead(path, errno);
  std::memcpy(memory, bytes.data(), bytes.size());
  file.data_ = static_cast<const char*>(memory);
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
  mode_ = other.mode_;
  modified_ = other.modified_;
  device_ = other.device_;
  inode_ = other.inode_;
  return *this;
}

MappedFile::~MappedFile() { Unmap(); }

void MappedFile::Map() {
  struct stat status;
  if (fstat(fd(), &status) != 0) FailToRead(path_, errno);
  io::RefuseAsStandardOutput(fd(), path_);
  mode_ = status.st_mode & 0777;
  modified_ = Nanoseconds(status.st_mtim);
  device_ = status.st_dev;
  inode_ = status.st_ino;
  size_ = static_cast<std::size_t>(status.st_size);
  if (size_ == 0) return;
  void* const memory = mmap(nullptr, size_, PROT_READ, MAP_SHARED, fd(), 0);
  if (memory == MAP_FAILED) {
    const int error = errno;
    size_ = 0;
    FailToRead(path_, error);
  }
  data_ = static_cast<const char*>(memory);
  mapped_ = size_;
  slot_ = io::GuardMapping(data_, size_);
  if (slot_ < 0) Fail(ErrorKind::kInput, "{}: too many files are open", path_);
  // See FileWalk for what is read ahead instead.
  madvise(memory, size_, MADV_RANDOM);
}

// Grows by moving pages, not by copying them.
void MappedFile::ReadAll(int fd) {
  std::size_t capacity = 0;
  for (;;) {
    if (size_ == capacity) {
      const std::size_t wanted = capacity == 0 ? 1 << 20 : capacity * 2;
      void* const memory =
          capacity == 0
              ? mmap(nullptr, wanted, PROT_READ | PROT_WRITE,
                     MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0)
              : mremap(const_cast<char*>(data_), capacity, wanted,
                       MREMAP_MAYMOVE);
      if (memory == MAP_FAILED) FailToRead(path_, errno);
      data_ = static_cast<const char*>(memory);
      capacity = mapped_ = wanted;
    }
    const ssize_t count = io::Retry([&] {
      return read(fd, const_cast<char*>(data_) + size_, capacity - size_);
    });
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
  if (mapped_ != 0) munmap(const_cast<char*>(data_), mapped_);
  data_ = nullptr;
  size_ = mapped_ = 0;
}

void MappedFile::CheckUnchanged() const {
  if (fd() < 0) return;
  struct stat now;
  bool same = slot_ < 0 || !io::MappingFaulted(slot_);
  same = same && fstat(fd(), &now) == 0 &&
         static_cast<std::uint64_t>(now.st_size) == size_ &&
         Nanoseconds(now.st_mtim) == modified_;
  // A new file under the old name: what we read is whole, but writing in place
  // would throw the new file away.
  same =
      same && (!has_name_ || (stat(path_.c_str(), &now) == 0 &&
                              now.st_dev == device_ && now.st_ino == inode_));
  if (!same) {
    Fail(ErrorKind::kInput,
         "{}: the file changed while it was read\n  try again when no program "
         "writes to it",
         path_);
  }
}

void MappedFile::Release(std::uint64_t begin, std::uint64_t end) const {
  // In memory only, the pages are the sole copy.
  if (fd() < 0) return;
  const auto page = static_cast<std::uint64_t>(sysconf(_SC_PAGESIZE));
  begin = (begin + page - 1) / page * page;
  end = end / page * page;
  if (begin >= end || end > mapped_) return;
  // Advice: nothing is lost where the system does not take it.
  madvise(const_cast<char*>(data_) + begin,
          static_cast<std::size_t>(end - begin), MADV_DONTNEED);
}

void MappedFile::Prefetch(std::uint64_t begin, std::uint64_t end) const {
  if (fd() < 0) return;
  const auto page = static_cast<std::uint64_t>(sysconf(_SC_PAGESIZE));
  begin = begin / page * page;
  end = std::min<std::uint64_t>(end, mapped_);
  if (begin >= end) return;
  madvise(const_cast<char*>(data_) + begin,
          static_cast<std::size_t>(end - begin), MADV_WILLNEED);
}

void FileWalk::Advance(std::uint64_t offset) {
  constexpr std::uint64_t kFirstAhead = 128 * 1024;
  constexpr std::uint64_t kMostAhead = 2 * 1024 * 1024;
  constexpr std::uint64_t kResident = 4 * 1024 * 1024;
  if (offset >= last_ + kJump) {
    // One page is all a weight needs: wait for more before reading ahead.
    ahead_ = 0;
    next_ = offset + kJump / 2;
  } else {
    ahead_ = ahead_ == 0 ? kFirstAhead : std::min(2 * ahead_, kMostAhead);
    file_.Prefetch(offset, offset + ahead_);
    next_ = offset + ahead_ / 2;
  }
  if (offset - released_ >= kResident) {
    file_.Release(released_, offset);
    released_ = offset;
  }
}

}  // namespace onnx_tag
