// A search for models that cost more than their size explains. A candidate is a
// few pieces, each of which adds nodes in its own way; the best of them are
// changed and tried again. What grows faster at small sizes is doubled until it
// does not, or is a finding.
//
//   ONNX_TAG_HUNT_SECONDS=3600 ONNX_TAG_HUNT_SEED=7 build-growth/growth_test \
//     --gtest_filter='Hunt*'
#include <fmt/core.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdlib>
#include <unordered_map>

#include "growth/graph.h"
#include "growth/measure.h"

namespace onnx_tag::test {
namespace {

// n log n, and what a few limits of the program add below them.
constexpr double kSteepest = 1.15;
constexpr U32 kFirstSize = 200;
constexpr U32 kLastSize = 25'600;

constexpr std::array<std::string_view, 27> kPieces = {
    "chain",     "fan_out",  "fan_in",  "window",    "clique",    "ladder",
    "block",     "noise",    "product", "shared",    "parameter", "quantized",
    "split",     "output",   "input",   "long_name", "branch",    "capture",
    "functions", "overload", "call",    "constant",  "norm",      "dynamo",
    "hub",       "table",    "gemm"};
constexpr U32 kNameStyles = 12;

struct Piece {
  U32 kind = 0;
  U32 op = 0;
  U32 names = 0;
  U32 weights = 0;
  U32 span = 1;
};

struct Candidate {
  std::vector<Piece> pieces;
  bool interleaved = false;
  U32 pair = 0;  // how the second version differs
};

std::string Text(const Candidate& candidate) {
  std::string text;
  for (const Piece& piece : candidate.pieces) {
    text += fmt::format("{}({} names{} weights{} span{}) ", kPieces[piece.kind],
                        kOps[piece.op], piece.names, piece.weights, piece.span);
  }
  return text + fmt::format("{}pair{}",
                            candidate.interleaved ? "interleaved " : "",
                            candidate.pair);
}

std::string NumberedPath(U32 style, U32 i, U32 n, U32 span) {
  switch (style) {
    case 1:
      return fmt::format("layers.{}/fc", i);
    case 2:
      return "m";
    case 3:
      return i % span == 0 ? "block" : fmt::format("block_{}", i % span);
    case 4:
      return fmt::format("layers.{}/fc", i % span);
    case 5:
      return fmt::format("a/b.{}/c.{}", i / span, i % span);
    case 6:
      return std::string(200, 'p') + std::to_string(i);
    case 7:
      return fmt::format("l.{}/l.{}/l.{}", i / 64, i / 8 % 8, i % 8);
    case 8:
      return fmt::format("layers.{}", n - i);
    case 9:
      return fmt::format("m{}", i);
    case 10:
      return fmt::format("layers.{}/attn", i * span % n);
    default:
      return "layers.0/mlp";
  }
}

// Puts a candidate together at a size, with a recording of it.
class Grower {
 public:
  Grower(U32 n, U32 seed, bool names) : n_(n), graph_(seed), names_(names) {
    graph_.Input("x");
    graph_.Weight("shared.weight", {4, 4});
    graph_.Weight("onnx::Mul_7", {4, 4});
    Id("x");
  }

  void Grow(const Candidate& candidate) {
    const auto count = static_cast<U32>(candidate.pieces.size());
    first_.assign(count, "");
    for (U32 i = 0; i < n_; ++i) {
      const U32 at = candidate.interleaved
                         ? i % count
                         : static_cast<U32>(std::uint64_t{i} * count / n_);
      Step(candidate.pieces[at], at, i);
    }
    if (loose_.size() > 1 && gathers_) Node("Concat", loose_);
    for (const std::string& value : outputs_) graph_.Output(value);
    graph_.Output(last_);
  }

  std::string Model() const { return graph_.Model(); }
  std::string Recording() const {
    return R"({"format": "onnx-tag-recording/1", "modules": {"": "Net")" +
           modules_ +
           R"(}, "inputs": [{"name": "x", "value": 0}], "values": [)" +
           values_ + R"(], "events": [)" + events_ + "]}";
  }

