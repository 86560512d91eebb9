// Tested by tests/app/commands/refit_test.cc and tests/clients/check_refit.py.
#include <map>
#include <memory>
#include <optional>

#include "app/commands/output/data_names.h"
#include "app/commands/output/destinations.h"
#include "app/commands/write/new_models.h"
#include "app/render/render.h"
#include "base/lists.h"
#include "core/tagging/words.h"
#include "file/io/paths.h"
#include "onnx_tag/error.h"
#include "uses/weights/refit_writer.h"

namespace onnx_tag {
namespace {

using weights::Fate;
using weights::RefitPlan;
using weights::RefitRow;
using weights::Store;

struct Refitting {
  std::shared_ptr<const TaggedModel> model;
  Store store;
  RefitPlan plan;
  bool proved;

  std::uint64_t Count(Fate fate) const {
    return CountIn(plan.rows,
                   [&](const RefitRow& row) { return row.fate == fate; });
  }
};

Table RefitTable(const std::shared_ptr<const Refitting>& refit) {
  Table table;
  table.columns = {{"tensor", "tensor"},
                   {"fate", "fate"},
                   {"transform", "transform", For::kAll, "-"},
                   {"", "parameter", For::kPeople, "-"},
                   {"parameters", "parameters", For::kPrograms, "-"},
                   {"module", "module", For::kAll, "-"},
                   {"bytes", "bytes"},
                   {"proof", "proof", For::kPrograms, "-"},
                   {"why", "why", For::kAll, "-"}};
  table.more = [refit](const Table::Use& use) {
    for (const RefitRow& row : refit->plan.rows) {
      const weights::Stored& stored = refit->store.tensors()[row.stored];
      use({row.name.empty() ? stored.name : row.name,
           EnumToWord(weights::kFateNames, row.fate),
           Datum::OrNull(row.transform), row.parameters, row.parameters,
           row.module == kNo<ModuleId>
               ? Datum()
               : Datum(refit->model->tagging().modules.Path(row.module)),
           weights::BytesOf(stored),
           row.fate != Fate::kWritten ? Datum()
           : refit->proved ? Datum("the old checkpoint gives its bytes")
                           : Datum("its name"),
           Datum::OrNull(row.why)});
    }
  };
  return table;
}

// Where files of weights go: beside the output, under their own name if it
// stands in another folder, else under one of its name.
std::map<std::string, std::string> NewLocations(const Store& store,
                                                const std::string& input,
                                                const std::string& output) {
  std::map<std::string, std::string> names;
  const bool same =
      RealPath(ParentFolder(input)) == RealPath(ParentFolder(output));
  for (const auto& [location, file] : store.files()) {
    if (file == nullptr) continue;
    const bool plain = FileName(location) == location;
    names[location] = !same && plain ? location : FileName(output) + ".data";
    if (store.files().size() > 1 && names[location] != location) {
      names[location] =
          fmt::format("{}.{}.data", FileName(output), names.size());
    }
  }
  return names;
}

// Returns the path.
std::string WriteRefit(
    const WeightsOptions& options, const Refitting& refit, const Inputs& inputs,
    const std::vector<std::unique_ptr<const weights::Checkpoint>>& read,
    Terminal& terminal, Result& result) {
  const ModelFile& file = *refit.model->file();
  const std::string path =
      ModelDestination(options.model, options.write, "refit");
  auto locations = NewLocations(refit.store, file.path(), path);
  if (path == "-" && !locations.empty()) {
    Fail(ErrorKind::kOutput,
         "{}: its weights are in files of their own; name the output with -o",
         options.model);
  }
  const auto check = [&] {
    for (const auto& one : read) one->CheckUnchanged();
  };
  std::optional<weights::RefitWriter> made;
  made.emplace(file, refit.store, refit.plan, locations);
  const weights::RefitWriter& writer = *made;
  const auto size_of = [&](const std::string& location) {
    return refit.store.files().find(location)->second->size();
  };
  const auto numbers_of = [&](const std::string& location) {
    return [&writer, check, location](wire::Rewrite::Sink& sink) {
      writer.WriteData(location, sink);
      check();
    };
  };
  DataNames names(path, options.write);
  const auto preferred = locations;
  for (auto& [location, name] : locations) {
    name = names.Take(name, size_of(location), numbers_of(location));
  }
  if (locations != preferred) {
    made.emplace(file, refit.store, refit.plan, locations);
  }
  NewModel model = {.path = path,
                    .size = writer.new_size(),
                    .produce =
                        [&](wire::Rewrite::Sink& sink) {
                          writer.Write(sink);
                          check();
                        },
                    .packs = true,
                    .left = names.Left()};
  for (const auto& [location, name] : locations) {
    model.data.push_back({JoinPath(ParentFolder(path), name), size_of(location),
                          numbers_of(location)});
  }
  WriteNewModel(file, inputs, options.write, terminal, std::move(model),
                result);
  return path;
}

}  // namespace

Result Refit(const WeightsOptions& options,
             const std::shared_ptr<const TaggedModel>& model,
             Terminal& terminal) {
  const ModelFile& file = *model->file();
  Inputs inputs = model->inputs();
  std::vector<std::unique_ptr<const weights::Checkpoint>> read;
  const auto open = [&](const std::string& path, std::string_view what) {
    if (path.empty()) return static_cast<const weights::Checkpoint*>(nullptr);
    read.push_back(std::make_unique<const weights::Checkpoint>(
        weights::Checkpoint::Open(path)));
    read.back()->AddTo(inputs, what);
    return read.back().get();
  };
  weights::RefitRequest request;
  request.was = open(options.was, "--was");
  request.now =
      options.refit.empty() ? request.was : open(options.refit, "--refit");
  request.keep = options.keep;
  if (!options.lora.empty()) {
    const std::string path = JoinPath(options.lora, "adapter_config.json");
    const std::string config = ReadWholeFile(path);
    inputs.Add(path, "--lora");
    const std::string adapter = JoinPath(options.lora, "adapter_model");
    const std::string_view end =
        Exists(adapter + ".bin") ? ".bin" : ".safetensors";
    try {
      request.added = weights::ReadLora(
          config, *open(adapter + std::string(end), "--lora"), *request.now);
    } catch (const Error& error) {
      throw error.In(options.lora);
    }
  }
  Store store(file);
  RefitPlan plan = file.Map([&](const Model& graph) {
    return weights::PlanRefit(graph, model->tagging(), store, request);
  });
  for (const auto& one : read) one->CheckUnchanged();
  const auto refit = std::make_shared<const Refitting>(Refitting{
      model, std::move(store), std::move(plan), request.was != nullptr});

  Result result;
  const std::uint64_t refused = refit->Count(Fate::kRefused);
  result.Line("{}: {}: {} written, {} kept, {} refused", options.model,
              Count(refit->plan.rows.size(), "tensor"),
              refit->Count(Fate::kWritten), refit->Count(Fate::kKept), refused);
  std::string path;
  const std::vector<std::string>& left_out = refit->plan.left_out;
  const std::vector<std::string>& unused = refit->plan.unused;
  const bool lost =
      !left_out.empty() || AnyIn(unused, [&](const std::string& name) {
        return request.added.contains(name);
      });
  if ((refused == 0 && !lost) || options.partial) {
    path = WriteRefit(options, *refit, inputs, read, terminal, result);
  }
  if (!unused.empty()) {
    result.Line("no tensor holds {} of the new checkpoint{}",
                Count(unused.size(), "changed parameter"),
                Ours{NameLines(unused)});
  }
  const Table table = RefitTable(refit);
  result.rows.push_back(table);
  result.data = Datum::Object({{"file", options.model},
                               {"output", Datum::OrNull(path)},
                               {"tensors", table},
                               {"unused", unused}});
  result.Line("");
  result.Add(table);
  if (refused > 0 || lost) {
    const std::string what =
        !left_out.empty()
            ? Message("{} was 0 or 1 throughout, and was left out of the model",
                      left_out[0])
        : lost ? "the adapter adds to parameters that no tensor holds"
               : Count(refused, "tensor") + " refused";
    result.Finding("{}: {}{}", options.model, what,
                   Ours{options.partial ? ""
                                        : "; nothing was written\n  keep some "
                                          "with --keep GLOB, or write the "
                                          "others with --partial"});
  }
  return result;
}

}  // namespace onnx_tag
