// Evidence of which only some parts can be seen, until the end of the scope. A
// rung must say the same with the parts that its row of the table names.
#pragma once

#include <functional>
#include <memory>
#include <utility>
#include <vector>

#include "base/lists.h"
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
    Hide<ScopeFacts>(kReadsNames, evidence, NoScopes(model));
    Hide<bool>(kReadsNames, evidence.only_root_is_named, false);
    Hide<FunctionTable>(kReadsFunctions, evidence.functions,
                        {model, evidence.graph.calls});
    Hide<ParameterFacts>(kReadsParameters, evidence, NoParameters(model));
    HideClues(kReadsRecordings, {WriterId::kRecordedPart}, evidence.said);
    Hide<KnownModules>(kReadsHierarchy, evidence.known, {});
    HideClues(kReadsRecipes, {WriterId::kRecipe, WriterId::kLooseRecipe},
              evidence.said);
    Hide<RecipeFacts>(kReadsRecipes, evidence, {});
    Hide<ExporterFacts>(kReadsExporter, evidence, {});
  }
  ~HiddenParts() {
    for (const auto& show : show_) show();
  }
  HiddenParts(const HiddenParts&) = delete;
  HiddenParts& operator=(const HiddenParts&) = delete;

 private:
  void HideClues(EvidenceParts part, const std::vector<WriterId>& writers,
                 Clues& said) {
    Clues others;
    for (int i = 0; i < static_cast<int>(WriterId::kFirstRung); ++i) {
      const auto from = static_cast<WriterId>(i);
      if (IsAmong(from, writers)) continue;
      for (const Clue& clue : said.From(from)) {
        others.Add(from, said.AsClaim(clue));
      }
    }
    Hide<Clues>(part, said, std::move(others));
  }

  template <typename T>
  void Hide(EvidenceParts part, T& facts, T nothing) {
    if ((seen_ & part) != 0) return;
    auto hidden = std::make_shared<T>(std::move(facts));
    facts = std::move(nothing);
    show_.insert(show_.begin(),
                 [&facts, hidden] { facts = std::move(*hidden); });
  }

  unsigned seen_;
  std::vector<std::function<void()>> show_;
};

}  // namespace onnx_tag::test
