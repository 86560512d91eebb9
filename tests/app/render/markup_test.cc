#include <gtest/gtest.h>

#include "app/render/render.h"

namespace onnx_tag {
namespace {

TEST(XmlTextTest, EscapesMarkupAndWhatXmlCannotHold) {
  EXPECT_EQ(XmlText("a<b>&\"c\"'d'", 100),
            "a&lt;b&gt;&amp;&quot;c&quot;&apos;d&apos;");
  EXPECT_EQ(XmlText("\x1b[2J\xff", 100), "\\x1b[2J\\xff");
  EXPECT_EQ(XmlText("\xef\xbf\xbe|\xef\xbf\xbf|é", 100),
            "\xef\xbf\xbd|\xef\xbf\xbd|é");
}

}  // namespace
}  // namespace onnx_tag
