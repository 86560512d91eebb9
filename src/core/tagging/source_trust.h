// Which sources of tags confirm a module without its parameters.
#pragma once

#include "onnx_tag/tagging.h"

namespace onnx_tag {

// Names, parameters, operations and neighbours do not: they spell or suggest a
// module. The others are facts or rules about modules.
constexpr bool ConfirmsModules(Source source) {
  switch (source) {
    case Source::kScope:
    case Source::kScopeAndParameter:
    case Source::kValueName:
    case Source::kParameter:
    case Source::kOperation:
    case Source::kLocality:
    case Source::kPlacement:
      return false;
    default:
      return true;
  }
}

}  // namespace onnx_tag
