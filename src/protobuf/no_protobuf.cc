// Compiled instead of verify.cc in a build without protobuf.
#include "onnx_tag/error.h"
#include "protobuf/verify.h"

namespace onnx_tag {

std::vector<ReadingDifference> CompareWithProtobuf(Bytes, const Model&) {
  Fail(ErrorKind::kUsage,
       "--verify needs protobuf, but this build has none\n  build with "
       "-DONNX_TAG_PROTOBUF=ON");
}

}  // namespace onnx_tag
