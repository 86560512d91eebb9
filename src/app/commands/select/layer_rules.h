// Rules of ONNX Runtime's `session.layer_assignment_settings` for a selection.
//
//   device(annotation, =annotation, ...); device(...)
//
// A node's annotation is its metadata entry `layer_ann`, which `--keys
// layer_ann` fills with the module's path. A rule with `=` stands for this very
// annotation, one without for all that start with it; so `layer.1` would catch
// `layer.10`, and `layer.1.` does not.
#pragma once

#include <string>
#include <vector>

#include "app/commands/read/nodes.h"
#include "onnx_tag/tagging.h"

namespace onnx_tag {

struct LayerRules {
  std::vector<ModuleId> modules;    // whose nodes are selected
  std::vector<std::string> rules;   // "=encoder.layer.1", "encoder.layer.1."
  std::vector<Obstacle> obstacles;  // nodes that no rule reaches
  // Modules of which only some nodes are selected: "m: 3 of its 5 nodes".
  std::vector<std::string> split;

  // "cpu(=a, b.)"
  std::string Setting(const std::string& device) const;
};

LayerRules LayerRulesFor(const Tagging& tagging,
                         const std::vector<NodeId>& selected);

}  // namespace onnx_tag
