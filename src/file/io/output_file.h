// Output that appears whole or not at all.
//
//   OutputFile out = OutputFile::Create("model.tagged.onnx", inputs, {});
//   out.Reserve(rewrite.new_size());
//   out.Write(bytes);
//   out.CopyFrom(input, offset, size);
//   input.CheckUnchanged();
//   out.Commit();
//
// Until Commit() the file has no name (O_TMPFILE) where the system can do that,
// else a name `.onnx-tag-XXXXXX` in the same folder, locked as long as its
// writer lives. A crash leaves nothing in the first case; in the
// second a later run that finds the lock free removes it.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "file/io/descriptor.h"
#include "file/io/inputs.h"
#include "file/io/mapped_file.h"
#include "file/io/signals.h"
#include "file/io/system_calls.h"
#include "onnx_tag/bytes.h"

namespace onnx_tag {

struct OutputOptions {
  // Permission bits of the new file; without, 0666 less the umask.
  std::optional<unsigned> mode;
  // Whether Commit() returns only after the disk has file and name.
  bool fsync = false;
  // Whether a file of that name may be replaced. Without, Commit() fails if
  // one has appeared in the meantime.
  bool replace = true;
  // Whether the file may be one of the inputs: only --in-place says so.
  bool in_place = false;
  const io::SystemCalls* calls = &io::kRealCalls;
};

// Not copyable, and not for two threads at once. What fails throws
// Error(kOutput), "<path>: could not write: No space left on device"; then the
// file is as good as gone.
class OutputFile {
 public:
  // Replaces the name `path` itself: where that is a symbolic link, the link
  // and not what it leads to.
  // Nothing else in the program opens a file for writing, so no command can
  // write over what it reads. Throws Error(kOutput) for one of `inputs`.
  static OutputFile Create(const std::string& path, const Inputs& inputs,
                           const OutputOptions& options);

  OutputFile(OutputFile&&) noexcept = default;
  // Without Commit() nothing was ever there.
  ~OutputFile();

  // Tells the final size: a disk too small is found here, and the file becomes
  // one piece. Not every file system can; then nothing happens.
  void Reserve(std::uint64_t size);

  void Write(Bytes bytes);

  // Throws Error(kInput) if the input has become shorter.
  void CopyFrom(const MappedFile& source, std::uint64_t offset,
                std::uint64_t size);

  // All of `source`, at once and without taking the disk twice: a file system
  // with copy-on-write can do that. False, and nothing written, where it
  // cannot. Before anything else is written.
  bool ShareFrom(const MappedFile& source);

  // Bytes written so far.
  std::uint64_t size() const { return flushed_ + buffered_; }
  const std::string& path() const { return path_; }

  // Gives the file its name. Call once, last.
  void Commit();

  // The same, but false if the options do not allow replacing and a file of
  // that name has appeared: then AllowReplacing() and Commit(), or
  // let go.
  bool TryCommit();
  // From here on a file of that name may be replaced.
  void AllowReplacing() { options_.replace = true; }

 private:
  OutputFile(const std::string& path, const OutputOptions& options);

  bool OpenUnnamed();
  void OpenNamed();
  void Flush();
  std::uint64_t CopyRange(const MappedFile& source, std::uint64_t offset,
                          std::uint64_t size);
  void Finish();
  // False if the name is taken and must not be.
  bool LinkIntoPlace();
  bool RenameIntoPlace();
  void SyncFolder();
  [[noreturn]] void FailToWrite(int error) const;

  std::string path_;
  std::string folder_;
  OutputOptions options_;
  io::Descriptor fd_;
  io::TemporaryName temporary_;  // empty as long as the file has no name
  std::vector<char> buffer_;
  std::size_t buffered_ = 0;
  std::uint64_t flushed_ = 0;
  std::uint64_t reserved_ = 0;
  std::uint64_t released_ = 0;  // of the source, see CopyFrom()
  bool copies_ranges_ = true;   // until the system says it cannot
  bool finished_ = false;       // complete, and on the disk where asked for
};

// Removes `.onnx-tag-XXXXXX` files of `folder` that no living process has
// locked, as a crashed run left them; done by itself, once for each folder,
// where an OutputFile may need such a name. Never fails.
void RemoveLeftovers(const std::string& folder);

}  // namespace onnx_tag
