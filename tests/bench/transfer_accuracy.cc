// Scores `transfer` on models whose answers are known.
//
//   transfer_accuracy TRUTH_DIR [--from VARIANT] [--model GLOB]
//                     [--variant GLOB] [--files] [--worst N] [--nodes]
//                     [--sidecar] [--seed N] [--floors FILE] [--beside-tag]
//
// The truth of FROM (default ts) is carried onto every other variant of the
// same model and compared with that variant's own truth. Neither mapping TO
// again nor copying indices can pass: every attribute name of FROM's modules
// is first replaced by nonsense, one for one (indices stay indices, so that
// layers can be told), and TO's nodes are put into another order that its
// edges allow.
//
// --beside-tag does what a user does instead: FROM is tagged as `tag` does it,
// the whole command is run, and its tags stand beside those of `tag` on TO.
// Exit 1 if a row of the table has fewer exact tags or fewer tags than `tag`.
#include <fmt/core.h>

#include <algorithm>
#include <cstdio>
#include <map>
#include <random>
#include <string>
#include <unordered_map>
#include <vector>

#include "base/text.h"
#include "command_line.h"
#include "core/tagging/sidecar.h"
#include "onnx_tag/interner.h"
#include "onnx_tag/mapping.h"
#include "onnx_tag/transfer.h"
#include "onnx_tag_schema.pb.h"
#include "score_report.h"
#include "truth.h"

namespace onnx_tag::bench {
namespace {

struct Options {
  std::string truth;
  std::string from = "ts";
  std::string model = "*";
  std::string variant = "*";
  std::string floors;
  std::size_t worst = 0;
  std::size_t seed = 1;
  bool files = false;
  bool nodes = false;
  bool sidecar = false;
  bool beside_tag = false;
};

std::string Nonsense(const std::string& path) {
  std::string result;
  if (path.empty()) return result;
  for (const std::string_view atom : Split(path, '.')) {
    if (!result.empty()) result += '.';
    const bool index =
        !atom.empty() && atom.find_first_not_of("0123456789") == atom.npos;
    result +=
        index ? std::string(atom) : fmt::format("q{:016x}", HashBytes(atom));
  }
  return result;
}

// Puts a model's nodes into another order.
class Shuffle {
 public:
  Shuffle(const std::string& bytes, std::uint32_t seed) : random_(seed) {
    model_.ParseFromString(bytes);
    ShuffleGraph(model_.mutable_graph(), "", "");
    bytes_ = model_.SerializeAsString();
  }
  const std::string& bytes() const { return bytes_; }
  // "graph\tindex" before and after.
  const std::string& NewPlace(const std::string& place) const {
    const auto at = places_.find(place);
    return at == places_.end() ? place : at->second;
  }

 private:
  void CollectReads(const schema::NodeProto& node,
                    std::vector<std::string>& reads) {
    for (const std::string& input : node.input()) reads.push_back(input);
    for (const auto& attribute : node.attribute()) {
      for (const auto& inner : attribute.g().node()) CollectReads(inner, reads);
      for (const auto& output : attribute.g().output()) {
        reads.push_back(output.name());
      }
      for (const auto& graph : attribute.graphs()) {
        for (const auto& inner : graph.node()) CollectReads(inner, reads);
      }
    }
  }

  std::vector<int> RandomOrder(const schema::GraphProto& graph) {
    const int count = graph.node_size();
    std::unordered_map<std::string, int> producer;
    for (int i = 0; i < count; ++i) {
      for (const auto& output : graph.node(i).output()) {
        if (!output.empty()) producer.emplace(output, i);
      }
    }
    std::vector<std::vector<int>> readers(static_cast<std::size_t>(count));
    std::vector<int> waits(static_cast<std::size_t>(count), 0);
    for (int i = 0; i < count; ++i) {
      std::vector<std::string> reads;
      CollectReads(graph.node(i), reads);
      for (const std::string& name : reads) {
        const auto at = producer.find(name);
        if (at == producer.end() || at->second == i) continue;
        readers[static_cast<std::size_t>(at->second)].push_back(i);
        ++waits[static_cast<std::size_t>(i)];
      }
    }
    std::vector<int> ready;
    for (int i = 0; i < count; ++i) {
      if (waits[static_cast<std::size_t>(i)] == 0) ready.push_back(i);
    }
    std::vector<int> order;
    while (!ready.empty()) {
      const std::size_t pick = random_() % ready.size();
      const int node = ready[pick];
      ready[pick] = ready.back();
      ready.pop_back();
      order.push_back(node);
      for (const int reader : readers[static_cast<std::size_t>(node)]) {
        if (--waits[static_cast<std::size_t>(reader)] == 0) {
          ready.push_back(reader);
        }
      }
    }
    return order;
  }

