#include "file/wire/rewrite.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <stdexcept>

#include "file/wire/field_reader.h"
#include "file/wire/wire_tree.h"
#include "onnx_tag_schema.pb.h"
#include "support/wire_builder.h"

namespace onnx_tag::wire {
namespace {

using test::BytesField;
using testing::ElementsAre;
using testing::IsEmpty;

// The spine of the tests: ModelProto.graph, GraphProto.node, and from a node
// through attribute and subgraph down again.
std::vector<Message> ModelTree(Bytes file) {
  constexpr std::uint32_t kGraph = 7, kNode = 1, kAttribute = 5, kSubgraph = 6;
  return TreeOf(file, [](std::size_t depth, const Field& field) {
    if (!field.IsBytes()) return false;
    if (depth == 0) return field.number == kGraph;
    switch (depth % 3) {
      case 1:
        return field.number == kNode;
      case 2:
        return field.number == kAttribute;
      default:
        return field.number == kSubgraph;
    }
  });
}

std::string Entry(const std::string& key, const std::string& value) {
  schema::NodeProto node;
  auto* entry = node.add_metadata_props();
  entry->set_key(key);
  entry->set_value(value);
  return node.SerializeAsString();
}

void AddMetadata(schema::NodeProto* node, const std::string& key,
                 const std::string& value) {
  auto* entry = node->add_metadata_props();
  entry->set_key(key);
  entry->set_value(value);
}

// A node inside a branch of an If, whose name is `name`.
schema::ModelProto IfModel(const std::string& name) {
  schema::ModelProto model;
  model.set_ir_version(8);
  auto* graph = model.mutable_graph();
  graph->add_node()->set_name("before");
  auto* outer = graph->add_node();
  outer->set_op_type("If");
  auto* branch = outer->add_attribute();
  branch->set_name("then_branch");
  auto* inner = branch->mutable_g()->add_node();
  inner->set_name(name);
  graph->add_node()->set_name("after");
  graph->set_name("g");
  model.set_producer_name("after the graph");
  return model;
}

schema::NodeProto* InnerNode(schema::ModelProto& model) {
  return model.mutable_graph()
      ->mutable_node(1)
      ->mutable_attribute(0)
      ->mutable_g()
      ->mutable_node(0);
}

// Protobuf is the oracle: splicing must give what setting the field and
// serializing again gives.
TEST(RewriteTest, TagInASubgraphResizesEveryMessageAroundIt) {
  // Past 127 bytes a length prefix grows, and with it the message outside.
  for (std::size_t size = 0; size < 140; ++size) {
    SCOPED_TRACE(size);
    schema::ModelProto model = IfModel(std::string(size, 'n'));
    const std::string file = model.SerializeAsString();
    const std::vector<Message> tree = ModelTree(file);
    // The file, graph, before, If, attribute, branch, inner, after
    ASSERT_EQ(tree.size(), 8u);

    Rewrite rewrite(file, tree);
    const std::string entry = Entry("key", "value");
    const std::string outer_entry = Entry("outer", std::string(30, 'v'));
    rewrite.Append(6, static_cast<std::uint32_t>(entry.size()), 1);
    rewrite.Append(3, static_cast<std::uint32_t>(outer_entry.size()), 2);
    rewrite.Layout();
    const std::string result =
        Written(rewrite, file, {{1, entry}, {2, outer_entry}});

    AddMetadata(InnerNode(model), "key", "value");
    AddMetadata(model.mutable_graph()->mutable_node(1), "outer",
                std::string(30, 'v'));
    EXPECT_EQ(result, model.SerializeAsString());
    EXPECT_EQ(rewrite.new_size(), result.size());
    EXPECT_THAT(rewrite.WidthsToRecord(), IsEmpty());
  }
}

TEST(RewriteTest, ErasingAnEntryGivesWhatProtobufGivesWithoutIt) {
  for (std::size_t size = 0; size < 140; ++size) {
    SCOPED_TRACE(size);
    const schema::ModelProto model = IfModel("n");
    schema::ModelProto tagged = model;
    AddMetadata(InnerNode(tagged), "key", std::string(size, 'v'));
    AddMetadata(InnerNode(tagged), "key2", std::string(size, 'v'));
    const std::string file = tagged.SerializeAsString();
    const std::vector<Message> tree = ModelTree(file);

    Rewrite rewrite(file, tree);
    const Message& inner = tree[6];
    FieldReader reader(Bytes(file).substr(inner.begin, inner.size));
    for (Field field; reader.Next(field);) {
      if (field.number == 9) rewrite.Erase(6, field.whole);
    }
    rewrite.Layout();
    EXPECT_EQ(Written(rewrite, file, {}), model.SerializeAsString());
  }
}

// Nodes behind a node that grows, in place of one that is erased, and at the
// end of a graph that is appended to.
TEST(RewriteTest, InsertedNodesStandWhereProtobufPutsThem) {
  for (std::size_t size = 0; size < 140; ++size) {
    SCOPED_TRACE(size);
    schema::ModelProto model = IfModel("n");
    const std::string file = model.SerializeAsString();
    const std::vector<Message> whole = ModelTree(file);
    // Without the last node, which is erased.
    const std::vector<Message> tree(whole.begin(), whole.end() - 1);
    const auto end = [&](MessageId id) {
      return tree[id].begin + tree[id].size;
    };
    const std::string name(size, 'm');
    schema::GraphProto nodes;
    nodes.add_node()->set_name(name);
    nodes.add_node()->set_op_type("Add");
    const std::string two = nodes.SerializeAsString();
    const std::string entry = Entry("key", "value");
    const auto bytes = static_cast<std::uint32_t>(two.size());

    Rewrite rewrite(file, tree);
    rewrite.Insert(5, end(6), bytes, 1);  // the branch: its end, too
    rewrite.Insert(1, end(3), bytes, 1);  // behind the If
    const Message& last = whole.back();
    rewrite.Erase(1, Bytes(file).substr(last.begin - 2, last.size + 2));
    rewrite.Insert(1, last.begin + last.size, bytes, 1);
    rewrite.Append(3, static_cast<std::uint32_t>(entry.size()), 2);
    rewrite.Layout();
    const std::string result = Written(rewrite, file, {{1, two}, {2, entry}});

    schema::NodeProto* const outer = model.mutable_graph()->mutable_node(1);
    AddMetadata(outer, "key", "value");
    outer->mutable_attribute(0)->mutable_g()->MergeFrom(nodes);
    model.mutable_graph()->mutable_node()->RemoveLast();
    model.mutable_graph()->MergeFrom(nodes);
    model.mutable_graph()->MergeFrom(nodes);
    EXPECT_EQ(result, model.SerializeAsString());
    EXPECT_EQ(rewrite.new_size(), result.size());
  }
}

TEST(RewriteTest, NoEditsAreOneCopyOfTheFile) {
  const std::string file = IfModel("n").SerializeAsString();
  const std::vector<Message> tree = ModelTree(file);
  Rewrite rewrite(file, tree);
  rewrite.Layout();
  EXPECT_EQ(rewrite.new_size(), file.size());
  StringSink sink(file);
  rewrite.Write(sink, nullptr);
  EXPECT_THAT(sink.copies, ElementsAre(file.size()));
}

TEST(RewriteTest, UnchangedSpansAreMergedIntoOneCopy) {
  schema::ModelProto model;
  for (int i = 0; i < 100; ++i) model.mutable_graph()->add_node();
  const std::string file = model.SerializeAsString();
  const std::vector<Message> tree = ModelTree(file);
  Rewrite rewrite(file, tree);
  constexpr MessageId kLastNode = 101;
  rewrite.Append(kLastNode, 2, 0);
  rewrite.Layout();
  StringSink sink(file);
  rewrite.Write(sink, [](std::uint64_t, std::string& out) { out = "xy"; });
  // Up to the graph's prefix (two bytes), and from there to the last node's.
  EXPECT_THAT(sink.copies, ElementsAre(1u, file.size() - 1 - 2 - 1));
}

TEST(RewriteTest, AppendedBytesEqualToTheErasedOnesAreNoChangeOfLength) {
  schema::ModelProto model = IfModel("n");
  AddMetadata(InnerNode(model), "key", "value");
  const std::string file = model.SerializeAsString();
  const std::vector<Message> tree = ModelTree(file);
  Rewrite rewrite(file, tree);
  const std::string entry = Entry("key", "value");
  const Message& inner = tree[6];
  rewrite.Erase(6, Bytes(file).substr(inner.begin + inner.size - entry.size(),
                                      entry.size()));
  rewrite.Append(6, static_cast<std::uint32_t>(entry.size()), 0);
  rewrite.Layout();
  EXPECT_EQ(Written(rewrite, file, {{0, entry}}), file);
}

TEST(RewriteTest, TheFileItselfMayBeAppendedToAfterTheLayout) {
  const std::string file = IfModel("n").SerializeAsString();
  const std::vector<Message> tree = ModelTree(file);
  Rewrite rewrite(file, tree);
  rewrite.Layout();
  rewrite.Append(0, 3, 9);
  EXPECT_EQ(rewrite.new_size(), file.size() + 3);
  EXPECT_EQ(Written(rewrite, file, {{9, "end"}}), file + "end");
}

TEST(RewriteTest, AWrongNumberOfGeneratedBytesIsALogicError) {
  const std::string file = IfModel("n").SerializeAsString();
  const std::vector<Message> tree = ModelTree(file);
  Rewrite rewrite(file, tree);
  rewrite.Append(6, 3, 1);
  rewrite.Layout();
  EXPECT_THROW(Written(rewrite, file, {{1, "four"}}), std::logic_error);
  EXPECT_THROW(Written(rewrite, file, {{1, "2b"}}), std::logic_error);
}

TEST(RewriteTest, EditsOutOfOrderAreLogicErrors) {
  const std::string file = IfModel("n").SerializeAsString();
  const std::vector<Message> tree = ModelTree(file);
  Rewrite rewrite(file, tree);
  rewrite.Erase(1, Bytes(file).substr(10, 2));
  EXPECT_THROW(rewrite.Erase(1, Bytes(file).substr(5, 2)), std::logic_error);
  rewrite.Insert(1, 10, 1, 0);
  EXPECT_THROW(rewrite.Insert(1, 9, 1, 0), std::logic_error);
  EXPECT_THROW(rewrite.Insert(0, 12, 1, 0), std::logic_error);
  rewrite.Append(2, 1, 0);
  rewrite.Append(2, 1, 0);
  EXPECT_THROW(rewrite.Layout(), std::logic_error);
}

// One message of `size` bytes behind a prefix of `width`.
struct Padded {
  Padded(std::size_t size, std::size_t width)
      : file(BytesField(1, std::string(size, 'x'), width)),
        tree({{0, file.size(), 0, 0},
              {1 + width, size, 0, static_cast<std::uint8_t>(width)}}) {}
  std::string file;
  std::vector<Message> tree;
};

TEST(RewriteTest, APaddedPrefixKeepsItsWidthWhileTheLengthFits) {
  const Padded padded(3, 4);
  Rewrite rewrite(padded.file, padded.tree);
  rewrite.Append(1, 200, 0);
  rewrite.Layout();
  EXPECT_EQ(Written(rewrite, padded.file, {{0, std::string(200, 'y')}}),
            BytesField(1, "xxx" + std::string(200, 'y'), 4));
  EXPECT_THAT(rewrite.WidthsToRecord(), IsEmpty());
}

// 3 bytes behind a prefix of two; with 200 more the prefix is as it must be,
// and nothing tells that it was wider than needed before.
TEST(RewriteTest, AWidthTheNewFileDoesNotTellIsRecorded) {
  const Padded padded(3, 2);
  Rewrite rewrite(padded.file, padded.tree);
  rewrite.Append(1, 200, 0);
  rewrite.Layout();
  EXPECT_THAT(rewrite.WidthsToRecord(), ElementsAre(Rewrite::Width{1, 2}));
}

TEST(RewriteTest, ARecordedWidthIsRestored) {
  const std::string file = BytesField(1, std::string(203, 'x'));
  const std::vector<Message> tree = {{0, file.size(), 0, 0}, {3, 203, 0, 2}};
  Rewrite rewrite(file, tree);
  rewrite.Erase(1, Bytes(file).substr(6));
  rewrite.SetOriginalWidth(1, 2);
  rewrite.Layout();
  EXPECT_EQ(Written(rewrite, file, {}), BytesField(1, "xxx", 2));
}

TEST(RewriteTest, ADamagedRecordStillGivesAReadableFile) {
  const std::string file = BytesField(1, std::string(203, 'x'));
  const std::vector<Message> tree = {{0, file.size(), 0, 0}, {3, 203, 0, 2}};
  for (const int width : {0, 1, 3, 5, 6, 10, 255}) {
    Rewrite rewrite(file, tree);
    rewrite.SetOriginalWidth(1, static_cast<std::uint8_t>(width));
    rewrite.SetOriginalWidth(0, static_cast<std::uint8_t>(width));
    rewrite.SetOriginalWidth(77, static_cast<std::uint8_t>(width));
    rewrite.Layout();
    const std::string result = Written(rewrite, file, {});
    EXPECT_EQ(result.size(), rewrite.new_size());
    Field field;
    ASSERT_TRUE(FieldReader(result).Next(field)) << width;
    EXPECT_EQ(field.bytes.size(), 203u);
  }
}

TEST(RewriteTest, SizesPastFourGigabytesAreTold) {
  const Padded padded(3, 1);
  Rewrite rewrite(padded.file, padded.tree);
  rewrite.Append(1, 0xffffffff, 0);
  rewrite.Append(0, 0xffffffff, 1);
  rewrite.Layout();
  EXPECT_EQ(rewrite.new_size(), padded.file.size() + 4 + 2 * 0xffffffffull);
  EXPECT_THROW(Written(rewrite, padded.file, {}), std::logic_error);
}

}  // namespace
}  // namespace onnx_tag::wire
