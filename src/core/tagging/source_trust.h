// What a source of tags is worth, in one table. Who asks how far a tag is
// trusted asks here.
#ifndef ONNX_TAG_CORE_TAGGING_SOURCE_TRUST_H_
#define ONNX_TAG_CORE_TAGGING_SOURCE_TRUST_H_

#include "onnx_tag/tagging.h"

namespace onnx_tag {

struct SourceTrust {
  // The file itself spells the module of the node.
  bool is_spelled = false;
  // A fact or a rule about modules, which confirms one without its parameters.
  bool confirms_modules = false;
  // What the operations of the file show, beside its names.
  bool is_shown = false;
};

constexpr SourceTrust TrustIn(Source source) {
  switch (source) {
    case Source::kMetadata:
      return {.is_spelled = true, .confirms_modules = true};
    case Source::kScope:
    case Source::kScopeAndParameter:
    case Source::kValueName:
      return {.is_spelled = true};
    case Source::kParameter:
    case Source::kOperation:
      return {.is_shown = true};
    case Source::kLocality:
      return {};
    case Source::kHierarchy:
    case Source::kTrace:
    case Source::kFx:
    case Source::kRule:
    case Source::kTransfer:
    case Source::kAuxiliary:
    case Source::kStructure:
      return {.confirms_modules = true};
  }
  return {};
}

}  // namespace onnx_tag

#endif  // ONNX_TAG_CORE_TAGGING_SOURCE_TRUST_H_
