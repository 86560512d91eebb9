#include "commands/report/report_json.h"

#include <fmt/core.h>

#include <array>
#include <map>
#include <unordered_map>

#include "base/text.h"
#include "commands/commands.h"
#include "commands/profile/profile_file.h"
#include "json/writer.h"
#include "sizes/element_types.h"
#include "sizes/flops.h"
#include "tagging/module_format.h"

namespace onnx_tag {
namespace {

// Longer names are cut: a name may have a megabyte.
constexpr std::size_t kMostNameBytes = 1000;

std::string Shortened(std::string_view name) {
  if (name.size() <= kMostNameBytes) return std::string(name);
  std::size_t end = kMostNameBytes;
  while (end > 0 && (static_cast<unsigned char>(name[end]) & 0xc0) == 0x80) {
    --end;
  }
  return fmt::format("{}… ({} bytes)", name.substr(0, end), name.size());
}

// JSON without spaces; columns of numbers are most of it.
class Json {
 public:
  explicit Json(std::string& out) : out_(out) {}

  Json& Open(char bracket) {
    Separate();
    out_ += bracket;
    comma_ = false;
    return *this;
  }
  Json& Close(char bracket) {
    out_ += bracket;
    comma_ = true;
    return *this;
  }
  Json& Key(std::string_view key) {
    Separate();
    AppendJsonString(out_, key);
    out_ += ':';
    comma_ = false;
    return *this;
  }
  Json& Text(std::string_view text) {
    Separate();
    AppendJsonString(out_, text);
    return *this;
  }
  Json& TextOrNull(std::string_view text) {
    return text.empty() ? Null() : Text(text);
  }
  Json& Null() {
    Separate();
    out_ += "null";
    return *this;
  }
  template <typename Integer>
  Json& Number(Integer number) {
    Separate();
    fmt::format_to(std::back_inserter(out_), "{}", number);
    return *this;
  }
  template <typename Column>
  Json& Numbers(const Column& numbers) {
    Open('[');
    for (const auto number : numbers) Number(number);
    return Close(']');
  }
  template <typename Column>
  Json& Deltas(const Column& numbers) {
    Open('[');
    std::int64_t last = 0;
    for (const std::int64_t number : numbers) {
      Number(number - last);
      last = number;
    }
    return Close(']');
  }
  template <typename Column>
  Json& Texts(const Column& texts) {
    Open('[');
    for (const auto& text : texts) Text(text);
    return Close(']');
  }

 private:
  void Separate() {
    if (comma_) out_ += ',';
    comma_ = true;
  }

  std::string& out_;
  bool comma_ = false;
};

// How many characters of ASCII both texts begin with.
std::size_t SharedAscii(std::string_view a, std::string_view b) {
  std::size_t shared = 0;
  while (shared < a.size() && shared < b.size() && a[shared] == b[shared] &&
         static_cast<unsigned char>(a[shared]) < 0x80) {
    ++shared;
  }
  return shared;
}

// Gives each text a number, in the order of first use.
class TextTable {
 public:
  std::int64_t IdOf(const std::string& text) {
    const auto [at, added] =
        ids_.try_emplace(text, static_cast<std::int64_t>(texts_.size()));
    if (added) texts_.push_back(&at->first);
    return at->second;
  }
  std::int64_t IdOrNone(const std::string& text) {
    return text.empty() ? -1 : IdOf(text);
  }
  void Write(Json& json) const {
    json.Open('[');
    for (const std::string* const text : texts_) json.Text(*text);
    json.Close(']');
  }
  // As `prefix` and `suffix`. Each text shares its beginning with the most
  // similar of the texts just before it: names of nodes, values and weights
  // alternate. Only ASCII is shared: there a byte is a UTF-16 unit, and no
  // character is cut.
  void WriteFrontCoded(Json& json) const {
    constexpr std::size_t kNear = 8;
    std::vector<std::size_t> prefixes;
    for (std::size_t i = 0; i < texts_.size(); ++i) {
      std::size_t best = 0;
      std::size_t back = 1;
      for (std::size_t k = 1; k <= std::min(i, kNear); ++k) {
        const std::size_t shared = SharedAscii(*texts_[i - k], *texts_[i]);
        if (shared > best) {
          best = shared;
          back = k;
        }
      }
      prefixes.push_back(kNear * best + back - 1);
    }
    json.Open('{').Key("prefix").Numbers(prefixes);
    json.Key("suffix").Open('[');
    for (std::size_t i = 0; i < texts_.size(); ++i) {
      json.Text(std::string_view(*texts_[i]).substr(prefixes[i] / kNear));
    }
    json.Close(']').Close('}');
  }

