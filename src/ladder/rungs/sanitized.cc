// Names in which a tool replaced dots and slashes by underscores. They cannot
// be read back by themselves; modules known from elsewhere in the file can be
// recognized in them.
#include "exporters/tools/sanitized.h"

#include "exporters/parameter_name.h"
#include "exporters/tools/original_name.h"
#include "hierarchy/name_parts.h"
#include "ladder/claim.h"

namespace onnx_tag {
namespace {

// `node_7_encoder_layer_0_fc_Gemm`: without the tool's count.
std::string_view WithoutCount(std::string_view name) {
  if (!hierarchy::ConsumePrefix(name, "node_")) return name;
  const std::size_t digits = name.find_first_not_of("0123456789");
  if (digits == 0 || digits == std::string_view::npos) return name;
  name.remove_prefix(digits);
  hierarchy::ConsumePrefix(name, "_");
  return name;
}

// Whether `rest` is the operator, as in `Gemm`, `MatMul_3`, `Conv_Conv`.
bool IsOperator(std::string_view rest) {
  return !rest.empty() && hierarchy::IsUpper(rest[0]);
}

ModuleId Recognize(const ModuleTree& tree, std::string_view text,
                   bool is_node) {
  const hierarchy::SanitizedMatch match =
      hierarchy::MatchSanitized(tree, ModuleTree::kRoot, text);
  if (match.module == ModuleTree::kRoot || match.ambiguous) {
    return kNo<ModuleId>;
  }
  // One atom may be chance; the operator behind it is not.
  if (is_node && !IsOperator(match.rest)) return kNo<ModuleId>;
  if (!is_node && match.rest.find('_') != std::string_view::npos) {
    return kNo<ModuleId>;
  }
  return match.module;
}

}  // namespace

std::vector<Claim> ProposeFromSanitizedNames(const Evidence& evidence,
                                             const Placed& placed) {
  const Model& model = evidence.model;
  std::vector<Claim> claims;
  if (evidence.modules.size() <= 1) return claims;
  for (const NodeId node : model.Nodes()) {
    if (placed[node].tagged()) continue;
    const std::string_view name =
        hierarchy::UndoNodeName(model[node].name).name;
    if (name.find('/') == std::string_view::npos &&
        name.find('_') != std::string_view::npos) {
      const ModuleId module =
          Recognize(evidence.modules, WithoutCount(name), true);
      if (module != kNo<ModuleId>) {
        claims.push_back({node, module, Confidence::kLow, Source::kScope,
                          "its name is this module's with underscores"});
        continue;
      }
    }
    for (const ValueId input : model.Inputs(node)) {
      if (input == kNo<ValueId> || model.InitializerOf(input) == nullptr) {
        continue;
      }
      const std::string_view tensor =
          hierarchy::UndoTensorName(model.ValueName(input)).name;
      if (!hierarchy::IsSanitizedParameterName(tensor)) continue;
      const ModuleId module = Recognize(
          evidence.modules, hierarchy::WithoutPlaceholderPrefix(tensor), false);
      if (module == kNo<ModuleId>) continue;
      claims.push_back({node, module, Confidence::kLow, Source::kParameter,
                        "a weight's name is this module's with underscores"});
      break;
    }
  }
  return claims;
}

}  // namespace onnx_tag
