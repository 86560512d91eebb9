// docs/how/how-it-works.md has the tables of sources and rungs.
#include <fmt/core.h>
#include <gtest/gtest.h>

#include <sstream>
#include <string>
#include <vector>

#include "mapping/ladder/ladder.h"
#include "mapping/ladder/sources.h"
#include "support/temporary_folder.h"

namespace onnx_tag::test {
namespace {

// The rows of a table, without the last cell.
std::vector<std::string> DescribedRows(const std::string& heading) {
  std::vector<std::string> described;
  std::istringstream lines(
      ReadFile(ONNX_TAG_TEST_FOLDER "/../docs/how/how-it-works.md"));
  bool table = false;
  for (std::string line; std::getline(lines, line);) {
    if (line.starts_with(heading)) table = true;
    if (line.empty()) table = false;
    if (table && line.starts_with("| `")) {
      described.push_back(line.substr(0, line.rfind(" | ")));
    }
  }
  return described;
}

TEST(LadderDocumentTest, HowItWorksHasTheTableOfSources) {
  std::vector<std::string> sources;
  for (const SourceRow& source : AllSources()) {
    sources.push_back(fmt::format(
        "| `{}` | {}", source.name,
        kConfidenceNames[static_cast<std::size_t>(source.highest)]));
  }
  EXPECT_EQ(DescribedRows("| source | at most |"), sources);
}

TEST(LadderDocumentTest, HowItWorksHasTheTableOfRungs) {
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
  EXPECT_EQ(DescribedRows("| rung | reads |"), rungs);
}

}  // namespace
}  // namespace onnx_tag::test