 private:
  std::unordered_map<std::string, std::int64_t> ids_;
  std::vector<const std::string*> texts_;
};

// The same for combinations of numbers.
template <std::size_t kSize>
class TupleTable {
 public:
  using Tuple = std::array<std::int64_t, kSize>;
  std::int64_t IdOf(const Tuple& tuple) {
    const auto [at, added] =
        ids_.try_emplace(tuple, static_cast<std::int64_t>(tuples_.size()));
    if (added) tuples_.push_back(tuple);
    return at->second;
  }
  std::vector<std::int64_t> Column(std::size_t i) const {
    std::vector<std::int64_t> column;
    for (const Tuple& tuple : tuples_) column.push_back(tuple[i]);
    return column;
  }

 private:
  std::map<Tuple, std::int64_t> ids_;
  std::vector<Tuple> tuples_;
};

class ModelJson {
 public:
  ModelJson(const ReportedModel& reported, Json& json)
      : reported_(reported),
        model_(reported.model),
        tagging_(reported.model.tagging()),
        nodes_(reported.model.nodes()),
        json_(json) {}

  void Write() {
    json_.Open('{');
    WriteAbout();
    WriteModules();
    WriteRoles();
    GatherReasons();
    WriteNodes();
    WriteClaims();
    WriteValues();
    WriteWeights();
    WriteTables();
    json_.Close('}');
  }

 private:
  using Column = std::vector<std::int64_t>;

  void WriteAbout() {
    const SidecarModel& about = model_.about();
    json_.Key("file").Text(Shortened(about.file));
    json_.Key("bytes").Number(about.bytes);
    json_.Key("producer").TextOrNull(Shortened(about.producer));
    json_.Key("dialect").TextOrNull(Shortened(about.dialect));
    json_.Key("ir_version").Number(about.ir_version);
    json_.Key("strategy").TextOrNull(tagging_.strategy);
    json_.Key("tags_from").Text(model_.source());
    json_.Key("root_confidence").TextOrNull(tagging_.root.ConfidenceName());
    json_.Key("root_alternatives").Texts(tagging_.root.alternatives);
    json_.Key("notes").Texts(tagging_.notes);
    json_.Key("profile").TextOrNull(reported_.profile);
    json_.Key("measure");
    if (!reported_.numbers || reported_.numbers->measure.IsTime()) {
      json_.Null();
    } else {
      json_.Open('{');
      json_.Key("name").Text(reported_.numbers->measure.name);
      json_.Key("parts").Number(reported_.numbers->measure.parts);
      json_.Close('}');
    }
  }

  void WriteModules() {
    const ModuleTree& tree = tagging_.modules;
    const ModuleFormat format(tagging_);
    Column parents, names, classes, levels, tags;
    row_.resize(tree.size(), -1);
    for (const ModuleId id : tree.All()) {
      row_[id] = static_cast<std::int64_t>(names.size());
      const bool root = id == ModuleTree::kRoot;
      parents.push_back(root ? -1 : row_[tree.Parent(id)]);
      names.push_back(words_.IdOf(root ? "" : Shortened(tree.Atom(id))));
      std::string name(tree.Class(id));
      if (root && name.empty()) name = tagging_.root.name;
      classes.push_back(classes_.IdOrNone(Shortened(name)));
      const bool known = Index(id) < tagging_.facts.size();
      levels.push_back(
          known ? static_cast<std::int64_t>(tagging_.facts[id].class_confidence)
                : 0);
      tags.push_back(tags_.IdOrNone(Shortened(format.HierarchyTag(id))));
    }
    json_.Key("modules").Open('{');
    json_.Key("parent").Deltas(parents);
    json_.Key("name").Numbers(names);
    json_.Key("class").Numbers(classes);
    json_.Key("class_confidence").Numbers(levels);
    json_.Key("tag").Numbers(tags);
    json_.Close('}');
  }

