// Evidence of which only some parts can be seen, until the end of the scope. A
// rung must say the same with the parts that its row of the table names.
#pragma once

#include <functional>
#include <memory>
#include <utility>
#include <vector>

#include "mapping/ladder/claim.h"

namespace onnx_tag::test {

inline ScopeFacts NoScopes(const Model& model) {
  ScopeFacts scopes;
  scopes.node_scope.resize(model.node_count(), kNo<ScopeId>);
  scopes.value_scope.resize(model.node_count(), kNo<ScopeId>);
  scopes.named_by_constant.resize(model.node_count(), false);
  scopes.converter_name.resize(model.node_count(), false);
  scopes.fused_name.resize(model.node_count(), false);
  return scopes;
}

inline ParameterFacts NoParameters(const Model& model) {
  ParameterFacts parameters;
  parameters.value_parameter.resize(model.value_count(), kNo<ParameterId>);
  parameters.is_carrier.resize(model.node_count(), false);
  return parameters;
}

class HiddenParts {
 public:
  // `seen`: a set of EvidenceParts.
  HiddenParts(Evidence& evidence, unsigned seen) : seen_(seen) {
    const Model& model = evidence.model;
    Hide<Claims>(kReadsRules, evidence.ruled, {});
    Hide<Claims>(kReadsMetadata, evidence.metadata, {});
    Hide<DialectFacts>(kReadsNames, evidence, {});
    Hide<ScopeFacts>(kReadsNames, evidence, NoScopes(model));
    Hide<bool>(kReadsNames, evidence.only_root_is_named, false);
    Hide<Claims>(kReadsNames, evidence.returned, {});
    Hide<FunctionTable>(kReadsFunctions, evidence.functions,
                        {model, evidence.graph.calls});
    Hide<ParameterFacts>(kReadsParameters, evidence, NoParameters(model));
    Hide<AttentionGuesses>(kReadsParameters, evidence.usual_attention, {});
    Hide<RecordedFacts>(kReadsRecordings, evidence, {});
    Hide<KnownModules>(kReadsHierarchy, evidence.known, {});
    Hide<Claims>(kReadsHierarchy, evidence.called, {});
    Hide<RecipeFacts>(kReadsRecipes, evidence, {});
    Hide<ExporterFacts>(kReadsExporter, evidence, {});
  }
  ~HiddenParts() {
    for (const auto& show : show_) show();
  }
  HiddenParts(const HiddenParts&) = delete;
  HiddenParts& operator=(const HiddenParts&) = delete;

 private:
  template <typename T>
  void Hide(EvidenceParts part, T& facts, T nothing) {
    if ((seen_ & part) != 0) return;
    auto hidden = std::make_shared<T>(std::move(facts));
    facts = std::move(nothing);
    show_.push_back([&facts, hidden] { facts = std::move(*hidden); });
  }

  unsigned seen_;
  std::vector<std::function<void()>> show_;
};

}  // namespace onnx_tag::test
