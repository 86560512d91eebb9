// TensorRT's own names for what its builder made of a network. The
// documentation of trtexec describes the files.
#include <algorithm>
#include <cmath>
#include <string>
#include <unordered_map>
#include <vector>

#include "base/text.h"
#include "file/json/reader.h"
#include "onnx_tag/error.h"
#include "uses/profile/profile.h"

namespace onnx_tag::profile {
namespace {

using json::Kind;
using Names = std::vector<std::string>;
using NodesOfLayers = std::unordered_map<std::string, Names>;

// The names in "[ONNX Layer: a]\x1e[ONNX Layer: b]".
Names NodesIn(std::string_view metadata) {
  constexpr std::string_view kMark = "[ONNX Layer: ";
  Names nodes;
  std::size_t at = metadata.find(kMark);
  while (at != std::string_view::npos) {
    const std::size_t begin = at + kMark.size();
    at = metadata.find(kMark, begin);
    const std::string_view entry =
        metadata.substr(begin, at == std::string_view::npos ? at : at - begin);
    // A name may have brackets: the last one ends it.
    nodes.emplace_back(entry.substr(0, entry.rfind(']')));
  }
  return nodes;
}

// "PWN(PWN(a), b)" was split at ", ": takes what is around a name off.
std::string WithoutPointwise(std::string_view name) {
  constexpr std::string_view kPointwise = "PWN(";
  while (name.starts_with(kPointwise)) name.remove_prefix(kPointwise.size());
  auto unopened = std::count(name.begin(), name.end(), ')') -
                  std::count(name.begin(), name.end(), '(');
  for (; name.ends_with(')') && unopened > 0; --unopened) {
    name.remove_suffix(1);
  }
  return std::string(name);
}

// "a + PWN(b, c)": what the name of a layer says without layer information.
Names NodesInName(std::string_view layer) {
  Names nodes;
  for (const std::string_view part : Split(layer, " + ")) {
    if (!part.starts_with("PWN(")) {
      nodes.emplace_back(part);
      continue;
    }
    for (const std::string_view name : Split(part, ", ")) {
      nodes.push_back(WithoutPointwise(name));
    }
  }
  return nodes;
}

void ReadLayer(json::Reader& reader, NodesOfLayers& nodes) {
  std::string name;
  std::string metadata;
  reader.ForEachMember([&](std::string_view key) {
    if (reader.Peek() != Kind::kString) return;
    if (key == "Name") name = reader.String();
    if (key == "Metadata") metadata = reader.String();
  });
  if (!name.empty()) nodes[name] = NodesIn(metadata);
}

NodesOfLayers ReadLayers(Bytes json) {
  NodesOfLayers nodes;
  json::Reader reader(json, ErrorKind::kInput);
  reader.ForEachMember([&](std::string_view key) {
    if (key != "Layers" || reader.Peek() != Kind::kArray) return;
    reader.ForEachItem([&] {
      // Without --profilingVerbosity=detailed there are only names.
      if (reader.Peek() == Kind::kObject) ReadLayer(reader, nodes);
    });
  });
  return nodes;
}

Profile ReadTimes(Bytes json, const NodesOfLayers& known) {
  constexpr double kMost = 1e9;  // 11 days
  json::Reader reader(json, ErrorKind::kInput);
  Profile profile;
  double sum = 0;
  std::int64_t end = 0;
  std::uint64_t runs = 0;
  bool any = false;
  const auto read_entry = [&] {
    std::string name;
    double milliseconds = -1;
    json::Place place = reader.Here();
    reader.ForEachMember([&](std::string_view key) {
      const Kind kind = reader.Peek();
      if (key == "name" && kind == Kind::kString) name = reader.String();
      if (key == "timeMs") place = reader.Here();
      if (kind != Kind::kNumber) return;
      if (key == "timeMs") milliseconds = reader.Number();
      if (key == "count") runs = reader.Count();
    });
    if (name.empty()) return;
    // A wrong time would make all sums and shares wrong.
    if (!(milliseconds >= 0 && milliseconds <= kMost)) {
      reader.FailAt(place,
                    "the layer '{}' has no time from 0 to {} milliseconds",
                    Short{name, 200}, kMost);
    }
    any = true;
    const auto at = known.find(name);
    const Names nodes = at != known.end() && !at->second.empty()
                            ? at->second
                            : NodesInName(name);
    // The sum is rounded, not each layer, and divided among the nodes: the
    // total is exact.
    sum += milliseconds * 1000;
    const std::int64_t whole = std::llround(sum) - end;
    const auto count = static_cast<std::int64_t>(nodes.size());
    for (std::int64_t i = 0; i < count; ++i) {
      const std::int64_t part = whole / count + (i < whole % count ? 1 : 0);
      profile.runs.push_back(
          {.kernel = profile.kernels.Add(
               {nodes[static_cast<std::size_t>(i)], "", "TensorRT"}),
           .thread = 0,
           .begin = end,
           .duration = part,
           .self = part});
      end += part;
    }
  };
  reader.ForEachItem([&] {
    if (reader.Peek() == Kind::kObject) read_entry();
  });
  if (!any) Fail(ErrorKind::kInput, "it has no layers");
  profile.model_runs = runs;
  profile.calls_each = runs == 0 ? 1 : runs;
  return profile;
}

}  // namespace

Profile ReadTensorRtProfile(Bytes json, Bytes layers) {
  NodesOfLayers nodes;
  try {
    if (!layers.empty()) nodes = ReadLayers(layers);
  } catch (const Error& error) {
    throw error.In("not the layer information of trtexec --exportLayerInfo");
  }
  try {
    return ReadTimes(json, nodes);
  } catch (const Error& error) {
    throw error.In("not a profile of trtexec --exportProfile");
  }
}

}  // namespace onnx_tag::profile