  void WriteRoles() {
    Column types, attention, layers;
    std::vector<std::string> components;
    for (const Role& role : tagging_.roles) {
      types.push_back(static_cast<std::int64_t>(role.type));
      components.push_back(Shortened(role.component));
      attention.push_back(static_cast<std::int64_t>(role.attention_kind));
      layers.push_back(role.layer);
    }
    json_.Key("roles").Open('{');
    json_.Key("type").Numbers(types);
    json_.Key("component").Texts(components);
    json_.Key("attention").Numbers(attention);
    json_.Key("layer").Numbers(layers);
    json_.Close('}');
  }

  // A reason is told where it is that of the module the node has.
  void GatherReasons() {
    reason_.resize(nodes_.size(), -1);
    if (!reported_.claims) return;
    for (const GatheredClaim& claim : reported_.claims->winners) {
      if (claim.module != tagging_.tags[claim.node].module) continue;
      reason_[claim.node] = reasons_.IdOrNone(Shortened(claim.because));
    }
  }

  void WriteNodes() {
    Column graphs, names, ops, modules, roles, verdicts, flops;
    Column input_counts, inputs, output_counts, outputs;
    for (const NodeId node : nodes_.All()) {
      const std::int64_t graph = graphs_.IdOf(Shortened(nodes_.Graph(node)));
      if (!graphs.empty() && graphs[graphs.size() - 2] == graph) {
        ++graphs.back();
      } else {
        graphs.insert(graphs.end(), {graph, 1});
      }
      names.push_back(strings_.IdOf(Shortened(nodes_.Name(node))));
      ops.push_back(OpOf(node));
      const Tag& tag = tagging_.tags[node];
      modules.push_back(tag.tagged() ? row_[tag.module] : -1);
      roles.push_back(static_cast<std::int64_t>(Index(tag.role)));
      verdicts.push_back(verdicts_.IdOf(
          {static_cast<std::int64_t>(tag.confidence),
           static_cast<std::int64_t>(tag.source), reason_[node]}));
      // Names of outputs first: they share most with the node's.
      AddValues(node, false, output_counts, outputs);
      AddValues(node, true, input_counts, inputs);
      const std::int64_t count =
          reported_.sizes ? reported_.sizes->flops[node] : sizes::kUnknownFlops;
      flops.push_back(count < 0 ? -1 : flops_.IdOf({count}));
    }
    json_.Key("nodes").Open('{');
    json_.Key("graph").Numbers(graphs);
    json_.Key("name").Deltas(names);
    json_.Key("op").Numbers(ops);
    json_.Key("module").Deltas(modules);
    json_.Key("role").Numbers(roles);
    json_.Key("verdict").Numbers(verdicts);
    WriteLists("inputs", input_counts, inputs);
    WriteLists("outputs", output_counts, outputs);
    json_.Key("flops").Numbers(flops);
    json_.Key("profile");
    if (reported_.numbers) {
      json_.Numbers(reported_.numbers->numbers);
    } else {
      json_.Null();
    }
    json_.Close('}');
  }

  void WriteLists(std::string_view key, const Column& counts,
                  const Column& ids) {
    json_.Key(key).Open('{');
    json_.Key("count").Numbers(counts);
    json_.Key("delta").Deltas(ids);
    json_.Close('}');
  }

  std::int64_t OpOf(NodeId node) {
    const std::string name = Shortened(nodes_.Op(node));
    const std::string domain = Shortened(nodes_.Domain(node));
    const auto [at, added] = op_ids_.try_emplace(
        std::pair(domain, name), static_cast<std::int64_t>(op_names_.size()));
    if (added) {
      op_names_.push_back(name);
      op_domains_.push_back(domain);
    }
    return at->second;
  }

