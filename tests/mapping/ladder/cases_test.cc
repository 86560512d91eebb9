// Every file of tests/mapping/ladder/cases is a small graph and what one rung
// says of it:
//
//   // Why the case is there.
//   parameters: net.fc.weight, net.norm.weight:1
//   placed: a net.fc, c net.act
//   main (x) => (c) {
//     a = Gemm (x, net.fc.weight)
//     ...
//   }
//   --- conversion
//   b: net.fc high
//   c: -
//
// The part after --- names the rung; it lists each node by its first output,
// with the rung's first claim, or - where the rung is silent. Nodes under
// `placed` were placed before the rung runs; a parameter has two dimensions
// unless a number follows its name. The rung sees the evidence of the file;
// after `evidence: parameters` it sees the parameters and nothing else. With
// ONNX_TAG_UPDATE_CASES=1 the answers are written anew.
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <sstream>

#include "base/text.h"
#include "support/graph_text.h"
#include "support/one_rung.h"
#include "support/temporary_folder.h"

namespace onnx_tag {
namespace {

namespace fs = std::filesystem;

const fs::path kCases = ONNX_TAG_TEST_FOLDER "/mapping/ladder/cases";

struct Case {
  std::string before;  // all but the answers
  std::string graph;
  std::map<std::string, std::string> settings;  // by "parameters", ...
  std::string rung;
  std::string answers;
};

Case ReadCase(const std::string& text) {
  Case result;
  const std::size_t line = text.find("\n--- ");
  if (line == text.npos) throw std::runtime_error("a case needs '--- RUNG'");
  const std::size_t end = text.find('\n', line + 1);
  result.before = text.substr(0, end + 1);
  result.rung = text.substr(line + 5, end - line - 5);
  result.answers = text.substr(end + 1);
  std::istringstream lines(text.substr(0, line + 1));
  for (std::string one; std::getline(lines, one);) {
    const std::size_t colon = one.find(": ");
    const std::string key = one.substr(0, colon);
    if (key == "parameters" || key == "placed" || key == "evidence") {
      result.settings[key] = one.substr(colon + 2);
    } else {
      result.graph += one + "\n";
    }
  }
  return result;
}

std::vector<std::string> List(const std::string& text) {
  std::vector<std::string> items;
  for (std::string_view item : Split(text, ',')) {
    while (item.starts_with(' ')) item.remove_prefix(1);
    if (!item.empty()) items.emplace_back(item);
  }
  return items;
}

std::string Answers(const Case& from) {
  test::OneRung graph;
  graph.Main()->clear_input();
  test::GraphText::Read(from.graph, graph.proto());
  const auto setting = [&](const std::string& key) {
    const auto at = from.settings.find(key);
    return at == from.settings.end() ? std::string() : at->second;
  };
  for (const std::string& item : List(setting("parameters"))) {
    const std::size_t colon = item.rfind(':');
    const bool ranked = colon != item.npos && colon + 2 == item.size();
    graph.Parameters({ranked ? item.substr(0, colon) : item},
                     ranked ? item.back() - '0' : 2);
  }
  if (setting("evidence") == "parameters") {
    graph.Make();
  } else {
    graph.Gather();
  }
  for (const std::string& item : List(setting("placed"))) {
    const std::size_t blank = item.find(' ');
    const std::string module = item.substr(blank + 1);
    graph.Place(item.substr(0, blank), module == "<root>" ? "" : module);
  }
  std::string text;
  for (const auto& [value, claim] : graph.SaysOfAll(from.rung)) {
    text += value + ": " + claim + "\n";
  }
  return text;
}

class RungCases : public testing::TestWithParam<std::string> {};

TEST_P(RungCases, SaysWhatTheFileSays) {
  const fs::path path = kCases / (GetParam() + ".txt");
  const Case from = ReadCase(test::ReadFile(path.string()));
  const std::string answers = Answers(from);
  if (std::getenv("ONNX_TAG_UPDATE_CASES") != nullptr) {
    std::ofstream(path, std::ios::binary) << from.before << answers;
  } else {
    EXPECT_EQ(answers, from.answers);
  }
}

std::vector<std::string> Cases() {
  std::vector<std::string> names;
  for (const auto& entry : fs::recursive_directory_iterator(kCases)) {
    if (entry.path().extension() != ".txt") continue;
    names.push_back(fs::relative(entry.path(), kCases)
                        .replace_extension()
                        .generic_string());
  }
  std::sort(names.begin(), names.end());
  return names;
}

INSTANTIATE_TEST_SUITE_P(All, RungCases, testing::ValuesIn(Cases()),
                         [](const auto& param) {
                           std::string name = param.param;
                           std::replace(name.begin(), name.end(), '/', '_');
                           return name;
                         });

}  // namespace
}  // namespace onnx_tag
