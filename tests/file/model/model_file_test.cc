#include "file/model/model_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "onnx_tag/error.h"
#include "support/onnx_models.h"
#include "support/temporary_folder.h"

namespace onnx_tag::test {
namespace {

using ::testing::HasSubstr;

TEST(ModelFileTest, ViewsStayGoodWhenItMoves) {
  const TemporaryFolder folder;
  const std::string path = folder.Write(
      "m.onnx", BytesFromText("graph { node { op_type: 'A' name: 'n' } }"));
  ModelFile file = ModelFile::Open(path);
  const ModelFile moved = std::move(file);
  EXPECT_EQ(moved.model()[NodeId{0}].name, "n");
  EXPECT_EQ(moved.path(), path);
  EXPECT_EQ(moved.file().size(), moved.model().bytes().size());
}

TEST(ModelFileTest, ErrorsNameTheFileOnce) {
  const TemporaryFolder folder;
  for (const std::string& path : {folder.Write("bad.onnx", "no model"),
                                  folder / "missing.onnx", folder.path()}) {
    try {
      ModelFile::Open(path);
      ADD_FAILURE() << path;
    } catch (const Error& error) {
      const std::string what = error.what();
      EXPECT_EQ(error.kind(), ErrorKind::kInput);
      EXPECT_EQ(what.find(path), 0u) << what;
      EXPECT_EQ(what.find(path, 1), std::string::npos) << what;
    }
  }
}

}  // namespace
}  // namespace onnx_tag::test
