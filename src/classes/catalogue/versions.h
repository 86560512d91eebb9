// Finds the version of a library that was current when a file was exported.
#ifndef ONNX_TAG_CLASSES_CATALOGUE_VERSIONS_H_
#define ONNX_TAG_CLASSES_CATALOGUE_VERSIONS_H_

#include <string_view>

#include "classes/catalogue/table.h"

namespace onnx_tag::catalogue {

// The version in the catalogue that is nearest to that release of torch; the
// newest if the release is unknown. It is a prior, not a proof: eager, Sdpa and
// Flash classes leave the same names, and only the version distinguishes them.
VersionMask LikelyVersions(const Table& table, std::string_view torch_version);

// Whether that release of torch belongs to the newest version.
bool IsToday(std::string_view torch_version);

}  // namespace onnx_tag::catalogue

#endif  // ONNX_TAG_CLASSES_CATALOGUE_VERSIONS_H_
