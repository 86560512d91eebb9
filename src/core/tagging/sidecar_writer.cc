#include "base/lists.h"
#include "core/hierarchy/roll_up.h"
#include "core/tagging/module_format.h"
#include "core/tagging/node_json.h"
#include "core/tagging/parameter_counts.h"
#include "core/tagging/sidecar.h"
#include "core/tagging/words.h"
#include "file/json/writer.h"
#include "generated/version.h"

namespace onnx_tag {
namespace {

constexpr std::size_t kFlushAt = 256 * 1024;

class Writer {
 public:
  Writer(const Model& model, const Tagging& tagging,
         const std::function<void(Bytes)>& write)
      : model_(model),
        tagging_(tagging),
        write_(write),
        format_(tagging),
        parameters_(CountParameters(model, tagging)) {}

  void Run(const SidecarModel& about) {
    json_.BeginObject();
    Head(about);
    Modules();
    Functions();
    Nodes();
    Statistics();
    json_.Break(0).EndObject();
    write_(json_.Take() + "\n");
  }

 private:
  // A member of the document, on a line of its own.
  JsonWriter& Member(std::string_view key) { return json_.Break(2).Key(key); }

  void Head(const SidecarModel& about) {
    Member("format").String("onnx-tag/1");
    Member("tool").BeginObject().Key("name").String("onnx-tag");
    json_.Key("version").String(kVersion);
    // Another network changes nothing where this one had no say.
    if (AnyIn(tagging_.tags, [](const Tag& tag) {
          return tag.tagged() && tag.source == Source::kPlacement;
        })) {
      json_.Key("placement").String(kPlacementVersion);
    }
    json_.EndObject();
    Member("model").BeginObject();
    json_.Key("file").String(about.file);
    json_.Key("bytes").Number(about.bytes);
    json_.Key("fingerprint").String(about.fingerprint);
    json_.Key("ir_version").Number(about.ir_version);
    json_.Key("producer").String(about.producer);
    json_.Key("dialect").String(about.dialect);
    json_.Key("inputs").Strings(about.inputs);
    json_.Key("outputs").Strings(about.outputs);
    json_.Key("unplaced_parameters").Number(parameters_.unplaced);
    json_.Key("nodes").Number(model_.node_count()).EndObject();
    Member("strategy").String(tagging_.strategy);
    json_.Key("granularity")
        .String(tagging_.format.torch_nn ? "torch_nn" : "hf");
    json_.Key("options").String(tagging_.options);
    Member("root").BeginObject();
    json_.Key("class").StringOrNull(tagging_.root.name);
    json_.Key("confidence").StringOrNull(tagging_.root.ConfidenceName());
    json_.Key("alternatives").Strings(tagging_.root.alternatives).EndObject();
    if (!tagging_.notes.empty()) Member("notes").Strings(tagging_.notes);
  }

  void Modules() {
    const ModuleTree& tree = tagging_.modules;
    IdVector<ModuleId, std::uint64_t> own(tree.size(), 0);
    for (const Tag& tag : tagging_.tags) {
      if (tag.tagged()) ++own[tag.module];
    }
    IdVector<ModuleId, std::uint64_t> total = own;
    RollUp(tree, total);
    Member("modules").BeginArray();
    for (const ModuleId id : tree.All()) {
      const ModuleFacts* const facts = tagging_.FactsOf(id);
      json_.Break(4).BeginObject();
      json_.Key("path").String(tree.Path(id));
      json_.Key("class").StringOrNull(tree.Class(id));
      json_.Key("class_confidence")
          .StringOrNull(tagging_.ClassConfidenceName(id));
      json_.Key("candidates")
          .Strings(facts == nullptr ? std::vector<std::string>()
                                    : facts->candidates);
      json_.Key("hierarchy_tag").String(format_.HierarchyTag(id));
      json_.Key("role_path").String(format_.RolePath(id));
      json_.Key("nodes").Number(own[id]);
      json_.Key("total_nodes").Number(total[id]);
      json_.Key("parameters").Number(parameters_.own[id]);
      if (const FoundBlock* const block = tagging_.FindFound(id)) {
        json_.Key("found").Bool(true);
        if (!block->description.empty()) {
          json_.Key("description").String(block->description);
        }
      }
      json_.EndObject();
      Flush();
    }
    json_.Break(2).EndArray();
  }

  void Functions() {
    // By function, in file order within each.
    std::vector<CallSite> sites = tagging_.call_sites;
    SortBy(sites, &CallSite::function);
    auto site = sites.begin();
    Member("functions").BeginArray();
    for (std::size_t i = 0; i < model_.functions().size(); ++i) {
      const Function& function = model_.functions()[i];
      json_.Break(4).BeginObject();
      json_.Key("domain").String(function.domain);
      json_.Key("name").String(function.name);
      json_.Key("overload").String(function.overload);
      json_.Key("call_sites").BeginArray();
      for (; site != sites.end() && site->function == i; ++site) {
        json_.BeginObject();
        json_.Key("graph").String(model_.GraphPath(model_[site->node].graph));
        json_.Key("index").Number(model_[site->node].index);
        json_.Key("module");
        if (site->module == kNo<ModuleId>) {
          json_.Null();
        } else {
          json_.String(tagging_.modules.Path(site->module));
        }
        json_.EndObject();
      }
      json_.EndArray().EndObject();
    }
    if (!model_.functions().empty()) json_.Break(2);
    json_.EndArray();
  }

  void Nodes() {
    Member("nodes").BeginArray();
    NodeJson nodes(model_, tagging_, format_);
    for (const NodeId node : model_.Nodes()) {
      json_.Break(4).BeginObject();
      nodes.AddMembers(node, json_);
      json_.EndObject();
      Flush();
    }
    if (model_.node_count() > 0) json_.Break(2);
    json_.EndArray();
  }

  void Statistics() {
    const Coverage coverage = CountTags(tagging_);
    Member("statistics").BeginObject();
    json_.Key("nodes").Number(coverage.nodes);
    json_.Key("tagged").Number(coverage.tagged);
    json_.Key("untagged").Number(coverage.untagged());
    json_.Key("sure").Number(coverage.sure);
    json_.Key("coverage").Share(coverage.ShareOf(coverage.tagged));
    json_.Key("sure_coverage").Share(coverage.ShareOf(coverage.sure));
    json_.Key("found_coverage").Share(coverage.ShareOf(coverage.found(), 0));
    Counts("by_confidence", kConfidenceNames, coverage.by_confidence);
    Counts("by_source", kSourceNames, coverage.by_source);
    Counts("by_type", kRoleTypeNames, coverage.by_type);
    json_.EndObject();
  }

  template <std::size_t kCount>
  void Counts(std::string_view name,
              const std::array<std::string_view, kCount>& words,
              const std::array<std::uint64_t, kCount>& counts) {
    json_.Key(name).BeginObject();
    for (std::size_t i = 0; i < kCount; ++i) {
      if (counts[i] != 0) json_.Key(words[i]).Number(counts[i]);
    }
    json_.EndObject();
  }

  void Flush() {
    if (json_.text().size() < kFlushAt) return;
    write_(json_.text());
    json_.Clear();
  }

  const Model& model_;
  const Tagging& tagging_;
  const std::function<void(Bytes)>& write_;
  ModuleFormat format_;
  const ParameterCounts parameters_;
  JsonWriter json_;
};

}  // namespace

void WriteSidecar(const Model& model, const Tagging& tagging,
                  const SidecarModel& about,
                  const std::function<void(Bytes)>& write) {
  Writer(model, tagging, write).Run(about);
}

}  // namespace onnx_tag
