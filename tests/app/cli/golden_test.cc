// Every file of tests/app/cli/cases is a session:
//
//   # a comment
//   $ onnx-tag show 'a model.onnx' < input
//   what stdout must say
//   ! what stderr must say
//   exit 3
//
// It runs in a folder with the models of tests/models, as .onnx files. `ls`,
// `cat FILE`, `cmp A B`, `cp A B`, `mkdir A`, `lines FILE LINE...` and `write
// FILE 'text'`, which make a file, are known, too. To write what the program
// says now into the files, set ONNX_TAG_UPDATE_GOLDEN=1, and read the diff.
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <regex>
#include <sstream>

#include "base/text.h"
#include "support/onnx_models.h"
#include "support/run_cli.h"
#include "support/temporary_folder.h"

namespace onnx_tag::test {
namespace {

namespace fs = std::filesystem;

struct Step {
  std::string comment;  // lines before it
  std::string command;
  std::string expected;
};

std::vector<Step> ReadSession(const std::string& text) {
  std::vector<Step> steps(1);
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    if (line.starts_with("$ ")) {
      steps.back().command = line.substr(2);
      steps.emplace_back();
    } else if ((line.starts_with("#") || line.empty()) &&
               steps.back().expected.empty()) {
      // A comment belongs to the command after it.
      steps.back().comment += line + "\n";
    } else {
      std::string& expected = steps[steps.size() - 2].expected;
      expected += steps.back().comment + line + "\n";
      steps.back().comment.clear();
    }
  }
  return steps;
}

std::vector<std::string> SplitWords(const std::string& command) {
  std::vector<std::string> words;
  std::string word;
  bool quoted = false;
  bool any = false;
  for (const char c : command) {
    if (c == '\'') {
      quoted = !quoted;
      any = true;
    } else if (c == ' ' && !quoted) {
      if (any) words.push_back(word);
      word.clear();
      any = false;
    } else {
      word += c;
      any = true;
    }
  }
  if (any) words.push_back(word);
  return words;
}

// Lines of `text`, each with `mark` in front.
std::string Marked(const std::string& text, const std::string& mark) {
  std::string marked;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    marked += mark + line + "\n";
  }
  return marked;
}

std::string RunOurs(std::vector<std::string> words) {
  std::string input;
  words.erase(words.begin());
  if (words.size() > 2 && words[words.size() - 2] == "<") {
    input = ReadFile(words.back());
    words.resize(words.size() - 2);
  }
  CliResult result = RunCli(words, input);
  // Each run takes its own time.
  static const std::regex seconds("(\"seconds\": |time=\")[-+.e0-9]+");
  result.out = std::regex_replace(result.out, seconds, "$1_");
  static const std::regex time(" [0-9]+\\.[0-9]{3} s ");
  result.out = std::regex_replace(result.out, time, " _.___ s ");
  const bool is_text = std::all_of(result.out.begin(), result.out.end(),
                                   [](char c) { return c < 0 || c > 8; });
  std::string said = is_text ? result.out : "(bytes of a model)\n";
  if (!said.empty() && !said.ends_with('\n')) said += "(no newline)\n";
  said += Marked(result.err, "! ");
  if (result.exit != 0) said += "exit " + std::to_string(result.exit) + "\n";
  return said;
}

std::string RunStep(const std::string& command) {
  const std::vector<std::string> words = SplitWords(command);
  if (words[0] == "onnx-tag") return RunOurs(words);
  if (words[0] == "cat") return ReadFile(words.at(1));
  if (words[0] == "write") {
    std::ofstream(words.at(1), std::ios::binary) << words.at(2);
    return "";
  }
  if (words[0] == "cmp") {
    return ReadFile(words.at(1)) == ReadFile(words.at(2)) ? "same\n"
                                                          : "differ\n";
  }
  if (words[0] == "cp") {
    fs::copy_file(words.at(1), words.at(2),
                  fs::copy_options::overwrite_existing);
    return "";
  }
  if (words[0] == "lines") {
    std::ofstream file(words.at(1), std::ios::binary);
    for (std::size_t i = 2; i < words.size(); ++i) file << words[i] << '\n';
    return "";
  }
  if (words[0] == "mkdir") {
    fs::create_directories(words.at(1));
    return "";
  }
  if (words[0] == "ls") {
    std::vector<std::string> names;
    for (const auto& entry : fs::recursive_directory_iterator(".")) {
      const std::string name = entry.path().generic_string().substr(2);
      const bool ours = fs::exists(std::string(ONNX_TAG_TEST_MODELS) + "/" +
                                   entry.path().stem().string() + ".textproto");
      if (!ours && entry.is_regular_file()) names.push_back(name);
    }
    std::sort(names.begin(), names.end());
    std::string list;
    for (const std::string& name : names) list += name + "\n";
    return list;
  }
  throw std::runtime_error("unknown command in a golden file: " + words[0]);
}

class GoldenTest : public testing::TestWithParam<std::string> {};

TEST_P(GoldenTest, SaysWhatItSaid) {
  const std::string path =
      std::string(ONNX_TAG_GOLDEN_CASES) + "/" + GetParam() + ".txt";
  const TemporaryFolder folder;
  for (const auto& entry : fs::directory_iterator(ONNX_TAG_TEST_MODELS)) {
    if (entry.path().extension() != ".textproto") continue;
    folder.Write(entry.path().stem().string() + ".onnx",
                 BytesFromText(ReadFile(entry.path())));
  }
  fs::current_path(folder.path());
  std::string now;
  const std::string text = ReadFile(path);
  for (const Step& step : ReadSession(text)) {
    now += step.comment;
    if (!step.command.empty()) {
      now += "$ " + step.command + "\n" + RunStep(step.command);
    }
  }
  fs::current_path("/");
  if (std::getenv("ONNX_TAG_UPDATE_GOLDEN") != nullptr) {
    std::ofstream(path, std::ios::binary) << now;
  } else {
    EXPECT_EQ(now, text);
  }
}

std::vector<std::string> Cases() {
  std::vector<std::string> names;
  for (const auto& entry : fs::directory_iterator(ONNX_TAG_GOLDEN_CASES)) {
    names.push_back(entry.path().stem().string());
  }
  std::sort(names.begin(), names.end());
  return names;
}

INSTANTIATE_TEST_SUITE_P(Cases, GoldenTest, testing::ValuesIn(Cases()),
                         [](const auto& param) { return param.param; });

}  // namespace
}  // namespace onnx_tag::test
