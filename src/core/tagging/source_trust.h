// Which sources of tags confirm a module without its parameters.
#ifndef ONNX_TAG_CORE_TAGGING_SOURCE_TRUST_H_
#define ONNX_TAG_CORE_TAGGING_SOURCE_TRUST_H_

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
      return false;
    default:
      return true;
  }
}

}  // namespace onnx_tag

#endif  // ONNX_TAG_CORE_TAGGING_SOURCE_TRUST_H_
