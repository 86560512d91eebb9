// Compiled instead of the other files in a build without protobuf.
#include "onnx_tag/error.h"
#include "protobuf/messages.h"
#include "protobuf/verify.h"

namespace onnx_tag {
namespace {

[[noreturn]] void FailWithout(std::string_view what) {
  Fail(ErrorKind::kUsage,
       "{} needs protobuf, but this build has none\n  build with "
       "-DONNX_TAG_PROTOBUF=ON",
       what);
}

}  // namespace

std::vector<ReadingDifference> CompareWithProtobuf(Bytes, const Model&) {
  FailWithout("--verify");
}

namespace protobuf {

std::string BuildValueInfo(std::string_view, Bytes, const TensorType&) {
  FailWithout("a new input or output");
}

bool IsCompleteInfo(Bytes, const TensorType&) {
  FailWithout("a new input or output");
}

std::string BuildIdentity(std::string_view, std::string_view,
                          std::string_view) {
  FailWithout("a new node");
}

std::string BuildMetadataEntry(std::string_view, std::string_view) {
  FailWithout("a new metadata entry");
}

}  // namespace protobuf
}  // namespace onnx_tag
