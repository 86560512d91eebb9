// Tested by tests/tagging/sidecar_glance_test.cc.
#include <algorithm>
#include <charconv>

#include "onnx_tag/error.h"
#include "tagging/json_view.h"
#include "tagging/sidecar.h"
#include "tagging/words.h"

namespace onnx_tag {
namespace {

constexpr std::size_t kHeadLimit = 1 << 20;
constexpr std::size_t kTailLimit = 16 * 1024;

std::string Text(const JsonObject& object, std::string_view key) {
  const JsonView* const value = object.find(key);
  return value == nullptr || !value->is_string() ? "" : value->Text();
}

// 0 where there is none: then nothing fits it.
std::uint64_t Number(const JsonObject& object, std::string_view key) {
  const JsonView* const value = object.find(key);
  std::uint64_t number = 0;
  if (value != nullptr) {
    const std::string_view text = value->text();
    std::from_chars(text.data(), text.data() + text.size(), number);
  }
  return number;
}

JsonObject Member(const JsonObject& object, std::string_view key) {
  const JsonView* const value = object.find(key);
  return value == nullptr ? JsonObject() : JsonObject(*value);
}

template <std::size_t kCount>
void ReadCounts(const JsonObject& counts,
                const std::array<std::string_view, kCount>& words,
                std::array<std::uint64_t, kCount>& into) {
  for (std::size_t i = 0; i < kCount; ++i) into[i] = Number(counts, words[i]);
}

Coverage ReadCoverage(const JsonObject& statistics) {
  Coverage coverage;
  coverage.nodes = Number(statistics, "nodes");
  coverage.tagged = Number(statistics, "tagged");
  ReadCounts(Member(statistics, "by_confidence"), kConfidenceNames,
             coverage.by_confidence);
  ReadCounts(Member(statistics, "by_source"), kSourceNames, coverage.by_source);
  ReadCounts(Member(statistics, "by_type"), kRoleTypeNames, coverage.by_type);
  return coverage;
}

JsonObject Parse(const std::string& text) {
  JsonCursor cursor(text);
  const JsonView value = cursor.Value();
  cursor.End();
  return JsonObject(value);
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
    const std::string first_text = std::string(json.substr(0, head)) + "}";
    const std::string last_text = "{" + std::string(end.substr(tail));
    const JsonObject first = Parse(first_text);
    const JsonObject last = Parse(last_text);
    if (Text(first, "format") != "onnx-tag/1") return std::nullopt;
    SidecarGlance glance;
    const JsonObject model = Member(first, "model");
    glance.model.file = Text(model, "file");
    glance.model.bytes = Number(model, "bytes");
    glance.model.fingerprint = Text(model, "fingerprint");
    glance.model.producer = Text(model, "producer");
    glance.model.dialect = Text(model, "dialect");
    glance.version = Text(Member(first, "tool"), "version");
    glance.strategy = Text(first, "strategy");
    glance.torch_nn = Text(first, "granularity") == "torch_nn";
    glance.options = Text(first, "options");
    glance.root_class = Text(Member(first, "root"), "class");
    glance.coverage = ReadCoverage(Member(last, "statistics"));
    return glance;
  } catch (const Error&) {
    return std::nullopt;
  }
}

}  // namespace onnx_tag
