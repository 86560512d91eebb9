// What a file says of its nodes, as anchors for a recording.
#ifndef ONNX_TAG_MAPPING_EVIDENCE_FILE_MODULES_H_
#define ONNX_TAG_MAPPING_EVIDENCE_FILE_MODULES_H_

#include <string>
#include <vector>

#include "mapping/evidence/evidence.h"

namespace onnx_tag {

class FileModules {
 public:
  FileModules(const Model& model, const ScopeFacts& scopes,
              const ParameterFacts& parameters, const MetadataFacts& metadata,
              const ModuleTree& modules);

  // By node: the path of its module; null: the file does not say it.
  const std::vector<const std::string*>& of_node() const { return of_node_; }

 private:
  void Set(NodeId node, ModuleId module) {
    of_node_[Index(node)] = &paths_[module];
  }

  IdVector<ModuleId, std::string> paths_;
  std::vector<const std::string*> of_node_;
};

}  // namespace onnx_tag

#endif  // ONNX_TAG_MAPPING_EVIDENCE_FILE_MODULES_H_