 private:
  std::string Fresh() { return "v" + std::to_string(made_++); }
  std::string Name(std::string_view op) {
    if (!names_ || piece_->names == 0) return "";
    const std::string path = NumberedPath(piece_->names, i_, n_, piece_->span);
    return fmt::format("/{}/{}{}", path, op,
                       i_ % 3 == 0 ? "" : fmt::format("_{}", i_));
  }
  std::string Weight() {
    std::string path = NumberedPath(piece_->weights, i_, n_, piece_->span);
    std::replace(path.begin(), path.end(), '/', '.');
    path += piece_->weights == 0 ? std::to_string(i_) : ".weight";
    if (ids_.contains(path)) return path;
    Id(path);
    graph_.Weight(path, {4, 4});
    return path;
  }
  std::size_t Id(const std::string& value) {
    const auto [at, added] = ids_.try_emplace(value, ids_.size());
    if (added) {
      values_ += fmt::format(R"({}{{"dtype": "float32", "shape": [4, 4]{}}})",
                             ids_.size() == 1 ? "" : ",\n",
                             value == "x" ? R"(, "kind": "input")" : "");
    }
    return at->second;
  }

  // A node, and what was recorded of it; gives its first output.
  std::string Node(std::string_view op, const Names& inputs,
                   std::string_view more = "", Names outputs = {}) {
    if (outputs.empty()) outputs.push_back(Fresh());
    graph_.Add(op, inputs, outputs, Name(op), more);
    std::string read;
    for (const std::string& input : inputs) {
      read += fmt::format("{}{}", read.empty() ? "" : ", ", Id(input));
    }
    const std::string module = NumberedPath(piece_->names, i_, n_, 4);
    events_ += fmt::format(
        R"({}{{"op": "aten.{}.default", "module": "{}", "call": {}, )"
        R"("inputs": [{}], "outputs": [{}]}})",
        events_.empty() ? "" : ",\n",
        op == "MatMul" ? "mm"
        : op == "Add"  ? "add"
                       : "relu",
        module, i_, read, Id(outputs.front()));
    if (modules_seen_.insert(module).second) {
      modules_ += fmt::format(R"(, "{}": "Linear")", module);
    }
    made_values_.push_back(outputs.front());
    return outputs.front();
  }
  const std::string& Earlier(U32 back) const {
    return made_values_[made_values_.size() -
                        std::min<std::size_t>(back, made_values_.size())];
  }

  void Step(const Piece& piece, U32 at, U32 i) {
    piece_ = &piece;
    i_ = i;
    const std::string_view op = kOps[piece.op];
    std::string& first = first_[at];
    const bool is_first = first.empty();
    if (is_first) first = last_;
    const std::string_view kind = kPieces[piece.kind];
    if (kind == "fan_out" || kind == "fan_in") {
      loose_.push_back(Node(op, {first}));
      gathers_ |= kind == "fan_in";
    } else if (kind == "window" && !made_values_.empty()) {
      last_ = Node("Add", {last_, Earlier(piece.span)});
    } else if (kind == "clique" && !made_values_.empty()) {
      Names inputs;
      for (U32 k = 0; k < 8; ++k) {
        inputs.push_back(Earlier(1 + graph_.Random(8 * piece.span)));
      }
      last_ = Node("Concat", inputs);
    } else if (kind == "ladder" && !made_values_.empty()) {
      last_ = Node(op, {last_, Earlier(2)});
    } else if (kind == "block" || kind == "noise") {
      const std::string start = last_;
      last_ = Node("MatMul", {last_, Weight()});
      if (kind == "noise" && i % piece.span == 0) last_ = Node(op, {last_});
      last_ = Node("Relu", {last_});
      last_ = Node("Add", {start, last_});
    } else if (kind == "product") {
      last_ = Node("MatMul", {last_, Weight()});
    } else if (kind == "shared") {
      last_ = Node(op, {last_, "shared.weight"});
    } else if (kind == "parameter") {
      const std::string name = fmt::format("m.p{}", i);
      graph_.Weight(name, {4, 4});
      last_ = Node("Add", {last_, name});
    } else if (kind == "quantized") {
      const std::string carried = Node("DequantizeLinear", {Weight()});
      const std::string shrunk = Node("QuantizeLinear", {last_});
      last_ = Node("MatMul", {Node("DequantizeLinear", {shrunk}), carried});
    } else if (kind == "split") {
      if (is_first) {
        for (U32 k = 0; k < n_; ++k) split_.push_back(Fresh());
        Node("Split", {first}, "", split_);
      }
      loose_.push_back(Node(op, {split_[i % split_.size()]}));
      outputs_.push_back(loose_.back());
    } else if (kind == "output") {
      last_ = Node(op, {last_});
      outputs_.push_back(last_);
    } else if (kind == "input") {
      const std::string name = fmt::format("in{}", i);
      graph_.OpenInput(name);
      last_ = Node("Add", {last_, name});
    } else if (kind == "long_name") {
      const std::string value =
          is_first ? std::string(8 * std::size_t{n_}, 's') : Fresh();
      last_ = Node(op, {last_}, "", {value});
    } else if (kind == "branch" || kind == "capture") {
      const std::string& read =
          kind == "branch" || made_values_.empty()
              ? last_
              : Earlier(1 + graph_.Random(64 * piece.span));
      last_ = Node("If", {last_},
                   Graph::Subgraph("then_branch",
                                   {Graph::Node(op, {read}, {"o"})}, "o"));
    } else if (kind == "functions" || kind == "overload" || kind == "call") {
      const std::string name =
          kind == "functions" ? fmt::format("F{}", i) : "F";
      const std::string overload =
          kind == "overload" ? fmt::format("o{}", i) : "";
      if (kind != "call" || is_first) {
        graph_.Function(name, Graph::Node(op, {"a"}, {"b"}), overload);
      }
      last_ = Node(name, {last_},
                   BytesField(7, "pkg") +
                       (overload.empty() ? "" : BytesField(8, overload)));
    } else if (kind == "hub") {
      // One node reads the first half of them, the others read that node.
      if (i < n_ / 2) {
        hub_.push_back(Node(op, {first}));
      } else {
        if (hub_value_.empty()) {
          hub_value_ = Node("Concat", hub_.empty() ? Names{first} : hub_);
        }
        loose_.push_back(Node(op, {hub_value_}));
      }
    } else if (kind == "table") {
      loose_.push_back(Node("Mul", {first, "onnx::Mul_7"}));
    } else if (kind == "gemm") {
      if (reshaped_.empty()) {
        reshaped_ = Node("Reshape", {first, "shared.weight"});
      }
      loose_.push_back(Node("Gemm", {reshaped_, Weight()}));
    } else if (kind == "constant") {
      last_ = Node("Reshape", {last_, Node("Constant", {})});
    } else if (kind == "norm") {
      const std::string mean = Node("ReduceMean", {last_});
      const std::string rest = Node("Sub", {last_, mean});
      const std::string power = Node("Pow", {rest, "shared.weight"});
      last_ = Node("Div", {rest, Node("Sqrt", {Node("ReduceMean", {power})})});
    } else if (kind == "dynamo") {
      const std::string path = NumberedPath(piece.names, i, n_, piece.span);
      last_ =
          Node(op, {last_},
               Graph::Meta({{"pkg.torch.onnx.name_scopes",
                             fmt::format("['', '{}', 'op_{}']", path, i)},
                            {"pkg.torch.onnx.class_hierarchy",
                             "['m.Net', 'm.Block', 'aten.relu.default']"}}));
    } else {
      last_ = Node(op, {last_});
    }
  }

