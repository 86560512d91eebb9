// What the steps of evidence say, as text.
#pragma once

#include <string>

#include "mapping/evidence/evidence.h"
#include "support/small_file.h"

namespace onnx_tag::test {

// "net.fc certain": the first clue about the node; "-": none.
inline std::string Says(const Clues& clues, const ModuleTree& modules,
                        NodeId node) {
  const std::vector<Clue> said = clues.Of(node);
  if (said.empty()) return "-";
  return modules.Path(said[0].module) + " " +
         std::string(kConfidenceNames[static_cast<std::size_t>(said[0].level)]);
}

}  // namespace onnx_tag::test
