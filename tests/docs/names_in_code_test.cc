// No architecture and no list of operators in code: the program was founded on
// that rule. What single classes, families and operators need is in
// src/data.
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <functional>
#include <regex>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include "support/temporary_folder.h"

namespace onnx_tag::test {
namespace {

namespace fs = std::filesystem;

const fs::path kRepository = ONNX_TAG_SOURCE;

using Words = std::set<std::string>;

// The lines of a file of src/data that are no comments.
std::vector<std::string> Rows(const std::string& file) {
  std::istringstream text(ReadFile((kRepository / "src/data" / file).string()));
  std::vector<std::string> rows;
  for (std::string line; std::getline(text, line);) {
    if (!line.empty() && line[0] != '#') rows.push_back(line);
  }
  return rows;
}

std::string Lower(std::string text) {
  for (char& c : text) {
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  }
  return text;
}

// "XLMRobertaModel2d" has the words xlm, roberta, model, d; and, as a whole,
// xlmrobertamodel2d.
Words WordsIn(const std::string& text) {
  static const std::regex whole("[A-Za-z][A-Za-z0-9]*");
  static const std::regex part("[A-Z]+(?![a-z])|[A-Z]?[a-z]+");
  Words words;
  for (std::sregex_iterator at(text.begin(), text.end(), whole), end; at != end;
       ++at) {
    const std::string name = at->str();
    words.insert(Lower(name));
    for (std::sregex_iterator of(name.begin(), name.end(), part), last;
         of != last; ++of) {
      words.insert(Lower(of->str()));
    }
  }
  return words;
}

// "src/a/b.cc:12: text" for each string literal that `offends`, in files below
// the folders of src/.
Words Offenders(const std::vector<std::string>& folders,
                const std::function<bool(const std::string&)>& offends) {
  static const std::regex literal(R"re("((?:[^"\\]|\\.)*)")re");
  Words found;
  std::size_t files = 0;
  for (const std::string& folder : folders) {
    for (const auto& entry :
         fs::recursive_directory_iterator(kRepository / "src" / folder)) {
      const std::string extension = entry.path().extension().string();
      if (extension != ".cc" && extension != ".h") continue;
      ++files;
      std::istringstream text(ReadFile(entry.path().string()));
      int number = 0;
      for (std::string line; std::getline(text, line);) {
        ++number;
        if (line.starts_with("#include")) continue;
        line = line.substr(0, line.find("// "));
        for (std::sregex_iterator at(line.begin(), line.end(), literal), end;
             at != end; ++at) {
          if (!offends((*at)[1].str())) continue;
          found.insert(
              fs::relative(entry.path(), kRepository).generic_string() + ":" +
              std::to_string(number) + ": " + (*at)[1].str());
        }
      }
    }
  }
  EXPECT_GT(files, 10u);
  return found;
}

// The folders of src/. `file/protobuf` makes nodes, so it names one.
const std::vector<std::string> kWithoutOperators = {
    "base", "file/io", "file/json", "file/model", "file/wire",
    "core", "clues",   "mapping",   "uses",       "app"};
// Classes of torch.nn that have the name of an operator.
const Words kClasses = {"Dropout", "GroupNorm", "Identity"};
const std::vector<std::string> kWithoutFamilies = {"base",
                                                   "file",
                                                   "core",
                                                   "clues/projection",
                                                   "clues/recipes",
                                                   "clues/recording",
                                                   "clues/structure",
                                                   "mapping",
                                                   "uses",
                                                   "app/page",
                                                   "app/render"};

Words OperatorNames() {
  Words names;
  for (const std::string& row : Rows("operators.txt")) {
    names.insert(row.substr(0, row.find_first_of("@ ")));
  }
  return names;
}

TEST(NamesInCodeTest, OperatorsAreComparedByTheirNumber) {
  const Words operators = OperatorNames();
  ASSERT_TRUE(operators.contains("MatMul"));
  EXPECT_EQ(Offenders(kWithoutOperators,
                      [&](const std::string& text) {
                        return operators.contains(text) &&
                               !kClasses.contains(text);
                      }),
            Words())
      << "ask core/graph/operators.h: Op::kMatMul, or a kind";
}

// The words that name a family of models: those of the catalogue's root classes
// ("Bert" of BertModel), unless a class of torch.nn has the word, too, or it is
// an ordinary word.
Words FamilyWords() {
  Words families;
  for (const std::string& row : Rows("catalogue.txt")) {
    if (row[0] != '!' && row[0] != ':') continue;
    const std::size_t tab = row.find('\t');
    if (tab == std::string::npos) continue;
    const std::string word =
        row.substr(tab + 1, row.find_first_of("\t~", tab + 1) - tab - 1);
    if (!word.empty()) families.insert(Lower(word));
  }
  for (const std::string& row : Rows("torch_nn_classes.txt")) {
    for (const std::string& word : WordsIn(row)) families.erase(word);
  }
  for (const char* const english :
       {"align", "beam", "bit", "bloom", "clip", "git", "twins"}) {
    families.erase(english);
  }
  families.erase("opt");  // model.opt.onnx: optimized
  return families;
}

TEST(NamesInCodeTest, NoFamilyOfModelsIsNamed) {
  const Words families = FamilyWords();
  const Words operators = OperatorNames();  // WhisperBeamSearch
  for (const char* const word : {"bert", "roberta", "llama", "gemma"}) {
    ASSERT_TRUE(families.contains(word)) << word;
  }
  ASSERT_FALSE(families.contains("linear"));
  EXPECT_EQ(Offenders(kWithoutFamilies,
                      [&](const std::string& text) {
                        if (operators.contains(text)) return false;
                        const Words words = WordsIn(text);
                        return std::any_of(words.begin(), words.end(),
                                           [&](const std::string& word) {
                                             return families.contains(word);
                                           });
                      }),
            Words())
      << "make it a row or a column of a file in data/";
}

}  // namespace
}  // namespace onnx_tag::test