  void ShuffleGraph(schema::GraphProto* graph, const std::string& old_path,
                    const std::string& new_path) {
    const std::vector<int> order = RandomOrder(*graph);
    if (order.size() != static_cast<std::size_t>(graph->node_size())) return;
    google::protobuf::RepeatedPtrField<schema::NodeProto> nodes;
    nodes.Swap(graph->mutable_node());
    for (std::size_t i = 0; i < order.size(); ++i) {
      schema::NodeProto* node = graph->add_node();
      node->Swap(nodes.Mutable(order[i]));
      places_[fmt::format("{}\t{}", old_path, order[i])] =
          fmt::format("{}\t{}", new_path, i);
      for (auto& attribute : *node->mutable_attribute()) {
        if (!attribute.has_g()) continue;
        const auto inner = [&](const std::string& path, auto index) {
          return fmt::format("{}{}{}:{}", path, path.empty() ? "" : "/", index,
                             attribute.name());
        };
        ShuffleGraph(attribute.mutable_g(), inner(old_path, order[i]),
                     inner(new_path, i));
      }
    }
  }

  std::mt19937 random_;
  schema::ModelProto model_;
  std::string bytes_;
  std::unordered_map<std::string, std::string> places_;
};

// FROM: the truth as a tagging, in nonsense.
Tagging TruthTagging(const Model& model, const std::vector<TruthRow>& rows) {
  Tagging tagging;
  tagging.roles.Add(Role());
  tagging.tags.resize(model.node_count());
  for (const TruthRow& row : rows) {
    tagging.tags[row.node] = {
        .module = tagging.modules.Add(Nonsense(row.module)),
        .confidence = Confidence::kCertain};
  }
  return tagging;
}

std::string Place(const Model& model, NodeId node) {
  return fmt::format("{}\t{}", model.GraphPath(model[node].graph),
                     model[node].index);
}

// The tags of `transfer` beside those of `tag`.
class BesideTag {
 public:
  explicit BesideTag(const Options& options) : options_(options) {}

  int Run() {
    for (const TruthFile& from :
         FindTruth(options_.truth, options_.model, options_.from)) {
      const std::string bytes = from.Bytes();
      const Model model = ReadModel(bytes);
      const Tagging tags = MapNodes(model, {});
      for (const TruthFile& to :
           FindTruth(options_.truth, from.model, options_.variant)) {
        if (to.variant == options_.from) continue;
        const std::string to_bytes = to.Bytes();
        const Model to_model = ReadModel(to_bytes);
        const auto rows = ReadTruth(to, to_model);
        const Tagging mapped = MapNodes(to_model, {});
        const Tagging carried =
            TransferOrMap(model, tags, to_model, {}).tagging;
        Pair pair{ScoreOf(mapped, rows), ScoreOf(carried, rows)};
        if (options_.files && pair.IsLower()) {
          Print(to.model + "/" + to.variant, pair);
        }
        if (options_.nodes) PrintLost(to, to_model, mapped, carried, rows);
        by_variant_[to.variant].tag.Add(pair.tag);
        by_variant_[to.variant].transfer.Add(pair.transfer);
        all_.tag.Add(pair.tag);
        all_.transfer.Add(pair.transfer);
      }
    }
    fmt::print("{:24} {:>4} {:>7}  {:>6} {:>6} {:>6}  {:>6} {:>6} {:>6}\n",
               "onto", "file", "nodes", "tag", "tagged", "wrong", "exact",
               "tagged", "wrong");
    bool lower = false;
    for (const auto& [variant, pair] : by_variant_) {
      Print(variant, pair);
      lower |= pair.IsLower();
    }
    Print("all", all_);
    return lower ? 1 : 0;
  }

 private:
  struct Pair {
    Score tag;
    Score transfer;

