// Documents that say something of the code are compared with the code.
#include <fmt/core.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <map>
#include <regex>
#include <set>
#include <sstream>

#include "app/cli/command_table.h"
#include "base/text.h"
#include "mapping/ladder/ladder.h"
#include "support/run_cli.h"
#include "support/temporary_folder.h"

namespace onnx_tag::test {
namespace {

namespace fs = std::filesystem;

using ::testing::HasSubstr;

const fs::path kSource = ONNX_TAG_SOURCE;

std::string Text(const fs::path& file) {
  return ReadFile((kSource / file).string());
}

// "file/wire": each layer, in order.
std::vector<std::string> LayersOfCMake() {
  std::vector<std::string> layers;
  const std::string text = Text("src/CMakeLists.txt");
  const std::regex call(R"(onnx_tag_layer\(\s*([a-z_/]+)([^)]*)\))");
  for (std::sregex_iterator at(text.begin(), text.end(), call), end; at != end;
       ++at) {
    const bool tool = (*at)[2].str().find("FOLDER") != std::string::npos;
    if (!tool) layers.push_back((*at)[1]);
  }
  return layers;
}

std::vector<std::string> LayersOfTheDocument() {
  std::vector<std::string> layers;
  std::istringstream lines(Text("docs/how/architecture.md"));
  const std::regex row(R"(\| ([a-z]+) \| `([a-z_]+)` \| .*)");
  bool table = false;
  for (std::string line; std::getline(lines, line);) {
    if (line.starts_with("| storey | layer |")) table = true;
    if (line.empty()) table = false;
    std::smatch match;
    if (!table || !std::regex_match(line, match, row)) continue;
    const std::string storey = match[1] == "base" ? "" : match[1].str() + "/";
    layers.push_back(storey + match[2].str());
  }
  return layers;
}

// "recipes/book": in the order in which rooms build on each other.
std::vector<std::string> RoomsOfCMake() {
  std::vector<std::string> rooms;
  const std::string text = Text("src/CMakeLists.txt");
  const std::regex call(
      R"(onnx_tag_layer\(\s*[a-z]+/([a-z_]+)[^)]*ROOMS ([a-z_ ]+)[^)]*\))");
  for (std::sregex_iterator at(text.begin(), text.end(), call), end; at != end;
       ++at) {
    std::istringstream words((*at)[2].str());
    for (std::string word; words >> word;) {
      rooms.push_back((*at)[1].str() + "/" + word);
    }
  }
  return rooms;
}

std::vector<std::string> RoomsOfTheDocument() {
  std::vector<std::string> rooms;
  const std::string text = Text("docs/how/architecture.md");
  const std::regex row(R"(\n\| `([a-z_]+/[a-z_]+)` \|)");
  for (std::sregex_iterator at(text.begin(), text.end(), row), end; at != end;
       ++at) {
    rooms.push_back((*at)[1]);
  }
  return rooms;
}

TEST(DocsTest, ArchitectureHasTheRoomsOfTheBuild) {
  const std::vector<std::string> built = RoomsOfCMake();
  ASSERT_GT(built.size(), 10u);
  EXPECT_EQ(RoomsOfTheDocument(), built)
      << "compare the table in docs/how/architecture.md with "
         "src/CMakeLists.txt";
}

TEST(DocsTest, ArchitectureHasTheLayersOfTheBuild) {
  const std::vector<std::string> built = LayersOfCMake();
  ASSERT_GT(built.size(), 15u);
  EXPECT_EQ(LayersOfTheDocument(), built)
      << "compare the table in docs/how/architecture.md with "
         "src/CMakeLists.txt";
}

TEST(DocsTest, HowItWorksHasTheTableOfRungs) {
  std::vector<std::string> described;
  std::istringstream lines(Text("docs/how/how-it-works.md"));
  bool table = false;
  for (std::string line; std::getline(lines, line);) {
    if (line.starts_with("| rung | reads |")) table = true;
    if (line.empty()) table = false;
    if (table && line.starts_with("| `")) {
      described.push_back(line.substr(0, line.rfind(" | ")));
    }
  }
  std::vector<std::string> rungs;
  for (const Rung& rung : AllRungs()) {
    std::string parts;
    for (std::size_t i = 0; i < kEvidencePartNames.size(); ++i) {
      if ((rung.reads & 1U << i) == 0) continue;
      if (!parts.empty()) parts += ',';
      parts += ' ';
      parts += kEvidencePartNames[i];
    }
    rungs.push_back(
        fmt::format("| `{}` |{} | {}", rung.name, parts,
                    kConfidenceNames[static_cast<std::size_t>(rung.highest)]));
  }
  EXPECT_EQ(described, rungs);
}

TEST(DocsTest, TestsThatCommentsNameExist) {
  // "Tested by tests/a/b_test.cc and c_test.cc.": c_test.cc is beside.
  const std::regex sentence(R"(Tested by ((?:[^.]|\.(?!\s))*)\.)");
  const std::regex file(R"([A-Za-z0-9_/]+\.(?:cc|py|sh))");
  std::size_t named = 0;
  for (const char* const folder : {"src", "include", "tests/bench", "tools"}) {
    for (const auto& entry :
         fs::recursive_directory_iterator(kSource / folder)) {
      const std::string extension = entry.path().extension().string();
      if (extension != ".cc" && extension != ".h") continue;
      const std::string text = ReadFile(entry.path().string());
      for (std::sregex_iterator at(text.begin(), text.end(), sentence), end;
           at != end; ++at) {
        const std::string files = (*at)[1];
        fs::path beside;
        for (std::sregex_iterator name(files.begin(), files.end(), file), last;
             name != last; ++name) {
          fs::path path = name->str();
          if (path.has_parent_path()) {
            beside = path.parent_path();
          } else {
            path = beside / path;
          }
          EXPECT_TRUE(fs::exists(kSource / path))
              << entry.path() << " names " << path;
          ++named;
        }
      }
    }
  }
  EXPECT_GT(named, 20u);
}

// The documents that people read.
std::vector<fs::path> Pages() {
  std::vector<fs::path> pages = {"README.md", "CHANGELOG.md",
                                 ".github/CONTRIBUTING.md", "tools/README.md"};
  for (const auto& entry : fs::recursive_directory_iterator(kSource / "docs")) {
    if (entry.path().extension() != ".md") continue;
    pages.push_back(entry.path().lexically_relative(kSource));
  }
  return pages;
}

// The rows of a TSV file by their first cell; each row by the heading.
using Figures = std::map<std::string, std::map<std::string, std::string>>;

Figures ReadFigures(const std::string& name) {
  Figures figures;
  std::istringstream lines(Text("docs/figures/" + name + ".tsv"));
  std::vector<std::string> heads;
  for (std::string line; std::getline(lines, line);) {
    std::vector<std::string> cells;
    for (const std::string_view cell : Split(line, '\t')) {
      cells.emplace_back(cell);
    }
    if (heads.empty()) {
      heads = cells;
      continue;
    }
    EXPECT_EQ(cells.size(), heads.size()) << name << ": " << line;
    for (std::size_t i = 0; i < std::min(cells.size(), heads.size()); ++i) {
      figures[cells[0]][heads[i]] = cells[i];
    }
  }
  return figures;
}

// The table of the README stands beside a peer; our column is that of the
// measured tables, rounded to a decimal.
TEST(DocsTest, FiguresBesideThePeerAreTheMeasuredOnes) {
  const Figures peers = ReadFigures("peers");
  EXPECT_GT(peers.size(), 5u);
  for (const auto& [files, row] : peers) {
    const Figures measured = ReadFigures("accuracy-" + row.at("set"));
    const auto& ours = measured.at(row.at("variant"));
    const bool recorded = files.ends_with("with a recording");
    const double exact =
        std::stod(ours.at(recorded ? "trace: exact" : "exact"));
    EXPECT_NEAR(std::stod(row.at("onnx-tag")), exact, 0.0501) << files;
    if (ours.contains("nodes")) {
      EXPECT_EQ(row.at("nodes"), ours.at("nodes")) << files;
    }
    if (ours.contains("files")) {
      EXPECT_EQ(row.at("models"), ours.at("files")) << files;
    }
  }
}

// A block is run by a test, or a comment before it says why not:
//   <!-- runs: ... -->                 scripts/update-docs.sh
//   a block of lines `onnx-tag ...`    tests/docs/run_examples.sh
//   <!-- blocks run: FILE -->          a test that runs the page's other blocks
//   <!-- not run: reason -->           before one block
//   <!-- blocks not run: reason -->    for all of the page
TEST(DocsTest, EveryBlockIsRunOrSaysWhyNot) {
  std::vector<fs::path> pages = Pages();
  pages.emplace_back("python/README.md");
  const std::regex whole("<!-- blocks (not )?run: (.+) -->");
  std::size_t blocks = 0;
  for (const fs::path& page : pages) {
    std::istringstream lines(Text(page));
    bool inside = false;
    bool of_page = false;  // the comment of the whole page
    bool good = false;
    bool examples = false;
    std::string last;
    std::string first;
    for (std::string line; std::getline(lines, line);) {
      std::smatch match;
      if (line.starts_with("```")) {
        if (!inside) {
          ++blocks;
          good = of_page || last.starts_with("<!-- runs: ") ||
                 last.starts_with("<!-- not run: ");
          examples = line == "```";
          first.clear();
        } else {
          EXPECT_TRUE(good || examples) << page << ": " << first;
        }
        inside = !inside;
      } else if (inside) {
        if (first.empty()) first = line;
        examples = examples && line.starts_with("onnx-tag ");
      } else if (std::regex_match(line, match, whole)) {
        of_page = true;
        if (!match[1].matched) {
          EXPECT_TRUE(fs::exists(kSource / match[2].str())) << match[2];
        }
      }
      if (!line.empty()) last = line;
    }
  }
  EXPECT_GT(blocks, 60u);
}

TEST(DocsTest, NoPageIsLong) {
  for (const fs::path& page : Pages()) {
    const std::string text = Text(page);
    const auto lines = std::count(text.begin(), text.end(), '\n');
    if (page == "README.md") {
      EXPECT_LE(lines, 120);
    } else if (*page.begin() == "docs") {
      EXPECT_LE(lines, 250) << page;
    }
  }
}

TEST(DocsTest, ReadmeShowsAPictureAndHowToInstallEarly) {
  const std::string text = Text("README.md");
  const auto line_of = [&](std::string_view what) {
    const std::size_t at = text.find(what);
    EXPECT_NE(at, std::string::npos) << what;
    return std::count(
        text.begin(),
        text.begin() + static_cast<std::ptrdiff_t>(std::min(at, text.size())),
        '\n');
  };
  EXPECT_LT(line_of("docs/pictures/report.png"), 30);
  EXPECT_LT(line_of("## Install"), 60);
}

// Agents find the skill by these lines; a wrapped paragraph is no front matter.
TEST(DocsTest, TheSkillBeginsWithItsNameAndDescription) {
  EXPECT_TRUE(Text("python/onnx_tag/SKILL.md")
                  .starts_with("---\nname: onnx-tag\ndescription: >-\n  "));
}

TEST(DocsTest, EveryHelpHasAGoldenAndFitsATerminal) {
  std::string golden;
  for (const auto& entry :
       fs::directory_iterator(kSource / "tests/app/cli/cases")) {
    golden += ReadFile(entry.path().string());
  }
  std::vector<std::string> calls = {"--help"};
  for (const cli::Command& command : cli::Commands()) {
    calls.push_back(std::string(command.name) + " --help");
  }
  for (const std::string& call : calls) {
    EXPECT_THAT(golden, HasSubstr("$ onnx-tag " + call + "\n"))
        << "add the line to tests/app/cli/cases/help.txt and run cli_test with "
           "ONNX_TAG_UPDATE_GOLDEN=1";
    std::vector<std::string> words;
    for (const std::string_view word : Split(call, ' ')) {
      words.emplace_back(word);
    }
    const std::string help = RunCli(words).out;
    EXPECT_NE(help, "") << call;
    for (const std::string_view line : Split(help, '\n')) {
      EXPECT_LE(line.size(), 80u) << call << ": " << line;
    }
  }
}

// "## From A to `B`": "from-a-to-b", as GitHub and the site call it.
std::string Anchor(std::string_view heading) {
  std::string anchor;
  for (const char c : heading) {
    if (std::isalnum(static_cast<unsigned char>(c)) != 0) {
      anchor += static_cast<char>(std::tolower(c));
    } else if (c == '-' || c == '_') {
      anchor += c;
    } else if (c == ' ') {
      anchor += '-';
    }
  }
  return anchor;
}

std::set<std::string> AnchorsOf(const fs::path& page) {
  std::set<std::string> anchors;
  std::istringstream lines(Text(page));
  for (std::string line; std::getline(lines, line);) {
    const std::size_t text = line.find_first_not_of('#');
    if (text == 0 || text == std::string::npos || line[text] != ' ') continue;
    anchors.insert(Anchor(line.substr(text + 1)));
  }
  return anchors;
}

TEST(DocsTest, EveryLinkOfADocumentLeadsSomewhere) {
  const std::regex link(R"re(\]\(([^()\s]+)\)|(?:src|srcset)="([^"]+)")re");
  std::size_t links = 0;
  for (const fs::path& page : Pages()) {
    std::istringstream lines(Text(page));
    bool code = false;
    for (std::string line; std::getline(lines, line);) {
      if (line.starts_with("```")) code = !code;
      if (code) continue;
      for (std::sregex_iterator at(line.begin(), line.end(), link), end;
           at != end; ++at) {
        const std::string target = (*at)[1].str() + (*at)[2].str();
        if (target.find("://") != std::string::npos) continue;
        const std::size_t hash = target.find('#');
        const std::string file = target.substr(0, hash);
        const fs::path path =
            file.empty() ? page
                         : (page.parent_path() / file).lexically_normal();
        ++links;
        if (!fs::exists(kSource / path)) {
          ADD_FAILURE() << page << " links to " << target;
        } else if (hash != std::string::npos && path.extension() == ".md") {
          EXPECT_TRUE(AnchorsOf(path).contains(target.substr(hash + 1)))
              << page << " links to " << target;
        }
      }
    }
  }
  EXPECT_GT(links, 100u);
}

}  // namespace
}  // namespace onnx_tag::test
