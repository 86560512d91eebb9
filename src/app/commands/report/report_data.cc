#include <fmt/core.h>

#include <array>
#include <map>
#include <unordered_map>

#include "app/commands/commands.h"
#include "app/commands/profile/kernels.h"
#include "app/commands/read/modules.h"
#include "app/commands/read/tagged_model.h"
#include "app/commands/report/report.h"
#include "core/tagging/module_format.h"
#include "file/json/writer.h"
#include "file/model/element_types.h"
#include "uses/sizes/formula_text.h"

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

// Numbers, each as its difference from the one before.
template <typename Column>
void AddDeltas(JsonWriter& json, const Column& numbers) {
  json.BeginArray();
  std::int64_t last = 0;
  for (const std::int64_t number : numbers) {
    json.Number(number - last);
    last = number;
  }
  json.EndArray();
}

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
  void Write(JsonWriter& json) const {
    json.BeginArray();
    for (const std::string* const text : texts_) json.String(*text);
    json.EndArray();
  }
  // As `prefix` and `suffix`. Each text shares its beginning with the most
  // similar of the texts just before it: names of nodes, values and weights
  // alternate. Only ASCII is shared: there a byte is a UTF-16 unit, and no
  // character is cut.
  void WriteFrontCoded(JsonWriter& json) const {
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
    json.BeginObject().Key("prefix").Numbers(prefixes);
    json.Key("suffix").BeginArray();
    for (std::size_t i = 0; i < texts_.size(); ++i) {
      json.String(std::string_view(*texts_[i]).substr(prefixes[i] / kNear));
    }
    json.EndArray().EndObject();
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
  ModelJson(const ReportedModel& reported, JsonWriter& json)
      : reported_(reported),
        model_(reported.model),
        tagging_(reported.model.tagging()),
        nodes_(reported.model.model()),
        json_(json) {}

  void Write() {
    json_.BeginObject();
    WriteAbout();
    WriteModules();
    WriteRoles();
    GatherReasons();
    WriteNodes();
    WriteClaims();
    WriteValues();
    WriteWeights();
    WriteTables();
    json_.EndObject();
  }

 private:
  using Column = std::vector<std::int64_t>;

  void WriteAbout() {
    const SidecarModel& about = model_.about();
    json_.Key("file").String(Shortened(about.file));
    json_.Key("bytes").Number(about.bytes);
    json_.Key("producer").StringOrNull(Shortened(about.producer));
    json_.Key("dialect").StringOrNull(Shortened(about.dialect));
    json_.Key("ir_version").Number(about.ir_version);
    json_.Key("strategy").StringOrNull(tagging_.strategy);
    json_.Key("tags_from").String(model_.source());
    json_.Key("root_confidence").StringOrNull(tagging_.root.ConfidenceName());
    json_.Key("root_alternatives").Strings(tagging_.root.alternatives);
    json_.Key("notes").Strings(tagging_.notes);
    json_.Key("profile").StringOrNull(reported_.profile);
    json_.Key("sizes_for")
        .StringOrNull(reported_.sizes ? reported_.sizes->dimensions : "");
    json_.Key("flops_formula").StringOrNull(reported_.flops_formula);
    json_.Key("measure");
    if (!reported_.numbers || reported_.numbers->measure.IsTime()) {
      json_.Null();
    } else {
      json_.BeginObject();
      json_.Key("name").String(reported_.numbers->measure.name);
      json_.Key("parts").Number(reported_.numbers->measure.parts);
      json_.EndObject();
    }
  }

  void WriteModules() {
    const ModuleTree& tree = tagging_.modules;
    const ModuleFormat format(tagging_);
    Column parents, names, classes, levels, tags, found;
    std::vector<std::string> descriptions;
    row_.resize(tree.size(), -1);
    for (const ModuleId id : tree.All()) {
      row_[id] = static_cast<std::int64_t>(names.size());
      const bool root = id == ModuleTree::kRoot;
      parents.push_back(root ? -1 : row_[tree.Parent(id)]);
      names.push_back(words_.IdOf(root ? "" : Shortened(tree.Atom(id))));
      classes.push_back(classes_.IdOrNone(Shortened(ClassOf(tagging_, id))));
      const ModuleFacts* const facts = tagging_.FactsOf(id);
      levels.push_back(facts == nullptr ? 0
                                        : static_cast<std::int64_t>(
                                              facts->class_confidence));
      tags.push_back(tags_.IdOrNone(Shortened(format.HierarchyTag(id))));
      if (const FoundBlock* const block = tagging_.FindFound(id)) {
        found.push_back(row_[id]);
        descriptions.push_back(Shortened(block->description));
      }
    }
    json_.Key("modules").BeginObject();
    AddDeltas(json_.Key("parent"), parents);
    json_.Key("name").Numbers(names);
    json_.Key("class").Numbers(classes);
    json_.Key("class_confidence").Numbers(levels);
    json_.Key("tag").Numbers(tags);
    json_.EndObject();
    json_.Key("found").BeginObject();
    AddDeltas(json_.Key("module"), found);
    json_.Key("description").Strings(descriptions);
    json_.EndObject();
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
    json_.Key("roles").BeginObject();
    json_.Key("type").Numbers(types);
    json_.Key("component").Strings(components);
    json_.Key("attention").Numbers(attention);
    json_.Key("layer").Numbers(layers);
    json_.EndObject();
  }

  // The reason for a tag is written only if its claim names the module that the
  // node has: tags in a file may differ from a new mapping.
  void GatherReasons() {
    reason_.resize(nodes_.node_count(), -1);
    if (!reported_.claims) return;
    for (const GatheredClaim& claim : reported_.claims->winners) {
      if (claim.module != tagging_.tags[claim.node].module) continue;
      reason_[claim.node] = reasons_.IdOrNone(Shortened(claim.because));
    }
  }

  void WriteNodes() {
    Column graphs, names, ops, modules, roles, verdicts, flops, lines;
    Column input_counts, inputs, output_counts, outputs;
    for (const NodeId node : nodes_.Nodes()) {
      const std::int64_t graph =
          graphs_.IdOf(Shortened(nodes_.GraphPath(node)));
      if (!graphs.empty() && graphs[graphs.size() - 2] == graph) {
        ++graphs.back();
      } else {
        graphs.insert(graphs.end(), {graph, 1});
      }
      names.push_back(strings_.IdOf(Shortened(nodes_[node].name)));
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
      flops.push_back(FlopsOf(node));
      lines.push_back(LineOf(node));
    }
    json_.Key("nodes").BeginObject();
    json_.Key("graph").Numbers(graphs);
    AddDeltas(json_.Key("name"), names);
    json_.Key("op").Numbers(ops);
    AddDeltas(json_.Key("module"), modules);
    json_.Key("role").Numbers(roles);
    json_.Key("verdict").Numbers(verdicts);
    WriteLists("inputs", input_counts, inputs);
    WriteLists("outputs", output_counts, outputs);
    json_.Key("flops").Numbers(flops);
    json_.Key("line");
    if (tagging_.lines.empty()) {
      json_.Null();
    } else {
      json_.Numbers(lines);
    }
    json_.Key("profile");
    if (reported_.numbers) {
      json_.Numbers(reported_.numbers->numbers);
    } else {
      json_.Null();
    }
    json_.EndObject();
  }

  // -1: unknown; a count that depends on data gets a row without a number.
  std::int64_t FlopsOf(NodeId node) {
    if (!reported_.sizes) return -1;
    const sizes::Dim count = reported_.sizes->flops[node];
    const sizes::Dim formula = reported_.shapes->Flops(node);
    if (!count.IsNumber() && !formula.IsFormula()) return -1;
    return flops_.IdOf(
        {count.IsNumber() ? count.number() : -1, formula.bits()});
  }

  std::int64_t LineOf(NodeId node) {
    const std::optional<SourceLine> line = tagging_.lines.Of(node);
    if (!line) return -1;
    return lines_.IdOf({code_.IdOf(Shortened(line->file)), line->line,
                        code_.IdOrNone(Shortened(line->function)),
                        code_.IdOrNone(Shortened(line->text))});
  }

  void WriteLists(std::string_view key, const Column& counts,
                  const Column& ids) {
    json_.Key(key).BeginObject();
    json_.Key("count").Numbers(counts);
    AddDeltas(json_.Key("delta"), ids);
    json_.EndObject();
  }

  std::int64_t OpOf(NodeId node) {
    const std::string name = Shortened(nodes_.OpType(node));
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
    const auto values = inputs ? nodes_.Inputs(node) : nodes_.Outputs(node);
    counts.push_back(static_cast<std::int64_t>(values.size()));
    for (const ValueId value : values) {
      ids.push_back(value == kNo<ValueId> ? -1 : IdOf(value));
    }
  }

  std::int64_t IdOf(ValueId value) {
    if (value_ids_.empty()) value_ids_.resize(nodes_.value_count(), -1);
    std::int64_t& id = value_ids_[Index(value)];
    if (id < 0) {
      id = static_cast<std::int64_t>(value_names_.size());
      value_names_.push_back(strings_.IdOf(Shortened(nodes_.ValueName(value))));
      value_types_.push_back(types_.IdOrNone(TypeText(value)));
    }
    return id;
  }

  // "float32 1×128×768"; "?" is a dimension that is not known.
  std::string TypeText(ValueId value) const {
    if (!reported_.shapes) return "";
    std::string text(TypeName(reported_.shapes->TypeOf(value)));
    const std::optional<sizes::Shape>& shape = reported_.shapes->Of(value);
    if (!shape || shape->size() > 16) return text;
    std::string dims;
    for (const sizes::Dim dim : *shape) {
      dims += (dims.empty() ? "" : "×") +
              FormulaText(reported_.shapes->formulas(), dim);
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
    json_.Key("claims").BeginObject();
    json_.Key("node").Numbers(nodes);
    json_.Key("module").Numbers(modules);
    json_.Key("confidence").Numbers(levels);
    json_.Key("source").Numbers(sources);
    json_.Key("reason").Numbers(reasons);
    json_.EndObject();
    nodes.clear();
    modules.clear();
    for (const Origin& origin : tagging_.origins) {
      nodes.push_back(static_cast<std::int64_t>(Index(origin.node)));
      modules.push_back(row_[origin.module]);
    }
    json_.Key("origins").BeginObject();
    json_.Key("node").Numbers(nodes);
    json_.Key("module").Numbers(modules);
    json_.EndObject();
  }

  // A weight that no node reads is a value, too.
  void WriteWeights() {
    json_.Key("weights").BeginObject();
    AddDeltas(json_.Key("value"), weight_values_);
    json_.Key("module").Numbers(weight_modules_);
    json_.Key("size").Numbers(weight_sizes_);
    json_.EndObject();
    json_.Key("sizes").BeginObject();
    json_.Key("elements").Numbers(sizes_.Column(0));
    json_.Key("bytes").Numbers(sizes_.Column(1));
    json_.EndObject();
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
    json_.Key("values").BeginObject();
    AddDeltas(json_.Key("name"), value_names_);
    json_.Key("type").Numbers(value_types_);
    json_.EndObject();
  }

  // The formulas that are no numbers, and the symbols in them, those in
  // definitions included.
  void WriteFlops() {
    json_.Key("flops").Numbers(flops_.Column(0));
    std::vector<sizes::Dim> formulas;
    bool any = false;
    for (const std::int64_t bits : flops_.Column(1)) {
      formulas.push_back(sizes::Dim::OfBits(bits));
      any |= formulas.back().IsFormula();
    }
    if (!any) {
      json_.Key("flops_formulas").Null();
      json_.Key("dimensions").BeginArray().EndArray();
      return;
    }
    const std::vector<std::int64_t> rows = RowsOfSymbols(formulas);
    json_.Key("flops_formulas").BeginArray();
    for (const sizes::Dim formula : formulas) {
      if (formula.IsFormula()) {
        WriteTerms(formula, rows);
      } else {
        json_.Null();
      }
    }
    json_.EndArray();
    json_.Key("dimensions").BeginArray();
    for (std::size_t i = 0; i < rows.size(); ++i) {
      if (rows[i] >= 0) WriteDimension(MakeId<sizes::SymbolId>(i), rows);
    }
    json_.EndArray();
  }

  // By SymbolId: its row in `dimensions`; -1: not needed.
  std::vector<std::int64_t> RowsOfSymbols(
      std::vector<sizes::Dim> formulas) const {
    const sizes::Formulas& all = reported_.shapes->formulas();
    std::vector<std::int64_t> rows(all.symbol_count(), -1);
    while (!formulas.empty()) {
      const sizes::Dim formula = formulas.back();
      formulas.pop_back();
      if (!formula.IsFormula()) continue;
      sizes::Term room;
      for (const sizes::Term& term : all.Terms(formula, room)) {
        for (const sizes::Factor& factor : all.Factors(term.monomial)) {
          std::int64_t& row = rows[Index(factor.symbol)];
          if (row >= 0) continue;
          row = 0;
          formulas.insert(formulas.end(),
                          {all[factor.symbol].a, all[factor.symbol].b,
                           reported_.symbols[Index(factor.symbol)].equal});
        }
      }
    }
    std::int64_t next = 0;
    for (std::int64_t& row : rows) {
      if (row == 0) row = next++;
    }
    return rows;
  }

  // Each term: its coefficient, then symbols and their powers.
  void WriteTerms(sizes::Dim dim, const std::vector<std::int64_t>& rows) {
    if (!dim.IsFormula() && !dim.IsNumber()) {
      json_.Null();
      return;
    }
    const sizes::Formulas& all = reported_.shapes->formulas();
    json_.BeginArray();
    sizes::Term room;
    for (const sizes::Term& term : all.Terms(dim, room)) {
      json_.BeginArray().Number(term.coefficient);
      for (const sizes::Factor& factor : all.Factors(term.monomial)) {
        json_.Number(rows[Index(factor.symbol)]).Number(factor.power);
      }
      json_.EndArray();
    }
    json_.EndArray();
  }

  void WriteDimension(sizes::SymbolId id,
                      const std::vector<std::int64_t>& rows) {
    static constexpr std::array<std::string_view, 8> kKinds = {
        "dimension", "data", "floor", "max", "min", "sum", "product", "scaled"};
    const sizes::Symbol& symbol = reported_.shapes->formulas()[id];
    const ReportedModel::Symbol& number = reported_.symbols[Index(id)];
    json_.BeginObject();
    json_.Key("name").String(Shortened(symbol.name));
    json_.Key("kind").String(kKinds[static_cast<std::size_t>(symbol.kind)]);
    json_.Key("number");
    if (number.number.IsNumber()) {
      json_.Number(number.number.number());
    } else {
      json_.Null();
    }
    json_.Key("equal");
    WriteTerms(number.equal, rows);
    json_.Key("a");
    WriteTerms(symbol.a, rows);
    json_.Key("b");
    WriteTerms(symbol.b, rows);
    json_.EndObject();
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
    WriteFlops();
    json_.Key("ops").BeginObject();
    json_.Key("name").Strings(op_names_);
    json_.Key("domain").Strings(op_domains_);
    json_.EndObject();
    json_.Key("verdicts").BeginObject();
    json_.Key("confidence").Numbers(verdicts_.Column(0));
    json_.Key("source").Numbers(verdicts_.Column(1));
    json_.Key("reason").Numbers(verdicts_.Column(2));
    json_.EndObject();
    table("code", code_);
    json_.Key("lines").BeginObject();
    json_.Key("file").Numbers(lines_.Column(0));
    json_.Key("line").Numbers(lines_.Column(1));
    json_.Key("function").Numbers(lines_.Column(2));
    json_.Key("text").Numbers(lines_.Column(3));
    json_.EndObject();
  }

  const ReportedModel& reported_;
  const TaggedModel& model_;
  const Tagging& tagging_;
  const Model& nodes_;
  JsonWriter& json_;

  TextTable strings_, graphs_, words_, classes_, tags_, reasons_, types_;
  TupleTable<3> verdicts_;
  TupleTable<2> sizes_;
  TupleTable<2> flops_;  // number, bits of its formula
  TextTable code_;
  TupleTable<4> lines_;  // file, line, function, text
  std::map<std::pair<std::string, std::string>, std::int64_t> op_ids_;
  std::vector<std::string> op_names_, op_domains_;
  IdVector<NodeId, std::int64_t> reason_;
  IdVector<ModuleId, std::int64_t> row_;  // of each module; -1: left out
  Column value_ids_;                      // by ValueId
  Column value_names_, value_types_;
  Column weight_values_, weight_modules_, weight_sizes_;
};

void WriteHead(JsonWriter& json, std::string_view kind) {
  json.BeginObject();
  json.Key("format").String("onnx-tag-report/1");
  json.Key("kind").String(kind);
  json.Key("tool").BeginObject();
  json.Key("name").String("onnx-tag").Key("version").String(ToolVersion());
  json.EndObject();
  json.Key("words").BeginObject();
  json.Key("confidence").Strings(kConfidenceNames);
  json.Key("source").Strings(kSourceNames);
  json.Key("role").Strings(kRoleTypeNames);
  json.Key("attention").Strings(kAttentionKindNames);
  json.EndObject();
}

void WriteCounts(JsonWriter& json, std::string_view key,
                 const OperatorCounts& counts) {
  json.Key(key).BeginObject();
  for (const auto& [op, count] : counts) json.Key(Shortened(op)).Number(count);
  json.EndObject();
}

void WriteDifference(JsonWriter& json, const TagDifference& difference) {
  json.Key("difference").BeginObject();
  json.Key("added").Number(difference.added);
  json.Key("removed").Number(difference.removed);
  json.Key("changed").Number(difference.changed);
  json.Key("moved").Number(difference.moved.size());
  json.Key("roles").Number(difference.roles);
  json.Key("modules").BeginArray();
  for (const ModuleDifference& row : difference.modules) {
    json.BeginObject().Key("path");
    if (row.untagged) {
      json.Null();
    } else {
      json.String(row.path);
    }
    WriteCounts(json, "added", row.added);
    WriteCounts(json, "removed", row.removed);
    json.Key("changed").BeginArray();
    for (const auto& [ops, count] : row.changed) {
      json.BeginArray()
          .String(Shortened(ops.first))
          .String(Shortened(ops.second));
      json.Number(count).EndArray();
    }
    json.EndArray();
    json.Key("moved_in").Number(row.moved_in);
    json.Key("moved_out").Number(row.moved_out);
    json.Key("roles").Number(row.roles);
    json.EndObject();
  }
  json.EndArray().EndObject();
}

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
    reported.shapes.emplace(model.model(), shapes);
    const sizes::ModelFormulas formulas =
        sizes::SumFormulas(model.model(), model.tagging(), *reported.shapes);
    const sizes::Assumptions assumed(model.model(), *reported.shapes, shapes);
    reported.sizes = sizes::CountSizes(model.model(), model.tagging(),
                                       *reported.shapes, assumed);
    const sizes::Formulas& all = reported.shapes->formulas();
    for (std::size_t i = 0; i < all.symbol_count(); ++i) {
      const auto id = MakeId<sizes::SymbolId>(i);
      reported.symbols.push_back(
          {assumed.numbers()(all.Find(all[id].name)), assumed.EqualOf(id)});
    }
    if (formulas.all.flops.IsFormula()) {
      reported.flops_formula = sizes::LeadingText(
          reported.shapes->formulas(), formulas.all.flops, assumed.numbers());
    }
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
  JsonWriter json(JsonWriter::Spaces::kNone);
  WriteHead(json, "model");
  json.Key("models").BeginArray();
  ModelJson(reported, json).Write();
  json.EndArray();
  json.Key("difference").Null().Key("zoo").BeginArray().EndArray().EndObject();
  return json.Take();
}

