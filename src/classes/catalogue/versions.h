// Which version of a library was current when a file was exported.
#ifndef ONNX_TAG_CLASSES_CATALOGUE_VERSIONS_H_
#define ONNX_TAG_CLASSES_CATALOGUE_VERSIONS_H_

#include <string_view>

#include "classes/catalogue/table.h"

namespace onnx_tag::catalogue {

// The catalogue's version nearest to what went with that release of torch; the
// newest where the release is not known. A prior, not a proof: eager, Sdpa and
// Flash classes leave the same names, and nothing but the version tells them
// apart.
VersionMask LikelyVersions(const Table& table, std::string_view torch_version);

// Whether that release of torch came out with the newest version.
bool IsToday(std::string_view torch_version);

}  // namespace onnx_tag::catalogue

#endif  // ONNX_TAG_CLASSES_CATALOGUE_VERSIONS_H_
