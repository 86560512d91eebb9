#include "app/page/page.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <string>

namespace onnx_tag::test {
namespace {

using ::testing::HasSubstr;
using ::testing::StartsWith;

std::string Text() { return {onnx_tag_text(), onnx_tag_text_size()}; }

TEST(PageTest, OpensExplainsAndQueries) {
  EXPECT_FALSE(onnx_tag_query("op=MatMul"));
  EXPECT_EQ(Text(), "no model is open");

  const std::string path =
      std::string(ONNX_TAG_TEST_MODELS) + "/bert_tiny/model.onnx";
  ASSERT_TRUE(onnx_tag_open(path.c_str())) << Text();
  EXPECT_THAT(Text(), StartsWith("{"));
  EXPECT_THAT(Text(), HasSubstr("\"BertSelfAttention\""));

  ASSERT_TRUE(onnx_tag_explain("#0")) << Text();
  EXPECT_THAT(Text(), HasSubstr("* marks the claim that becomes the tag"));
  EXPECT_FALSE(onnx_tag_explain("#99999"));

  ASSERT_TRUE(onnx_tag_query("op=Softmax")) << Text();
  EXPECT_EQ(onnx_tag_text_size(), 236u);
  const std::string mask = Text();
  EXPECT_EQ(std::count(mask.begin(), mask.end(), '\1'), 2);
  EXPECT_FALSE(onnx_tag_query("opp=Softmax"));
  EXPECT_THAT(Text(), HasSubstr("opp"));

  EXPECT_FALSE(onnx_tag_open("/no/such/file.onnx"));
}

}  // namespace
}  // namespace onnx_tag::test
