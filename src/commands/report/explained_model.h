// A model with its tags and the claims behind them.
#ifndef ONNX_TAG_COMMANDS_REPORT_EXPLAINED_MODEL_H_
#define ONNX_TAG_COMMANDS_REPORT_EXPLAINED_MODEL_H_

#include <optional>
#include <string>

#include "commands/read/tag_source.h"
#include "mapping/claim_gatherer.h"

namespace onnx_tag {

struct ExplainedModel {
  TaggedModel model;
  std::optional<GatheredClaims> claims;  // none: only a sidecar
};

// Maps the model once: for its tags, or, where a file has them, for the claims.
ExplainedModel LoadExplained(const std::string& path,
                             const TagSourceOptions& options,
                             Terminal& terminal);

}  // namespace onnx_tag

#endif  // ONNX_TAG_COMMANDS_REPORT_EXPLAINED_MODEL_H_
