// The nodes that the user's rules give a module.
#include "core/tagging/tag_format.h"
#include "mapping/evidence/evidence.h"
#include "mapping/rules/rules.h"

namespace onnx_tag {
namespace {

bool Holds(const std::optional<Pattern>& pattern, std::string_view text,
           Captures& captures) {
  return !pattern || pattern->Matches(text, captures);
}

bool HoldsForOutput(const Rule& rule, const Model& model, NodeId node,
                    Captures& captures) {
  if (!rule.value) return true;
  for (const ValueId value : model.Outputs(node)) {
    if (value != kNo<ValueId> &&
        rule.value->Matches(model.ValueName(value), captures)) {
      return true;
    }
  }
  return false;
}

bool HoldsForParameter(const Rule& rule, const Model& model,
                       const ParameterFacts& parameters, NodeId node,
                       Captures& captures) {
  if (!rule.parameter) return true;
  for (const ValueId input : model.Inputs(node)) {
    if (input == kNo<ValueId>) continue;
    const ParameterId id = parameters.ParameterOf(input);
    if (id != kNo<ParameterId> &&
        rule.parameter->Matches(parameters.parameters[id].name, captures)) {
      return true;
    }
    if (model.InitializerOf(input) != nullptr &&
        rule.parameter->Matches(model.ValueName(input), captures)) {
      return true;
    }
  }
  return false;
}

}  // namespace

bool HoldsForNode(const Rule& rule, const Model& model,
                  const ParameterFacts& parameters, NodeId node,
                  Captures& captures) {
  return Holds(rule.op, model.OpType(node), captures) &&
         Holds(rule.name, ExporterName(model, node), captures) &&
         HoldsForOutput(rule, model, node, captures) &&
         HoldsForParameter(rule, model, parameters, node, captures);
}

std::vector<std::uint64_t> GatherRules(const Model& model,
                                       const ParameterFacts& parameters,
                                       const Rules* rules, ModuleTree& modules,
                                       Clues& said) {
  std::vector<std::uint64_t> matches;
  if (rules == nullptr) return matches;
  matches.resize(rules->rules.size(), 0);
  for (const NodeId node : model.Nodes()) {
    for (std::size_t i = 0; i < rules->rules.size(); ++i) {
      const Rule& rule = rules->rules[i];
      if (rule.module || !rule.gives_module) continue;
      Captures captures;
      if (!HoldsForNode(rule, model, parameters, node, captures)) continue;
      ++matches[i];
      said.Add(WriterId::kRule,
               {node, modules.Add(FillIn(*rule.gives_module, captures)),
                Confidence::kCertain, Source::kRule, rule.because});
      break;
    }
  }
  return matches;
}

}  // namespace onnx_tag
