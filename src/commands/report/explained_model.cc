#include "commands/report/explained_model.h"

#include "commands/read/fact_files.h"

namespace onnx_tag {

ExplainedModel LoadExplained(const std::string& path,
                             const TagSourceOptions& options,
                             Terminal& terminal) {
  ClaimGatherer gatherer;
  ExplainedModel loaded{TaggedModel::Load(path, options, terminal, &gatherer),
                        {}};
  if (loaded.model.file() == nullptr) return loaded;
  if (loaded.model.source() != TaggedModel::kMapped) {
    const MappingFacts facts = ReadFacts(options.mapping);
    loaded.model.file()->Map([&](const Model& model) {
      return MapNodes(model, options.mapping, facts, &gatherer);
    });
    loaded.model.file()->file().CheckUnchanged();
  }
  loaded.claims = gatherer.Take();
  return loaded;
}

}  // namespace onnx_tag
