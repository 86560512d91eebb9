#include "mapping/ladder/sources.h"

#include <algorithm>
#include <cassert>

#include "mapping/ladder/clue_laws.h"
#include "mapping/ladder/ladder.h"

namespace onnx_tag {

// Defined in the files of sources/.
void ReadFunctions(const Evidence& file, ClueWriter& out);
void ReadScopes(const Evidence& file, ClueWriter& out);
void ReadHelperBodies(const Evidence& file, ClueWriter& out);
void ReadParameters(const Evidence& file, ClueWriter& out);

namespace {

using enum Confidence;

constexpr SourceRow kSources[] = {
    {"rule", "a rule of the user", nullptr, kAllStrategies, kCertain},
    {"metadata", "the exporter's metadata", nullptr, kDirect | kFxGraph,
     kCertain},
    {"function", "the local function that it calls or is part of",
     &ReadFunctions, kDirect, kCertain},
    {"dialect", "names of producers other than PyTorch", nullptr, kDirect,
     kCertain},
    {"scope", "the scope in its name or an output's name", &ReadScopes, kDirect,
     kCertain},
    {"returned", "the module in the name of its result", nullptr, kInference,
     kMedium},
    {"recorded", "the operation that was recorded", nullptr, kAllStrategies,
     kCertain},
    {"helper_body", "the call of the function that it is part of",
     &ReadHelperBodies, kInference, kCertain},
    {"parameter", "the parameters it uses", &ReadParameters, kDirect, kHigh},
    {"called", "the order in which the modules of the hierarchy are called",
     nullptr, kInference, kHigh},
};

}  // namespace

void ClueWriter::Add(Claim claim) {
  assert(claim.confidence <= highest_);
  claim.confidence = std::min(claim.confidence, highest_);
  // The kind is that of what the source says, not of what a law leaves.
  const EvidenceKind kind = KindOf(from_, claim.confidence);
  if (const std::optional<Claim> admitted = Admit(file_, claim)) {
    clues_.Add(from_, kind, *admitted);
  }
}

std::span<const SourceRow> AllSources() { return kSources; }

void ReadSource(const Evidence& file, WriterId from, Clues& clues) {
  const SourceRow& source = kSources[static_cast<std::size_t>(from)];
  ClueWriter out(file, from, source.highest, clues);
  if (source.read != nullptr) {
    source.read(file, out);
    return;
  }
  for (const Clue& clue : file.said.From(from)) {
    out.Add(file.said.AsClaim(clue));
  }
}

Clues ReadSources(const Evidence& file, unsigned strategy, WriterId without) {
  Clues clues(file.model.node_count());
  for (std::size_t i = 0; i < std::size(kSources); ++i) {
    const auto from = static_cast<WriterId>(i);
    if ((kSources[i].strategies & strategy) != 0 && from != without) {
      ReadSource(file, from, clues);
    }
  }
  return clues;
}

void AcceptClues(const Clues& clues, Placed& placed) {
  for (const NodeId node : AllIds<NodeId>(placed.size())) {
    const Clue* const clue = clues.Strongest(node);
    if (clue == nullptr || placed[node].tagged()) continue;
    Accept(clues.AsClaim(*clue), clue->kind, placed);
  }
}

std::string_view WriterName(WriterId from) {
  const auto index = static_cast<std::size_t>(from);
  return index < std::size(kSources)
             ? kSources[index].name
             : AllRungs()[index -
                          static_cast<std::size_t>(WriterId::kFirstRung)]
                   .name;
}

}  // namespace onnx_tag
