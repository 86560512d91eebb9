// The one exception of the program.
//
// It is thrown if the input is invalid or the output cannot be written. main
// catches it (a batch: once per file) and prints `onnx-tag: <what>`. The kind
// decides the exit code. A message says what is wrong and, after a line break
// and two spaces, what to do.
#pragma once

#include <stdexcept>
#include <string>
#include <string_view>

#include "onnx_tag/message.h"

namespace onnx_tag {

enum class ErrorKind {
  kUsage,   // invalid command line, query, rules or trace file
  kInput,   // not a readable model
  kOutput,  // could not write, or refused to
};

class Error : public std::runtime_error {
 public:
  Error(ErrorKind kind, const std::string& what)
      : std::runtime_error(what), kind_(kind) {}

  ErrorKind kind() const { return kind_; }

  // The same error with "<place>: " in front. Callers add context this way.
  Error In(std::string_view place) const {
    return Error(kind_, Message("{}: {}", place, Ours{what()}));
  }

 private:
  ErrorKind kind_;
};

// Names among `args` are quoted by Message().
template <typename... Args>
[[noreturn]] void Fail(ErrorKind kind,
                       message::Format<std::type_identity_t<Args>...> format,
                       const Args&... args) {
  throw Error(kind, Message(format, args...));
}

}  // namespace onnx_tag
