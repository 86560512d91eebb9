// Tested by tests/tagging/sidecar_glance_test.cc.
#include <nlohmann/json.hpp>

#include "tagging/json_text.h"
#include "tagging/sidecar.h"
#include "tagging/words.h"

namespace onnx_tag {
namespace {

using Json = nlohmann::json;

constexpr std::size_t kHeadLimit = 1 << 20;
constexpr std::size_t kTailLimit = 16 * 1024;

Json Parse(std::string_view text) {
  std::string storage;
  return Json::parse(HideLoneSurrogates(text, storage));
}

std::string Text(const Json& object, const char* key) {
  const Json& value = object.at(key);
  return value.is_null() ? "" : RestoreBytes(value.get<std::string>());
}

template <std::size_t kCount>
void ReadCounts(const Json& counts,
                const std::array<std::string_view, kCount>& words,
                std::array<std::uint64_t, kCount>& into) {
  for (std::size_t i = 0; i < kCount; ++i) {
    into[i] = counts.value(std::string(words[i]), std::uint64_t{0});
  }
}

Coverage ReadCoverage(const Json& statistics) {
  Coverage coverage;
  coverage.nodes = statistics.at("nodes").get<std::uint64_t>();
  coverage.tagged = statistics.at("tagged").get<std::uint64_t>();
  ReadCounts(statistics.at("by_confidence"), kConfidenceNames,
             coverage.by_confidence);
  ReadCounts(statistics.at("by_source"), kSourceNames, coverage.by_source);
  ReadCounts(statistics.at("by_type"), kRoleTypeNames, coverage.by_type);
  return coverage;
}

}  // namespace

std::optional<SidecarGlance> GlanceAtSidecar(std::string_view json) {
  // In a name a line break would be written \n: these can stand in none.
  const std::size_t head =
      json.substr(0, kHeadLimit).find(",\n  \"modules\": [");
  const std::string_view end =
      json.substr(json.size() - std::min(json.size(), kTailLimit));
  const std::size_t tail = end.rfind("\n  \"statistics\": ");
  if (head == std::string_view::npos || tail == std::string_view::npos) {
    return std::nullopt;
  }
  try {
    const Json first = Parse(std::string(json.substr(0, head)) + "}");
    const Json last = Parse("{" + std::string(end.substr(tail)));
    if (Text(first, "format") != "onnx-tag/1") return std::nullopt;
    SidecarGlance glance;
    const Json& model = first.at("model");
    glance.model = {.file = Text(model, "file"),
                    .bytes = model.at("bytes").get<std::uint64_t>(),
                    .fingerprint = Text(model, "fingerprint"),
                    .ir_version = model.at("ir_version").get<std::int64_t>(),
                    .producer = Text(model, "producer"),
                    .dialect = Text(model, "dialect"),
                    .inputs = {},
                    .outputs = {}};
    glance.version = Text(first.at("tool"), "version");
    glance.strategy = Text(first, "strategy");
    glance.torch_nn = Text(first, "granularity") == "torch_nn";
    glance.options = Text(first, "options");
    glance.root_class = Text(first.at("root"), "class");
    glance.coverage = ReadCoverage(last.at("statistics"));
    return glance;
  } catch (const Json::exception&) {
    return std::nullopt;
  }
}

}  // namespace onnx_tag
