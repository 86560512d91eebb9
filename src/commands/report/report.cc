#include "commands/report/report.h"

#include <fmt/core.h>

#include <filesystem>

#include "base/text.h"
#include "commands/output/destinations.h"
#include "commands/output/pending_outputs.h"
#include "commands/read/find_models.h"
#include "commands/read/tag_source.h"
#include "commands/report/report_json.h"
#include "commands/report/report_page.h"
#include "io/folder.h"
#include "io/paths.h"
#include "onnx_tag/error.h"

namespace onnx_tag {
namespace {

class Reporter {
 public:
  Reporter(const ReportOptions& options, Terminal& terminal)
      : options_(options), terminal_(terminal) {
    const ProfileSource& profile = options.profile;
    if (!profile.file.empty()) inputs_.Add(profile.file, "--profile");
    if (!profile.layers.empty()) inputs_.Add(profile.layers, "--layers");
  }

  void OneModel(const std::string& input) {
    const ExplainedModel model = Load(input);
    const ReportedModel reported = Gather(model);
    std::string path = options_.output;
    if (path.empty()) {
      path = input == "-" ? "-" : WithoutOnnx(input) + ".report.html";
    }
    Write(path, ModelReportJson(reported), false);
  }

  void TwoModels(const std::string& a, const std::string& b) {
    const ExplainedModel first = Load(a);
    const ExplainedModel second = Load(b);
    const TagDifference difference = CompareTags(first.model, second.model);
    const std::string path = options_.output.empty()
                                 ? WithoutOnnx(a) + ".compare.html"
                                 : options_.output;
    Write(path, CompareReportJson(Gather(first), Gather(second), difference),
          false);
  }

  // One page for each model, and an index. A model that cannot be read is a
  // row of the index.
  ExitCode Folder(const std::string& folder) {
    TagOptions wanted;
    wanted.models = {folder};
    wanted.inputs.recursive = true;
    std::vector<ZooEntry> entries;
    std::size_t failed = 0;
    const std::vector<FoundModel> models = FindModels(wanted);
    // --force replaces a file of any kind, and it may hold the weights of a
    // model whose turn comes later.
    if (options_.force) {
      AddModelInputs(models, inputs_);
      for (const FoundModel& found : models) {
        for (const std::string& sidecar : SidecarsBeside(found.path)) {
          inputs_.Add(sidecar, "a sidecar");
        }
      }
    }
    for (const FoundModel& found : models) {
      entries.push_back(Entry(found));
      if (entries.back().error.empty()) continue;
      ++failed;
      terminal_.Complain(fmt::format("onnx-tag: {}\n", entries.back().error));
    }
    Write(Inside("", "index.html"), ZooReportJson(entries), true);
    if (failed == 0) return ExitCode::kOk;
    terminal_.Complain(fmt::format("onnx-tag: {} of {} failed\n", failed,
                                   Count(entries.size(), "model")));
    return ExitCode::kSomeFailed;
  }

 private:
  ExplainedModel Load(const std::string& path) {
    ExplainedModel loaded = LoadExplained(path, options_.source, terminal_);
    inputs_.Add(loaded.model.inputs());
    return loaded;
  }
  ReportedModel Gather(const ExplainedModel& explained) const {
    return GatherReport(explained, options_.shapes, options_.profile);
  }
  std::string Inside(const std::string& folder, const std::string& name) const {
    return (std::filesystem::path(options_.folder) / folder / name).string();
  }

  ZooEntry Entry(const FoundModel& found) {
    ZooEntry entry;
    const std::filesystem::path inside =
        std::filesystem::path(found.folder) / FileName(found.path);
    try {
      if (!found.error.empty()) Fail(ErrorKind::kInput, "{}", found.error);
      const ExplainedModel model = Load(found.path);
      const ReportedModel reported = Gather(model);
      entry = DescribeForZoo(reported);
      const std::string page = WithoutOnnx(inside.string()) + ".report.html";
      Write(Inside("", page), ModelReportJson(reported), true);
      entry.page = page;
    } catch (const Error& error) {
      if (error.kind() == ErrorKind::kOutput ||
          error.kind() == ErrorKind::kUsage) {
        throw;
      }
      entry.error = error.what();
    }
    entry.file = inside.string();
    return entry;
  }

  void Write(const std::string& path, const std::string& json,
             bool make_folder) {
    const std::string page = MakeReportPage(json);
    const MappedFile nothing = MappedFile::FromBytes("", path);
    WriteOptions write;
    write.force = options_.force;
    PendingOutputs outputs(nothing, inputs_, write, terminal_);
    outputs.AddDocument(path, ReportHead(),
                        [&](wire::Rewrite::Sink& sink) { sink.Write(page); });
    outputs.Judge();
    if (make_folder) MakeFolders(ParentFolder(path));
    outputs.Write();
    outputs.Commit();
    if (options_.quiet || path == "-") return;
    const bool same = outputs.FateOf(path) == PendingOutputs::Fate::kUnchanged;
    terminal_.Out(fmt::format("{} {} ({} bytes)\n",
                              same ? "unchanged" : "wrote", Printable(path),
                              WithThousands(page.size())));
  }

  const ReportOptions& options_;
  Terminal& terminal_;
  Inputs inputs_;  // all that was read so far
};

}  // namespace

ExitCode RunReport(const ReportOptions& options, Terminal& terminal) {
  Reporter reporter(options, terminal);
  const bool folder = IsFolder(options.inputs[0]);
  if (folder && options.folder.empty()) {
    Fail(ErrorKind::kUsage,
         "{}: is a folder\n  say where its pages go with --out-dir DIR",
         Printable(options.inputs[0]));
  }
  if (!folder && !options.folder.empty()) {
    Fail(ErrorKind::kUsage,
         "{}: is not a folder, and --out-dir is for folders\n  name the page "
         "with -o",
         Printable(options.inputs[0]));
  }
  if (folder) return reporter.Folder(options.inputs[0]);
  if (options.inputs.size() == 2) {
    reporter.TwoModels(options.inputs[0], options.inputs[1]);
  } else {
    reporter.OneModel(options.inputs[0]);
  }
  return ExitCode::kOk;
}

}  // namespace onnx_tag
