#include "app/commands/commands.h"
#include "app/commands/output/destinations.h"
#include "app/commands/read/tagged_model.h"
#include "app/commands/write/new_models.h"
#include "core/tagging/renames.h"
#include "core/tagging/tag_format.h"
#include "core/tagging/tag_writer.h"
#include "onnx_tag/error.h"

namespace onnx_tag {

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
  WriteChanged(options.model, file,
               {"stripped", writer.new_size(),
                [&](wire::Rewrite::Sink& sink) { writer.Write(sink); }},
               options.write, terminal, result);
  return result;
}

}  // namespace onnx_tag