  const U32 n_;
  Graph graph_;
  const bool names_;
  const Piece* piece_ = nullptr;
  U32 i_ = 0;
  U32 made_ = 0;
  std::string last_ = "x";
  Names first_, loose_, split_, outputs_, made_values_, hub_;
  std::string hub_value_, reshaped_;
  bool gathers_ = false;
  std::unordered_map<std::string, std::size_t> ids_;
  std::set<std::string> modules_seen_;
  std::string values_, events_, modules_;
};

class Hunt {
 public:
  explicit Hunt(U32 seed) : random_(seed) {}

  void Run(std::chrono::seconds time) {
    const auto start = std::chrono::steady_clock::now();
    while (SecondsSince(start) < time.count()) {
      const Candidate candidate = Next();
      fmt::print("{:5} {:4} s {}\n", tried_, SecondsSince(start),
                 Text(candidate));
      std::fflush(stdout);
      Try(candidate);
      ++tried_;
    }
    for (const auto& [command, exponent] : worst_) {
      fmt::print("{:13} {:.2f}\n", command, exponent);
    }
    fmt::print("{} candidates, {} doubled, {} findings\n", tried_, doubled_,
               findings_);
  }

 private:
  static std::int64_t SecondsSince(std::chrono::steady_clock::time_point time) {
    return std::chrono::duration_cast<std::chrono::seconds>(
               std::chrono::steady_clock::now() - time)
        .count();
  }
  U32 Random(U32 below) { return static_cast<U32>(random_() % below); }

