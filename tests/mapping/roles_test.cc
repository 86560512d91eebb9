// Roles against tests/roles/*.tsv, which was written from the models' source
// code, and the rules that tell like names apart.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <map>
#include <string>
#include <vector>

#include "base/text.h"
#include "mapping/role_facts.h"
#include "mapping/roles.h"
#include "model/model_file.h"
#include "onnx_tag/mapping.h"
#include "support/wire_builder.h"

namespace onnx_tag {
namespace {

using test::BytesField;

struct GoldenLine {
  std::string graph;
  std::uint32_t index = 0;
  std::string op;
  std::string module;
  std::string class_name;
  std::array<std::string, 4> role;  // type, component, kind, layer
};

std::vector<GoldenLine> ReadGolden(const std::filesystem::path& path) {
  std::ifstream file(path);
  std::vector<GoldenLine> lines;
  std::string text;
  std::getline(file, text);
  while (std::getline(file, text)) {
    const auto parts = Split(text, '\t');
    EXPECT_GE(parts.size(), 10u) << path << ": " << text;
    if (parts.size() < 10) continue;
    GoldenLine line;
    line.graph = parts[0];
    line.index = static_cast<std::uint32_t>(std::stoul(std::string(parts[1])));
    line.op = parts[2];
    line.module = parts[3];
    line.class_name = parts[4];
    for (std::size_t i = 0; i < 4; ++i) line.role[i] = parts[5 + i];
    lines.push_back(std::move(line));
  }
  return lines;
}

std::array<std::string, 4> Fields(const Role& role) {
  return {std::string(kRoleTypeNames[static_cast<std::size_t>(role.type)]),
          role.component,
          std::string(kAttentionKindNames[static_cast<std::size_t>(
              role.attention_kind)]),
          role.layer < 0 ? "" : std::to_string(role.layer)};
}

struct Score {
  int lines = 0;
  int untagged = 0;
  std::array<int, 4> right = {};
  int all = 0;

  void Add(const Score& other) {
    lines += other.lines;
    untagged += other.untagged;
    for (std::size_t i = 0; i < 4; ++i) right[i] += other.right[i];
    all += other.all;
  }
};

std::ostream& operator<<(std::ostream& out, const Score& score) {
  out << score.lines << " lines: type " << score.right[0] << ", component "
      << score.right[1] << ", kind " << score.right[2] << ", layer "
      << score.right[3] << ", all " << score.all;
  if (score.untagged > 0) out << ", untagged " << score.untagged;
  return out;
}

Score Compare(const std::string& name, const Model& model,
              const Tagging& tagging, const std::vector<GoldenLine>& golden) {
  std::map<std::string, GraphId> graphs;
  for (const GraphId graph : model.Graphs()) {
    graphs[model.GraphPath(graph)] = graph;
  }
  Score score;
  for (const GoldenLine& line : golden) {
    const NodeId node = model[graphs.at(line.graph)].nodes.at(line.index);
    EXPECT_EQ(model.OpType(node), line.op) << name << " #" << line.index;
    const Tag& tag = tagging.tags[node];
    if (!tag.tagged()) {
      ++score.untagged;
      continue;
    }
    ++score.lines;
    const auto fields = Fields(tagging.roles[tag.role]);
    for (std::size_t i = 0; i < 4; ++i) {
      score.right[i] += fields[i] == line.role[i];
    }
    if (fields == line.role) {
      ++score.all;
      continue;
    }
    const std::string module = tagging.modules.Path(tag.module);
    std::cout << name << " #" << line.index << " " << line.op << " " << module;
    if (module != line.module) std::cout << " (not " << line.module << ")";
    std::cout << ":";
    for (const std::string& field : fields) std::cout << " '" << field << "'";
    std::cout << ", expected";
    for (const std::string& field : line.role) std::cout << " '" << field << "'";
    std::cout << "\n";
  }
  return score;
}

void ExpectGoldenRoles(bool with_classes) {
  std::vector<std::filesystem::path> paths;
  for (const auto& entry :
       std::filesystem::directory_iterator(ONNX_TAG_TEST_FOLDER "/roles")) {
    if (entry.path().extension() == ".tsv") paths.push_back(entry.path());
  }
  std::sort(paths.begin(), paths.end());
  ASSERT_GE(paths.size(), 20u);
  Score total;
  for (std::filesystem::path path : paths) {
    const std::vector<GoldenLine> golden = ReadGolden(path);
    const ModelFile file =
        ModelFile::Open(path.replace_extension(".onnx").string());
    Tagging tagging = MapNodes(file.model(), MappingOptions());
    if (with_classes) {
      for (const GoldenLine& line : golden) {
        const ModuleId module = tagging.modules.Find(line.module);
        if (module != kNo<ModuleId>) {
          tagging.modules.SetClass(module, line.class_name);
        }
      }
      AssignRoles(file.model(), tagging);
    }
    const std::string name = path.stem().string();
    const Score score = Compare(name, file.model(), tagging, golden);
    std::cout << name << ": " << score << "\n";
    total.Add(score);
  }
  std::cout << "total: " << total << "\n";
  EXPECT_GE(total.lines, 700);
  EXPECT_GE(total.right[0], total.lines * 0.95);
  EXPECT_GE(total.all, total.lines * 0.90);
}

TEST(RolesTest, FollowTheSourceCodeFromNamesAlone) { ExpectGoldenRoles(false); }

TEST(RolesTest, FollowTheSourceCodeWithClasses) { ExpectGoldenRoles(true); }

}  // namespace
}  // namespace onnx_tag
