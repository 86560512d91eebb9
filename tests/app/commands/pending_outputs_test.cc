#include "app/commands/output/pending_outputs.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <optional>

#include "onnx_tag/error.h"
#include "support/temporary_folder.h"

namespace onnx_tag::test {
namespace {

using ::testing::ElementsAre;

class PendingOutputsTest : public testing::Test {
 protected:
  PendingOutputsTest()
      : path_(folder_.Write("in", "input")),
        input_(MappedFile::Open(path_)),
        outputs_(std::in_place, input_, inputs_, options_, terminal_) {}

  void AddBoth() {
    outputs_->AddModel(folder_ / "model", 5, [this](wire::Rewrite::Sink& sink) {
      sink.Copy(0, input_.size());
    });
    outputs_->AddSidecar(folder_ / "sidecar",
                         [](wire::Rewrite::Sink& sink) { sink.Write("{}"); });
  }

  const TemporaryFolder folder_;
  const std::string path_;
  const MappedFile input_;
  const Inputs inputs_;
  const WriteOptions options_;
  Terminal terminal_;
  std::optional<PendingOutputs> outputs_;
};

TEST_F(PendingOutputsTest, ADocumentReplacesWhatBeginsLikeIt) {
  folder_.Write("page", "<!-- ours --> old");
  outputs_->AddDocument(
      folder_ / "page", "<!-- ours -->",
      [](wire::Rewrite::Sink& sink) { sink.Write("<!-- ours --> new"); });
  outputs_->Finish();
  EXPECT_EQ(ReadFile(folder_ / "page"), "<!-- ours --> new");
}

TEST_F(PendingOutputsTest, ADocumentWithoutAHeadReplacesNothing) {
  folder_.Write("page", "text");
  outputs_->AddDocument(folder_ / "page", "",
                        [](wire::Rewrite::Sink& sink) { sink.Write("other"); });
  EXPECT_THROW(outputs_->Judge(), Error);
}

TEST_F(PendingOutputsTest, NothingHasANameBeforeCommit) {
  AddBoth();
  outputs_->Judge();
  outputs_->Write();
  // Where a file cannot be without a name, it has one of ours.
  std::vector<std::string> names = folder_.Names();
  std::erase_if(names, [](const std::string& name) {
    return name.starts_with(".onnx-tag-");
  });
  EXPECT_THAT(names, ElementsAre("in"));
  outputs_->Commit();
  EXPECT_THAT(folder_.Names(), ElementsAre("in", "model", "sidecar"));
  EXPECT_EQ(ReadFile(folder_ / "model"), "input");
}

TEST_F(PendingOutputsTest, AnInputThatChangedMeanwhileLeavesNothing) {
  AddBoth();
  outputs_->Judge();
  outputs_->Write();
  std::ofstream(path_, std::ios::app) << "more";
  EXPECT_THROW(outputs_->Commit(), Error);
  outputs_.reset();
  EXPECT_THAT(folder_.Names(), ElementsAre("in"));
}

TEST_F(PendingOutputsTest, OneThatFailsTakesTheOthersAlong) {
  AddBoth();
  outputs_->AddSidecar(folder_ / "third", [](wire::Rewrite::Sink&) {
    Fail(ErrorKind::kOutput, "full");
  });
  outputs_->Judge();
  EXPECT_THROW(outputs_->Write(), Error);
  outputs_.reset();
  EXPECT_THAT(folder_.Names(), ElementsAre("in"));
}

// Somebody else's file that appears between the look and the name is kept.
TEST_F(PendingOutputsTest, AFileThatAppearedMeanwhileIsNotReplaced) {
  AddBoth();
  outputs_->Judge();
  outputs_->Write();
  folder_.Write("model", "somebody's");
  EXPECT_THROW(outputs_->Commit(), Error);
  EXPECT_EQ(ReadFile(folder_ / "model"), "somebody's");
}

}  // namespace
}  // namespace onnx_tag::test
