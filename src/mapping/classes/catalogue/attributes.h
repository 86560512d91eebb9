// The attributes of a class that hold modules of another class.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "mapping/classes/catalogue/table.h"

namespace onnx_tag::catalogue {

// The paths from a module of class `parent` to its parts of class `part`, over
// all classes of these names: "layer.*" from BertEncoder to BertLayer. "*" is
// any index. Parts that some instances lack are given only if all are such.
std::vector<std::string> AttributesOf(const Table& table,
                                      std::string_view parent,
                                      std::string_view part);

}  // namespace onnx_tag::catalogue