std::string CompareReportJson(const ReportedModel& a, const ReportedModel& b,
                              const TagDifference& difference) {
  JsonWriter json(JsonWriter::Spaces::kNone);
  WriteHead(json, "compare");
  json.Key("models").BeginArray();
  ModelJson(a, json).Write();
  ModelJson(b, json).Write();
  json.EndArray();
  WriteDifference(json, difference);
  json.Key("zoo").BeginArray().EndArray().EndObject();
  return json.Take();
}

std::string ZooReportJson(std::span<const ZooEntry> entries) {
  JsonWriter json(JsonWriter::Spaces::kNone);
  WriteHead(json, "zoo");
  json.Key("models").BeginArray().EndArray().Key("difference").Null();
  json.Key("zoo").BeginArray();
  for (const ZooEntry& entry : entries) {
    json.BeginObject();
    json.Key("file").String(Shortened(entry.file));
    json.Key("page").StringOrNull(entry.page);
    json.Key("error").StringOrNull(Shortened(entry.error));
    json.Key("root_class").StringOrNull(Shortened(entry.root_class));
    json.Key("producer").StringOrNull(Shortened(entry.producer));
    json.Key("dialect").StringOrNull(Shortened(entry.dialect));
    json.Key("nodes").Number(entry.coverage.nodes);
    json.Key("by_confidence").Numbers(entry.coverage.by_confidence);
    json.Key("found").Number(entry.coverage.found());
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
    json.EndObject();
  }
  json.EndArray().EndObject();
  return json.Take();
}

}  // namespace onnx_tag
