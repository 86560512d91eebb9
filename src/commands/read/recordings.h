// The files given with --trace and --fx, read.
#ifndef ONNX_TAG_COMMANDS_READ_RECORDINGS_H_
#define ONNX_TAG_COMMANDS_READ_RECORDINGS_H_

#include "onnx_tag/mapping.h"

namespace onnx_tag {

// `options` with the recordings it names. Throws Error(kUsage), with the
// command that makes one, where a file is no recording or has not the section
// that is asked for.
MappingOptions WithRecordings(MappingOptions options);

}  // namespace onnx_tag

#endif  // ONNX_TAG_COMMANDS_READ_RECORDINGS_H_
