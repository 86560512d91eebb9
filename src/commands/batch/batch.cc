// Tested by tests/commands/batch_test.cc and tests/cli/cases/batch.txt.
#include "commands/batch/batch.h"

#include <sys/resource.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <map>
#include <thread>

#include "base/mailbox.h"
#include "base/worker_pool.h"
#include "commands/batch/batch_progress.h"
#include "commands/batch/refuse_collisions.h"
#include "commands/check/batch_report.h"
#include "commands/commands.h"
#include "commands/read/find_models.h"
#include "onnx_tag/error.h"

namespace onnx_tag {
namespace {

using Clock = std::chrono::steady_clock;

double SecondsSince(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

// Threads beyond the files that may be open would only fail.
std::size_t ThreadsFor(const TagOptions& options) {
  constexpr rlim_t kOthers = 16;
  constexpr rlim_t kOfAThread = 6;
  std::size_t threads = options.jobs;
  if (threads == 0) threads = std::thread::hardware_concurrency();
  rlimit limit;
  if (getrlimit(RLIMIT_NOFILE, &limit) == 0 &&
      limit.rlim_cur != RLIM_INFINITY) {
    const rlim_t free = limit.rlim_cur > kOthers ? limit.rlim_cur - kOthers : 0;
    threads = std::min<std::size_t>(threads, free / kOfAThread);
  }
  return std::max<std::size_t>(threads, 1);
}

// "onnx-tag: bert.onnx: ...\n" without program and line break.
std::string ErrorWords(const std::exception& error) {
  const std::string text = ErrorText(error);
  const std::size_t start = text.find(": ") + 2;
  return text.substr(start, text.size() - start - 1);
}

bool NamesOneModel(const TagOptions& options) {
  return options.models.size() == 1 && !options.inputs.recursive &&
         options.inputs.files_from.empty();
}

class Batch {
 public:
  Batch(const std::vector<FoundModel>& models,
        const std::vector<Destinations>& destinations,
        const TagOptions& options, const MappingFacts& facts,
        Terminal& terminal)
      : models_(models),
        destinations_(destinations),
        single_(NamesOneModel(options)),
        options_(options),
        facts_(facts),
        terminal_(terminal),
        progress_(models.size()),
        reporter_(MakeReporter(options, terminal)) {}

  // The exit code.
  ExitCode Run() {
    const Clock::time_point start = Clock::now();
    BatchTotals totals;
    {
      WorkerPool pool(ThreadsFor(options_), models_.size(),
                      [this](std::size_t index) { Work(index); });
      for (std::size_t ended = 0; ended < models_.size();) {
        std::optional<FileResult> result =
            ended_.Take(std::chrono::milliseconds(200));
        if (result) {
          ++ended;
          last_exit_code_ = result->exit_code;
          totals.Add(*result);
          Report(*std::move(result));
        }
        if (terminal_.shows_progress()) {
          terminal_.Progress(progress_.Line(SecondsSince(start)));
        }
      }
    }
    ReportWaiting();
    totals.seconds = SecondsSince(start);
    reporter_->End(totals);
    // A single model that is told about like many still fails like one.
    return single_ ? last_exit_code_ : totals.exit_code();
  }

 private:
  // In a thread of the pool: does one model, and hands over what became of it.
  void Work(std::size_t index) {
    const FoundModel& model = models_[index];
    FileResult result;
    result.index = index;
    result.path = model.path;
    if (!stopped_) {
      progress_.Start(index, model.path);
      const Clock::time_point start = Clock::now();
      Tag(model, destinations_[index], result);
      result.seconds = SecondsSince(start);
      progress_.End(index, result.report.coverage.nodes);
      if (result.status == FileStatus::kFailed && options_.fail_fast) {
        stopped_ = true;
      }
    }
    ended_.Put(std::move(result));
  }

  void Tag(const FoundModel& model, const Destinations& destinations,
           FileResult& result) {
    NodeLines nodes;
    if (options_.json_nodes) {
      nodes = [this](std::string_view lines) { terminal_.Out(lines); };
    }
    try {
      if (!model.error.empty()) throw Error(ErrorKind::kInput, model.error);
      TagFile(model.path, destinations, options_, facts_, nodes, nobody_,
              result.report);
      result.exit_code =
          result.report.findings.empty() ? ExitCode::kOk : ExitCode::kFindings;
      result.status = !result.report.findings.empty() ? FileStatus::kFindings
                      : result.report.current         ? FileStatus::kCurrent
                                                      : FileStatus::kOk;
    } catch (const std::exception& error) {
      result.status = FileStatus::kFailed;
      result.exit_code = ExitCodeOf(error);
      result.error = ErrorWords(error);
    }
  }

  void Report(FileResult result) {
    if (!reporter_->in_order()) {
      Tell(result);
      return;
    }
    waiting_.emplace(result.index, std::move(result));
    for (auto at = waiting_.begin(); at != waiting_.end() && at->first == next_;
         ++next_) {
      Tell(at->second);
      at = waiting_.erase(at);
    }
  }

  void ReportWaiting() {
    for (const auto& [index, result] : waiting_) Tell(result);
    waiting_.clear();
  }

  void Tell(const FileResult& result) {
    if (result.status != FileStatus::kNotRun) reporter_->File(result);
  }

  const std::vector<FoundModel>& models_;
  const std::vector<Destinations>& destinations_;
  const bool single_;
  const TagOptions& options_;
  const MappingFacts& facts_;
  Terminal& terminal_;
  // What single models would show of themselves: the bar is the batch's.
  Terminal nobody_{-1, -1, {.quiet = true}};
  BatchProgress progress_;
  std::unique_ptr<BatchReporter> reporter_;
  Mailbox<FileResult> ended_;
  std::map<std::size_t, FileResult> waiting_;  // for one before them
  std::size_t next_ = 0;
  ExitCode last_exit_code_ = ExitCode::kOk;
  std::atomic<bool> stopped_{false};
};

}  // namespace

bool IsBatch(const TagOptions& options) {
  return !NamesOneModel(options) || options.format != ReportFormat::kText;
}

ExitCode RunBatch(const TagOptions& options, const MappingFacts& facts,
                  Terminal& terminal) {
  const std::vector<FoundModel> models = FindModels(options);
  std::vector<Destinations> destinations;
  destinations.reserve(models.size());
  for (const FoundModel& model : models) {
    destinations.push_back(DestinationsOf(model.path, options, model.folder));
  }
  RefuseCollisions(models, destinations, options);
  return Batch(models, destinations, options, facts, terminal).Run();
}

}  // namespace onnx_tag