  // Values are numbered in the order of first use; -1: left out.
  void AddValues(NodeId node, bool inputs, Column& counts, Column& ids) {
    const Model* const model = model_.model();
    if (model != nullptr) {
      const auto values = inputs ? model->Inputs(node) : model->Outputs(node);
      counts.push_back(static_cast<std::int64_t>(values.size()));
      for (const ValueId value : values) {
        ids.push_back(value == kNo<ValueId> ? -1 : IdOf(value));
      }
      return;
    }
    const auto names = inputs ? nodes_.Inputs(node) : nodes_.Outputs(node);
    counts.push_back(static_cast<std::int64_t>(names.size()));
    for (const std::string_view name : names) {
      ids.push_back(name.empty() ? -1 : IdOfName(std::string(name)));
    }
  }

  std::int64_t IdOf(ValueId value) {
    if (value_ids_.empty())
      value_ids_.resize(model_.model()->value_count(), -1);
    std::int64_t& id = value_ids_[Index(value)];
    if (id < 0) {
      id = static_cast<std::int64_t>(value_names_.size());
      value_names_.push_back(
          strings_.IdOf(Shortened(model_.model()->ValueName(value))));
      value_types_.push_back(types_.IdOrNone(TypeText(value)));
    }
    return id;
  }

  std::int64_t IdOfName(const std::string& name) {
    const auto [at, added] = named_values_.try_emplace(
        name, static_cast<std::int64_t>(value_names_.size()));
    if (added) {
      value_names_.push_back(strings_.IdOf(Shortened(name)));
      value_types_.push_back(-1);
    }
    return at->second;
  }

  // "float32 1×128×768"; "?" is a dimension that is not known.
  std::string TypeText(ValueId value) const {
    if (!reported_.shapes) return "";
    std::string text(sizes::TypeName(reported_.shapes->TypeOf(value)));
    const std::optional<sizes::Shape>& shape = reported_.shapes->Of(value);
    if (!shape || shape->size() > 16) return text;
    std::string dims;
    for (const std::int64_t dim : *shape) {
      dims += (dims.empty() ? "" : "×") +
              (dim < 0 ? std::string("?") : std::to_string(dim));
    }
    if (shape->empty()) dims = "scalar";
    return text.empty() ? dims : text + " " + dims;
  }

  void WriteClaims() {
    Column nodes, modules, levels, sources, reasons;
    if (reported_.claims) {
      for (const GatheredClaim& claim : reported_.claims->others) {
        if (row_[claim.module] < 0 ||
            claim.module == tagging_.tags[claim.node].module) {
          continue;
        }
        nodes.push_back(static_cast<std::int64_t>(Index(claim.node)));
        modules.push_back(row_[claim.module]);
        levels.push_back(static_cast<std::int64_t>(claim.confidence));
        sources.push_back(static_cast<std::int64_t>(claim.source));
        reasons.push_back(reasons_.IdOf(Shortened(claim.because)));
      }
    }
    json_.Key("claims").Open('{');
    json_.Key("node").Numbers(nodes);
    json_.Key("module").Numbers(modules);
    json_.Key("confidence").Numbers(levels);
    json_.Key("source").Numbers(sources);
    json_.Key("reason").Numbers(reasons);
    json_.Close('}');
    nodes.clear();
    modules.clear();
    for (const Origin& origin : tagging_.origins) {
      nodes.push_back(static_cast<std::int64_t>(Index(origin.node)));
      modules.push_back(row_[origin.module]);
    }
    json_.Key("origins").Open('{');
    json_.Key("node").Numbers(nodes);
    json_.Key("module").Numbers(modules);
    json_.Close('}');
  }

  // A weight that no node reads is a value, too.
  void WriteWeights() {
    json_.Key("weights").Open('{');
    json_.Key("value").Deltas(weight_values_);
    json_.Key("module").Numbers(weight_modules_);
    json_.Key("size").Numbers(weight_sizes_);
    json_.Close('}');
    json_.Key("sizes").Open('{');
    json_.Key("elements").Numbers(sizes_.Column(0));
    json_.Key("bytes").Numbers(sizes_.Column(1));
    json_.Close('}');
  }

