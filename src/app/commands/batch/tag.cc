// The command `tag`, for one model and for many. Tested by
// tests/app/commands/batch_test.cc and tests/app/cli/cases/batch.txt.
#include <fmt/core.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <map>
#include <thread>
#include <unordered_map>

#include "app/commands/batch/batch_progress.h"
#include "app/commands/commands.h"
#include "app/commands/read/coverage.h"
#include "app/commands/read/find_models.h"
#include "app/commands/read/tagged_model.h"
#include "app/commands/write/tag_file.h"
#include "app/render/render.h"
#include "app/render/reports.h"
#include "base/worker_pool.h"
#include "file/io/inputs.h"
#include "file/io/paths.h"
#include "file/io/system_calls.h"
#include "file/model/model_file.h"
#include "onnx_tag/error.h"

namespace onnx_tag {
namespace {

// ---------------------------------------------------------------- collisions
// --force replaces a file of any kind, and it may hold the weights of another
// model. The models are read only if there is a file to replace.
void RefuseWeights(const std::vector<FoundModel>& models,
                   const std::vector<std::string>& outputs) {
  if (std::none_of(outputs.begin(), outputs.end(), IsRegularFile)) return;
  Inputs inputs;
  AddModelInputs(models, inputs);
  for (const std::string& output : outputs) {
    const std::string_view what = inputs.Find(output);
    if (what.empty()) continue;
    Fail(ErrorKind::kUsage,
         "{} would be replaced, but it holds the {}\n  write to another "
         "folder with --out-dir",
         output, what);
  }
}

// Before anything is written: no two models may share an output, and none may
// be another's. `destinations` has one entry for each model.
void RefuseCollisions(const std::vector<FoundModel>& models,
                      const std::vector<Destinations>& destinations,
                      const TagOptions& options) {
  Inputs inputs;
  for (const FoundModel& model : models) inputs.Add(model.path, model.path);
  FileKeys keys;
  std::unordered_map<std::string, const FoundModel*> outputs;
  std::vector<std::string> written;  // but for models in place
  const auto add = [&](const FoundModel& model, const std::string& output) {
    if (output.empty() || output == "-") return;
    const auto [at, added] = outputs.emplace(keys.Of(output), &model);
    if (!added) {
      Fail(ErrorKind::kUsage,
           "{} and {} would both be written to {}\n  tag them in two runs, or "
           "mirror their folders with --recursive",
           at->second->path, model.path, output);
    }
    if (options.write.in_place && output == model.path) return;
    if (inputs.Find(output).empty()) {
      written.push_back(output);
      return;
    }
    Fail(ErrorKind::kUsage,
         "{} is both an input and the output of {}\n  exclude it, for "
         "example with --exclude '*.tagged.onnx'",
         output, model.path);
  };
  for (std::size_t i = 0; i < models.size(); ++i) {
    add(models[i], destinations[i].model);
    add(models[i], destinations[i].sidecar);
  }
  if (options.write.force && models.size() > 1) RefuseWeights(models, written);
}

// ---------------------------------------------------------------- many
using Clock = std::chrono::steady_clock;

double SecondsSince(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

// Threads beyond the files that may be open would only fail.
std::size_t ThreadsFor(const TagOptions& options) {
  constexpr std::size_t kOthers = 16;
  constexpr std::size_t kOfAThread = 6;
  std::size_t threads = options.jobs;
  if (threads == 0) threads = std::thread::hardware_concurrency();
  const std::size_t limit = io::OpenFileLimit();
  const std::size_t free = limit > kOthers ? limit - kOthers : 0;
  threads = std::min(threads, free / kOfAThread);
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

// The counts of all models that were read.
class Sums {
 public:
  void Add(const TagReport& report) {
    const Coverage& one = report.coverage;
    if (one.tagged == 0) {
      ++without_tags_[WhyUntagged(one.nodes, report.dialect)];
    }
    any_ = true;
    coverage_.nodes += one.nodes;
    coverage_.tagged += one.tagged;
    coverage_.sure += one.sure;
    const auto add = [](auto& sums, const auto& counts) {
      for (std::size_t i = 0; i < sums.size(); ++i) sums[i] += counts[i];
    };
    add(coverage_.by_confidence, one.by_confidence);
    add(coverage_.by_source, one.by_source);
    add(coverage_.by_type, one.by_type);
  }

  void AddTo(RunTotals& totals) const {
    if (any_) totals.line = "; " + CoverageText(coverage_);
    Datum reasons = Datum::Object({});
    for (const auto& [why, count] : without_tags_) {
      totals.line +=
          fmt::format("\n  {} got no tag: {}", Count(count, "file"), why);
      reasons.Set(why, count);
    }
    totals.facts = CoverageMembers(coverage_);
    totals.facts.emplace_back("without_tags", std::move(reasons));
  }

 private:
  bool any_ = false;
  Coverage coverage_;
  // Files without any tag, by reason.
  std::map<std::string, std::uint64_t> without_tags_;
};

// "5 nodes: ... 0 untagged; wrote out/bert.tagged.onnx"
std::string LineOf(const TagReport& report) {
  const std::string line = CoverageText(report.coverage);
  if (report.current) return line + "; up to date";
  const bool model = !report.output.empty();
  const std::string& written = model ? report.output : report.sidecar;
  if (written.empty()) return line;
  return line + Message("; {} {}",
                        Deed(model ? report.output_fate : report.sidecar_fate,
                             report.dry_run),
                        written);
}

// A model that could not be read has no facts.
Datum::Members WithoutFacts() {
  Datum::Members members = SummaryMembers({});
  for (auto& [key, value] : members) value = Datum();
  return members;
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
        reporter_(MakeReporter(options.format, terminal, options.json_nodes)) {}

  ExitCode Run() {
    const Clock::time_point start = Clock::now();
    RunTotals totals;
    Sums sums;
    {
      WorkerPool pool(ThreadsFor(options_), models_.size(),
                      [this](std::size_t index) { Work(index); });
      for (std::size_t ended = 0; ended < models_.size();) {
        std::optional<Ended> one = ended_.Take(std::chrono::milliseconds(200));
        if (one) {
          ++ended;
          last_exit_code_ = one->file.exit_code;
          ++totals.files[static_cast<std::size_t>(one->file.status)];
          if (WasRead(one->file.status)) sums.Add(one->tagged);
          Report(std::move(one->file));
        }
        if (terminal_.shows_progress()) {
          terminal_.Progress(progress_.Line(SecondsSince(start)));
        }
      }
    }
    for (const auto& [index, report] : waiting_) Tell(report);
    sums.AddTo(totals);
    totals.seconds = SecondsSince(start);
    reporter_->End(totals);
    // A single model that is told about like many still fails like one.
    return single_ ? last_exit_code_ : totals.exit_code();
  }

 private:
  struct Ended {
    FileReport file;
    TagReport tagged;
  };

  static bool WasRead(FileStatus status) {
    return status != FileStatus::kFailed && status != FileStatus::kNotRun;
  }

  // In a thread of the pool: does one model, and hands over what became of it.
  void Work(std::size_t index) {
    const FoundModel& model = models_[index];
    Ended one;
    one.file.index = index;
    one.file.path = model.path;
    if (!stopped_) {
      progress_.Start(index, model.path);
      const Clock::time_point start = Clock::now();
      Tag(model, destinations_[index], one);
      one.file.seconds = SecondsSince(start);
      progress_.End(index, one.tagged.coverage.nodes);
      if (one.file.status == FileStatus::kFailed && options_.fail_fast) {
        stopped_ = true;
      }
    }
    ended_.Put(std::move(one));
  }

  void Tag(const FoundModel& model, const Destinations& destinations,
           Ended& one) {
    NodeLines nodes;
    if (options_.json_nodes) {
      nodes = [this](std::string_view lines) { terminal_.Out(lines); };
    }
    FileReport& file = one.file;
    try {
      if (!model.error.empty()) throw Error(ErrorKind::kInput, model.error);
      TagFile(model.path, destinations, options_, facts_, nodes, nobody_,
              one.tagged);
      const bool good = one.tagged.findings.empty();
      file.exit_code = good ? ExitCode::kOk : ExitCode::kFindings;
      file.status = !good                ? FileStatus::kFindings
                    : one.tagged.current ? FileStatus::kCurrent
                                         : FileStatus::kOk;
      file.facts = SummaryMembers(one.tagged);
    } catch (const std::exception& error) {
      file.status = FileStatus::kFailed;
      file.exit_code = ExitCodeOf(error);
      file.error = ErrorWords(error);
      file.facts = WithoutFacts();
    }
    file.line = LineOf(one.tagged);
    file.warnings = one.tagged.warnings;
    for (const std::string& finding : one.tagged.findings) {
      file.findings.push_back({"", "", finding});
    }
  }

  void Report(FileReport report) {
    if (!reporter_->in_order()) {
      Tell(report);
      return;
    }
    waiting_.emplace(report.index, std::move(report));
    for (auto at = waiting_.begin(); at != waiting_.end() && at->first == next_;
         ++next_) {
      Tell(at->second);
      at = waiting_.erase(at);
    }
  }

  void Tell(const FileReport& report) {
    if (report.status != FileStatus::kNotRun) reporter_->File(report);
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
  std::unique_ptr<Reporter> reporter_;
  Mailbox<Ended> ended_;
  std::map<std::size_t, FileReport> waiting_;  // for one before them
  std::size_t next_ = 0;
  ExitCode last_exit_code_ = ExitCode::kOk;
  std::atomic<bool> stopped_{false};
};

ExitCode TagMany(const TagOptions& options, const MappingFacts& facts,
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

// ---------------------------------------------------------------- one
Result TagOne(const std::string& input, const TagOptions& options,
              const MappingFacts& facts, Terminal& terminal) {
  NodeLines nodes;
  if (options.json_nodes) {
    nodes = [&](std::string_view lines) { terminal.Out(lines); };
  }
  TagReport report;
  const auto warn = [&] {
    for (const std::string& warning : report.warnings) {
      terminal.Note("{}: warning: {}", report.file, Ours{warning});
    }
  };
  try {
    TagFile(input, DestinationsOf(input, options), options, facts, nodes,
            terminal, report);
  } catch (...) {
    warn();
    throw;
  }
  warn();
  const bool json = options.format == ReportFormat::kJson;
  Result result;
  result.streams = report.streams || (options.json_nodes && !json);
  AddSummary(report, result);
  result.data = Datum::Object({{"file", report.file}});
  result.data.Add(SummaryMembers(report));
  for (const std::string& finding : report.findings) {
    result.Finding("{}: {}", input, Ours{finding});
  }
  return result;
}

}  // namespace

Result RunTag(const TagOptions& options, Terminal& terminal) {
  const MappingFacts facts = ReadFacts(options.mapping);
  const bool text_or_json = options.format == ReportFormat::kText ||
                            options.format == ReportFormat::kJson;
  if (NamesOneModel(options) && text_or_json) {
    return TagOne(options.models.front(), options, facts, terminal);
  }
  Result result;
  result.exit_code = TagMany(options, facts, terminal);
  return result;
}

}  // namespace onnx_tag
