// Small texts about tags that several commands print.
#ifndef ONNX_TAG_CORE_TAGGING_TAG_TEXT_H_
#define ONNX_TAG_CORE_TAGGING_TAG_TEXT_H_

#include <string>
#include <string_view>

#include "core/tagging/words.h"
#include "onnx_tag/tagging.h"

namespace onnx_tag {

// "attention/query", "normalization"
inline std::string RoleText(const Role& role) {
  std::string text(EnumToWord(kRoleTypeNames, role.type));
  return role.component.empty() ? text : text + "/" + role.component;
}

// The class of a module; "" if it is not known.
inline std::string_view ClassOf(const Tagging& tagging, ModuleId id) {
  const std::string_view name = tagging.modules.Class(id);
  return id == ModuleTree::kRoot && name.empty()
             ? std::string_view(tagging.root.name)
             : name;
}

}  // namespace onnx_tag

#endif  // ONNX_TAG_CORE_TAGGING_TAG_TEXT_H_
