#include "app/commands/report/report.h"

#include "app/commands/commands.h"
#include "app/commands/output/destinations.h"
#include "app/commands/output/pending_outputs.h"
#include "app/commands/read/find_models.h"
#include "file/io/folder.h"
#include "file/io/paths.h"
#include "onnx_tag/error.h"

namespace onnx_tag {
namespace {

// The claims of a mapping for modules of `to`; those for others are left out.
void TakeOver(const ModuleTree& from, const ModuleTree& to,
              std::vector<GatheredClaim>& claims) {
  constexpr auto kUnknown = static_cast<ModuleId>(0xfffffffe);
  IdVector<ModuleId, ModuleId> same(from.size(), kUnknown);
  for (GatheredClaim& claim : claims) {
    ModuleId& module = same[claim.module];
    if (module == kUnknown) module = to.Find(from.Path(claim.module));
    claim.module = module;
  }
  std::erase_if(claims, [](const GatheredClaim& claim) {
    return claim.module == kNo<ModuleId>;
  });
}

class Pages {
 public:
  Pages(const ReportOptions& options, Terminal& terminal)
      : options_(options), terminal_(terminal) {
    inputs_.Add(options.profile.file, "--profile");
    inputs_.Add(options.profile.layers, "--layers");
  }

  // One model, or two beside each other.
  void Models(const std::vector<std::string>& inputs) {
    std::vector<ReportedModel> models;
    for (const std::string& input : inputs) models.push_back(Load(input));
    const bool two = models.size() == 2;
    std::string path = options_.output;
    if (path.empty()) {
      path = inputs[0] == "-" ? "-"
                              : WithoutOnnx(inputs[0]) +
                                    (two ? ".compare.html" : ".report.html");
    }
    Write(path,
          two ? CompareReportJson(models[0], models[1],
                                  CompareTags(models[0].model, models[1].model))
              : ModelReportJson(models[0]),
          false);
  }

  // One page for each model, and an index. A model that cannot be read, or that
  // lacks a dimension of --shape, is a row of the index.
  void Folder(const std::string& folder) {
    TagOptions wanted;
    wanted.models = {folder};
    wanted.inputs.recursive = true;
    Datum::List rows;
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
      try {
        rows.push_back(Row(found));
      } catch (const Error& error) {
        if (error.kind() != ErrorKind::kInput &&
            error.kind() != ErrorKind::kUsage) {
          throw;
        }
        rows.push_back(ZooRow(NameInside(found), "", error.what(), nullptr));
        ++failed;
        terminal_.Report("{}", Ours{error.what()});
      }
    }
    Write(Inside("index.html"), ZooReportJson(std::move(rows)), true);
    if (failed == 0) return;
    terminal_.Report("{} of {} failed", failed, Count(models.size(), "model"));
    result_.exit_code = ExitCode::kSomeFailed;
  }

  Result Take() { return std::move(result_); }

 private:
  ReportedModel Load(const std::string& path) {
    ReportedModel loaded = LoadReported(path, options_.source, options_.shapes,
                                        options_.profile, terminal_);
    inputs_.Add(loaded.model.inputs());
    return loaded;
  }
  std::string Inside(const std::string& name) const {
    return JoinPath(options_.folder, name);
  }

  static std::string NameInside(const FoundModel& found) {
    return JoinPath(found.folder, FileName(found.path));
  }

  // Writes the page of a model. Returns its row of the index.
  Datum Row(const FoundModel& found) {
    if (!found.error.empty()) throw Error(ErrorKind::kInput, found.error);
    const ReportedModel reported = Load(found.path);
    const std::string page = WithoutOnnx(NameInside(found)) + ".report.html";
    Write(Inside(page), ModelReportJson(reported), true);
    return ZooRow(NameInside(found), page, "", &reported);
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
    if (path == "-") return;
    result_.Line("{} {} ({} bytes)", Deed(outputs.FateOf(path), false), path,
                 WithThousands(page.size()));
  }

  const ReportOptions& options_;
  Terminal& terminal_;
  Inputs inputs_;  // all that was read so far
  Result result_;
};

}  // namespace

ReportedModel LoadReported(const std::string& path,
                           const TagSourceOptions& source,
                           std::span<const sizes::GivenShape> shapes,
                           const ProfileSource& profile, Terminal& terminal) {
  ClaimGatherer gatherer;
  ReportedModel reported{TaggedModel::Load(path, source, terminal, &gatherer)};
  const TaggedModel& model = reported.model;
  if (model.file() != nullptr) {
    if (model.source() == TaggedModel::kMapped) {
      reported.claims = gatherer.Take();
    } else {
      const MappingFacts facts = ReadFacts(source.mapping);
      const Tagging mapped = model.file()->Map([&](const Model& read) {
        return MapNodes(read, source.mapping, facts, &gatherer);
      });
      model.file()->file().CheckUnchanged();
      reported.claims = gatherer.Take();
      TakeOver(mapped.modules, model.tagging().modules,
               reported.claims->winners);
      TakeOver(mapped.modules, model.tagging().modules,
               reported.claims->others);
    }
  }
  reported.costs = CostsOf(model, shapes);
  if (!profile.file.empty()) {
    reported.numbers = ReadNodeNumbers(model, profile);
    reported.profile = FileName(profile.file);
  }
  return reported;
}

Result RunReport(const ReportOptions& options, Terminal& terminal) {
  const std::string& first = options.inputs[0];
  const bool folder = IsFolder(first);
  if (folder == options.folder.empty()) {
    Fail(
        ErrorKind::kUsage, "{}: {}", first,
        Ours{folder ? "is a folder\n  say where its pages go with --out-dir DIR"
                    : "is not a folder, and --out-dir is for folders\n  name "
                      "the page with -o"});
  }
  Pages pages(options, terminal);
  if (folder) {
    pages.Folder(first);
  } else {
    pages.Models(options.inputs);
  }
  return pages.Take();
}

}  // namespace onnx_tag
