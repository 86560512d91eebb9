#include <fmt/core.h>

#include <memory>

#include "app/commands/commands.h"
#include "app/commands/output/destinations.h"
#include "app/commands/read/tagged_model.h"
#include "app/commands/write/new_models.h"
#include "app/render/reports.h"
#include "core/tagging/tag_format.h"
#include "core/tagging/words.h"
#include "file/model/model_file.h"
#include "onnx_tag/error.h"
#include "uses/edit/private_text.h"

namespace onnx_tag {
namespace {

using edit::PrivateGroup;
using edit::PrivateKind;
using edit::PrivateTexts;

// Nodes that lose something we could have read.
struct LostEvidence {
  std::uint64_t lines = 0;    // their line of code
  std::uint64_t modules = 0;  // what says their module
};

LostEvidence EvidenceIn(const PrivateTexts& texts) {
  LostEvidence lost;
  for (const PrivateGroup& group : texts.groups()) {
    if (!group.removable || group.message != "node") continue;
    if (group.kind == PrivateKind::kTraceback) {
      lost.lines += group.count;
    } else if (IsOneOf(group.field, {keys::kNameScopes, keys::kClassHierarchy,
                                     keys::kNamespace, "pkg.torch.onnx.fx_node",
                                     "pkg.onnxscript.name_scopes",
                                     "pkg.onnxscript.class_hierarchy"})) {
      lost.modules += group.count;
    }
  }
  return lost;
}

std::string_view KindName(const PrivateGroup& group) {
  return EnumToWord(edit::kPrivateKindNames, group.kind);
}

// "private-user-name"
std::string RuleOf(const PrivateGroup& group) {
  std::string rule = "private-" + std::string(KindName(group));
  std::replace(rule.begin(), rule.end(), ' ', '-');
  return rule;
}

bool IsFinding(const PrivateGroup& group) {
  return group.kind != PrivateKind::kExternalData;
}

// "node metadata pkg.torch.onnx.stack_trace", "graph doc_string"
std::string FieldText(const PrivateGroup& group) {
  return Message("{} {}", group.message, Short{group.field, 100});
}

std::vector<Finding> FindingsOf(const PrivateTexts& texts) {
  std::vector<Finding> findings;
  for (const PrivateGroup& group : texts.groups()) {
    if (!IsFinding(group)) continue;
    findings.push_back(
        {RuleOf(group), group.first_place,
         Message("{} in {} ({}): {}{}", KindName(group), FieldText(group),
                 Count(group.count, "text"), Short{group.example, 200},
                 group.removable ? "" : "; it cannot be removed")});
  }
  return findings;
}

void AddTexts(const std::string& model, const PrivateTexts& texts,
              Result& result) {
  if (texts.groups().empty()) {
    result.Line("{}: no private text found", ShownInput(model));
    return;
  }
  result.Line("{}: {} of private text in {}", ShownInput(model),
              Count(texts.removable_bytes(), "byte"),
              Count(texts.removable(), "place"));
  Table table;
  table.columns = {{.heading = "what"},
                   {.heading = "count", .right = true, .width = 10},
                   {.heading = "bytes", .right = true, .width = 12},
                   {.heading = "where"},
                   {.heading = "for example", .ragged = true}};
  for (const PrivateGroup& group : texts.groups()) {
    table.rows.push_back(
        {std::string(KindName(group)), WithThousands(group.count),
         WithThousands(group.bytes),
         FieldText(group) + (group.removable ? "" : " (stays)"),
         Message("{}", Short{group.example, 100})});
  }
  result.Add(std::move(table));
  if (!texts.users().empty()) {
    result.Line("users: {}", Join(texts.users()));
  }
}

void AddEvidence(const std::string& model, const LostEvidence& lost,
                 bool written, Result& result) {
  if (lost.lines == 0 && lost.modules == 0) return;
  std::vector<std::string> what;
  if (lost.lines > 0) {
    what.push_back("the source lines of " + Count(lost.lines, "node"));
  }
  if (lost.modules > 0) {
    what.push_back("what says the modules of " + Count(lost.modules, "node"));
  }
  result.Line("{} with it: {}", written ? "gone" : "goes", Join(what, " and "));
  if (!written && model != "-") {
    result.Line("  tag first, and keep the sidecar: onnx-tag {}", model);
  }
}

Datum Data(const ScrubOptions& options, const PrivateTexts& texts,
           const LostEvidence& lost, const std::string& output) {
  Datum::List groups;
  for (const PrivateGroup& group : texts.groups()) {
    groups.push_back(Datum::Object({{"kind", KindName(group)},
                                    {"message", group.message},
                                    {"field", group.field},
                                    {"removable", group.removable},
                                    {"count", group.count},
                                    {"bytes", group.bytes},
                                    {"example", group.example},
                                    {"first", group.first_place}}));
  }
  return Datum::Object(
      {{"file", options.model},
       {"all", options.all},
       {"removable", texts.removable()},
       {"removable_bytes", texts.removable_bytes()},
       {"kept", texts.kept()},
       {"users",
        std::vector<std::string>(texts.users().begin(), texts.users().end())},
       {"texts", std::move(groups)},
       {"loses", Datum::Object({{"source_lines", lost.lines},
                                {"modules", lost.modules}})},
       {"output", Datum::OrNull(output)}});
}

void Report(const ScrubOptions& options, const PrivateTexts& texts, bool bad,
            Terminal& terminal) {
  FileReport file;
  file.path = options.model;
  file.status = bad ? FileStatus::kFindings : FileStatus::kOk;
  file.exit_code = bad ? ExitCode::kFindings : ExitCode::kOk;
  file.line = Count(texts.removable_bytes(), "byte") + " of private text";
  if (bad) file.findings = FindingsOf(texts);
  RunTotals totals;
  ++totals.files[static_cast<std::size_t>(file.status)];
  totals.line = "; " + file.line;
  const std::unique_ptr<Reporter> reporter =
      MakeReporter(options.format, terminal);
  reporter->File(file);
  reporter->End(totals);
}

}  // namespace

Result RunScrub(const ScrubOptions& options, Terminal& terminal) {
  const ModelFile file = OpenModel(options.model, terminal);
  const PrivateTexts texts(file.model(), {.all = options.all},
                           ReleaserOf(file));
  file.file().CheckUnchanged();
  const LostEvidence lost = EvidenceIn(texts);
  const bool writes = options.write.in_place || !options.write.path.empty() ||
                      !options.write.folder.empty();
  Result result;
  AddTexts(options.model, texts, result);
  std::string output;
  if (writes) {
    edit::ScrubWriter writer(file.model(), texts);
    output =
        WriteChanged(options.model, file,
                     {"scrubbed", writer.new_size(),
                      [&](wire::Rewrite::Sink& sink) { writer.Write(sink); }},
                     options.write, terminal, result);
  }
  AddEvidence(options.model, lost, writes && !options.write.dry_run, result);
  result.data = Data(options, texts, lost, output);
  if (options.check && texts.removable() + texts.kept() > 0) {
    result.exit_code = ExitCode::kFindings;
  }
  if (writes && texts.kept() > 0) {
    result.Finding(
        "{}: {} cannot be removed: names and strings are a part of the model",
        options.model, Count(texts.kept(), "private text"));
  }
  if (!IsForCi(options.format)) return result;
  Report(options, texts, texts.removable() + texts.kept() > 0, terminal);
  Result reported;
  reported.exit_code = result.exit_code;
  return reported;
}

}  // namespace onnx_tag
