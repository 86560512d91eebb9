// Every command over every shape at three sizes: the work it does grows no
// faster than the file. Then dimensions that a file does not have: columns of a
// table, parts, patterns, modules that are asked for. A shape that grows faster
// there is tried at larger sizes, too: a name that becomes too long to be a
// module, or a window that fills, bends the line once.
// ONNX_TAG_GROWTH_SIZES="1000,10000,100000" takes other sizes; the table that
// is printed has the work and the exponents.
#include <fmt/core.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <charconv>
#include <cstdlib>
#include <functional>

#include "growth/count_work.h"
#include "growth/families.h"
#include "growth/measure.h"
#include "support/run_cli.h"
#include "support/temporary_folder.h"
#include "support/wire_builder.h"

namespace onnx_tag::test {
namespace {

// n log n, as sorting has it, is 1.11 at the default sizes if nothing else is
// counted.
constexpr double kMostExponent = 1.1;
constexpr int kLargerSizes = 2;

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

Measured WorkAt(const Family& family, std::uint32_t size) {
  return Measure({family.make(size, 1), family.make(size + size / 50, 2)},
                 size);
}

class GrowthTest : public testing::TestWithParam<Family> {};

double WorstExponent(const std::vector<Measured>& at) {
  double worst = 0;
  for (const Command& command : Commands()) {
    worst = std::max(worst, Exponent(at, at.size() - 1, command.name));
  }
  return worst;
}

TEST_P(GrowthTest, WorkGrowsWithTheFile) {
  const std::vector<std::uint32_t> sizes = Sizes();
  ASSERT_GE(sizes.size(), 3u);
  WorkAt(GetParam(), 1000);  // tables are read once
  std::vector<Measured> at;
  for (const std::uint32_t size : sizes) at.push_back(WorkAt(GetParam(), size));
  for (int larger = 0; larger < kLargerSizes; ++larger) {
    if (WorstExponent(at) <= kMostExponent) break;
    at.push_back(WorkAt(GetParam(), 4 * at.back().nodes));
  }
  for (const Command& command : Commands()) {
    std::string line =
        fmt::format("{:24} {:13}", GetParam().name, command.name);
    for (const Measured& measured : at) {
      line += fmt::format(" {:>14}", measured.work.at(command.name));
    }
    for (std::size_t i = 2; i < at.size(); ++i) {
      line += fmt::format(" {:5.2f}", Exponent(at, i, command.name));
    }
    fmt::print("{}\n", line);
    EXPECT_LE(Exponent(at, at.size() - 1, command.name), kMostExponent)
        << command.name;
  }
}

// What grows beside the nodes of a graph.
struct Dimension {
  std::string_view name;
  // Writes files of a size and gives the words of a command.
  std::vector<std::string> (*prepare)(const TemporaryFolder& folder,
                                      std::uint32_t size);
  // What the command reads from standard input.
  std::string (*input)(std::uint32_t size) = [](std::uint32_t) {
    return std::string();
  };
};

// The type of floats of [s, 4].
std::string OpenType() {
  return BytesField(
      1, Wire(VarintField(1, 1),
              BytesField(2, Wire(BytesField(1, BytesField(2, "s")),
                                 BytesField(1, VarintField(1, 4))))));
}

// A chain of modules m.0, m.1, ...; every node a module.
std::string ModuleChain(std::uint32_t size) {
  std::string nodes;
  for (std::uint32_t i = 0; i < size; ++i) {
    nodes += BytesField(1, Wire(BytesField(1, fmt::format("v{}", i)),
                                BytesField(2, fmt::format("v{}", i + 1)),
                                BytesField(3, fmt::format("/m.{}/Relu", i)),
                                BytesField(4, "Relu")));
  }
  return BytesField(
      7,
      Wire(nodes,
           BytesField(11, Wire(BytesField(1, "v0"), BytesField(2, OpenType()))),
           BytesField(12, BytesField(1, fmt::format("v{}", size)))));
}

const Family& FamilyOf(std::string_view name) {
  const auto families = Families();
  return *std::find_if(
      families.begin(), families.end(),
      [&](const Family& family) { return family.name == name; });
}

// An input of one dimension that has this name.
std::string NamedInput(std::string_view name, std::string_view dimension) {
  const std::string dim = BytesField(1, BytesField(2, dimension));
  return BytesField(
      11, Wire(BytesField(1, name),
               BytesField(2, BytesField(1, Wire(VarintField(1, 1),
                                                BytesField(2, dim))))));
}

std::string NodeOf(std::string_view op, const std::vector<std::string>& inputs,
                   std::string_view output, std::string_view more = "") {
  std::string node;
  for (const std::string& input : inputs) node += BytesField(1, input);
  return BytesField(1, Wire(node, BytesField(2, output), BytesField(4, op),
                            std::string(more)));
}

std::string NumberAttribute(std::string_view name, std::uint64_t number) {
  return BytesField(
      5, Wire(BytesField(1, name), VarintField(3, number), VarintField(20, 2)));
}

std::string ModelOf(const std::string& graph) {
  return Wire(VarintField(1, 10), BytesField(7, graph),
              BytesField(8, VarintField(2, 17)));
}

// Sizes that are polynomials of more and more names: x0 is n0 long, and each
// node joins one more input to the last result.
std::string SumOfNames(std::uint32_t size) {
  std::string graph = NamedInput("x0", "n0");
  std::string last = "x0";
  for (std::uint32_t i = 1; i < size; ++i) {
    const std::string input = fmt::format("x{}", i);
    const std::string output = fmt::format("y{}", i);
    graph += NamedInput(input, fmt::format("n{}", i));
    graph +=
        NodeOf("Concat", {last, input}, output, NumberAttribute("axis", 0));
    graph += NodeOf("Relu", {output}, fmt::format("r{}", i));
    last = output;
  }
  return ModelOf(graph + BytesField(12, BytesField(1, last)));
}

// Sizes that must be equal, the last pair first: each node adds two inputs.
std::string EqualNames(std::uint32_t size) {
  std::string graph = NamedInput("x0", "n0");
  for (std::uint32_t i = 1; i < size; ++i) {
    graph += NamedInput(fmt::format("x{}", i), fmt::format("n{}", i));
  }
  for (std::uint32_t i = size; i-- > 1;) {
    graph += NodeOf("Add", {fmt::format("x{}", i - 1), fmt::format("x{}", i)},
                    fmt::format("y{}", i));
  }
  return ModelOf(graph + BytesField(12, BytesField(1, "y1")));
}

// Shape arithmetic: each step reads the last size, doubles it by joining, adds
// and multiplies names, and reshapes.
std::string ShapeArithmetic(std::uint32_t size) {
  std::string graph = NamedInput("a", "n") + NamedInput("b", "m");
  graph += NodeOf("Shape", {"a"}, "n");
  graph += NodeOf("Shape", {"b"}, "m");
  std::string last = "n";
  for (std::uint32_t i = 0; i < size; ++i) {
    const auto value = [&](std::string_view kind) {
      return fmt::format("{}{}", kind, i);
    };
    graph += NodeOf("Add", {last, "m"}, value("s"));
    graph += NodeOf("Mul", {value("s"), "n"}, value("p"));
    graph += NodeOf("Div", {value("p"), "m"}, value("d"));
    graph += NodeOf("ConstantOfShape", {value("d")}, value("c"));
    graph += NodeOf("Relu", {value("c")}, value("r"));
    graph += NodeOf("Shape", {value("r")}, value("q"));
    last = value("q");
  }
  return ModelOf(graph + BytesField(12, BytesField(1, last)));
}

// Modules whose names are equal up to `-` and `_`.
std::string LikeNames(std::uint32_t size) {
  std::string nodes;
  for (std::uint32_t i = 0; i < size; ++i) {
    std::string module;
    for (std::uint32_t bit = 0; bit < 16; ++bit) {
      module += (i >> bit & 1) != 0 ? '-' : '_';
    }
    nodes += BytesField(
        1, Wire(BytesField(1, fmt::format("v{}", i)),
                BytesField(2, fmt::format("v{}", i + 1)),
                BytesField(3, fmt::format("/enc/layer.0/x{}y/Relu", module)),
                BytesField(4, "Relu")));
  }
  return BytesField(
      7, Wire(nodes, BytesField(11, BytesField(1, "v0")),
              BytesField(12, BytesField(1, fmt::format("v{}", size)))));
}

std::vector<std::string> AllModules(std::uint32_t size, std::uint32_t first,
                                    std::string_view after = "") {
  std::vector<std::string> modules;
  for (std::uint32_t i = first; i < size; ++i) {
    modules.push_back(fmt::format("m.{}{}", i, after));
  }
  return modules;
}

std::vector<std::string> Joined(std::vector<std::string> words,
                                const std::vector<std::string>& more,
                                const std::vector<std::string>& last = {}) {
  words.insert(words.end(), more.begin(), more.end());
  words.insert(words.end(), last.begin(), last.end());
  return words;
}

std::vector<std::string> LayerAnnotation(const TemporaryFolder& folder,
                                         std::string_view family,
                                         std::uint32_t size) {
  return {"select", folder.Write("m.onnx", FamilyOf(family).make(size, 1)),
          "op=MatMul or op=Relu", "--for", "layer-ann"};
}

const std::vector<Dimension>& Dimensions() {
  static const std::vector<Dimension> dimensions = {
      {"columns",
       [](const TemporaryFolder& folder, std::uint32_t size) {
         std::string table = "name";
         for (std::uint32_t i = 0; i < size; ++i) {
           table += fmt::format("\tcolumn{}", i);
         }
         table += "\ta";
         for (std::uint32_t i = 1; i < size; ++i) table += "\tx";
         return std::vector<std::string>{
             "profile", folder.Write("m.onnx", ModuleChain(10)),
             folder.Write("table.tsv", table + "\t1\n")};
       }},
      {"rows",
       [](const TemporaryFolder& folder, std::uint32_t size) {
         std::string table = "name\tms\n";
         for (std::uint32_t i = 0; i < size; ++i) {
           table += fmt::format("/m.{}/Relu\t1\n", i);
         }
         return std::vector<std::string>{
             "profile", folder.Write("m.onnx", ModuleChain(10)),
             folder.Write("table.tsv", table)};
       }},
      {"parts",
       [](const TemporaryFolder& folder, std::uint32_t size) {
         return Joined({"split", folder.Write("m.onnx", ModuleChain(size)),
                        "--dry-run", "--out-dir", folder / "parts", "--at"},
                       AllModules(size, 1));
       }},
      {"new names that differ in no letter",
       [](const TemporaryFolder& folder, std::uint32_t size) {
         return std::vector<std::string>{
             "tag", folder.Write("m.onnx", LikeNames(size)), "--dry-run",
             "--rename-nodes"};
       }},
      {"modules asked for",
       [](const TemporaryFolder& folder, std::uint32_t size) {
         return Joined({"tap", folder.Write("m.onnx", ModuleChain(size)), "-o",
                        folder / "t.onnx", "--force", "--module"},
                       AllModules(size, 0));
       }},
      {"patterns",
       [](const TemporaryFolder& folder, std::uint32_t size) {
         return Joined({"tap", folder.Write("m.onnx", ModuleChain(100)), "-o",
                        folder / "t.onnx", "--force", "--module"},
                       AllModules(size, 0, "*"));
       }},
      {"patterns of a query",
       [](const TemporaryFolder& folder, std::uint32_t size) {
         std::string query = "module in (";
         for (const std::string& module : AllModules(size, 1, "*")) {
           query += module + ", ";
         }
         return std::vector<std::string>{
             "select", folder.Write("m.onnx", ModuleChain(100)), query + "m.0)",
             "--for", "names"};
       }},
      {"parts that are written",
       [](const TemporaryFolder& folder, std::uint32_t size) {
         // A part takes a file.
         return Joined({"split", folder.Write("m.onnx", ModuleChain(size / 8)),
                        "--out-dir", folder / "parts", "--at"},
                       AllModules(size / 8, 1));
       }},
      {"parts that are planned",
       [](const TemporaryFolder& folder, std::uint32_t size) {
         return std::vector<std::string>{
             "split", folder.Write("m.onnx", ModuleChain(1000)), "--dry-run",
             "--parts", std::to_string(size / 32)};
       }},
      {"borders of parts",
       [](const TemporaryFolder& folder, std::uint32_t size) {
         return std::vector<std::string>{
             "split", folder.Write("m.onnx", ModuleChain(size)), "--dry-run",
             "--parts", "4"};
       }},
      {"heads",
       [](const TemporaryFolder& folder, std::uint32_t size) {
         return LayerAnnotation(folder, "one_weight", size);
       }},
      {"length of a residual",
       [](const TemporaryFolder& folder, std::uint32_t size) {
         return LayerAnnotation(folder, "long_residual", size);
       }},
      {"initializers of a parameter",
       [](const TemporaryFolder& folder, std::uint32_t size) {
         return std::vector<std::string>{
             "weights",
             folder.Write("m.onnx", FamilyOf("one_parameter").make(size, 1))};
       }},
      {"weights compared",
       [](const TemporaryFolder& folder, std::uint32_t size) {
         const Family& family = FamilyOf("one_parameter");
         return std::vector<std::string>{
             "diff", folder.Write("a.onnx", family.make(size, 1)),
             folder.Write("b.onnx", family.make(size, 2)), "--weights"};
       }},
      {"lines of a log",
       [](const TemporaryFolder& folder, std::uint32_t) {
         return std::vector<std::string>{
             "filt", folder.Write("m.onnx", ModuleChain(100))};
       },
       [](std::uint32_t size) {
         std::string log;
         for (std::uint32_t i = 0; i < size; ++i) {
           log += fmt::format("at /m.{}/Relu: v{} is NaN\n", i % 100, i % 100);
         }
         return log;
       }},
      {"layers with an open dimension",
       [](const TemporaryFolder& folder, std::uint32_t size) {
         return std::vector<std::string>{
             "show", folder.Write("m.onnx", ModuleChain(size))};
       }},
      {"terms of a formula",
       [](const TemporaryFolder& folder, std::uint32_t size) {
         return std::vector<std::string>{
             "show", folder.Write("m.onnx", SumOfNames(size)), "--measure",
             "memory", "--json"};
       }},
      {"equal names",
       [](const TemporaryFolder& folder, std::uint32_t size) {
         return std::vector<std::string>{
             "show", folder.Write("m.onnx", EqualNames(size)), "--measure",
             "flops"};
       }},
      {"shape arithmetic",
       [](const TemporaryFolder& folder, std::uint32_t size) {
         return std::vector<std::string>{
             "show",    folder.Write("m.onnx", ShapeArithmetic(size)),
             "--by",    "flops",
             "--shape", "n=4096",
             "--json"};
       }},
      {"formulas in a report",
       [](const TemporaryFolder& folder, std::uint32_t size) {
         return std::vector<std::string>{
             "report", folder.Write("m.onnx", SumOfNames(size)), "-o", "-"};
       }},
  };
  return dimensions;
}

class DimensionTest : public testing::TestWithParam<Dimension> {};

TEST_P(DimensionTest, WorkGrowsWithTheDimension) {
  std::vector<Measured> at;
  std::string line = fmt::format("{:24} {:13}", GetParam().name, "");
  for (const std::uint32_t size : {1000u, 1000u, 4000u, 16000u}) {
    const TemporaryFolder folder;
    const std::vector<std::string> words = GetParam().prepare(folder, size);
    const std::uint64_t before = WorkSoFar();
    LimitWork(kMostWork * size);
    const CliResult result = RunCli(words, GetParam().input(size));
    EXPECT_LE(result.exit, 1) << result.err.substr(0, 500);
    at.push_back({size, size, {{"", WorkSoFar() - before}}});
    line += fmt::format(" {:>14}", at.back().work.at(""));
  }
  LimitWork(~std::uint64_t{0} - WorkSoFar());
  at.erase(at.begin());  // tables are read once
  fmt::print("{} {:5.2f}\n", line, Exponent(at, 2, ""));
  EXPECT_LE(Exponent(at, 2, ""), kMostExponent);
}

INSTANTIATE_TEST_SUITE_P(Dimensions, DimensionTest,
                         testing::ValuesIn(Dimensions()), [](const auto& info) {
                           std::string name(info.param.name);
                           std::replace(name.begin(), name.end(), ' ', '_');
                           return name;
                         });

INSTANTIATE_TEST_SUITE_P(Shapes, GrowthTest, testing::ValuesIn(Families()),
                         [](const auto& info) {
                           return std::string(info.param.name);
                         });

}  // namespace
}  // namespace onnx_tag::test
