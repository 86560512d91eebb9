// What the steps of evidence say, as text.
#pragma once

#include <string>

#include "mapping/evidence/evidence.h"
#include "support/small_file.h"

namespace onnx_tag::test {

// "net.fc certain": the first claim on the node; "-": none.
inline std::string Says(const Claims& claims, const ModuleTree& modules,
                        NodeId node) {
  for (const Claim& claim : claims) {
    if (claim.node != node) continue;
    return modules.Path(claim.module) + " " +
           std::string(
               kConfidenceNames[static_cast<std::size_t>(claim.confidence)]);
  }
  return "-";
}

}  // namespace onnx_tag::test
