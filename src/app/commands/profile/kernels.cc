#include "app/commands/profile/kernels.h"

#include <algorithm>
#include <optional>

#include "base/hash.h"
#include "base/parse_number.h"
#include "base/text.h"
#include "clues/exporters/tools/original_name.h"
#include "core/graph/operators.h"
#include "core/hierarchy/name_parts.h"
#include "file/io/mapped_file.h"
#include "onnx_tag/error.h"

namespace onnx_tag {
namespace {

bool IsPlain(char c) { return hierarchy::IsWordChar(c); }

// Qualcomm's and others' tools write names with underscores for all bytes that
// C does not allow, with or without the one for the first slash.
std::string_view WithoutFirstBars(std::string_view name) {
  while (!name.empty() && (name[0] == '_' || !IsPlain(name[0]))) {
    name.remove_prefix(1);
  }
  return name;
}

std::uint64_t SanitizedHash(std::string_view name) {
  std::uint64_t hash = 0;
  for (const char c : WithoutFirstBars(name)) {
    hash = HashMix(hash, static_cast<unsigned char>(IsPlain(c) ? c : '_'));
  }
  return hash;
}

bool EqualsSanitized(std::string_view name, std::string_view text) {
  name = WithoutFirstBars(name);
  text = WithoutFirstBars(text);
  return std::equal(name.begin(), name.end(), text.begin(), text.end(),
                    [](char a, char b) { return b == (IsPlain(a) ? a : '_'); });
}

// What ONNX Runtime's profiler and TensorRT's parser add to names.
std::string_view WithoutEngineWords(std::string_view name) {
  for (const std::string_view suffix :
       {"_kernel_time", "_fence_before", "_fence_after"}) {
    if (hierarchy::ConsumeSuffix(name, suffix)) break;
  }
  hierarchy::ConsumePrefix(name, "node_of_");
  return name;
}

// A name of more nodes says nothing about one of them.
constexpr std::size_t kMostNodes = 1000;

void AddBounded(NodeId node, std::vector<NodeId>& nodes) {
  if (nodes.size() < kMostNodes) nodes.push_back(node);
}

}  // namespace

KernelPlaces::KernelPlaces(const TaggedModel& model) : model_(model) {
  const Model& nodes = model.model();
  for (const NodeId node : nodes.Nodes()) {
    const std::string_view name = nodes[node].name;
    if (name.empty()) {
      AddBounded(node, unnamed_[nodes[node].index]);
    } else {
      AddBounded(node, by_name_[name]);
      AddSanitized(name, node);
    }
    for (const std::string_view output : nodes.OutputNames(node)) {
      if (output.empty()) continue;
      AddBounded(node, by_output_[output]);
      AddSanitized(output, node);
    }
  }
  for (const Initializer& initializer : nodes.initializers()) {
    if (nodes[initializer.value].is_input) continue;
    auto& users = by_weight_[nodes.ValueName(initializer.value)];
    for (const NodeId user : nodes.Consumers(initializer.value)) {
      AddBounded(user, users);
    }
  }
}

bool KernelPlaces::IsInner(const Place& place) const {
  if (place.kind == Kind::kNone) return false;
  const std::string graph = model_.model().GraphPath(place.node);
  return !graph.empty() && !graph.starts_with("fn:");
}

void KernelPlaces::AddSanitized(std::string_view name, NodeId node) {
  if (std::all_of(name.begin(), name.end(), IsPlain)) return;
  sanitized_.emplace(SanitizedHash(name), std::pair(node, name));
}

std::vector<NodeId> KernelPlaces::OfType(std::vector<NodeId> nodes,
                                         std::string_view op) const {
  std::erase_if(nodes,
                [&](NodeId node) { return model_.model().OpType(node) != op; });
  return nodes;
}

// The runtime calls a nameless node "MatMul_12": its operator, and its index,
// which optimizers leave alone.
std::vector<NodeId> KernelPlaces::Unnamed(std::string_view name,
                                          std::string_view op) const {
  const std::size_t bar = name.rfind('_');
  if (bar == std::string_view::npos) return {};
  if (op.empty()) op = name.substr(0, bar);
  if (name.substr(0, bar) != op) return {};
  const auto index = ParseWhole<std::uint32_t>(name.substr(bar + 1));
  if (!index) return {};
  const auto at = unnamed_.find(*index);
  if (at == unnamed_.end()) return {};
  return OfType(at->second, op);
}

std::vector<NodeId> KernelPlaces::Rewritten(std::string_view name) const {
  const std::string_view bare = WithoutEngineWords(name);
  for (const std::string_view text : {bare, hierarchy::UndoNodeName(bare).name,
                                      hierarchy::UndoTensorName(bare).name}) {
    if (text == name) continue;
    for (const Names* names : {&by_name_, &by_output_, &by_weight_}) {
      const auto at = names->find(text);
      if (at != names->end()) return at->second;
    }
  }
  return {};
}

std::vector<NodeId> KernelPlaces::Sanitized(std::string_view name) const {
  // Shorter ones could be any word.
  constexpr std::size_t kShortest = 6;
  name = WithoutEngineWords(name);
  if (name.size() < kShortest ||
      !std::all_of(name.begin(), name.end(), IsPlain)) {
    return {};
  }
  std::vector<NodeId> nodes;
  const auto [begin, end] = sanitized_.equal_range(SanitizedHash(name));
  for (auto at = begin; at != end && nodes.size() < kMostNodes; ++at) {
    const auto& [node, own] = at->second;
    // Without its slash, "/Transpose" is what the runtime calls its own node.
    if (WithoutFirstBars(own) == name) continue;
    if (EqualsSanitized(own, name)) nodes.push_back(node);
  }
  std::sort(nodes.begin(), nodes.end());
  return nodes;
}

std::vector<NodeId> KernelPlaces::NodesOf(std::string_view name,
                                          std::string_view op) const {
  const auto named = by_name_.find(name);
  if (named != by_name_.end()) return named->second;
  if (std::vector<NodeId> nodes = Unnamed(name, op); !nodes.empty()) {
    return nodes;
  }
  // A table or a log may name values.
  if (op.empty()) {
    for (const Names* names : {&by_output_, &by_weight_}) {
      const auto at = names->find(name);
      if (at != names->end()) return at->second;
    }
  }
  if (std::vector<NodeId> nodes = Rewritten(name); !nodes.empty()) return nodes;
  return Sanitized(name);
}

KernelPlaces::Place KernelPlaces::Find(const profile::Kernel& kernel) const {
  const std::vector<NodeId> nodes = NodesOf(kernel.name, kernel.op);
  if (nodes.empty()) return {};
  std::vector<NodeId> fitting = OfType(nodes, kernel.op);
  if (fitting.empty()) fitting = nodes;
  // Names that repeat are harmless where all are of one module.
  const auto& tags = model_.tagging().tags;
  const bool one =
      std::all_of(fitting.begin(), fitting.end(), [&](NodeId node) {
        return tags[node].module == tags[fitting.front()].module;
      });
  return {one && nodes.size() < kMostNodes ? Kind::kNode : Kind::kSeveral,
          fitting.front()};
}

using profile::KernelId;
using profile::Profile;

Profile ReadProfileFile(const ProfileSource& source) {
  std::optional<MappedFile> layers;
  if (!source.layers.empty()) layers = MappedFile::Open(source.layers);
  Profile profile = ReadMapped(source.file, [&](Bytes bytes) {
    return profile::ReadProfile(bytes, source.measure,
                                layers ? layers->bytes() : Bytes(), source.key);
  });
  SkipRuns(profile, source.skip_runs);
  return profile;
}

IdVector<KernelId, KernelPlaces::Place> KernelPlaces::FindAll(
    const Profile& profile) const {
  IdVector<KernelId, Place> places;
  for (const profile::Kernel& kernel : profile.kernels) {
    places.Add(Find(kernel));
  }
  return places;
}

std::int64_t KernelPlaces::CountSelf(const IdVector<KernelId, Place>& places,
                                     Profile& profile) const {
  return CountSelfTimes(
      profile,
      // Kernels that run others, also where the model at hand does not have
      // them.
      [&](KernelId id) {
        return Describe(FindOp(profile.kernels[id].op))
            .kinds.HasAnyOf({OpKind::kControl, OpKind::kGeneration});
      },
      [&](KernelId id) { return IsInner(places[id]); });
}

NodeNumbers ReadNodeNumbers(const TaggedModel& model,
                            const ProfileSource& source) {
  Profile profile = ReadProfileFile(source);
  if (profile.measure.level) {
    Fail(ErrorKind::kUsage,
         "{}: {} is a level, not an amount; it cannot be summed by module\n  "
         "see it with: "
         "onnx-tag profile --measure {}",
         source.file, profile.measure.name, profile.measure.name);
  }
  const KernelPlaces places(model);
  const IdVector<KernelId, KernelPlaces::Place> place = places.FindAll(profile);
  NodeNumbers result;
  result.runs = profile.model_runs;
  if (profile.measure.IsTime()) {
    result.total = places.CountSelf(place, profile);
  } else {
    for (const profile::KernelRun& run : profile.runs) {
      result.total = profile.measure.Add(result.total, run.self);
    }
  }
  result.numbers.resize(model.model().node_count(), -1);
  result.measure = profile.measure;
  for (const profile::KernelRun& run : profile.runs) {
    if (run.self < 0) {
      Fail(ErrorKind::kUsage,
           "{}: {} has negative numbers, which a page cannot draw\n  see them "
           "with: onnx-tag profile",
           source.file, profile.measure.name);
    }
    if (place[run.kernel].kind != KernelPlaces::Kind::kNode) continue;
    std::int64_t& number = result.numbers[place[run.kernel].node];
    number = std::max<std::int64_t>(number, 0) + run.self;
  }
  return result;
}

}  // namespace onnx_tag