  Piece AnyPiece() {
    return {Random(kPieces.size()), Random(kOps.size()), Random(kNameStyles),
            Random(kNameStyles), 1u << Random(8)};
  }
  Candidate Next() {
    Candidate candidate;
    // Each piece alone, then by chance, then from the best.
    if (tried_ < kPieces.size()) {
      candidate.pieces = {AnyPiece()};
      candidate.pieces[0].kind = tried_;
      return candidate;
    }
    if (Random(4) == 0) {
      for (U32 i = 1 + Random(4); i > 0; --i) {
        candidate.pieces.push_back(AnyPiece());
      }
    } else {
      candidate = best_[Random(static_cast<U32>(best_.size()))].second;
      std::vector<Piece>& pieces = candidate.pieces;
      Piece& piece = pieces[Random(static_cast<U32>(pieces.size()))];
      switch (Random(5)) {
        case 0:
          if (pieces.size() < 5) pieces.push_back(AnyPiece());
          break;
        case 1:
          if (pieces.size() > 1) pieces.erase(pieces.begin());
          break;
        case 2:
          piece = AnyPiece();
          break;
        case 3:
          piece.names = Random(kNameStyles);
          piece.weights = Random(kNameStyles);
          break;
        default:
          piece.op = Random(kOps.size());
          piece.span = 1u << Random(8);
          break;
      }
    }
    candidate.interleaved = Random(2) == 0;
    candidate.pair = Random(4);
    return candidate;
  }

  static Inputs InputsAt(const Candidate& candidate, U32 n) {
    Grower a(n, 1, true);
    a.Grow(candidate);
    Candidate other = candidate;
    if (candidate.pair == 2 && other.pieces.size() > 1) other.pieces.pop_back();
    if (candidate.pair == 3) other.interleaved = !other.interleaved;
    Grower b(n + n / 50, 2, candidate.pair != 1);
    b.Grow(other);
    return {a.Model(), b.Model(), a.Recording()};
  }

  void Try(const Candidate& candidate) {
    // Recordings take most of the time, because all operations of a window are
    // compared.
    std::set<std::string_view> tried;
    for (const Command& command : Commands()) {
      if (command.name != "recording" || tried_ % 16 == 15) {
        tried.insert(command.name);
      }
    }
    std::vector<Measured> at;
    U32 n = kFirstSize;
    for (; at.size() < 3; n *= 2) {
      at.push_back(Measure(InputsAt(candidate, n), n, tried));
    }
    std::set<std::string_view> steep;
    double score = 0;
    for (const auto& [command, work] : at.back().work) {
      const double exponent = Exponent(at, 2, command);
      const double per_byte =
          static_cast<double>(work) / static_cast<double>(at.back().bytes);
      // Below the size of its window, a recording says nothing of a candidate.
      if (command != "recording") {
        score = std::max(score, exponent + 0.02 * std::log2(per_byte));
      }
      if (exponent > kSteepest) {
        steep.insert(command);
      } else {
        Note(command, exponent);
      }
    }
    Keep(score, candidate);
    if (steep.empty()) return;
    ++doubled_;
    for (; !steep.empty() && n <= kLastSize; n *= 2) {
      at.push_back(Measure(InputsAt(candidate, n), n, steep));
      for (const std::string_view command : steep) {
        fmt::print("      {} nodes: {} {:.2f}\n", n, command,
                   Exponent(at, at.size() - 1, command));
      }
      std::erase_if(steep, [&](std::string_view command) {
        const double exponent = Exponent(at, at.size() - 1, command);
        if (exponent <= kSteepest) Note(command, exponent);
        return exponent <= kSteepest;
      });
    }
    for (const std::string_view command : steep) {
      const double exponent = Exponent(at, at.size() - 1, command);
      Note(command, exponent);
      ++findings_;
      ADD_FAILURE() << command << " grows with exponent " << exponent << ": "
                    << Text(candidate);
    }
  }

  void Note(std::string_view command, double exponent) {
    double& worst = worst_[command];
    worst = std::max(worst, exponent);
  }
  void Keep(double score, const Candidate& candidate) {
    constexpr std::size_t kBest = 24;
    best_.emplace_back(score, candidate);
    std::sort(best_.begin(), best_.end(),
              [](const auto& a, const auto& b) { return a.first > b.first; });
    if (best_.size() > kBest) best_.pop_back();
  }

  std::mt19937 random_;
  std::vector<std::pair<double, Candidate>> best_;
  std::map<std::string_view, double> worst_;
  U32 tried_ = 0;
  U32 doubled_ = 0;
  U32 findings_ = 0;
};

U32 NumberFrom(const char* variable, U32 usual) {
  const char* const text = std::getenv(variable);
  return text == nullptr ? usual : static_cast<U32>(std::atoi(text));
}

TEST(HuntTest, NoCandidateCostsMoreThanItsSize) {
  Hunt hunt(NumberFrom("ONNX_TAG_HUNT_SEED", 1));
  hunt.Run(std::chrono::seconds(NumberFrom("ONNX_TAG_HUNT_SECONDS", 60)));
}

}  // namespace
}  // namespace onnx_tag::test
