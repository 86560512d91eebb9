// A second name for a file.
#ifndef ONNX_TAG_IO_LINK_FILE_H_
#define ONNX_TAG_IO_LINK_FILE_H_

#include <string>

#include "io/inputs.h"

namespace onnx_tag {

// Makes `target` a hard link to `source`, or a symbolic one where the file
// system cannot do that. Throws Error(kOutput): where it cannot, where `target`
// is one of `inputs`, and where it exists and `replace` is not set.
void LinkFile(const std::string& source, const std::string& target,
              const Inputs& inputs, bool replace);

}  // namespace onnx_tag

#endif  // ONNX_TAG_IO_LINK_FILE_H_
