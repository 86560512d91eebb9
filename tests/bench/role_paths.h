// Whether role paths (/Model/Encoder/Layer.0) are what the true classes give.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "truth.h"

namespace onnx_tag::bench {

// Each module's class, the root's and those of all on the way included.
std::map<std::string, std::string> TrueClasses(
    const std::vector<TruthRow>& rows);

// The family of a root class, or "" where the catalogue does not know it: a
// model of somebody's own.
std::string_view CatalogueFamily(std::string_view root_class);

struct RolePathScore {
  std::uint64_t modules = 0;
  std::uint64_t right = 0;
  std::map<std::string, std::uint64_t> wrong;  // "is /Model/A got /Model/B"
};

// Compares, for every module that both know. What is expected follows from the
// true classes alone, with the family words of their sections in the
// catalogue; what was found out about this file has no part in it.
RolePathScore ScoreRolePaths(const Tagging& tagging,
                             const std::map<std::string, std::string>& classes);

}  // namespace onnx_tag::bench
