// Every file of tests/mapping/ladder/cases is a small graph and what one
// source, or one rung of inference, says of it:
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
// `placed` were placed before the rung runs, by their scope and certainly
// unless a source and a level follow (`a net.fc parameter medium`); a parameter
// has two dimensions unless their number or their sizes follow its name (`:4`,
// `:8x3`). The rung sees the evidence of the file; after `evidence: parameters`
// it sees the parameters and nothing else. More evidence, each in one line:
//
//   producer: tf2onnx                  who made the file
//   hierarchy: {"modules": {...}}      as a file for --hierarchy
//   recording: {...}                   as a file for --trace
//   rules: {"rules": [...]}            as a file for --rules
//   recipes: a net.act high            the answers of a recipe; also `loose`
//
// With ONNX_TAG_UPDATE_CASES=1 the answers are written anew.
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <memory>
#include <set>
#include <sstream>

#include "base/text.h"
#include "clues/recording/module_map.h"
#include "mapping/rules/rules.h"
#include "onnx_tag/recording.h"
#include "support/graph_text.h"
#include "support/one_rung.h"
#include "support/temporary_folder.h"

namespace onnx_tag {
namespace {

namespace fs = std::filesystem;

const fs::path kCases = ONNX_TAG_TEST_FOLDER "/mapping/ladder/cases";

const std::set<std::string> kSettings = {"parameters", "placed",    "evidence",
                                         "producer",   "hierarchy", "recording",
                                         "rules",      "recipes",   "loose"};

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
    if (kSettings.contains(key)) {
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

// "net.fc.weight:8x3"
void AddParameter(const std::string& item, test::OneRung& graph) {
  const std::size_t colon = item.rfind(':');
  const bool sized =
      colon != item.npos && colon + 1 < item.size() &&
      item.find_first_not_of("0123456789x", colon + 1) == item.npos &&
      item[colon - 1] != ':';
  std::vector<std::int64_t> dims(2, 2);
  if (sized) {
    dims.clear();
    const std::string_view sizes = std::string_view(item).substr(colon + 1);
    for (const std::string_view dim : Split(sizes, 'x')) {
      dims.push_back(std::stoll(std::string(dim)));
    }
    if (dims.size() == 1) dims.assign(static_cast<std::size_t>(dims[0]), 2);
  }
  graph.Parameters({sized ? item.substr(0, colon) : item},
                   static_cast<int>(dims.size()));
  auto* const tensors = graph.Main()->mutable_initializer();
  auto* const tensor = tensors->Mutable(tensors->size() - 1);
  tensor->set_data_type(1);  // float
  for (std::size_t i = 0; i < dims.size(); ++i) {
    tensor->set_dims(static_cast<int>(i), dims[i]);
  }
}

template <typename Enum, typename Names>
Enum Named(const Names& names, std::string_view name) {
  const auto at = std::find(names.begin(), names.end(), name);
  if (at == names.end()) throw std::runtime_error("no " + std::string(name));
  return static_cast<Enum>(at - names.begin());
}

// "a net.act high, b net high"
void AddClaims(const std::string& text, WriterId from, test::OneRung& graph) {
  for (const std::string& item : List(text)) {
    const std::vector<std::string_view> words = Split(item, ' ');
    const ModuleId module = graph.Module(std::string(words.at(1)));
    graph.evidence().said.Add(from,
                              {graph.NodeOf(std::string(words.at(0))), module,
                               Named<Confidence>(kConfidenceNames, words.at(2)),
                               Source::kOperation, "a recipe says so"});
  }
}

// A case, made into a graph on which rungs can be asked.
class CaseGraph {
 public:
  explicit CaseGraph(const Case& from) : from_(from), rung_(from.rung) {
    graph_.Main()->clear_input();
    test::GraphText::Read(from.graph, graph_.proto());
    if (Has("producer")) graph_.proto().set_producer_name(At("producer"));
    for (const std::string& item : List(At("parameters"))) {
      AddParameter(item, graph_);
    }
    if (At("evidence") == "parameters") {
      graph_.Make();
    } else {
      graph_.Gather(Wanted());
    }
    AddClaims(At("recipes"), WriterId::kRecipe, graph_);
    AddClaims(At("loose"), WriterId::kLooseRecipe, graph_);
    for (const std::string& item : List(At("placed"))) Place(item);
  }

  // `whole`: with the source and the reason.
  std::string Answers(bool whole = false) const {
    std::string text;
    for (const auto& [value, claim] : graph_.SaysOfAll(rung_, whole)) {
      text += value + ": " + claim + "\n";
    }
    return text;
  }
  // When only these parts of the evidence can be seen.
  std::string AnswersWith(unsigned seen) {
    const test::HiddenParts hidden(graph_.evidence(), seen);
    return Answers(true);
  }

 private:
  bool Has(const std::string& key) const {
    return from_.settings.contains(key);
  }
  std::string At(const std::string& key) const {
    return Has(key) ? from_.settings.at(key) : std::string();
  }

  // "a net.fc", "a net.fc parameter", "a net.fc parameter medium"
  void Place(const std::string& item) {
    const std::vector<std::string_view> words = Split(item, ' ');
    const std::string_view source = words.size() > 2 ? words[2] : "scope";
    const std::string_view level = words.size() > 3 ? words[3] : "certain";
    graph_.Place(std::string(words.at(0)),
                 words.at(1) == "<root>" ? "" : std::string(words[1]),
                 Named<Source>(kSourceNames, source),
                 Named<Confidence>(kConfidenceNames, level));
  }

  WantedFacts Wanted() {
    WantedFacts wanted;
    if (Has("hierarchy")) {
      wanted.hierarchy =
          std::make_shared<const ModuleMap>(ReadModuleMap(At("hierarchy")));
    }
    if (Has("recording")) {
      recording_ = ReadRecording(At("recording"));
      wanted.trace = &recording_;
    }
    if (Has("rules")) {
      rules_ = std::make_shared<const Rules>(ReadRules(At("rules"), "rules"));
      wanted.rules = rules_.get();
    }
    return wanted;
  }

  const Case& from_;
  std::string rung_;
  Recording recording_;
  std::shared_ptr<const Rules> rules_;
  test::OneRung graph_;
};

Case CaseAt(const std::string& name) {
  return ReadCase(test::ReadFile((kCases / (name + ".txt")).string()));
}

class RungCases : public testing::TestWithParam<std::string> {};

TEST_P(RungCases, SaysWhatTheFileSays) {
  const Case from = CaseAt(GetParam());
  const std::string answers = CaseGraph(from).Answers();
  if (std::getenv("ONNX_TAG_UPDATE_CASES") != nullptr) {
    std::ofstream(kCases / (GetParam() + ".txt"), std::ios::binary)
        << from.before << answers;
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

// The table says what each rung reads: with these parts alone it answers as
// with all, and each of them changes the answer to some case.
TEST(RungTable, SaysWhatARungReads) {
  std::map<std::string, unsigned> reads;
  for (const std::string& name : Cases()) {
    SCOPED_TRACE(name);
    const Case from = CaseAt(name);
    CaseGraph graph(from);
    const auto is_asked = [&](const Rung& rung) {
      return rung.name == from.rung;
    };
    if (!AnyIn(AllRungs(), is_asked)) continue;  // a source
    const std::string answers = graph.Answers(true);
    unsigned& parts = reads[from.rung];
    for (std::size_t i = 0; i < kEvidencePartNames.size(); ++i) {
      const unsigned part = 1U << i;
      if (graph.AnswersWith(~part) != answers) parts |= part;
    }
    for (const Rung& rung : AllRungs()) {
      if (rung.name != from.rung) continue;
      EXPECT_EQ(graph.AnswersWith(rung.reads), answers);
    }
    EXPECT_EQ(graph.Answers(true), answers);  // nothing stays hidden
  }
  for (const Rung& rung : AllRungs()) {
    EXPECT_EQ(reads[std::string(rung.name)], rung.reads) << rung.name;
  }
}

INSTANTIATE_TEST_SUITE_P(All, RungCases, testing::ValuesIn(Cases()),
                         [](const auto& param) {
                           std::string name = param.param;
                           std::replace(name.begin(), name.end(), '/', '_');
                           return name;
                         });

}  // namespace
}  // namespace onnx_tag
