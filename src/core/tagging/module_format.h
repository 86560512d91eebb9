// Makes the class paths of modules: hierarchy tags and role paths.
//
// Paths are made on demand. For a hostile tree of 10^5 modules, nested 1,000
// deep, storing all paths would need hundreds of megabytes.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_set>
#include <vector>

#include "onnx_tag/tagging.h"

namespace onnx_tag {

inline constexpr std::string_view kAuxiliarySegment = "/AuxiliaryOperations";

class ModuleFormat {
 public:
  // `tagging` must outlive it.
  explicit ModuleFormat(const Tagging& tagging);

  // "/BertModel/BertEncoder/BertLayer.0"
  std::string HierarchyTag(ModuleId module) const;
  // The tag of a node. For the fallback of auxiliary operations it is
  // "/BertModel/AuxiliaryOperations".
  std::string HierarchyTag(const Tag& tag) const;
  void AppendHierarchyTag(const Tag& tag, std::string& out) const;
  // "/Model/Encoder/Layer.0"
  std::string RolePath(ModuleId module) const;
  // The module that the last segment of the hierarchy tag names: this one, or
  // the nearest around it whose class is in the tag.
  ModuleId TagModule(ModuleId module) const;
  // "medium": the weakest class in the hierarchy tag; "" if the tag has no
  // class, or nothing says how sure its classes are.
  std::string_view TagClassConfidence(ModuleId module) const;

 private:
  // The tag that a file or a sidecar gave the module; empty: none.
  std::string_view TagReadBack(ModuleId module) const;
  void AppendPath(ModuleId module, bool roles, std::string& path) const;
  std::string RoleSegment(std::string_view name, bool is_class) const;

  const Tagging& tagging_;
  std::vector<bool> left_out_;             // by module: not in the tag
  std::vector<std::uint8_t> weakest_;      // by module: Confidence, or kNoClass
  std::vector<std::string> family_words_;  // longest first: "Bert"
};

// The classes of torch.nn.

const std::unordered_set<std::string_view>& TorchNnClasses();

}  // namespace onnx_tag
