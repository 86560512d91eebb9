#include <array>
#include <map>
#include <span>

#include "app/commands/commands.h"
#include "app/commands/profile/kernels.h"
#include "app/commands/read/modules.h"
#include "app/commands/read/tagged_model.h"
#include "app/commands/report/report.h"
#include "app/commands/report/report_tables.h"
#include "app/render/render.h"
#include "core/tagging/module_format.h"
#include "file/model/element_types.h"
#include "uses/sizes/formulas.h"

namespace onnx_tag {
namespace {

void WriteMembers(const Datum::Members& members, JsonWriter& json) {
  for (const auto& [key, value] : members) AddValue(json.Key(key), value);
}

template <typename Words>
Datum WordList(const Words& words) {
  return ListOf(words, [](std::string_view word) { return Datum(word); });
}

class ModelJson {
 public:
  ModelJson(const ReportedModel& reported, JsonWriter& json)
      : reported_(reported),
        model_(reported.model),
        tagging_(reported.model.tagging()),
        nodes_(reported.model.model()),
        costs_(reported.costs.get()),
        json_(json) {}

  void Write() {
    json_.BeginObject();
    WriteAbout();
    WriteModules();
    WriteRoles();
    GatherReasons();
    WriteNodes();
    WriteClaims();
    WriteValuesAndWeights();
    WriteTables();
    json_.EndObject();
  }

 private:
  using Column = std::vector<std::int64_t>;

  void WriteAbout() {
    const SidecarModel& about = model_.about();
    const profile::Measure* const measure =
        reported_.numbers && !reported_.numbers->measure.IsTime()
            ? &reported_.numbers->measure
            : nullptr;
    WriteMembers(
        {{"file", Shortened(about.file)},
         {"bytes", about.bytes},
         {"producer", Datum::OrNull(Shortened(about.producer))},
         {"dialect", Datum::OrNull(Shortened(about.dialect))},
         {"ir_version", about.ir_version},
         {"strategy", Datum::OrNull(tagging_.strategy)},
         {"tags_from", model_.source()},
         {"root_confidence", Datum::OrNull(tagging_.root.ConfidenceName())},
         {"root_alternatives", tagging_.root.alternatives},
         {"notes", tagging_.notes},
         {"profile", Datum::OrNull(reported_.profile)},
         {"profile_total",
          reported_.numbers ? Datum(reported_.numbers->total) : Datum()},
         {"profile_runs",
          reported_.numbers ? Datum(reported_.numbers->runs) : Datum()},
         {"sizes_for",
          Datum::OrNull(costs_ == nullptr ? "" : costs_->sizes.dimensions)},
         {"flops_formula", Datum::OrNull(LeadingFormula())},
         {"measure", measure == nullptr
                         ? Datum()
                         : Datum::Object({{"name", measure->name},
                                          {"parts", measure->parts}})}},
        json_);
  }

  std::string LeadingFormula() const {
    if (costs_ == nullptr || !costs_->formulas.all.flops.IsFormula()) return "";
    return sizes::LeadingText(costs_->shapes.formulas(),
                              costs_->formulas.all.flops,
                              costs_->assumptions.numbers());
  }

  void WriteModules() {
    const ModuleTree& tree = tagging_.modules;
    const ModuleFormat format(tagging_);
    NumberColumns modules = {
        {"parent", true}, {"name"}, {"class"}, {"class_confidence"}, {"tag"}};
    Column found;
    std::vector<std::string> descriptions;
    row_.resize(tree.size(), -1);
    for (const ModuleId id : tree.All()) {
      row_[id] = modules.size();
      const bool root = id == ModuleTree::kRoot;
      const ModuleFacts* const facts = tagging_.FactsOf(id);
      modules.Add({root ? -1 : row_[tree.Parent(id)],
                   words_.IdOf(root ? "" : Shortened(tree.Atom(id))),
                   classes_.IdOrNone(Shortened(ClassOf(tagging_, id))),
                   facts == nullptr ? 0 : Code(facts->class_confidence),
                   tags_.IdOrNone(Shortened(format.HierarchyTag(id)))});
      if (const FoundBlock* const block = tagging_.FindFound(id)) {
        found.push_back(row_[id]);
        descriptions.push_back(Shortened(block->description));
      }
    }
    modules.Write(json_.Key("modules"));
    json_.Key("found").BeginObject();
    AddDeltas(json_.Key("module"), found);
    json_.Key("description").Strings(descriptions);
    json_.EndObject();
  }

