// Any bytes as a model, for the targets that need one.
#pragma once

#include <cstdint>
#include <optional>

#include "onnx_tag/error.h"
#include "onnx_tag/model.h"

namespace onnx_tag {

// Nothing if the bytes are refused. The model refers to them.
inline std::optional<Model> ReadAny(const std::uint8_t* data,
                                    std::size_t size) {
  try {
    return ReadModel(Bytes(reinterpret_cast<const char*>(data), size));
  } catch (const Error&) {
    return std::nullopt;
  }
}

}  // namespace onnx_tag
