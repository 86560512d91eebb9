// The laws of docs/how/how-it-works.md, over generated models, those of
// tests/models, and every .onnx file in the folder that the environment
// variable ONNX_TAG_SHARED_MODELS names. Every node of every graph is tagged
// with every key: a law that holds because nothing was tagged proves nothing.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cctype>
#include <cstdlib>
#include <filesystem>
#include <set>

#include "core/tagging/tag_format.h"
#include "core/tagging/tag_writer.h"
#include "file/wire/field_reader.h"
#include "onnx_tag/error.h"
#include "support/generated_model.h"
#include "support/onnx_models.h"
#include "support/sanitized.h"
#include "support/temporary_folder.h"

namespace onnx_tag::test {
namespace {

constexpr KeyChoice kAllKeys = {.tags = true,
                                .name_space = true,
                                .layer_ann = true,
                                .class_hierarchy = true};

std::string Tag(Bytes file, std::uint32_t seed) {
  const Model model = ReadModel(file);
  const Tagging tagging = HostileTagging(model, seed);
  TagWriter writer(model, tagging, kAllKeys);
  StringSink sink(file);
  writer.Write(sink);
  EXPECT_EQ(sink.text().size(), writer.new_size());
  return sink.text();
}

std::string Rename(Bytes file, std::uint32_t seed) {
  Model model = ReadModel(file);
  const Tagging tagging = HostileTagging(model, seed);
  RenameNodes(tagging, model);
  TagWriter writer(model, tagging, kAllKeys, true);
  StringSink sink(file);
  writer.Write(sink);
  EXPECT_EQ(sink.text().size(), writer.new_size());
  return sink.text();
}

std::string Strip(Bytes file) {
  const Model model = ReadModel(file);
  TagWriter writer(model);
  StringSink sink(file);
  writer.Write(sink);
  EXPECT_EQ(sink.text().size(), writer.new_size());
  EXPECT_EQ(writer.changes(), sink.text() != file);
  return sink.text();
}

bool IsAboutUs(const schema::StringStringEntryProto& entry) {
  return keys::IsOurs(entry.key());
}

bool HasOurKeys(Bytes file) {
  const Model model = ReadModel(file);
  for (const MetadataEntry& entry : model.metadata()) {
    if (keys::IsOurs(entry.key)) return true;
  }
  for (const NodeId node : model.Nodes()) {
    if (!OurEntries(model, node).empty()) return true;
  }
  return false;
}

// Removes our entries with protobuf's hand: those of our prefix, and of the
// four keys of others those that `wrote` names.
template <typename Message>
void RemoveOurs(Message& message) {
  std::set<std::string> wrote;
  for (const auto& entry : message.metadata_props()) {
    if (entry.key() != "pkg.onnx_tag.wrote" || !wrote.empty()) continue;
    std::string list = entry.value() + ",";
    for (std::size_t comma; (comma = list.find(',')) != std::string::npos;
         list.erase(0, comma + 1)) {
      wrote.insert(list.substr(0, comma));
    }
  }
  auto* const entries = message.mutable_metadata_props();
  for (int i = entries->size(); i-- > 0;) {
    const std::string& key = entries->Get(i).key();
    const bool theirs = key != "namespace" && key != "layer_ann" &&
                        key != "pkg.torch.onnx.name_scopes" &&
                        key != "pkg.torch.onnx.class_hierarchy";
    if (IsAboutUs(entries->Get(i)) || (!theirs && wrote.count(key) != 0)) {
      entries->DeleteSubrange(i, 1);
    }
  }
}

void RemoveOursInGraph(schema::GraphProto& graph, int& tagged);

void RemoveOursInNode(schema::NodeProto& node, int& tagged) {
  for (const auto& entry : node.metadata_props()) {
    tagged += entry.key() == "pkg.onnx_tag.module";
  }
  RemoveOurs(node);
  for (auto& attribute : *node.mutable_attribute()) {
    if (attribute.has_g()) RemoveOursInGraph(*attribute.mutable_g(), tagged);
    for (auto& graph : *attribute.mutable_graphs()) {
      RemoveOursInGraph(graph, tagged);
    }
  }
}

void RemoveOursInGraph(schema::GraphProto& graph, int& tagged) {
  for (auto& node : *graph.mutable_node()) RemoveOursInNode(node, tagged);
}

// Returns how many nodes had a module of ours.
int RemoveOursEverywhere(schema::ModelProto& model) {
  int tagged = 0;
  RemoveOursInGraph(*model.mutable_graph(), tagged);
  for (auto& function : *model.mutable_functions()) {
    for (auto& node : *function.mutable_node()) RemoveOursInNode(node, tagged);
  }
  for (auto& training : *model.mutable_training_info()) {
    if (training.has_algorithm()) {
      RemoveOursInGraph(*training.mutable_algorithm(), tagged);
    }
    if (training.has_initialization()) {
      RemoveOursInGraph(*training.mutable_initialization(), tagged);
    }
  }
  RemoveOurs(model);
  return tagged;
}

// Laws 1 and 2 for names of nodes.
void ExpectNamesAreUndone(const std::string& file, const std::string& stripped,
                          std::uint32_t seed) {
  const std::string renamed = Rename(file, seed);
  EXPECT_EQ(Strip(renamed), stripped) << "law 1: strip gives old names back";
  EXPECT_EQ(Rename(renamed, seed), renamed) << "law 2: rename twice is once";
  EXPECT_EQ(Tag(renamed, seed), renamed) << "law 2: tag keeps names";
  EXPECT_EQ(Rename(Rename(file, seed + 1), seed), renamed)
      << "law 2: what an earlier run wrote does not matter";
  std::set<std::string> names;
  const Model model = ReadModel(renamed);
  for (const NodeId node : model.Nodes()) {
    std::string name(model[node].name);
    for (char& c : name)
      c = std::isalnum(static_cast<unsigned char>(c)) ? c : '_';
    EXPECT_TRUE(names.insert(name).second) << name;
  }
}

// Laws 1 to 4, and 6.
void ExpectLaws(const std::string& file, std::uint32_t seed) {
  const std::string stripped = Strip(file);
  if (!HasOurKeys(file)) {
    EXPECT_EQ(stripped, file) << "law 4: no edits give the same bytes";
  }
  const std::string tagged = Tag(file, seed);
  EXPECT_EQ(Strip(tagged), stripped) << "law 1: strip undoes tag";
  EXPECT_EQ(Tag(tagged, seed), tagged) << "law 2: tag twice is tag once";
  EXPECT_EQ(Tag(Tag(file, seed + 1), seed), tagged)
      << "law 2: what an earlier run wrote does not matter";

  ExpectNamesAreUndone(file, stripped, seed);

  const Model model = ReadModel(tagged);
  const Tagging tagging = ReadTagging(model);
  const Coverage coverage = CountTags(tagging);
  EXPECT_EQ(coverage.nodes, model.node_count()) << "law 6";
  EXPECT_EQ(coverage.tagged, model.node_count()) << "law 6";

  schema::ModelProto before;
  if (!before.ParsePartialFromString(file)) return;
  schema::ModelProto after;
  ASSERT_TRUE(after.ParsePartialFromString(tagged)) << "law 3: protobuf reads";
  RemoveOursEverywhere(before);
  EXPECT_EQ(RemoveOursEverywhere(after), static_cast<int>(model.node_count()))
      << "law 3: every node is tagged once";
  // Serialized, since a weight that is NaN does not equal itself.
  EXPECT_TRUE(before.SerializePartialAsString() ==
              after.SerializePartialAsString())
      << "law 3: protobuf sees nothing but our entries";
}

// Ends of the fields of the file itself: only there may a cut file be a model.
std::set<std::size_t> FieldEnds(Bytes file) {
  std::set<std::size_t> ends;
  wire::FieldReader reader(file);
  for (wire::Field field; reader.Next(field);) {
    ends.insert(static_cast<std::size_t>(reader.position() - file.data()));
  }
  return ends;
}

// Law 5.
void ExpectEveryPrefixIsRefusedOrWhole(const std::string& file) {
  const std::set<std::size_t> ends = FieldEnds(file);
  for (std::size_t size = 0; size < file.size(); ++size) {
    const Bytes prefix = Bytes(file).substr(0, size);
    try {
      ReadModel(prefix);
      ASSERT_TRUE(ends.count(size)) << "law 5: cut at byte " << size;
    } catch (const Error& error) {
      ASSERT_EQ(error.kind(), ErrorKind::kInput);
    }
  }
}

// A damaged file is refused, or obeys the laws as any other; what protobuf
// reads is never refused.
void ExpectFlipIsRefusedOrLawful(std::string file, std::size_t bit) {
  file[bit / 8] = static_cast<char>(file[bit / 8] ^ (1 << bit % 8));
  SCOPED_TRACE(testing::Message() << "bit " << bit);
  try {
    ReadModel(file);
  } catch (const Error& error) {
    ASSERT_EQ(error.kind(), ErrorKind::kInput);
    schema::ModelProto model;
    EXPECT_FALSE(model.ParsePartialFromString(file) && model.has_graph())
        << error.what();
    return;
  }
  ExpectLaws(file, 2);
}

std::vector<std::string> TextModels() {
  std::vector<std::string> files;
  for (const auto& entry :
       std::filesystem::directory_iterator(ONNX_TAG_TEST_MODELS)) {
    if (entry.path().extension() == ".textproto") {
      files.push_back(BytesFromText(ReadFile(entry.path())));
    }
  }
  return files;
}

TEST(PropertiesTest, GeneratedModelsObeyTheLaws) {
  constexpr std::uint32_t kModels = kSanitized ? 100 : 400;
  for (std::uint32_t seed = 0; seed < kModels; ++seed) {
    SCOPED_TRACE(seed);
    Random random(seed);
    const schema::ModelProto model = GeneratedModel(random, seed % 2 == 1);
    const std::string file = model.SerializeAsString();
    ExpectLaws(file, seed);
    ExpectLaws(WithPaddedLengths(*model.GetDescriptor(), file, random), seed);
    if (HasFailure()) return;
  }
}

TEST(PropertiesTest, PrefixesAreRefusedOrWhole) {
  for (std::uint32_t seed = 0; seed < 40; ++seed) {
    SCOPED_TRACE(seed);
    Random random(seed);
    ExpectEveryPrefixIsRefusedOrWhole(
        GeneratedModel(random, seed % 2 == 1).SerializeAsString());
    if (HasFailure()) return;
  }
}

TEST(PropertiesTest, FlippedBitsAreRefusedOrLawful) {
  constexpr std::uint32_t kModels = kSanitized ? 4 : 12;
  for (std::uint32_t seed = 0; seed < kModels; ++seed) {
    SCOPED_TRACE(seed);
    Random random(seed);
    const schema::ModelProto model = GeneratedModel(random, seed % 2 == 1);
    const std::string file = WithPaddedLengths(
        *model.GetDescriptor(), model.SerializeAsString(), random);
    const std::size_t bits = std::min<std::size_t>(8 * file.size(), 500);
    for (std::size_t i = 0; i < bits; ++i) {
      ExpectFlipIsRefusedOrLawful(
          file, Below(random, static_cast<std::uint32_t>(8 * file.size())));
      if (HasFailure()) return;
    }
  }
}

TEST(PropertiesTest, TextModelsObeyTheLaws) {
  for (const std::string& file : TextModels()) {
    ExpectLaws(file, 1);
    ExpectEveryPrefixIsRefusedOrWhole(file);
  }
}

TEST(PropertiesTest, SharedModelsObeyTheLaws) {
  const char* const folder = std::getenv("ONNX_TAG_SHARED_MODELS");
  if (folder == nullptr) GTEST_SKIP() << "ONNX_TAG_SHARED_MODELS is not set";
  for (const auto& entry :
       std::filesystem::recursive_directory_iterator(folder)) {
    if (entry.path().extension() != ".onnx") continue;
    SCOPED_TRACE(entry.path());
    const std::string file = ReadFile(entry.path());
    try {
      ReadModel(file);
    } catch (const Error&) {
      continue;  // of those kept because they are broken
    }
    ExpectLaws(file, 1);
    if (file.size() <= 64 * 1024) ExpectEveryPrefixIsRefusedOrWhole(file);
  }
}

}  // namespace
}  // namespace onnx_tag::test
