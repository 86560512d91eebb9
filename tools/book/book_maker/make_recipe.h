// From a file with known answers to a recipe.
#pragma once

#include <string_view>
#include <vector>

#include "clues/recipes/book/recipe.h"
#include "onnx_tag/model.h"

namespace onnx_tag::recipes {

// Which module made a node.
struct KnownModule {
  NodeId node;
  std::string_view path;     // "encoder.layer.0"; "" for the root
  std::string_view classes;  // "BertModel/BertEncoder/ModuleList/BertLayer":
                             // the root's and one for each atom; may be empty
};

// Of the main graph. Family, exporter and version are left to the caller.
Recipe MakeRecipe(const Model& model, const std::vector<KnownModule>& truth);

}  // namespace onnx_tag::recipes
