// Descriptors that a person may sit behind.
#ifndef ONNX_TAG_FILE_IO_CONSOLE_H_
#define ONNX_TAG_FILE_IO_CONSOLE_H_

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace onnx_tag::io {

// 0, or the errno of what went wrong. Text for a terminal is UTF-8.
int WriteAll(int fd, std::string_view text);

bool IsTerminal(int fd);

// 0 where it is no terminal.
std::size_t ColumnsOf(int fd);

// The arguments of main() without the program's name, in UTF-8.
std::vector<std::string> Arguments(int argc, char** argv);

// Standard streams carry bytes; colours and UTF-8 reach the terminal.
void PrepareStandardStreams();

}  // namespace onnx_tag::io

#endif  // ONNX_TAG_FILE_IO_CONSOLE_H_
