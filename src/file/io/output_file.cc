// Tested by tests/file/io/output_file_test.cc and
// tests/file/io/output_crash_test.cc.
#include "file/io/output_file.h"

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "file/io/file_status.h"
#include "file/io/leftovers.h"
#include "file/io/paths.h"
#include "onnx_tag/error.h"

namespace onnx_tag {
namespace {

// How to copy a long span. Seconds for 1.5 GB on ext4, everything cached, the
// copy shifted by 300 bytes; six runs in random order on a machine with other
// work, median elapsed, and median of the processor's:
//
//   cp of the same file               1.3   1.0
//   fallocate, copy_file_range        0.68  0.50   <- this
//   copy_file_range                   0.84  0.59
//   fallocate, read and write 128 KB  0.89  0.60   <- where that cannot be done
//   fallocate, read and write 64 KB   0.79  0.60
//   read and write 128 KB             0.90  0.60
//
// With little else running: cp 0.60, these 0.50 to 0.57, writing from the
// mapping 0.58.
constexpr std::uint64_t kLongSpan = 256 * 1024;
constexpr std::size_t kRangeSize = 16 * 1024 * 1024;  // of one call
constexpr std::size_t kBufferSize = 128 * 1024;

// Spans shorter than this are copied from the mapping: a system call costs more
// than the page fault.
constexpr std::uint64_t kShortSpan = 16 * 1024;

// How much of the mapping may stay resident behind such copies.
constexpr std::uint64_t kResident = 4 * 1024 * 1024;

constexpr int kAttempts = 100;

}  // namespace

OutputFile::OutputFile(const std::string& path, const OutputOptions& options)
    : path_(path),
      folder_(ParentFolder(path)),
      options_(options),
      buffer_(kBufferSize) {}

OutputFile OutputFile::Create(const std::string& path, const Inputs& inputs,
                              const OutputOptions& options) {
  if (!options.in_place) inputs.Refuse(path);
  OutputFile file(path, options);
  const bool unnamed = file.OpenUnnamed();
  // What replaces another has a name for a moment, and so had that of a run
  // that was killed in this moment.
  io::RemoveLeftoversOnce(file.folder_);
  if (!unnamed) file.OpenNamed();
  return file;
}

bool OutputFile::OpenUnnamed() {
  // With a mode of its own the file gets it last: until then it is nobody
  // else's. Without one the kernel applies the umask, which cannot be asked
  // for without changing it under other threads.
  const unsigned mode = options_.mode ? 0600 : 0666;
  fd_ = io::Descriptor(io::Retry(
      [&] { return options_.calls->open_unnamed(folder_.c_str(), mode); }));
  if (fd_.get() < 0) {
    if (errno == EOPNOTSUPP) return false;
    FailToWrite(errno);
  }
  // Locked before it has a name: nobody can take it for a leftover then.
  options_.calls->lock(fd_.get());
  return true;
}

void OutputFile::OpenNamed() {
  const unsigned mode = options_.mode ? 0600 : 0666;
  for (int attempt = 0; attempt < kAttempts; ++attempt) {
    // Registered before it exists, or a signal in between would leave it.
    io::TemporaryName name(folder_ + "/" + io::RandomTemporaryName());
    io::Descriptor fd(io::Retry([&] {
      const io::NamingScope naming;
      return options_.calls->open_new(name.path().c_str(), mode);
    }));
    if (fd.get() < 0) {
      if (errno == EEXIST) continue;
      FailToWrite(errno);
    }
    // Between open and lock another run may have taken it for a leftover.
    const bool taken =
        options_.calls->lock(fd.get()) != 0 && errno == EWOULDBLOCK;
    const std::optional<io::FileStatus> status = io::StatusOf(fd.get());
    if (taken || (status && !status->named)) continue;
    fd_ = std::move(fd);
    temporary_ = std::move(name);
    return;
  }
  FailToWrite(EEXIST);
}

OutputFile::~OutputFile() {
  // Unlocked by closing, so the name goes first.
  if (!temporary_.empty()) options_.calls->unlink(temporary_.path().c_str());
}

void OutputFile::Reserve(std::uint64_t size) {
  if (size == 0) return;
  const int result = io::Retry([&] {
    return options_.calls->reserve(fd_.get(), static_cast<std::int64_t>(size));
  });
  if (result == 0) {
    reserved_ = size;
  } else if (io::MeansFull(errno)) {
    FailToWrite(errno);
  }
}

void OutputFile::Write(Bytes bytes) {
  while (!bytes.empty()) {
    const std::size_t count =
        std::min(bytes.size(), buffer_.size() - buffered_);
    std::memcpy(buffer_.data() + buffered_, bytes.data(), count);
    buffered_ += count;
    bytes.remove_prefix(count);
    if (buffered_ == buffer_.size()) Flush();
  }
}

void OutputFile::CopyFrom(const MappedFile& source, std::uint64_t offset,
                          std::uint64_t size) {
  if (source.fd() < 0 || size < kShortSpan) {
    Write(source.bytes().substr(static_cast<std::size_t>(offset),
                                static_cast<std::size_t>(size)));
    if (offset < released_) released_ = 0;
    if (offset + size - released_ > kResident) {
      source.Release(released_, offset + size);
      released_ = offset + size;
    }
    return;
  }
  if (size >= kLongSpan) {
    const std::uint64_t copied = CopyRange(source, offset, size);
    offset += copied;
    size -= copied;
  }
  while (size > 0) {
    const auto count = static_cast<std::size_t>(
        std::min<std::uint64_t>(size, buffer_.size() - buffered_));
    const std::ptrdiff_t read = io::Retry([&] {
      return options_.calls->pread(source.fd(), buffer_.data() + buffered_,
                                   count, static_cast<std::int64_t>(offset));
    });
    if (read <= 0) {
      Fail(ErrorKind::kInput, "{}: {}", source.path(),
           read == 0 ? "the file changed while it was read"
                     : "could not read: " + io::SystemMessage(errno));
    }
    buffered_ += static_cast<std::size_t>(read);
    offset += static_cast<std::uint64_t>(read);
    size -= static_cast<std::uint64_t>(read);
    if (buffered_ == buffer_.size()) Flush();
  }
}

bool OutputFile::ShareFrom(const MappedFile& source) {
  if (source.fd() < 0 || io::ShareBytes(source.fd(), fd_.get()) != 0) {
    return false;
  }
  flushed_ = source.size();
  return true;
}

// Copies within the kernel, and returns how much: less than `size` where that
// cannot be done, or where reading will tell what is wrong.
std::uint64_t OutputFile::CopyRange(const MappedFile& source,
                                    std::uint64_t offset, std::uint64_t size) {
  if (!copies_ranges_) return 0;
  Flush();
  std::uint64_t copied = 0;
  while (copied < size) {
    const auto at = static_cast<std::int64_t>(offset + copied);
    const auto piece = static_cast<std::size_t>(
        std::min<std::uint64_t>(size - copied, kRangeSize));
    const std::ptrdiff_t count = io::Retry([&] {
      return options_.calls->copy_range(source.fd(), at, fd_.get(), piece);
    });
    if (count < 0 && (io::MeansFull(errno) || errno == EIO)) {
      FailToWrite(errno);
    }
    if (count <= 0) {
      copies_ranges_ = false;
      break;
    }
    copied += static_cast<std::uint64_t>(count);
    flushed_ += static_cast<std::uint64_t>(count);
  }
  return copied;
}

void OutputFile::Flush() {
  for (std::size_t done = 0; done < buffered_;) {
    const std::ptrdiff_t count = io::Retry([&] {
      return options_.calls->write(fd_.get(), buffer_.data() + done,
                                   buffered_ - done);
    });
    if (count < 0) FailToWrite(errno);
    // Nothing written and nothing wrong: not on any system we know of.
    if (count == 0) FailToWrite(EIO);
    done += static_cast<std::size_t>(count);
  }
  flushed_ += buffered_;
  buffered_ = 0;
}

void OutputFile::Commit() {
  if (!TryCommit()) FailToWrite(EEXIST);
}

bool OutputFile::TryCommit() {
  if (!finished_) Finish();
  finished_ = true;
  if (temporary_.empty() && !LinkIntoPlace()) return false;
  if (!temporary_.empty() && !RenameIntoPlace()) return false;
  if (options_.fsync) SyncFolder();
  fd_.Reset();
  return true;
}

// All but the name.
void OutputFile::Finish() {
  const io::SystemCalls& calls = *options_.calls;
  Flush();
  if (reserved_ > flushed_ &&
      calls.truncate(fd_.get(), static_cast<std::int64_t>(flushed_)) != 0) {
    FailToWrite(errno);
  }
  if (options_.mode && calls.chmod(fd_.get(), *options_.mode & 0777) != 0) {
    FailToWrite(errno);
  }
  if (options_.fsync &&
      io::Retry([&] { return calls.fsync(fd_.get()); }) != 0) {
    FailToWrite(errno);
  }
  // It must be known before the rename, and the lock must stay.
  if (io::CloseCopy(fd_.get()) != 0) FailToWrite(errno);
}

// Gives the unnamed file its final name, or a temporary one where the final
// name is taken: a link never replaces.
bool OutputFile::LinkIntoPlace() {
  const io::SystemCalls& calls = *options_.calls;
  if (calls.link(fd_.get(), path_.c_str()) == 0) return true;
  if (errno != EEXIST) FailToWrite(errno);
  if (!options_.replace) return false;
  for (int attempt = 0; attempt < kAttempts; ++attempt) {
    io::TemporaryName name(folder_ + "/" + io::RandomTemporaryName());
    const auto link = [&] {
      const io::NamingScope naming;
      return calls.link(fd_.get(), name.path().c_str());
    };
    if (link() == 0) {
      temporary_ = std::move(name);
      return true;
    }
    if (errno != EEXIST) FailToWrite(errno);
  }
  FailToWrite(EEXIST);
}

bool OutputFile::RenameIntoPlace() {
  const io::SystemCalls& calls = *options_.calls;
  const auto rename = options_.replace ? calls.rename : calls.rename_new;
  if (rename(temporary_.path().c_str(), path_.c_str()) != 0) {
    if (errno == EEXIST && !options_.replace) return false;
    FailToWrite(errno);
  }
  temporary_.Forget();
  return true;
}

void OutputFile::SyncFolder() {
  const io::Descriptor folder(io::OpenFolder(folder_.c_str()));
  if (folder.get() < 0 && errno == EINVAL) return;
  if (folder.get() < 0) FailToWrite(errno);
  const int result =
      io::Retry([&] { return options_.calls->fsync(folder.get()); });
  // EINVAL: a file system whose folders need no fsync.
  if (result != 0 && errno != EINVAL) FailToWrite(errno);
}

void OutputFile::FailToWrite(int error) const {
  if (error == ENOENT && !io::StatusOf(folder_)) {
    Fail(ErrorKind::kOutput,
         "{}: could not write: the folder {} does not exist", path_, folder_);
  }
  Fail(ErrorKind::kOutput, "{}: could not write: {}", path_,
       io::SystemMessage(error));
}

}  // namespace onnx_tag
