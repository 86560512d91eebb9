// Tested by tests/commands/skip_current_test.cc.
#include "commands/write/skip_current.h"

#include <fmt/core.h>

#include "commands/commands.h"
#include "commands/read/digest.h"
#include "commands/read/gates.h"
#include "io/mapped_file.h"
#include "io/paths.h"
#include "ladder/ladder.h"
#include "onnx_tag/error.h"

namespace onnx_tag {
namespace {

// All that decides what is written, but for strategy and granularity, which
// the sidecar names. A new option that changes an answer belongs here.
std::string Choices(const TagOptions& options,
                    const MappingFacts::Digests& facts) {
  std::string choices;
  for (const std::string& name : options.mapping.format.exceptions) {
    choices += fmt::format("{}:{},", name.size(), name);
  }
  choices += fmt::format(";{};{}{}{}{}",
                         static_cast<int>(options.mapping.min_confidence),
                         options.keys.tags, options.keys.name_space,
                         options.keys.layer_ann, options.keys.class_hierarchy);
  choices += options.mapping.recipes ? ";recipes" : ";";
  choices += options.mapping.structure ? ";structure" : ";";
  // Files of facts count by what is in them: their names say nothing, and
  // their times would make the same input give other bytes.
  return choices + fmt::format(";{};{};{};{}", facts.hierarchy, facts.rules,
                               facts.trace, facts.fx);
}

// Some strategies tag every class, whatever the user said of granularity.
bool WritesTorchNn(const MappingOptions& options) {
  return options.format.torch_nn || FindStrategy(options.strategy).torch_nn;
}

bool SameChoices(const SidecarGlance& glance, const TagOptions& options,
                 const MappingFacts::Digests& facts) {
  return glance.version == ToolVersion() &&
         glance.strategy == options.mapping.strategy &&
         glance.torch_nn == WritesTorchNn(options.mapping) &&
         glance.options == OptionsDigest(options, facts);
}

}  // namespace

std::string OptionsDigest(const TagOptions& options,
                          const MappingFacts::Digests& facts) {
  const std::string choices = Choices(options, facts);
  if (choices == Choices(TagOptions(), {})) return "";
  return DigestOf(choices);
}

std::optional<SidecarGlance> CurrentSidecar(
    const std::string& input, const Destinations& destinations,
    const TagOptions& options, const MappingFacts::Digests& facts) {
  const std::optional<FileStamp> read = StampOf(input);
  const std::optional<FileStamp> written = StampOf(destinations.sidecar);
  if (!read || !written || written->modified <= read->modified) {
    return std::nullopt;
  }
  if (!options.sidecar_only && !options.write.in_place) {
    const std::optional<FileStamp> output = StampOf(destinations.model);
    if (!output || output->modified <= read->modified) return std::nullopt;
  }
  try {
    std::optional<SidecarGlance> glance =
        GlanceAtSidecar(MappedFile::Open(destinations.sidecar).bytes());
    if (!glance || glance->model.bytes != read->bytes ||
        glance->model.file != FileName(input) ||
        !SameChoices(*glance, options, facts)) {
      return std::nullopt;
    }
    return glance;
  } catch (const Error&) {
    return std::nullopt;  // to be written anew
  }
}

std::vector<std::string> FindingsOfCurrent(const std::string& sidecar,
                                           const SidecarGlance& glance,
                                           const TagOptions& options) {
  if (options.require_modules.empty()) {
    return UnmetCounts(glance.coverage, options);
  }
  const MappedFile file = MappedFile::Open(sidecar);
  return UnmetGates(ReadSidecar(file.bytes()).tagging, options);
}

}  // namespace onnx_tag
