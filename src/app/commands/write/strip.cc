// The commands that take something out of a model: `strip` and `scrub`.

#include "app/commands/commands.h"
#include "app/commands/output/destinations.h"
#include "app/commands/read/tagged_model.h"
#include "app/commands/write/new_models.h"
#include "app/render/render.h"
#include "app/render/reports.h"
#include "core/tagging/renames.h"
#include "core/tagging/tag_format.h"
#include "core/tagging/tag_writer.h"
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

// "node metadata pkg.torch.onnx.stack_trace", "graph doc_string"
std::string FieldText(const PrivateGroup& group) {
  return Message("{} {}", group.message, Short{group.field, 100});
}

std::vector<Finding> FindingsOf(const PrivateTexts& texts) {
  std::vector<Finding> findings;
  for (const PrivateGroup& group : texts.groups()) {
    if (group.kind == PrivateKind::kExternalData) continue;
    findings.push_back(
        {RuleOf(group), group.first_place,
         Message("{} in {} ({}): {}{}", KindName(group), FieldText(group),
                 Count(group.count, "text"), Short{group.example, 200},
                 group.removable ? "" : "; it cannot be removed")});
  }
  return findings;
}

Facts GroupFacts(const PrivateGroup& group) {
  return {
      {{"kind", "what"}, KindName(group)},
      {{"message", "", For::kJson}, group.message},
      {{"field", "", For::kJson}, group.field},
      {{"removable", "", For::kJson}, group.removable},
      {NumberColumn("count", "count", 10, Unit::kThousands), group.count},
      {NumberColumn("bytes", "bytes", 12, Unit::kThousands), group.bytes},
      {{"", "where"}, FieldText(group) + (group.removable ? "" : " (stays)")},
      {{.key = "example",
        .heading = "for example",
        .ragged = true,
        .longest = 100},
       group.example},
      {{"first", "", For::kJson}, group.first_place}};
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
  result.Add(TableOf(texts.groups(), GroupFacts));
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
    what.push_back("the evidence for the modules of " +
                   Count(lost.modules, "node"));
  }
  result.Line("this also {}: {}", written ? "removed" : "removes",
              Join(what, " and "));
  if (!written && model != "-") {
    result.Line("  tag first, and keep the sidecar: onnx-tag {}", model);
  }
}

Datum Data(const ScrubOptions& options, const PrivateTexts& texts,
           const LostEvidence& lost, const std::string& output) {
  return Datum::Object(
      {{"file", options.model},
       {"all", options.all},
       {"removable", texts.removable()},
       {"removable_bytes", texts.removable_bytes()},
       {"kept", texts.kept()},
       {"users",
        std::vector<std::string>(texts.users().begin(), texts.users().end())},
       {"texts", ObjectsOf(texts.groups(), GroupFacts)},
       {"loses", Datum::Object({{"source_lines", lost.lines},
                                {"modules", lost.modules}})},
       {"output", Datum::OrNull(output)}});
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
    const edit::ScrubWriter writer(file.model(), texts);
    output = ModelDestination(options.model, options.write, "scrubbed");
    WriteNewModel(file, {}, options.write, terminal, ModelOf(writer, output),
                  result);
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
  ReportAlone(options.model,
              Count(texts.removable_bytes(), "byte") + " of private text", {},
              FindingsOf(texts), "", options.format, terminal);
  Result reported;
  reported.exit_code = result.exit_code;
  return reported;
}

Result RunStrip(const StripOptions& options, Terminal& terminal) {
  const ModelFile file = OpenModel(options.model, terminal);
  const std::string fault = ReadRenames(file.model()).fault;
  if (!fault.empty()) {
    Fail(ErrorKind::kOutput,
         "{}: its record of renamed initializers ({}) does not fit the file: "
         "{}\n  strip the file that `weights --rename` wrote, before another "
         "program changes it",
         options.model, keys::kRenamed, fault);
  }
  TagWriter writer(file.model());
  Result result;
  result.Line("{}: {}", ShownInput(options.model),
              writer.changes()
                  ? "removed " +
                        WithThousands(file.file().size() - writer.new_size()) +
                        " bytes of tags"
                  : "no tags found");
  WriteNewModel(file, {}, options.write, terminal,
                ModelOf(writer, ModelDestination(options.model, options.write,
                                                 "stripped")),
                result);
  return result;
}

}  // namespace onnx_tag
