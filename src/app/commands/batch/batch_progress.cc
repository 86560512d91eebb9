// Tested by tests/app/commands/batch_test.cc.
#include "app/commands/batch/batch_progress.h"

#include <fmt/core.h>

#include "base/text.h"
#include "file/io/paths.h"

namespace onnx_tag {
namespace {

// "0:07", "12:34", "3:00:00"
std::string ClockText(double seconds) {
  const auto all = static_cast<std::uint64_t>(seconds + 0.5);
  const std::uint64_t hours = all / 3600;
  const std::string rest = fmt::format("{:02}", all % 60);
  return hours == 0 ? fmt::format("{}:{}", all / 60, rest)
                    : fmt::format("{}:{:02}:{}", hours, all / 60 % 60, rest);
}

std::string Bar(std::size_t done, std::size_t all) {
  constexpr std::size_t kWidth = 20;
  const std::size_t full = all == 0 ? kWidth : done * kWidth / all;
  return "[" + std::string(full, '#') + std::string(kWidth - full, '.') + "]";
}

}  // namespace

void BatchProgress::Start(std::size_t index, const std::string& path) {
  const std::lock_guard lock(mutex_);
  running_.emplace(index, FileName(path));
}

void BatchProgress::End(std::size_t index, std::uint64_t nodes) {
  const std::lock_guard lock(mutex_);
  running_.erase(index);
  ++done_;
  nodes_ += nodes;
}

std::string BatchProgress::Line(double seconds) const {
  const std::lock_guard lock(mutex_);
  std::string line =
      fmt::format("{} {} of {}, {}", Bar(done_, files_), WithThousands(done_),
                  Count(files_, "file"), Count(nodes_, "node"));
  if (done_ > 0 && seconds > 0) {
    const double rate = static_cast<double>(done_) / seconds;
    line += fmt::format(", {:.3g} files/s, {} left", rate,
                        ClockText(static_cast<double>(files_ - done_) / rate));
  }
  std::string_view separator = ": ";
  for (const auto& [index, name] : running_) {
    line += separator;
    line += Message("{}", Short{name, 40});
    separator = ", ";
  }
  return line;
}

}  // namespace onnx_tag
