// Enumerators as their names in files and options, and small texts about tags.
#pragma once

#include <array>
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

#include "onnx_tag/tagging.h"

namespace onnx_tag {

template <typename Enum, std::size_t kCount>
std::optional<Enum> WordToEnum(
    const std::array<std::string_view, kCount>& words, std::string_view word) {
  for (std::size_t i = 0; i < kCount; ++i) {
    if (words[i] == word) return static_cast<Enum>(i);
  }
  return std::nullopt;
}

template <typename Enum, std::size_t kCount>
Enum WordOr(const std::array<std::string_view, kCount>& words,
            std::string_view word, Enum otherwise) {
  return WordToEnum<Enum>(words, word).value_or(otherwise);
}

template <typename Enum, std::size_t kCount>
std::string_view EnumToWord(const std::array<std::string_view, kCount>& words,
                            Enum value) {
  return words[Index(value)];
}

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