    bool IsLower() const {
      return transfer.exact < tag.exact || transfer.untagged > tag.untagged;
    }
  };

  static Score ScoreOf(const Tagging& tagging,
                       const std::vector<TruthRow>& rows) {
    Score score;
    score.files = 1;
    for (const TruthRow& row : rows) {
      ++score.rows;
      const Tag& tag = tagging.tags[row.node];
      if (!tag.tagged()) {
        ++score.untagged;
      } else {
        score.Add(Judge(tagging.modules.Path(tag.module), row), tag.confidence);
      }
    }
    return score;
  }

  // The nodes that `tag` places right and `transfer` does not.
  static void PrintLost(const TruthFile& file, const Model& model,
                        const Tagging& mapped, const Tagging& carried,
                        const std::vector<TruthRow>& rows) {
    const auto say = [](const Tagging& tagging, NodeId node) {
      const Tag& tag = tagging.tags[node];
      if (!tag.tagged()) return std::string("-");
      return fmt::format("{} ({} {})", tagging.modules.Path(tag.module),
                         kConfidenceNames[static_cast<int>(tag.confidence)],
                         kSourceNames[static_cast<int>(tag.source)]);
    };
    const auto right = [](const Tagging& tagging, const TruthRow& row) {
      const Tag& tag = tagging.tags[row.node];
      return tag.tagged() &&
             Judge(tagging.modules.Path(tag.module), row) == Verdict::kExact;
    };
    for (const TruthRow& row : rows) {
      if (!right(mapped, row) || right(carried, row)) continue;
      fmt::print("  {}/{} {} {}: tag {} transfer {}\n", file.model,
                 file.variant, row.op, model[row.node].name,
                 say(mapped, row.node), say(carried, row.node));
    }
  }

  static void Print(const std::string& name, const Pair& pair) {
    const auto& [tag, transfer] = pair;
    fmt::print("{:24} {:4} {:7}  {:>6} {:>6} {:>6}  {:>6} {:>6} {:>6}{}\n",
               name, tag.files, tag.rows, Percent(tag.exact, tag.rows),
               Percent(tag.rows - tag.untagged, tag.rows),
               Percent(tag.wrong, tag.rows),
               Percent(transfer.exact, transfer.rows),
               Percent(transfer.rows - transfer.untagged, transfer.rows),
               Percent(transfer.wrong, transfer.rows),
               pair.IsLower() ? "  lower" : "");
  }

  const Options& options_;
  std::map<std::string, Pair> by_variant_;
  Pair all_;
};

class TransferAccuracy {
 public:
  explicit TransferAccuracy(const Options& options)
      : options_(options), floors_(options.floors, "transfer") {}

  int Run() {
    for (const TruthFile& from :
         FindTruth(options_.truth, options_.model, options_.from)) {
      const std::string bytes = from.Bytes();
      const Model model = ReadModel(bytes);
      const Tagging tags = TruthTagging(model, ReadTruth(from, model));
      for (const TruthFile& to :
           FindTruth(options_.truth, from.model, options_.variant)) {
        if (to.variant == options_.from || !floors_.Wants(to.variant)) continue;
        const Score score = ScoreFile(model, tags, to);
        if (options_.files) Print(to.model + "/" + to.variant, score);
        by_variant_[to.variant].Add(score);
        all_.Add(score);
      }
    }
    PrintTable();
    return CheckFloors(floors_, by_variant_);
  }

 private:
  Tagging Carry(const Model& from, const Tagging& tags, const Model& to) {
    if (!options_.sidecar) return TransferTags(from, tags, to);
    std::string json;
    WriteSidecar(from, tags, AboutModel("from.onnx", from, tags),
                 [&](Bytes bytes) { json += bytes; });
    const Sidecar sidecar = ReadSidecar(json);
    return TransferTags(sidecar.graph, sidecar.tagging, to);
  }

