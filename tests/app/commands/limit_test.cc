// Models of up to protobuf's 2 GiB: sparse files, so that they cost a few
// kilobytes of disk.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "support/memory.h"
#include "support/onnx_models.h"
#include "support/run_cli.h"
#include "support/temporary_folder.h"
#include "support/wire_builder.h"

namespace onnx_tag::test {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

constexpr std::uint64_t kLimit = 0x7fffffff;

// A model of exactly `size` bytes, most of them one weight of zeros.
void WriteSparseModel(const std::string& path, std::uint64_t size) {
  const std::string node =
      BytesField(1, Wire(BytesField(3, "/a/Relu"), BytesField(4, "Relu")));
  // Prefixes of five bytes: their width does not depend on the length.
  const auto head = [&](std::uint64_t weights) {
    const std::string raw =
        Wire(Tag(9, wire::WireType::kLengthDelimited), LongVarint(weights, 5));
    const std::string tensor = Wire(Tag(5, wire::WireType::kLengthDelimited),
                                    LongVarint(raw.size() + weights, 5), raw);
    return Wire(Tag(7, wire::WireType::kLengthDelimited),
                LongVarint(node.size() + tensor.size() + weights, 5), node,
                tensor);
  };
  const std::uint64_t weights = size - head(0).size();
  std::ofstream(path, std::ios::binary) << head(weights);
  std::filesystem::resize_file(path, size);
}

TEST(LimitTest, TagsThatPassTwoGigabytesAreRefusedBeforeAnythingIsWritten) {
  const TemporaryFolder folder;
  WriteSparseModel(folder / "big.onnx", kLimit - 100);
  const CliResult result = RunCli({folder / "big.onnx"});
  EXPECT_EQ(result.exit, 4);
  EXPECT_THAT(result.err, HasSubstr("the limit of protobuf is 2147483647\n  "
                                    "write the tags to a sidecar only"));
  EXPECT_THAT(folder.Names(), ElementsAre("big.onnx"));
  EXPECT_EQ(RunCli({folder / "big.onnx", "--sidecar-only"}).exit, 0);
  EXPECT_EQ(RunCli({folder / "big.onnx", "--dry-run"}).exit, 4);
}

TEST(LimitTest, CommandsThatNameNoWeightsDoNotLoadThem) {
  const TemporaryFolder folder;
  const std::string big = folder / "big.onnx";
  WriteSparseModel(big, std::uint64_t{1} << 30);
  for (const std::vector<std::string>& call :
       {std::vector<std::string>{"tag", big, "--sidecar-only"},
        {"show", big},
        {"explain", big, "#0"},
        {"query", big, "op=Relu"},
        {"check", big},
        {"weights", big},
        {"diff", big, big},
        {"report", big, "-o", folder / "report.html"},
        {"export", big, "--to", "tsv"}}) {
    ResetPeak();
    const std::size_t before = ResidentBytes();
    EXPECT_LT(RunCli(call).exit, 2) << call[0];
    EXPECT_LT(PeakBytes(), before + (16 << 20)) << call[0];
  }
}

}  // namespace
}  // namespace onnx_tag::test