  void WriteRoles() {
    Datum::List types, components, attention, layers;
    for (const Role& role : tagging_.roles) {
      types.emplace_back(Code(role.type));
      components.emplace_back(Shortened(role.component));
      attention.emplace_back(Code(role.attention_kind));
      layers.emplace_back(role.layer);
    }
    AddValue(json_.Key("roles"), Datum::Object({{"type", types},
                                                {"component", components},
                                                {"attention", attention},
                                                {"layer", layers}}));
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
    Column graphs;  // each with the number of nodes that follow in it
    NumberColumns nodes = {
        {"name", true}, {"op"}, {"module", true}, {"role"}, {"verdict"}};
    Column flops, lines, input_counts, inputs, output_counts, outputs;
    for (const NodeId node : nodes_.Nodes()) {
      const std::int64_t graph =
          graphs_.IdOf(Shortened(nodes_.GraphPath(node)));
      if (!graphs.empty() && graphs[graphs.size() - 2] == graph) {
        ++graphs.back();
      } else {
        graphs.insert(graphs.end(), {graph, 1});
      }
      const Tag& tag = tagging_.tags[node];
      nodes.Add({strings_.IdOf(Shortened(nodes_[node].name)), OpOf(node),
                 tag.tagged() ? row_[tag.module] : -1, Code(tag.role),
                 verdicts_.IdOf(
                     {Code(tag.confidence), Code(tag.source), reason_[node]})});
      // Names of outputs first: they share most with the node's.
      AddValues(nodes_.Outputs(node), output_counts, outputs);
      AddValues(nodes_.Inputs(node), input_counts, inputs);
      flops.push_back(FlopsOf(node));
      lines.push_back(LineOf(node));
    }
    json_.Key("nodes").BeginObject();
    json_.Key("graph").Numbers(graphs);
    nodes.WriteMembers(json_);
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
    if (costs_ == nullptr) return -1;
    const sizes::Dim count = costs_->sizes.flops[node];
    const sizes::Dim formula = costs_->shapes.Flops(node);
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
  void AddValues(std::span<const ValueId> values, Column& counts, Column& ids) {
    counts.push_back(static_cast<std::int64_t>(values.size()));
    for (const ValueId value : values) {
      ids.push_back(value == kNo<ValueId> ? -1 : IdOf(value));
    }
  }

  std::int64_t IdOf(ValueId value) {
    if (value_ids_.empty()) value_ids_.resize(nodes_.value_count(), -1);
    std::int64_t& id = value_ids_[Index(value)];
    if (id < 0) {
      id = values_.size();
      values_.Add({strings_.IdOf(Shortened(nodes_.ValueName(value))),
                   types_.IdOrNone(TypeText(value))});
    }
    return id;
  }

  // "float32 1×128×768"; "?" is a dimension that is not known.
  std::string TypeText(ValueId value) const {
    if (costs_ == nullptr) return "";
    std::string text(TypeName(costs_->shapes.TypeOf(value)));
    const std::optional<sizes::Shape>& shape = costs_->shapes.Of(value);
    if (!shape || shape->size() > 16) return text;
    const auto size = [&](sizes::Dim dim) {
      return sizes::FormulaText(costs_->shapes.formulas(), dim);
    };
    const std::string dims =
        shape->empty() ? "scalar" : Join(Mapped(*shape, size), "×");
    return text.empty() ? dims : text + " " + dims;
  }

  void WriteClaims() {
    NumberColumns claims = {
        {"node"}, {"module"}, {"confidence"}, {"source"}, {"reason"}};
    const std::vector<GatheredClaim> none;
    for (const GatheredClaim& claim :
         reported_.claims ? reported_.claims->others : none) {
      if (row_[claim.module] < 0 ||
          claim.module == tagging_.tags[claim.node].module) {
        continue;
      }
      claims.Add({Code(claim.node), row_[claim.module], Code(claim.confidence),
                  Code(claim.source), reasons_.IdOf(Shortened(claim.because))});
    }
    claims.Write(json_.Key("claims"));
    NumberColumns origins = {{"node"}, {"module"}};
    for (const Origin& origin : tagging_.origins) {
      origins.Add({Code(origin.node), row_[origin.module]});
    }
    origins.Write(json_.Key("origins"));
  }

  // A weight that no node reads is a value, too.
  void WriteValuesAndWeights() {
    NumberColumns weights = {{"value", true}, {"module"}, {"size"}};
    const std::vector<sizes::Weight> none;
    for (const sizes::Weight& weight :
         costs_ == nullptr ? none : costs_->sizes.weights) {
      weights.Add({IdOf(weight.value),
                   weight.module == kNo<ModuleId> ? -1 : row_[weight.module],
                   sizes_.IdOf({static_cast<std::int64_t>(weight.elements),
                                static_cast<std::int64_t>(weight.bytes)})});
    }
    values_.Write(json_.Key("values"));
    weights.Write(json_.Key("weights"));
    sizes_.Write(json_.Key("sizes"));
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
    Datum terms;
    Datum::List dimensions;
    if (any) {
      // By SymbolId: its row in `dimensions`.
      Column rows;
      std::vector<sizes::SymbolId> symbols;
      for (const bool used : SymbolsIn(costs_->shapes.formulas(), formulas,
                                       &costs_->assumptions)) {
        rows.push_back(Code(symbols.size()));
        if (used) symbols.push_back(MakeId<sizes::SymbolId>(rows.size() - 1));
      }
      terms = ListOf(formulas, [&](sizes::Dim formula) {
        return formula.IsFormula() ? TermsOf(formula, rows) : Datum();
      });
      for (const sizes::SymbolId id : symbols) {
        dimensions.push_back(DimensionOf(id, rows));
      }
    }
    WriteMembers({{"flops_formulas", std::move(terms)},
                  {"dimensions", std::move(dimensions)}},
                 json_);
  }

  // Each term: its coefficient, then symbols and their powers. Null if it is
  // not known.
  Datum TermsOf(sizes::Dim dim, const Column& rows) const {
    if (!dim.IsFormula() && !dim.IsNumber()) return {};
    const sizes::Formulas& all = costs_->shapes.formulas();
    sizes::Term room;
    Datum::List terms;
    for (const sizes::Term& term : all.Terms(dim, room)) {
      Datum::List numbers = {term.coefficient};
      for (const sizes::Factor& factor : all.Factors(term.monomial)) {
        numbers.insert(numbers.end(),
                       {rows[Index(factor.symbol)], factor.power});
      }
      terms.emplace_back(std::move(numbers));
    }
    return terms;
  }

  Datum DimensionOf(sizes::SymbolId id, const Column& rows) const {
    static constexpr std::array<std::string_view, 8> kKinds = {
        "dimension", "data", "floor", "max", "min", "sum", "product", "scaled"};
    const sizes::Symbol& symbol = costs_->shapes.formulas()[id];
    const sizes::Dim number = costs_->assumptions.numbers()(
        costs_->shapes.formulas().Find(symbol.name));
    return Datum::Object(
        {{"name", Shortened(symbol.name)},
         {"kind", kKinds[Index(symbol.kind)]},
         {"number", number.IsNumber() ? Datum(number.number()) : Datum()},
         {"equal", TermsOf(costs_->assumptions.EqualOf(id), rows)},
         {"a", TermsOf(symbol.a, rows)},
         {"b", TermsOf(symbol.b, rows)}});
  }

  // What the columns point to, complete only now.
  void WriteTables() {
    strings_.WriteFrontCoded(json_.Key("strings"));
    graphs_.Write(json_.Key("graphs"));
    words_.Write(json_.Key("words"));
    classes_.Write(json_.Key("classes"));
    tags_.WriteFrontCoded(json_.Key("tags"));
    reasons_.Write(json_.Key("reasons"));
    types_.Write(json_.Key("types"));
    WriteFlops();
    json_.Key("ops").BeginObject();
    json_.Key("name").Strings(op_names_);
    json_.Key("domain").Strings(op_domains_);
    json_.EndObject();
    verdicts_.Write(json_.Key("verdicts"));
    code_.Write(json_.Key("code"));
    lines_.Write(json_.Key("lines"));
  }

  const ReportedModel& reported_;
  const TaggedModel& model_;
  const Tagging& tagging_;
  const Model& nodes_;
  const ModelCosts* const costs_;  // null if only a sidecar is at hand
  JsonWriter& json_;

  TextTable strings_, graphs_, words_, classes_, tags_, reasons_, types_;
  NumberColumns verdicts_ = {{"confidence"}, {"source"}, {"reason"}};
  NumberColumns sizes_ = {{"elements"}, {"bytes"}};
  NumberColumns flops_ = {{"number"},
                          {"bits of its formula"}};  // not written so
  TextTable code_;
  NumberColumns lines_ = {{"file"}, {"line"}, {"function"}, {"text"}};
  std::map<std::pair<std::string, std::string>, std::int64_t> op_ids_;
  std::vector<std::string> op_names_, op_domains_;
  IdVector<NodeId, std::int64_t> reason_;
  IdVector<ModuleId, std::int64_t> row_;  // of each module; -1: left out
  Column value_ids_;                      // by ValueId
  NumberColumns values_ = {{"name", true}, {"type"}};
};

Datum::Members HeadMembers(std::string_view kind) {
  return {
      {"format", "onnx-tag-report/1"},
      {"kind", kind},
      {"tool",
       Datum::Object({{"name", "onnx-tag"}, {"version", ToolVersion()}})},
      {"words", Datum::Object({{"confidence", WordList(kConfidenceNames)},
                               {"source", WordList(kSourceNames)},
                               {"role", WordList(kRoleTypeNames)},
                               {"attention", WordList(kAttentionKindNames)}})}};
}

Datum OperatorsValue(const OperatorCounts& counts) {
  Datum object = Datum::Object({});
  for (const auto& [op, count] : counts) object.Set(Shortened(op), count);
  return object;
}

Datum DifferenceValue(const TagDifference& difference) {
  const auto changed = [](const auto& change) {
    const auto& [ops, count] = change;
    return Datum::List{Shortened(ops.first), Shortened(ops.second), count};
  };
  const auto module = [&](const ModuleDifference& row) {
    return Datum::Object({{"path", row.untagged ? Datum() : Datum(row.path)},
                          {"added", OperatorsValue(row.added)},
                          {"removed", OperatorsValue(row.removed)},
                          {"changed", ListOf(row.changed, changed)},
                          {"altered", OperatorsValue(row.altered)},
                          {"moved_in", row.moved_in},
                          {"moved_out", row.moved_out},
                          {"roles", row.roles}});
  };
  return Datum::Object({{"added", difference.added},
                        {"removed", difference.removed},
                        {"changed", difference.changed},
                        {"altered", difference.altered},
                        {"moved", difference.moved.size()},
                        {"roles", difference.roles},
                        {"opsets", difference.opsets},
                        {"interface", difference.interface},
                        {"weights_compared", false},
                        {"modules", ListOf(difference.modules, module)}});
}

// A report of these models, with what differs or the rows of a zoo.
std::string ReportJson(std::string_view kind,
                       const std::vector<const ReportedModel*>& models,
                       Datum difference, Datum zoo) {
  JsonWriter json(JsonWriter::Spaces::kNone);
  json.BeginObject();
  WriteMembers(HeadMembers(kind), json);
  json.Key("models").BeginArray();
  for (const ReportedModel* const model : models) {
    ModelJson(*model, json).Write();
  }
  json.EndArray();
  WriteMembers({{"difference", std::move(difference)}, {"zoo", std::move(zoo)}},
               json);
  json.EndObject();
  return json.Take();
}

}  // namespace

std::string ModelReportJson(const ReportedModel& reported) {
  return ReportJson("model", {&reported}, {}, Datum::List());
}

std::string CompareReportJson(const ReportedModel& a, const ReportedModel& b,
                              const TagDifference& difference) {
  return ReportJson("compare", {&a, &b}, DifferenceValue(difference),
                    Datum::List());
}

Datum ZooRow(const std::string& file, const std::string& page,
             const std::string& error, const ReportedModel* reported) {
  const bool has_sums = reported != nullptr && reported->costs != nullptr;
  const auto sums = has_sums ? reported->costs->sizes.all : sizes::Sums();
  const auto about =
      reported != nullptr ? reported->model.about() : SidecarModel();
  const Tagging none;
  const Tagging& tagging =
      reported != nullptr ? reported->model.tagging() : none;
  const Coverage coverage = CountTags(tagging);
  return Datum::Object(
      {{"file", Shortened(file)},
       {"page", Datum::OrNull(page)},
       {"error", Datum::OrNull(Shortened(error))},
       {"root_class", Datum::OrNull(Shortened(tagging.root.name))},
       {"root_doubt", !tagging.root.name.empty() &&
                          (tagging.root.confidence == Confidence::kLow ||
                           !tagging.root.alternatives.empty())},
       {"producer", Datum::OrNull(Shortened(about.producer))},
       {"dialect", Datum::OrNull(Shortened(about.dialect))},
       {"nodes", coverage.nodes},
       {"by_confidence", Datum::Levels(coverage.by_confidence)},
       {"found", coverage.found()},
       {"modules", reported != nullptr ? tagging.modules.count() : 0},
       {"parameters", sums.parameters},
       {"bytes", sums.bytes},
       {"flops", has_sums ? Datum(sums.flops) : Datum()},
       {"unknown_flops", sums.unknown_flops}});
}

std::string ZooReportJson(Datum::List rows) {
  return ReportJson("zoo", {}, {}, std::move(rows));
}

}  // namespace onnx_tag
