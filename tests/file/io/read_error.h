// What goes wrong when a file is read.
#pragma once

#include <gtest/gtest.h>

#include <functional>
#include <string>

#include "file/io/mapped_file.h"
#include "onnx_tag/error.h"

namespace onnx_tag::test {

inline std::string ErrorOf(const std::function<void()>& action) {
  try {
    action();
    return "no error";
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::kInput);
    return error.what();
  }
}

inline std::string OpenError(const std::string& path) {
  return ErrorOf([&] { MappedFile::Open(path); });
}

}  // namespace onnx_tag::test
