// `strip`: the model without our tags, or without private text.

#include <algorithm>

#include "app/commands/commands.h"
#include "app/commands/output/destinations.h"
#include "app/commands/write/new_models.h"
#include "app/render/render.h"
#include "core/tagging/renames.h"
#include "core/tagging/tag_format.h"
#include "core/tagging/tag_writer.h"
#include "file/model/model_file.h"
#include "onnx_tag/error.h"
#include "uses/edit/private_fields.h"

namespace onnx_tag {
namespace {

using edit::PrivateFields;
using edit::TextField;

Facts TextFieldFacts(const TextField& field, bool stays) {
  return {
      {{"message", "", For::kJson}, field.message},
      {{"field", "", For::kJson}, field.field},
      {NumberColumn("count", stays ? "stays" : "removed", 10, Unit::kThousands),
       field.count},
      {NumberColumn("bytes", "bytes", 12, Unit::kThousands), field.bytes},
      {{"", "where"}, Message("{} {}", field.message, Short{field.field, 100})},
      {{.key = "example",
        .heading = "for example",
        .ragged = true,
        .longest = 100},
       field.example}};
}

// The texts that go and the texts that stay, whatever they say.
Result StripPrivate(const ModelFile& file, const StripOptions& options,
                    Terminal& terminal) {
  const PrivateFields fields(file.model(), ReleaserOf(file));
  file.file().CheckUnchanged();
  const bool writes = !options.check && !options.write.dry_run;
  Result result;
  result.Line("{}: {} {} in {}", ShownInput(options.model),
              writes ? "removed" : "would remove",
              Count(fields.removed_bytes(), "byte"),
              Count(fields.removals().size(), "place"));
  for (const bool stays : {false, true}) {
    const std::vector<TextField>& list =
        stays ? fields.kept() : fields.removed();
    if (list.empty()) continue;
    result.Add(TableOf(list, [&](const TextField& field) {
      return TextFieldFacts(field, stays);
    }));
  }
  std::string output;
  if (!options.check) {
    const edit::PrivateWriter writer(file.model(), fields);
    output = ModelDestination(options.model, options.write, "stripped");
    WriteNewModel(file, {}, options.write, terminal, ModelOf(writer, output),
                  result);
  }
  const bool evidence = std::any_of(
      fields.removed().begin(), fields.removed().end(),
      [](const TextField& field) {
        return field.message == "node" && field.field != "doc_string";
      });
  if (evidence && !HasTags(file.model())) {
    terminal.Note(
        "metadata may be evidence for tags\n  tag the model first, and keep "
        "the sidecar: onnx-tag {}",
        options.model);
  }
  const auto list = [](const std::vector<TextField>& of, bool stays) {
    return ObjectsOf(of, [stays](const TextField& field) {
      return TextFieldFacts(field, stays);
    });
  };
  result.data = Datum::Object({{"file", options.model},
                               {"bytes", fields.removed_bytes()},
                               {"removed", list(fields.removed(), false)},
                               {"kept", list(fields.kept(), true)},
                               {"output", Datum::OrNull(output)}});
  if (options.check && !fields.removed().empty()) {
    result.exit_code = ExitCode::kFindings;
  }
  return result;
}

}  // namespace

Result RunStrip(const StripOptions& options, Terminal& terminal) {
  const ModelFile file = OpenModel(options.model, terminal);
  if (options.texts) return StripPrivate(file, options, terminal);
  const std::string fault = ReadRenames(file.model()).fault;
  if (!fault.empty()) {
    Fail(ErrorKind::kOutput,
         "{}: its record of renamed initializers ({}) does not fit the file: "
         "{}\n  strip the file as it was renamed, before another program "
         "changes it",
         options.model, keys::kRenamed, fault);
  }
  TagWriter writer(file.model());
  const std::uint64_t bytes =
      writer.changes() ? file.file().size() - writer.new_size() : 0;
  Result result;
  result.Line("{}: {}", ShownInput(options.model),
              writer.changes()
                  ? "removed " + WithThousands(bytes) + " bytes of tags"
                  : "no tags found");
  WriteNewModel(file, {}, options.write, terminal,
                ModelOf(writer, ModelDestination(options.model, options.write,
                                                 "stripped")),
                result);
  return result;
}

}  // namespace onnx_tag
