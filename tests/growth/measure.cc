#include "growth/measure.h"

#include <fmt/core.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "growth/count_work.h"
#include "support/run_cli.h"
#include "support/temporary_folder.h"

namespace onnx_tag::test {

// a and b are models of one family, tagged; both have a sidecar. What one
// makes, later ones read.
const std::vector<Command>& Commands() {
  static const std::vector<Command> commands = {
      {"tag", {"tag", "@a.onnx"}},
      {"tag other", {"tag", "@b.onnx"}},
      {"usage_based", {"tag", "@a.onnx", "-o", "-", "-s", "usage_based"}},
      {"universal", {"tag", "@a.onnx", "-o", "-", "-s", "universal"}},
      {"recording",
       // One of another model is refused.
       {"tag", "@a.onnx", "-o", "-", "--recording", "@recording.json"},
       2},
      {"rename nodes", {"tag", "@a.onnx", "-o", "-", "--rename-nodes"}},
      {"explain", {"explain", "@a.onnx", "#0"}},
      {"show", {"show", "@a.tagged.onnx", "--nodes"}},
      {"show sidecar", {"show", "@a.tags.json"}},
      {"memory", {"show", "@a.tagged.onnx", "--measure", "memory"}},
      {"query",
       {"query", "@a.tags.json", "layer>=0 or within=*M* or untagged"}},
      {"select", {"select", "@a.tagged.onnx", "op=Relu", "--for", "ort-quant"}},
      {"layer_ann",
       {"select", "@a.tagged.onnx", "op=MatMul or op=Relu", "--for",
        "layer-ann"}},
      {"diff", {"diff", "@a.tagged.onnx", "@b.tags.json"}},
      {"diff models", {"diff", "@a.tagged.onnx", "@b.tagged.onnx"}},
      {"diff weights",
       {"diff", "@a.tagged.onnx", "@b.tagged.onnx", "--weights"}},
      {"check", {"check", "@a.tagged.onnx"}},
      {"strip", {"strip", "@a.tagged.onnx", "-o", "-"}},
      {"private", {"strip", "@a.tagged.onnx", "--private", "-o", "-"}},
      {"filt", {"filt", "@a.onnx"}},
      {"transfer", {"transfer", "@a.tagged.onnx", "@b.onnx", "-o", "-"}},
      {"lineage",
       {"transfer", "@a.tagged.onnx", "@b.onnx", "--no-sidecar", "--map",
        "@map.jsonl", "--dry-run"}},
      {"profile", {"profile", "@a.tagged.onnx", "@profile.json"}},
      {"graphml", {"export", "@a.tagged.onnx", "--to", "graphml"}},
      {"graphml", {"export", "@a.tagged.onnx", "--to", "graphml"}},
      {"tsv", {"export", "@a.tags.json", "--to", "tsv"}},
      {"netron", {"export", "@a.tagged.onnx", "--to", "netron"}},
      {"weights", {"weights", "@a.tagged.onnx"}},
      {"report", {"report", "@a.tagged.onnx", "-o", "-"}},
      {"report two", {"report", "@a.tagged.onnx", "@b.tagged.onnx", "-o", "-"}},
      // A module of some shapes has no input or no output.
      {"tap", {"tap", "@a.tagged.onnx", "--module", "**", "-o", "-"}, 3},
      {"extract one",
       {"extract", "@a.tagged.onnx", "--module", "@@", "-o", "-"},
       3},
      {"split",
       {"split", "@a.tagged.onnx", "--at", "@@", "--dry-run", "--out-dir",
        "@parts"},
       3},
  };
  return commands;
}

namespace {

std::string ProfileOf(std::uint32_t size) {
  std::string json = "[";
  for (std::uint32_t i = 0; i < size; ++i) {
    json += fmt::format(
        R"({}{{"cat": "Node", "name": "/layers.{}/fc/Op_kernel_time", )"
        R"("dur": {}, "ts": {}, "args": {{"op_name": "Relu"}}}})",
        i == 0 ? "" : ",\n", i, i % 7 + 1, 10 * i);
  }
  return json + "]\n";
}

// The last module in a sidecar that has nodes.
std::string AnyModule(const std::string& sidecar) {
  constexpr std::string_view kKey = "\"module\": \"";
  const std::size_t at = sidecar.rfind(kKey);
  if (at == std::string::npos) return "";
  const std::size_t begin = at + kKey.size();
  return sidecar.substr(begin, sidecar.find('"', begin) - begin);
}

}  // namespace

Measured Measure(const Inputs& inputs, std::uint32_t nodes,
                 const std::set<std::string_view>& only) {
  const TemporaryFolder folder;
  Measured measured;
  measured.nodes = nodes;
  measured.bytes = inputs.a.size();
  folder.Write("a.onnx", inputs.a);
  folder.Write("b.onnx", inputs.b);
  folder.Write("recording.json", inputs.recording);
  folder.Write("profile.json", ProfileOf(nodes));
  for (const Command& command : Commands()) {
    if (!only.empty() && !only.contains(command.name) &&
        !command.name.starts_with("tag")) {
      continue;
    }
    std::vector<std::string> words = command.words;
    for (std::string& word : words) {
      if (word == "@@") {
        word = AnyModule(ReadFile(folder / "a.tags.json"));
      } else if (word.starts_with("@")) {
        word = folder / word.substr(1);
      }
    }
    const std::uint64_t before = WorkSoFar();
    LimitWork(kMostWork * nodes);
    const CliResult result = RunCli(words);
    measured.work[command.name] = WorkSoFar() - before;
    EXPECT_LE(result.exit, command.worst) << command.name << ": " << result.err;
  }
  LimitWork(~std::uint64_t{0} - WorkSoFar());
  return measured;
}

double Exponent(const std::vector<Measured>& at, std::size_t i,
                std::string_view command) {
  const auto work = [&](std::size_t k) {
    return static_cast<double>(at[k].work.at(command)) -
           static_cast<double>(at[k - 1].work.at(command));
  };
  const auto bytes = [&](std::size_t k) {
    return static_cast<double>(at[k].bytes - at[k - 1].bytes);
  };
  const double nodes = at[i].nodes - at[i - 1].nodes;
  // What hardly depends on the size has no exponent.
  if (work(i) < nodes) return 0;
  double most = nodes / bytes(i);
  for (std::size_t k = 1; k < i; ++k) {
    most = std::max(most, work(k) / bytes(k));
  }
  return 1 + std::log(work(i) / bytes(i) / most) /
                 std::log(bytes(i) / bytes(i - 1));
}

}  // namespace onnx_tag::test
