// Where a produced file goes: a new file, standard output, or a comparison.
#ifndef ONNX_TAG_COMMANDS_OUTPUT_SINKS_H_
#define ONNX_TAG_COMMANDS_OUTPUT_SINKS_H_

#include <cstdint>
#include <string>

#include "io/mapped_file.h"
#include "io/output_file.h"
#include "io/terminal.h"
#include "wire/rewrite.h"

namespace onnx_tag {

class FileSink : public wire::Rewrite::Sink {
 public:
  // `total`: bytes to come, 0 if unknown; for the progress line.
  FileSink(const MappedFile& source, OutputFile& file, std::uint64_t total,
           Terminal& terminal)
      : source_(source), file_(file), total_(total), terminal_(terminal) {}
  void Copy(std::uint64_t offset, std::uint64_t size) override;
  void Write(Bytes bytes) override;

 private:
  void ShowProgress();

  const MappedFile& source_;
  OutputFile& file_;
  std::uint64_t total_;
  Terminal& terminal_;
  std::uint64_t shown_ = 0;
};

class StandardOutputSink : public wire::Rewrite::Sink {
 public:
  StandardOutputSink(const MappedFile& source, Terminal& terminal)
      : source_(source), terminal_(terminal) {}
  void Copy(std::uint64_t offset, std::uint64_t size) override;
  void Write(Bytes bytes) override { terminal_.Out(bytes); }

 private:
  const MappedFile& source_;
  Terminal& terminal_;
};

// Compares with a file that exists; nothing is written anywhere.
class CompareSink : public wire::Rewrite::Sink {
 public:
  CompareSink(const MappedFile& source, const MappedFile& existing)
      : source_(source), existing_(existing) {}
  void Copy(std::uint64_t offset, std::uint64_t size) override;
  void Write(Bytes bytes) override;

  // After all: whether every byte was the same, and none is left.
  bool equal() const { return equal_ && at_ == existing_.size(); }

 private:
  const MappedFile& source_;
  const MappedFile& existing_;
  std::uint64_t at_ = 0;
  bool equal_ = true;
};

}  // namespace onnx_tag

#endif  // ONNX_TAG_COMMANDS_OUTPUT_SINKS_H_
