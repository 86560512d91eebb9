// Temporary names, and those that a crash left behind.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace onnx_tag::io {

// A temporary name is this and six letters or digits.
inline constexpr std::string_view kTemporaryPrefix = ".onnx-tag-";
inline constexpr std::size_t kTemporaryLetters = 6;

std::string RandomTemporaryName();

// RemoveLeftovers(), unless this process has done it for `folder` before.
void RemoveLeftoversOnce(const std::string& folder);

// Removes a file with a temporary name if its writer is gone. Never fails.
void RemoveIfLeftOver(const std::string& path);

// Bytes that nobody can foretell. False where the system has none.
bool FillRandom(void* bytes, std::size_t size);

}  // namespace onnx_tag::io