  Score ScoreFile(const Model& from, const Tagging& tags, const TruthFile& to) {
    const std::string bytes = to.Bytes();
    const Model original = ReadModel(bytes);
    const Shuffle shuffle(bytes, static_cast<std::uint32_t>(options_.seed));
    const Model model = ReadModel(shuffle.bytes());
    std::unordered_map<std::string, NodeId> nodes;
    for (const NodeId node : model.Nodes()) nodes[Place(model, node)] = node;
    const Tagging carried = Carry(from, tags, model);

    Score score;
    score.files = 1;
    for (TruthRow& row : ReadTruth(to, original)) {
      ++score.rows;
      const std::string plain = row.module;
      row.node = nodes.at(shuffle.NewPlace(Place(original, row.node)));
      row.module = Nonsense(row.module);
      for (std::string& accept : row.accept) accept = Nonsense(accept);
      const Tag& tag = carried.tags[row.node];
      if (!tag.tagged()) {
        ++score.untagged;
        ++misses_[fmt::format("{:23} is {}  got nothing", row.op,
                              Generic(plain))];
        continue;
      }
      const std::string module = carried.modules.Path(tag.module);
      const Verdict verdict = Judge(module, row);
      score.Add(verdict, tag.confidence);
      names_.emplace(row.module, plain);
      if (verdict != Verdict::kExact) {
        NoteMiss(to, model, row, plain, module, verdict, tag.confidence);
      }
    }
    for (const TruthRow& row : ReadTruth(to, original)) {
      names_.emplace(Nonsense(row.module), row.module);
    }
    return score;
  }

  void NoteMiss(const TruthFile& file, const Model& model, const TruthRow& row,
                const std::string& plain, const std::string& module,
                Verdict verdict, Confidence confidence) {
    const auto at = names_.find(module);
    const std::string got = at == names_.end() ? module : at->second;
    constexpr std::array<std::string_view, 4> kWords = {"", "above", "WRONG",
                                                        "LAYER"};
    const std::string_view word = kWords[static_cast<std::size_t>(verdict)];
    const std::string_view level =
        kConfidenceNames[static_cast<std::size_t>(confidence)];
    if (options_.nodes) {
      fmt::print("  {}/{} {} {} {} is {} got {} {} {}\n", file.model,
                 file.variant, Place(model, row.node), row.op,
                 model[row.node].name, plain, got, word, level);
    }
    ++misses_[fmt::format("{:23} is {}  got {}  [{} {}]", row.op,
                          Generic(plain), Generic(got), word, level)];
  }

  static void Print(const std::string& name, const Score& s) {
    fmt::print(
        "{:24} {:4} {:7} {:>6} {:>6} {:>6} {:>6} {:>6} {:>6} {:>6} {:>6}\n",
        name, s.files, s.rows, Percent(s.rows - s.untagged, s.rows),
        Percent(s.exact, s.rows), Percent(s.above, s.rows),
        Percent(s.wrong, s.rows), Percent(s.layer, s.rows),
        Percent(s.level_exact[3], s.level_rows[3]),
        Percent(s.level_exact[2], s.level_rows[2]),
        Percent(s.level_exact[1], s.level_rows[1]));
  }

  void PrintTable() const {
    fmt::print(
        "{:24} {:>4} {:>7} {:>6} {:>6} {:>6} {:>6} {:>6} {:>6} {:>6} {:>6}\n",
        "onto", "file", "nodes", "tagged", "exact", "above", "wrong", "layer!",
        "cert", "high", "med");
    for (const auto& [variant, score] : by_variant_) Print(variant, score);
    Print("all", all_);
    PrintWorst(misses_, options_.worst);
  }

  const Options& options_;
  const Floors floors_;
  std::map<std::string, Score> by_variant_;
  Score all_;
  Misses misses_;
  std::unordered_map<std::string, std::string> names_;
};

}  // namespace
}  // namespace onnx_tag::bench

int main(int argc, char** argv) {
  using namespace onnx_tag::bench;
  Options options;
  CommandLine line("transfer_accuracy TRUTH_DIR");
  line.Value("--from", options.from, "VARIANT");
  line.Value("--model", options.model, "GLOB");
  line.Value("--variant", options.variant, "GLOB");
  line.Flag("--files", options.files);
  line.Number("--worst", options.worst);
  line.Flag("--nodes", options.nodes);
  line.Flag("--sidecar", options.sidecar);
  line.Number("--seed", options.seed);
  line.Value("--floors", options.floors, "FILE");
  line.Flag("--beside-tag", options.beside_tag);
  if (!line.Parse(argc, argv, options.truth)) return line.Usage();
  if (options.beside_tag) return BesideTag(options).Run();
  return TransferAccuracy(options).Run();
}
