// What the placement network sees of files, for training: tools/placement.
//
//   placement_dump FILE.onnx|FOLDER|LIST [--no-recipes] [--no-names]
//                  [--map FILE] [--thin SEED] [--scores]
//
// A line of LIST is PATH, PATH<tab>MAP or PATH<tab>MAP<tab>SEED. --no-names:
// only parameters say where nodes belong, as if the names of nodes were lost.
// --thin leaves out anchors at random, other ones for each SEED. --scores adds
// what the network of the program says of each row.
//
// For each file a line of JSON, then the arrays that it lists, little-endian,
// one behind the other. tools/placement/README.md describes them.
#include <fmt/core.h>

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "base/hash.h"
#include "base/lists.h"
#include "base/parse_number.h"
#include "clues/recording/module_map.h"
#include "command_line.h"
#include "core/hierarchy/name_parts.h"
#include "file/json/writer.h"
#include "mapping/ladder/ladder.h"
#include "mapping/ladder/sources.h"
#include "mapping/placing/network.h"
#include "onnx_tag/error.h"
#include "onnx_tag/mapping.h"
#include "truth.h"

namespace onnx_tag::bench {
namespace {

namespace fs = std::filesystem;
using placing::Position;
using placing::Scene;

struct Options {
  std::string path;
  std::string map;
  std::string seed;
  bool recipes = true;
  bool names = true;
  bool scores = false;
};

struct Job {
  std::string path;
  std::string map;
  std::uint64_t seed = 0;  // 0: no anchor is left out
};

// What the direct sources say, the recipe book, and what serves the nodes they
// place.
Placed PlaceDirectly(const Evidence& evidence, const Strategy& strategy,
                     bool names) {
  constexpr WriterId kNamed[] = {WriterId::kMetadata, WriterId::kFunction,
                                 WriterId::kDialect,  WriterId::kScope,
                                 WriterId::kReturned, WriterId::kHelperBody};
  Clues clues(evidence.model.node_count());
  for (std::size_t i = 0; i < AllSources().size(); ++i) {
    const auto from = static_cast<WriterId>(i);
    if ((AllSources()[i].strategies & strategy.set) == 0 ||
        (!names && IsAmong(from, kNamed))) {
      continue;
    }
    ReadSource(evidence, from, clues);
  }
  Placed placed(evidence.model.node_count());
  AcceptClues(clues, placed);
  for (const Rung& rung : strategy.rungs) {
    if (rung.name == "recipe" || rung.name == "quantized_product") {
      Climb(evidence, rung, placed);
    }
  }
  return placed;
}

// Leaves out anchors: what is left is a file of which less is known.
void Thin(const Evidence& evidence, const Placed& placed, std::uint64_t seed,
          IdVector<NodeId, ModuleId>& known) {
  std::uint64_t state = HashMix(seed, 1);
  const auto below = [&](std::uint64_t count) {
    state = HashMix(state, 1);
    return state % count;
  };
  std::vector<NodeId> anchors;
  for (const NodeId node : evidence.model.Nodes()) {
    if (known[node] != kNo<ModuleId>) anchors.push_back(node);
  }
  if (anchors.empty()) return;
  for (std::uint64_t left = below(6); left > 0; --left) {
    known[anchors[below(anchors.size())]] = kNo<ModuleId>;
  }
  constexpr std::uint64_t kShares[] = {0, 50, 90, 100};
  const std::uint64_t share = kShares[below(4)];
  for (const NodeId node : anchors) {
    const bool named = placed[node].tagged() &&
                       placed[node].evidence < EvidenceKind::kParameter;
    if (named && below(100) < share) known[node] = kNo<ModuleId>;
  }
  if (seed % 2 != 0) return;
  // Half the items of one list.
  const ModuleTree& tree = evidence.modules;
  std::vector<ModuleId> lists;
  for (const ModuleId module : tree.All()) {
    if (tree.IsList(module)) lists.push_back(module);
  }
  if (lists.empty()) return;
  const ModuleId list = lists[below(lists.size())];
  IdVector<ModuleId, bool> gone(tree.size(), false);
  for (const ModuleId module : tree.All()) {
    if (module == ModuleTree::kRoot) continue;
    gone[module] =
        tree.Parent(module) == list ? below(2) == 0 : gone[tree.Parent(module)];
  }
  for (const NodeId node : anchors) {
    if (known[node] != kNo<ModuleId> && gone[known[node]]) {
      known[node] = kNo<ModuleId>;
    }
  }
}

// One record: its header is made as the arrays are filled.
class Record {
 public:
  template <typename Number>
  void Add(std::string_view name, std::string_view type,
           const std::vector<Number>& numbers, std::size_t columns = 0) {
    const std::size_t rows =
        columns == 0 ? numbers.size() : numbers.size() / columns;
    arrays_ += fmt::format("{}[\"{}\",\"{}\",[{}{}]]",
                           arrays_.empty() ? "" : ",", name, type, rows,
                           columns == 0 ? "" : fmt::format(",{}", columns));
    bytes_.append(reinterpret_cast<const char*>(numbers.data()),
                  numbers.size() * sizeof(Number));
  }
  void Print(const std::string& head) const {
    const std::string line = head + ",\"arrays\":[" + arrays_ + "]}\n";
    std::fwrite(line.data(), 1, line.size(), stdout);
    std::fwrite(bytes_.data(), 1, bytes_.size(), stdout);
  }

