#include "commands/output/sinks.h"

#include <fmt/core.h>

#include <algorithm>

#include "base/text.h"

namespace onnx_tag {
namespace {

// Large spans go in steps: memory behind a step is given back, and the
// progress line moves.
constexpr std::uint64_t kStep = 16 << 20;

template <typename Use>
void InSteps(std::uint64_t offset, std::uint64_t size, Use&& use) {
  while (size > 0) {
    const std::uint64_t step = std::min(size, kStep);
    use(offset, step);
    offset += step;
    size -= step;
  }
}

}  // namespace

void FileSink::Copy(std::uint64_t offset, std::uint64_t size) {
  InSteps(offset, size, [&](std::uint64_t at, std::uint64_t step) {
    file_.CopyFrom(source_, at, step);
    ShowProgress();
  });
}

void FileSink::Write(Bytes bytes) {
  file_.Write(bytes);
  ShowProgress();
}

void FileSink::ShowProgress() {
  if (file_.size() < shown_ + kStep || !terminal_.shows_progress()) return;
  shown_ = file_.size();
  constexpr std::uint64_t kMegabyte = 1'000'000;
  terminal_.Progress(
      total_ == 0
          ? fmt::format("writing {}: {} MB", Printable(file_.path(), 60),
                        shown_ / kMegabyte)
          : fmt::format("writing {}: {} of {} MB", Printable(file_.path(), 60),
                        shown_ / kMegabyte, total_ / kMegabyte));
}

void StandardOutputSink::Copy(std::uint64_t offset, std::uint64_t size) {
  InSteps(offset, size, [&](std::uint64_t at, std::uint64_t step) {
    terminal_.Out(source_.bytes().substr(at, step));
    source_.Release(at, at + step);
  });
}

void CompareSink::Copy(std::uint64_t offset, std::uint64_t size) {
  InSteps(offset, size, [&](std::uint64_t at, std::uint64_t step) {
    Write(source_.bytes().substr(at, step));
    source_.Release(at, at + step);
  });
}

void CompareSink::Write(Bytes bytes) {
  if (!equal_) return;
  equal_ = at_ <= existing_.size() &&
           existing_.bytes().substr(at_, bytes.size()) == bytes;
  if (at_ / kStep != (at_ + bytes.size()) / kStep) {
    existing_.Release(0, at_ + bytes.size());
  }
  at_ += bytes.size();
}

}  // namespace onnx_tag
