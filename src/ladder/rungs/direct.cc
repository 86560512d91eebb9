// Claims from direct evidence: the user's rules, metadata, scoped names,
// surviving value names.
#include "ladder/claim.h"

namespace onnx_tag {

std::vector<Claim> ProposeFromRules(const Evidence& evidence,
                                    const Placed& placed) {
  std::vector<Claim> claims;
  for (const RuleFact& fact : evidence.ruled) {
    if (placed[fact.node].tagged()) continue;
    claims.push_back({fact.node, fact.module, Confidence::kCertain,
                      Source::kRule, fact.because});
  }
  return claims;
}

std::vector<Claim> ProposeFromMetadata(const Evidence& evidence,
                                       const Placed& placed) {
  std::vector<Claim> claims;
  for (const MetadataFact& fact : evidence.metadata) {
    if (placed[fact.node].tagged()) continue;
    claims.push_back({fact.node, fact.module,
                      fact.merged ? Confidence::kHigh : Confidence::kCertain,
                      Source::kMetadata,
                      fact.merged
                          ? "the exporter recorded it; a rewriter merged "
                            "several nodes into this one"
                          : "the exporter recorded it in the node's metadata"});
  }
  return claims;
}

namespace {

bool HasTrustedParameter(const Evidence& evidence, NodeId node,
                         ModuleId module) {
  for (const ValueId input : evidence.model.Inputs(node)) {
    const ParameterId id = evidence.ParameterOf(input);
    if (id != kNo<ParameterId> && evidence.parameters[id].trusted &&
        evidence.parameters[id].module == module) {
      return true;
    }
  }
  return false;
}

}  // namespace

std::vector<Claim> ProposeFromScope(const Evidence& evidence,
                                    const Placed& placed) {
  std::vector<Claim> claims;
  for (const NodeId node : evidence.model.Nodes()) {
    const ScopeId scope = evidence.node_scope[node];
    if (scope == kNo<ScopeId> || placed[node].tagged()) continue;
    const ModuleId module = evidence.scopes[scope].module;
    const bool sure = evidence.scopes[scope].proven;
    const bool own = HasTrustedParameter(evidence, node, module);
    const bool settled = !own && evidence.scopes[scope].settled;
    claims.push_back(
        {node, module, sure || own ? Confidence::kCertain : Confidence::kHigh,
         own       ? Source::kScopeAndParameter
         : settled ? Source::kHierarchy
                   : Source::kScope,
         own ? "its name and its parameter name the same module"
         : settled
             ? "its name contains the scope, and one module of the hierarchy "
               "matches it"
         : sure && evidence.known.map != nullptr
             ? "its name contains the scope, and the hierarchy has this module"
         : scope == ScopeId{0} ? "its name has the scope of the root module"
         : sure ? "its name contains the scope, and parameters confirm it"
                : "its name contains the scope"});
  }
  return claims;
}

std::vector<Claim> ProposeFromValueName(const Evidence& evidence,
                                        const Placed& placed) {
  std::vector<Claim> claims;
  for (const NodeId node : evidence.model.Nodes()) {
    const ScopeId scope = evidence.value_scope[node];
    if (scope == kNo<ScopeId> || placed[node].tagged()) continue;
    claims.push_back({node, evidence.scopes[scope].module, Confidence::kHigh,
                      Source::kValueName,
                      "its output still has the name of a scoped node"});
  }
  return claims;
}

}  // namespace onnx_tag