 private:
  std::string arrays_;
  std::string bytes_;
};

std::string Quoted(std::string_view text) {
  return JsonWriter().String(text).Take();
}

template <typename List>
std::string JsonList(const List& list) {
  std::string text;
  for (const auto& item : list) {
    text += text.empty() ? "" : ",";
    text += Quoted(item);
  }
  return "[" + text + "]";
}

std::string OperatorWord(const Model& model, NodeId node) {
  const std::string_view domain = model.Domain(node);
  return (domain.empty() || domain == "com.microsoft"
              ? std::string()
              : std::string(domain) + ":") +
         std::string(model.OpType(node));
}

void Dump(const Job& job, const Options& options) {
  const std::string bytes = ReadAll(job.path);
  const Model model = ReadModel(bytes);
  const GraphFacts graph = GatherGraph(model);
  MappingFacts facts;
  if (!job.map.empty()) {
    facts.hierarchy =
        std::make_shared<const ModuleMap>(ReadModuleMap(ReadAll(job.map)));
  }
  const Strategy& strategy = FindStrategy("enhanced_semantic");
  const Evidence evidence =
      GatherEvidence(graph, WantedBy(strategy, model, options.recipes, facts));
  const Placed placed = PlaceDirectly(evidence, strategy, options.names);
  IdVector<NodeId, ModuleId> anchors = placing::FindAnchors(evidence, placed);
  if (job.seed != 0) Thin(evidence, placed, job.seed, anchors);
  const Scene scene(evidence, anchors);

  std::vector<std::string> ops;
  std::unordered_map<std::string, std::int32_t> op_ids;
  std::vector<std::string> modules;
  std::string spelled;
  std::unordered_map<std::uint32_t, std::int32_t> module_ids;
  const auto id_of = [&](ModuleId module) {
    const auto [found, is_new] =
        module_ids.emplace(static_cast<std::uint32_t>(module),
                           static_cast<std::int32_t>(modules.size()));
    if (is_new) {
      modules.push_back(evidence.modules.Path(module));
      spelled += spelled.empty() ? "" : ",";
      spelled += scene.IsSpelled(module) ||
                         evidence.known.InMap(module) != kNo<ModuleId>
                     ? "1"
                     : "0";
    }
    return found->second;
  };
  std::vector<std::int32_t> op, edges, node, cid, mem, graphs, index, anchor,
      follows;
  std::vector<std::uint8_t> nin, ad;
  std::vector<std::int16_t> at, aw, x, cw;
  std::vector<placing::Candidate> candidates;
  std::vector<float> scores, all_scores;
  std::optional<placing::Reading> reading;
  if (options.scores) {
    reading.emplace(placing::Network::BuiltIn(), scene);
    reading->MakeStates();
  }
  std::vector<ModuleId> seen;
  const auto put = [](auto& to, const auto& from) {
    to.insert(to.end(), from.begin(), from.end());
  };
  const bool has_open = [&] {
    for (Position k = 0; k < scene.size(); ++k) {
      if (scene.IsOpen(k)) return true;
    }
    return false;
  }();
  for (Position k = 0; has_open && k < scene.size(); ++k) {
    const placing::Actor& actor = scene[k];
    const auto [found, is_new] = op_ids.emplace(
        OperatorWord(model, actor.node), static_cast<std::int32_t>(ops.size()));
    if (is_new) ops.push_back(found->first);
    op.push_back(found->second);
    put(nin, actor.counts);
    put(ad, actor.depths);
    at.push_back(static_cast<std::int16_t>(actor.attribute));
    put(aw, actor.words);
    for (const Position maker : scene.Makers(k)) {
      edges.push_back(static_cast<std::int32_t>(maker));
      edges.push_back(static_cast<std::int32_t>(k));
    }
    graphs.push_back(static_cast<std::int32_t>(model[actor.node].graph));
    index.push_back(static_cast<std::int32_t>(model[actor.node].index));
    anchor.push_back(scene.IsOpen(k) ? -1 : id_of(actor.anchor));
    if (!scene.IsOpen(k)) continue;
    scene.FindCandidates(k, candidates);
    if (reading) {
      reading->Score(k, candidates, scores);
      put(all_scores, scores);
    }
    for (const placing::Candidate& candidate : candidates) {
      node.push_back(static_cast<std::int32_t>(k));
      cid.push_back(id_of(candidate.module));
      put(x, candidate.features);
      put(cw, candidate.words);
      seen.push_back(candidate.module);
    }
  }
  SortUnique(seen);
  for (const ModuleId module : seen) {
    for (const Position member : scene.Members(module)) {
      mem.push_back(static_cast<std::int32_t>(member));
      mem.push_back(id_of(module));
    }
  }
  if (has_open) {
    for (const auto& [follower, position] : scene.followers()) {
      follows.push_back(static_cast<std::int32_t>(model[follower].graph));
      follows.push_back(static_cast<std::int32_t>(model[follower].index));
      follows.push_back(static_cast<std::int32_t>(position));
    }
  }
  Record record;
  record.Add("op", "int32", op);
  record.Add("nin", "uint8", nin, placing::kCounts);
  record.Add("at", "int16", at);
  record.Add("aw", "int16", aw,
             placing::kNamesOfAnchor * placing::kWordsOfName);
  record.Add("ad", "uint8", ad, placing::kDepths);
  record.Add("edges", "int32", edges, 2);
  record.Add("X", "int16", x, placing::kFeatures);
  record.Add("node", "int32", node);
  record.Add("cid", "int32", cid);
  record.Add("cw", "int16", cw,
             placing::kNamesOfCandidate * placing::kWordsOfName);
  record.Add("mem", "int32", mem, 2);
  record.Add("graph", "int32", graphs);
  record.Add("index", "int32", index);
  record.Add("anchor", "int32", anchor);
  record.Add("follows", "int32", follows, 3);
  if (reading) record.Add("score", "float32", all_scores);
  record.Print(
      fmt::format("{{\"file\":{},\"seed\":{},\"n\":{},\"rows\":{},\"ops\":{},"
                  "\"modules\":{},\"spelled\":[{}]",
                  Quoted(job.path), job.seed, op.size(), node.size(),
                  JsonList(ops), JsonList(modules), spelled));
}

std::vector<Job> JobsOf(const Options& options) {
  std::vector<Job> jobs;
  const std::uint64_t seed =
      ParseWhole<std::uint64_t>(options.seed).value_or(0);
  const fs::path path(options.path);
  if (fs::is_directory(path)) {
    for (const auto& entry : fs::recursive_directory_iterator(path)) {
      if (entry.path().extension() != ".onnx") continue;
      jobs.push_back({entry.path().string(), options.map, seed});
    }
    SortBy(jobs, &Job::path);
  } else if (path.extension() == ".onnx") {
    jobs.push_back({path.string(), options.map, seed});
  } else {
    const std::string list = ReadAll(path);
    std::string_view text = list;
    while (!text.empty()) {
      std::string_view line = text.substr(0, text.find('\n'));
      text.remove_prefix(std::min(line.size() + 1, text.size()));
      if (line.empty()) continue;
      Job job{"", options.map, seed};
      for (int i = 0; i < 3 && !line.empty(); ++i) {
        const std::string_view word = line.substr(0, line.find('\t'));
        line.remove_prefix(std::min(word.size() + 1, line.size()));
        if (i == 0) job.path = word;
        if (i == 1 && !word.empty()) job.map = word;
        if (i == 2) job.seed = ParseWhole<std::uint64_t>(word).value_or(0);
      }
      jobs.push_back(std::move(job));
    }
  }
  return jobs;
}

int Run(const Options& options) {
  for (const Job& job : JobsOf(options)) {
    try {
      Dump(job, options);
    } catch (const std::exception& error) {
      fmt::print("{{\"file\":{},\"error\":{}}}\n", Quoted(job.path),
                 Quoted(error.what()));
    }
    std::fflush(stdout);
  }
  return 0;
}

}  // namespace
}  // namespace onnx_tag::bench

int main(int argc, char** argv) {
  using namespace onnx_tag::bench;
  Options options;
  CommandLine line("placement_dump FILE|FOLDER|LIST");
  line.Flag("--no-recipes", options.recipes, false);
  line.Flag("--no-names", options.names, false);
  line.Flag("--scores", options.scores);
  line.Value("--map", options.map, "FILE");
  line.Value("--thin", options.seed, "SEED");
  if (!line.Parse(argc, argv, options.path)) return line.Usage();
  return Run(options);
}
