// --skip-current: whether an earlier run did the same work.
#ifndef ONNX_TAG_COMMANDS_WRITE_SKIP_CURRENT_H_
#define ONNX_TAG_COMMANDS_WRITE_SKIP_CURRENT_H_

#include <optional>
#include <string>
#include <vector>

#include "commands/options.h"
#include "commands/output/destinations.h"
#include "tagging/sidecar.h"

namespace onnx_tag {

// What the sidecar of `input` says, where every output is newer than the input
// and the sidecar was written for a file of that name and size, with these
// options, by this version. The fingerprint has no say: a model that was
// trained again has the same graph.
std::optional<SidecarGlance> CurrentSidecar(const std::string& input,
                                            const Destinations& destinations,
                                            const TagOptions& options,
                                            const MappingFacts::Digests& facts);

// The gates that a model does not meet although it is current: what an earlier
// run found is found again.
std::vector<std::string> FindingsOfCurrent(const std::string& sidecar,
                                           const SidecarGlance& glance,
                                           const TagOptions& options);

// Stands in the sidecar for the options that shape the answer and have no
// field of their own; "" if they are the default.
std::string OptionsDigest(const TagOptions& options,
                          const MappingFacts::Digests& facts);

}  // namespace onnx_tag

#endif  // ONNX_TAG_COMMANDS_WRITE_SKIP_CURRENT_H_