  void WriteValues() {
    if (reported_.sizes) {
      for (const sizes::Weight& weight : reported_.sizes->weights) {
        weight_values_.push_back(IdOf(weight.value));
        weight_modules_.push_back(
            weight.module == kNo<ModuleId> ? -1 : row_[weight.module]);
        weight_sizes_.push_back(
            sizes_.IdOf({static_cast<std::int64_t>(weight.elements),
                         static_cast<std::int64_t>(weight.bytes)}));
      }
    }
    json_.Key("values").Open('{');
    json_.Key("name").Deltas(value_names_);
    json_.Key("type").Numbers(value_types_);
    json_.Close('}');
  }

  // What the columns point to, complete only now.
  void WriteTables() {
    json_.Key("strings");
    strings_.WriteFrontCoded(json_);
    const auto table = [&](std::string_view key, const TextTable& texts) {
      json_.Key(key);
      texts.Write(json_);
    };
    table("graphs", graphs_);
    table("words", words_);
    table("classes", classes_);
    json_.Key("tags");
    tags_.WriteFrontCoded(json_);
    table("reasons", reasons_);
    table("types", types_);
    json_.Key("flops").Numbers(flops_.Column(0));
    json_.Key("ops").Open('{');
    json_.Key("name").Texts(op_names_);
    json_.Key("domain").Texts(op_domains_);
    json_.Close('}');
    json_.Key("verdicts").Open('{');
    json_.Key("confidence").Numbers(verdicts_.Column(0));
    json_.Key("source").Numbers(verdicts_.Column(1));
    json_.Key("reason").Numbers(verdicts_.Column(2));
    json_.Close('}');
  }

  const ReportedModel& reported_;
  const TaggedModel& model_;
  const Tagging& tagging_;
  const NodeList& nodes_;
  Json& json_;

