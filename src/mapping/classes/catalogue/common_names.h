// How much a name says about whose model a file is.
//
// A name is an attribute with the attribute of its owner: `self.query`, or
// `.norm` in a model itself; `*` is any index. Its weight is its rarity over
// the libraries of the catalogue: ln(libraries / libraries that have it). A
// name that plain networks use says nothing, and has weight 0.
#ifndef ONNX_TAG_MAPPING_CLASSES_CATALOGUE_COMMON_NAMES_H_
#define ONNX_TAG_MAPPING_CLASSES_CATALOGUE_COMMON_NAMES_H_

#include <string_view>

namespace onnx_tag::catalogue {

double WeightOf(std::string_view owner, std::string_view name);

}  // namespace onnx_tag::catalogue

#endif  // ONNX_TAG_MAPPING_CLASSES_CATALOGUE_COMMON_NAMES_H_
