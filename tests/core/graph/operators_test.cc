#include "core/graph/operators.h"

#include <gtest/gtest.h>

#include <vector>

#include "support/model_builder.h"

namespace onnx_tag {
namespace {

std::vector<Op> AllOps() {
  std::vector<Op> ops;
  for (std::size_t i = 1; i <= static_cast<std::size_t>(Op::kZipMap); ++i) {
    ops.push_back(static_cast<Op>(i));
  }
  return ops;
}

TEST(OperatorsTest, EveryRowIsFoundByItsName) {
  for (const Op op : AllOps()) {
    const Operator& row = Describe(op);
    SCOPED_TRACE(row.name);
    EXPECT_EQ(FindOp(row.name, row.domain), op);
    EXPECT_NE(row.kinds, OpKinds());
  }
}

TEST(OperatorsTest, AnUnknownOperatorHasNoKinds) {
  for (const char* name : {"", "A", "Convolution", "conv", "zzz"}) {
    EXPECT_EQ(FindOp(name), Op::kNone) << name;
  }
  EXPECT_EQ(Describe(Op::kNone).kinds, OpKinds());
}

TEST(OperatorsTest, ADomainMattersOnlyToNamesWithTwoMeanings) {
  EXPECT_EQ(FindOp("Attention"), Op::kAttention);
  EXPECT_EQ(FindOp("Attention", "com.microsoft"), Op::kAttentionContrib);
  EXPECT_EQ(FindOp("Attention", "my.domain"), Op::kAttention);
  EXPECT_EQ(FindOp("Conv", "com.ms.internal.nhwc"), Op::kConv);
  EXPECT_EQ(Describe(Op::kAttention).Input(1), Operand::kKey);
  EXPECT_EQ(Describe(Op::kAttentionContrib).Input(1), Operand::kQkvWeight);
}

// A form that a tool made has the kinds of the plain operator, so that whoever
// asks for a kind finds all forms.
TEST(OperatorsTest, AFormOfAnOperatorHasTheKindsOfThePlainOne) {
  for (const Op op : AllOps()) {
    const Operator& row = Describe(op);
    const Operator& plain = Describe(row.like);
    SCOPED_TRACE(row.name);
    EXPECT_EQ(plain.like, row.like) << "likeness is one step";
    EXPECT_TRUE(row.kinds.HasAnyOf(plain.kinds));
  }
  EXPECT_EQ(Describe(Op::kNhwcFusedConv).like, Op::kConv);
  EXPECT_EQ(Describe(Op::kConv).like, Op::kConv);
}

TEST(OperatorsTest, AllInputsAfterASettingAreSettings) {
  const Operator& slice = Describe(Op::kSlice);
  EXPECT_EQ(slice.Input(0), Operand::kData);
  for (const std::size_t i : {1, 2, 3, 4, 100}) {
    EXPECT_EQ(slice.Input(i), Operand::kSetting);
  }
  EXPECT_EQ(Describe(Op::kConv).Input(2), Operand::kBias);
  EXPECT_EQ(Describe(Op::kConv).Input(100), Operand::kData);
}

TEST(OperatorsTest, NodesKnowTheirOperators) {
  schema::ModelProto proto;
  test::AddNode(proto.mutable_graph(), "MatMul", {"x", "w"}, {"a"}, "");
  test::AddNode(proto.mutable_graph(), "Attention", {"a"}, {"b"}, "")
      ->set_domain("com.microsoft");
  test::AddNode(proto.mutable_graph(), "Attention", {"b"}, {"c"}, "");
  test::AddNode(proto.mutable_graph(), "Mine", {"c"}, {"d"}, "");
  test::AddNode(proto.mutable_graph(), "MatMul", {"d", "w"}, {"e"}, "");
  const std::string bytes = proto.SerializeAsString();
  const Model model = ReadModel(bytes);
  const Operators ops(model);
  std::vector<Op> found;
  for (const NodeId node : model.Nodes()) found.push_back(ops[node]);
  EXPECT_EQ(found, (std::vector<Op>{Op::kMatMul, Op::kAttentionContrib,
                                    Op::kAttention, Op::kNone, Op::kMatMul}));
  EXPECT_TRUE(ops.Is(NodeId{0}, OpKind::kProduct));
  EXPECT_FALSE(ops.Is(NodeId{3}, OpKind::kProduct));
  EXPECT_FALSE(ops.Is(kNo<NodeId>, OpKind::kProduct));
}

}  // namespace
}  // namespace onnx_tag