  TextTable strings_, graphs_, words_, classes_, tags_, reasons_, types_;
  TupleTable<3> verdicts_;
  TupleTable<2> sizes_;
  TupleTable<1> flops_;
  std::map<std::pair<std::string, std::string>, std::int64_t> op_ids_;
  std::vector<std::string> op_names_, op_domains_;
  IdVector<NodeId, std::int64_t> reason_;
  IdVector<ModuleId, std::int64_t> row_;  // of each module; -1: left out
  Column value_ids_;                      // by ValueId
  std::unordered_map<std::string, std::int64_t> named_values_;
  Column value_names_, value_types_;
  Column weight_values_, weight_modules_, weight_sizes_;
};

void WriteHead(Json& json, std::string_view kind) {
  json.Open('{');
  json.Key("format").Text("onnx-tag-report/1");
  json.Key("kind").Text(kind);
  json.Key("tool").Open('{');
  json.Key("name").Text("onnx-tag").Key("version").Text(ToolVersion());
  json.Close('}');
  json.Key("words").Open('{');
  json.Key("confidence").Texts(kConfidenceNames);
  json.Key("source").Texts(kSourceNames);
  json.Key("role").Texts(kRoleTypeNames);
  json.Key("attention").Texts(kAttentionKindNames);
  json.Close('}');
}

void WriteCounts(Json& json, std::string_view key,
                 const OperatorCounts& counts) {
  json.Key(key).Open('{');
  for (const auto& [op, count] : counts) json.Key(Shortened(op)).Number(count);
  json.Close('}');
}

void WriteDifference(Json& json, const TagDifference& difference) {
  json.Key("difference").Open('{');
  json.Key("added").Number(difference.added);
  json.Key("removed").Number(difference.removed);
  json.Key("changed").Number(difference.changed);
  json.Key("moved").Number(difference.moved.size());
  json.Key("roles").Number(difference.roles);
  json.Key("modules").Open('[');
  for (const ModuleDifference& row : difference.modules) {
    json.Open('{').Key("path");
    if (row.untagged) {
      json.Null();
    } else {
      json.Text(row.path);
    }
    WriteCounts(json, "added", row.added);
    WriteCounts(json, "removed", row.removed);
    json.Key("changed").Open('[');
    for (const auto& [ops, count] : row.changed) {
      json.Open('[').Text(Shortened(ops.first)).Text(Shortened(ops.second));
      json.Number(count).Close(']');
    }
    json.Close(']');
    json.Key("moved_in").Number(row.moved_in);
    json.Key("moved_out").Number(row.moved_out);
    json.Key("roles").Number(row.roles);
    json.Close('}');
  }
  json.Close(']').Close('}');
}

}  // namespace

ReportedModel GatherReport(const ExplainedModel& explained,
                           std::span<const sizes::GivenShape> shapes,
                           const ProfileSource& profile) {
  const TaggedModel& model = explained.model;
  ReportedModel reported{.model = model,
                         .shapes = {},
                         .sizes = {},
                         .claims = explained.claims,
                         .numbers = {},
                         .profile = {}};
  if (model.model() != nullptr) {
    reported.shapes.emplace(*model.model(), shapes);
    reported.sizes =
        sizes::CountSizes(*model.model(), model.tagging(), *reported.shapes);
  }
  if (!profile.file.empty()) {
    reported.numbers = ReadNodeNumbers(model, profile);
    reported.profile = profile.file.substr(profile.file.rfind('/') + 1);
  }
  return reported;
}

ZooEntry DescribeForZoo(const ReportedModel& reported) {
  const SidecarModel& about = reported.model.about();
  ZooEntry entry;
  entry.file = about.file;
  entry.root_class = reported.model.tagging().root.name;
  entry.producer = about.producer;
  entry.dialect = about.dialect;
  entry.coverage = CountTags(reported.model.tagging());
  entry.modules = reported.model.tagging().modules.count();
  entry.has_sums = reported.sizes.has_value();
  if (reported.sizes) entry.sums = reported.sizes->all;
  return entry;
}

std::string ModelReportJson(const ReportedModel& reported) {
  std::string text;
  Json json(text);
  WriteHead(json, "model");
  json.Key("models").Open('[');
  ModelJson(reported, json).Write();
  json.Close(']');
  json.Key("difference").Null().Key("zoo").Open('[').Close(']').Close('}');
  return text;
}

std::string CompareReportJson(const ReportedModel& a, const ReportedModel& b,
                              const TagDifference& difference) {
  std::string text;
  Json json(text);
  WriteHead(json, "compare");
  json.Key("models").Open('[');
  ModelJson(a, json).Write();
  ModelJson(b, json).Write();
  json.Close(']');
  WriteDifference(json, difference);
  json.Key("zoo").Open('[').Close(']').Close('}');
  return text;
}

std::string ZooReportJson(std::span<const ZooEntry> entries) {
  std::string text;
  Json json(text);
  WriteHead(json, "zoo");
  json.Key("models").Open('[').Close(']').Key("difference").Null();
  json.Key("zoo").Open('[');
  for (const ZooEntry& entry : entries) {
    json.Open('{');
    json.Key("file").Text(Shortened(entry.file));
    json.Key("page").TextOrNull(entry.page);
    json.Key("error").TextOrNull(Shortened(entry.error));
    json.Key("root_class").TextOrNull(Shortened(entry.root_class));
    json.Key("producer").TextOrNull(Shortened(entry.producer));
    json.Key("dialect").TextOrNull(Shortened(entry.dialect));
    json.Key("nodes").Number(entry.coverage.nodes);
    json.Key("by_confidence").Numbers(entry.coverage.by_confidence);
    json.Key("modules").Number(entry.modules);
    json.Key("parameters").Number(entry.sums.parameters);
    json.Key("bytes").Number(entry.sums.bytes);
    json.Key("flops");
    if (entry.has_sums) {
      json.Number(entry.sums.flops);
    } else {
      json.Null();
    }
    json.Key("unknown_flops").Number(entry.sums.unknown_flops);
    json.Close('}');
  }
  json.Close(']').Close('}');
  return text;
}

}  // namespace onnx_tag
