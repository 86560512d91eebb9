#include <fmt/core.h>

#include <algorithm>
#include <span>

#include "json/writer.h"
#include "tagging/module_format.h"
#include "tagging/node_json.h"
#include "tagging/parameter_counts.h"
#include "tagging/sidecar.h"
#include "tagging/sure_coverage.h"
#include "tagging/version.h"
#include "tagging/words.h"

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
    Head(about);
    Modules();
    Functions();
    Nodes();
    Statistics();
    Flush(0);
  }

 private:
  void Head(const SidecarModel& about) {
    out_ += "{\n  \"format\": \"onnx-tag/1\",\n";
    out_ += fmt::format(
        "  \"tool\": {{\"name\": \"onnx-tag\", \"version\": \"{}\"}},\n",
        kVersion);
    out_ += "  \"model\": {\"file\": ";
    AppendJsonString(out_, about.file);
    out_ += fmt::format(", \"bytes\": {}, \"fingerprint\": \"{}\"", about.bytes,
                        about.fingerprint);
    out_ +=
        fmt::format(", \"ir_version\": {}, \"producer\": ", about.ir_version);
    AppendJsonString(out_, about.producer);
    out_ += ", \"dialect\": ";
    AppendJsonString(out_, about.dialect);
    out_ += ", \"inputs\": ";
    Strings(about.inputs);
    out_ += ", \"outputs\": ";
    Strings(about.outputs);
    out_ += fmt::format(", \"unplaced_parameters\": {}, \"nodes\": {}}},\n",
                        parameters_.unplaced, model_.node_count());
    out_ += "  \"strategy\": ";
    AppendJsonString(out_, tagging_.strategy);
    out_ += fmt::format(", \"granularity\": \"{}\", \"options\": ",
                        tagging_.format.torch_nn ? "torch_nn" : "hf");
    AppendJsonString(out_, tagging_.options);
    out_ += ",\n  \"root\": {\"class\": ";
    AppendJsonStringOrNull(out_, tagging_.root.name);
    out_ += ", \"confidence\": ";
    AppendJsonStringOrNull(out_, tagging_.root.ConfidenceName());
    out_ += ", \"alternatives\": ";
    Strings(tagging_.root.alternatives);
    out_ += "},\n";
    if (!tagging_.notes.empty()) {
      out_ += "  \"notes\": ";
      Strings(tagging_.notes);
      out_ += ",\n";
    }
  }

  void Modules() {
    const ModuleTree& tree = tagging_.modules;
    std::vector<std::uint64_t> own(tree.size());
    for (const Tag& tag : tagging_.tags) {
      if (tag.tagged()) ++own[Index(tag.module)];
    }
    std::vector<std::uint64_t> total = own;
    // Children have larger ids than their parents.
    for (std::size_t i = tree.size(); --i > 0;) {
      total[Index(tree.Parent(MakeId<ModuleId>(i)))] += total[i];
    }
    out_ += "  \"modules\": [";
    for (const ModuleId id : tree.All()) {
      out_ += id == ModuleId{0} ? "\n    {\"path\": " : ",\n    {\"path\": ";
      AppendJsonString(out_, tree.Path(id));
      out_ += ", \"class\": ";
      const std::string_view name = tree.Class(id);
      AppendJsonStringOrNull(out_, name);
      const bool known = Index(id) < tagging_.facts.size();
      out_ += ", \"class_confidence\": ";
      AppendJsonStringOrNull(
          out_, name.empty() || !known
                    ? ""
                    : EnumToWord(kConfidenceNames,
                                 tagging_.facts[id].class_confidence));
      out_ += ", \"candidates\": ";
      Strings(known ? tagging_.facts[id].candidates
                    : std::vector<std::string>());
      out_ += ", \"hierarchy_tag\": ";
      AppendJsonString(out_, format_.HierarchyTag(id));
      out_ += ", \"role_path\": ";
      AppendJsonString(out_, format_.RolePath(id));
      out_ += fmt::format(
          ", \"nodes\": {}, \"total_nodes\": {}, \"parameters\": {}",
          own[Index(id)], total[Index(id)], parameters_.own[id]);
      if (const FoundBlock* const block = tagging_.FindFound(id)) {
        out_ += ", \"found\": true";
        if (!block->description.empty()) {
          out_ += ", \"description\": ";
          AppendJsonString(out_, block->description);
        }
      }
      out_ += '}';
      Flush(kFlushAt);
    }
    out_ += "\n  ],\n";
  }

  void Functions() {
    // By function, in file order within each.
    std::vector<CallSite> sites = tagging_.call_sites;
    std::stable_sort(sites.begin(), sites.end(),
                     [](const CallSite& a, const CallSite& b) {
                       return a.function < b.function;
                     });
    auto site = sites.begin();
    out_ += "  \"functions\": [";
    for (std::size_t i = 0; i < model_.functions().size(); ++i) {
      const Function& function = model_.functions()[i];
      out_ += i == 0 ? "\n    {\"domain\": " : ",\n    {\"domain\": ";
      AppendJsonString(out_, function.domain);
      out_ += ", \"name\": ";
      AppendJsonString(out_, function.name);
      out_ += ", \"overload\": ";
      AppendJsonString(out_, function.overload);
      out_ += ", \"call_sites\": [";
      bool first = true;
      for (; site != sites.end() && site->function == i; ++site) {
        out_ += first ? "{\"graph\": " : ", {\"graph\": ";
        first = false;
        AppendJsonString(out_, model_.GraphPath(model_[site->node].graph));
        out_ += fmt::format(", \"index\": {}, \"module\": ",
                            model_[site->node].index);
        if (site->module == kNo<ModuleId>) {
          out_ += "null";
        } else {
          AppendJsonString(out_, tagging_.modules.Path(site->module));
        }
        out_ += "}";
      }
      out_ += "]}";
    }
    out_ += model_.functions().empty() ? "],\n" : "\n  ],\n";
  }

  void Nodes() {
    out_ += "  \"nodes\": [";
    NodeJson nodes(model_, tagging_, format_);
    bool first = true;
    for (const NodeId node : model_.Nodes()) {
      out_ += first ? "\n    {" : ",\n    {";
      first = false;
      nodes.AppendMembers(node, out_);
      out_ += '}';
      Flush(kFlushAt);
    }
    out_ += first ? "],\n" : "\n  ],\n";
  }

  void Statistics() {
    const Coverage coverage = CountTags(tagging_);
    out_ += fmt::format(
        "  \"statistics\": {{\"nodes\": {}, \"tagged\": {}, \"untagged\": {}, "
        "\"sure\": {}, \"coverage\": {:.6g}, \"sure_coverage\": {:.6g}",
        coverage.nodes, coverage.tagged, coverage.untagged(), coverage.sure,
        coverage.share(), SureShare(coverage));
    Counts("by_confidence", kConfidenceNames, coverage.by_confidence);
    Counts("by_source", kSourceNames, coverage.by_source);
    Counts("by_type", kRoleTypeNames, coverage.by_type);
    out_ += "}\n}\n";
  }

  template <std::size_t kCount>
  void Counts(std::string_view name,
              const std::array<std::string_view, kCount>& words,
              const std::array<std::uint64_t, kCount>& counts) {
    out_ += fmt::format(", \"{}\": {{", name);
    bool first = true;
    for (std::size_t i = 0; i < kCount; ++i) {
      if (counts[i] == 0) continue;
      out_ +=
          fmt::format("{}\"{}\": {}", first ? "" : ", ", words[i], counts[i]);
      first = false;
    }
    out_ += "}";
  }

  void Strings(const std::vector<std::string>& strings) {
    out_ += "[";
    for (std::size_t i = 0; i < strings.size(); ++i) {
      if (i != 0) out_ += ", ";
      AppendJsonString(out_, strings[i]);
    }
    out_ += "]";
  }

  void Flush(std::size_t at) {
    if (out_.size() < at) return;
    write_(out_);
    out_.clear();
  }

  const Model& model_;
  const Tagging& tagging_;
  const std::function<void(Bytes)>& write_;
  ModuleFormat format_;
  const ParameterCounts parameters_;
  std::string out_;
};

}  // namespace

void WriteSidecar(const Model& model, const Tagging& tagging,
                  const SidecarModel& about,
                  const std::function<void(Bytes)>& write) {
  Writer(model, tagging, write).Run(about);
}

}  // namespace onnx_tag
