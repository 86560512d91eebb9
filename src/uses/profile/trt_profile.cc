// TensorRT's own names for what its builder made of a network. The
// documentation of trtexec describes the files.
#include <algorithm>
#include <cmath>
#include <string>
#include <unordered_map>
#include <vector>

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

void AddParts(std::string_view text, std::string_view between, Names& parts) {
  while (true) {
    const std::size_t at = text.find(between);
    parts.emplace_back(text.substr(0, at));
    if (at == std::string_view::npos) return;
    text.remove_prefix(at + between.size());
  }
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
  Names parts;
  AddParts(layer, " + ", parts);
  Names nodes;
  for (const std::string& part : parts) {
    if (!part.starts_with("PWN(")) {
      nodes.push_back(part);
      continue;
    }
    Names inner;
    AddParts(part, ", ", inner);
    for (const std::string& name : inner) {
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

class TrtReader {
 public:
  TrtReader(Bytes json, const NodesOfLayers& nodes)
      : json_(json, ErrorKind::kInput), nodes_(nodes) {}

  Profile Read() {
    json_.ForEachItem([&] {
      if (json_.Peek() == Kind::kObject) ReadEntry();
    });
    if (profile_.runs.empty()) Fail(ErrorKind::kInput, "it has no layers");
    profile_.calls_each = profile_.model_runs == 0 ? 1 : profile_.model_runs;
    return std::move(profile_);
  }

 private:
  void ReadEntry() {
    constexpr double kMost = 1e9;  // 11 days
    std::string name;
    double milliseconds = -1;
    json::Place place = json_.Here();
    json_.ForEachMember([&](std::string_view key) {
      const Kind kind = json_.Peek();
      if (key == "name" && kind == Kind::kString) name = json_.String();
      if (key == "timeMs") place = json_.Here();
      if (kind != Kind::kNumber) return;
      if (key == "timeMs") milliseconds = json_.Number();
      if (key == "count") profile_.model_runs = json_.Count();
    });
    if (name.empty()) return;
    // A wrong time would make all sums and shares wrong.
    if (!(milliseconds >= 0 && milliseconds <= kMost)) {
      json_.FailAt(place,
                   "the layer '{}' has no time from 0 to {} milliseconds",
                   Short{name, 200}, kMost);
    }
    // The sum is rounded, not each layer: the total is exact.
    const std::int64_t before = std::llround(sum_);
    sum_ += milliseconds * 1000;
    Divide(name, std::llround(sum_) - before);
  }

  void Divide(const std::string& layer, std::int64_t time) {
    const auto known = nodes_.find(layer);
    const Names nodes = known != nodes_.end() && !known->second.empty()
                            ? known->second
                            : NodesInName(layer);
    const auto count = static_cast<std::int64_t>(nodes.size());
    for (std::int64_t i = 0; i < count; ++i) {
      const std::int64_t part = time / count + (i < time % count ? 1 : 0);
      const KernelId kernel = profile_.kernels.Add(
          {nodes[static_cast<std::size_t>(i)], "", "TensorRT"});
      profile_.runs.push_back({.kernel = kernel,
                               .thread = 0,
                               .begin = 0,
                               .duration = part,
                               .self = part});
    }
  }

  json::Reader json_;
  const NodesOfLayers& nodes_;
  Profile profile_;
  double sum_ = 0;  // microseconds
};

}  // namespace

Profile ReadTensorRtProfile(Bytes json, Bytes layers) {
  NodesOfLayers nodes;
  try {
    if (!layers.empty()) nodes = ReadLayers(layers);
  } catch (const Error& error) {
    throw error.In("not the layer information of trtexec --exportLayerInfo");
  }
  try {
    return TrtReader(json, nodes).Read();
  } catch (const Error& error) {
    throw error.In("not a profile of trtexec --exportProfile");
  }
}

}  // namespace onnx_tag::profile
