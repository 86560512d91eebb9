// Every command over every shape at three sizes: the work it does grows no
// faster than the file. ONNX_TAG_GROWTH_SIZES="1000,10000,100000" takes other
// sizes; the table that is printed has the work and the exponents.
#include <fmt/core.h>
#include <gtest/gtest.h>

#include <charconv>
#include <cmath>
#include <cstdlib>
#include <functional>
#include <map>

#include "growth/count_work.h"
#include "growth/families.h"
#include "support/run_cli.h"
#include "support/temporary_folder.h"

namespace onnx_tag::test {
namespace {

// n log n, as sorting has it, is 1.11 at the default sizes if nothing else is
// counted.
constexpr double kMostExponent = 1.1;
constexpr std::uint32_t kTiny = 16;

std::vector<std::uint32_t> Sizes() {
  std::vector<std::uint32_t> sizes;
  const char* const asked = std::getenv("ONNX_TAG_GROWTH_SIZES");
  std::string_view rest = asked != nullptr ? asked : "1000,4000,16000";
  while (!rest.empty()) {
    std::uint32_t size = 0;
    const char* const end =
        std::from_chars(rest.data(), rest.data() + rest.size(), size).ptr;
    rest.remove_prefix(static_cast<std::size_t>(end - rest.data()));
    if (rest.starts_with(',')) rest.remove_prefix(1);
    if (size == 0) break;
    sizes.push_back(size);
  }
  return sizes;
}

struct Command {
  std::string_view name;
  std::vector<std::string> words;  // "@x" is the file x of the folder
};

// a and b are models of one family, tagged; both have a sidecar. What one
// makes, later ones read.
const std::vector<Command>& Commands() {
  static const std::vector<Command> commands = {
      {"tag", {"tag", "@a.onnx"}},
      {"tag other", {"tag", "@b.onnx"}},
      {"usage_based", {"tag", "@a.onnx", "-o", "-", "-s", "usage_based"}},
      {"universal", {"tag", "@a.onnx", "-o", "-", "-s", "universal"}},
      {"explain", {"explain", "@a.onnx", "#0"}},
      {"show", {"show", "@a.tagged.onnx", "--nodes"}},
      {"show sidecar", {"show", "@a.tags.json"}},
      {"query",
       {"query", "@a.tags.json", "layer>=0 or within=*M* or untagged"}},
      {"select", {"select", "@a.tagged.onnx", "op=Relu", "--for", "ort-quant"}},
      {"extract", {"select", "@a.tagged.onnx", "op=Relu", "--for", "extract"}},
      {"diff", {"diff", "@a.tagged.onnx", "@b.tags.json"}},
      {"check", {"check", "@a.tagged.onnx"}},
      {"strip", {"strip", "@a.tagged.onnx", "-o", "-"}},
      {"transfer", {"transfer", "@a.tagged.onnx", "@b.onnx", "-o", "-"}},
      {"profile", {"profile", "@a.tagged.onnx", "@profile.json"}},
      {"dot", {"export", "@a.tagged.onnx", "--to", "dot"}},
      {"graphml", {"export", "@a.tagged.onnx", "--to", "graphml"}},
      {"tsv", {"export", "@a.tags.json", "--to", "tsv"}},
      {"netron", {"export", "@a.tagged.onnx", "--to", "netron"}},
  };
  return commands;
}

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

// The work of each command on a model of this size.
std::map<std::string_view, std::uint64_t> WorkAt(const Family& family,
                                                 std::uint32_t size,
                                                 std::uint64_t limit) {
  const TemporaryFolder folder;
  folder.Write("a.onnx", family.make(size, 1));
  folder.Write("b.onnx", family.make(size + size / 50, 2));
  folder.Write("profile.json", ProfileOf(size));
  std::map<std::string_view, std::uint64_t> work;
  for (const Command& command : Commands()) {
    std::vector<std::string> words = command.words;
    for (std::string& word : words) {
      if (word.starts_with("@")) word = folder / word.substr(1);
    }
    const std::uint64_t before = WorkSoFar();
    LimitWork(limit);
    const CliResult result = RunCli(words);
    work[command.name] = WorkSoFar() - before;
    // 1: differs, or nothing was found.
    EXPECT_LE(result.exit, 1) << command.name << ": " << result.err;
  }
  LimitWork(~std::uint64_t{0} - WorkSoFar());
  return work;
}

class GrowthTest : public testing::TestWithParam<Family> {};

TEST_P(GrowthTest, WorkGrowsWithTheFile) {
  const std::vector<std::uint32_t> sizes = Sizes();
  ASSERT_GE(sizes.size(), 2u);
  std::vector<std::map<std::string_view, std::uint64_t>> work;
  WorkAt(GetParam(), kTiny, ~std::uint64_t{0} / 2);  // tables are read once
  const auto tiny = WorkAt(GetParam(), kTiny, ~std::uint64_t{0} / 2);
  for (const std::uint32_t size : sizes) {
    work.push_back(WorkAt(GetParam(), size, std::uint64_t{1'000'000} * size));
  }
  for (const Command& command : Commands()) {
    const std::uint64_t rest = tiny.at(command.name);
    std::string line =
        fmt::format("{:24} {:13}", GetParam().name, command.name);
    for (std::size_t i = 0; i < sizes.size(); ++i) {
      line += fmt::format(" {:>14}", work[i].at(command.name));
    }
    for (std::size_t i = 1; i < sizes.size(); ++i) {
      const auto more = static_cast<double>(work[i].at(command.name)) -
                        static_cast<double>(rest);
      const auto less = static_cast<double>(work[i - 1].at(command.name)) -
                        static_cast<double>(rest);
      // What hardly depends on the size has no exponent.
      const double exponent =
          less < sizes[i - 1]
              ? 0
              : std::log(more / less) /
                    std::log(static_cast<double>(sizes[i]) / sizes[i - 1]);
      line += fmt::format(" {:5.2f}", exponent);
      if (i + 1 == sizes.size()) {
        EXPECT_LE(exponent, kMostExponent) << command.name;
      }
    }
    fmt::print("{}\n", line);
  }
}

INSTANTIATE_TEST_SUITE_P(Shapes, GrowthTest, testing::ValuesIn(Families()),
                         [](const auto& info) {
                           return std::string(info.param.name);
                         });

}  // namespace
}  // namespace onnx_tag::test
