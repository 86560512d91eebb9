// Why a file has few tags, and what its user can do.
#ifndef ONNX_TAG_COMMANDS_READ_WHY_UNTAGGED_H_
#define ONNX_TAG_COMMANDS_READ_WHY_UNTAGGED_H_

#include <cstdint>
#include <string>
#include <string_view>

namespace onnx_tag {

// "names say nothing about modules (dialect torchscript-old)", for the summary
// of many files.
std::string WhyUntagged(std::uint64_t nodes, std::string_view dialect);

// A sentence or two, for the framework that exported the file.
std::string AdviceFor(std::string_view dialect, std::string_view producer);

}  // namespace onnx_tag

#endif  // ONNX_TAG_COMMANDS_READ_WHY_UNTAGGED_H_
