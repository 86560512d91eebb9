// The program in process: words in, both streams and the exit code out.
#pragma once

#include <string>
#include <vector>

namespace onnx_tag::test {

struct CliResult {
  int exit = 0;
  std::string out;
  std::string err;
};

// `input` is what standard input holds, through a pipe where `piped`.
CliResult RunCli(const std::vector<std::string>& args,
                 const std::string& input = "", bool piped = false);

std::vector<std::string> Lines(const std::string& text);

// Tags open and close in order, and nothing needs escaping that is not.
bool IsWellFormed(const std::string& xml);

}  // namespace onnx_tag::test
