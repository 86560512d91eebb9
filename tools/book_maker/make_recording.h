// From a file with known answers to a recording.
#ifndef ONNX_TAG_BOOK_MAKER_MAKE_RECORDING_H_
#define ONNX_TAG_BOOK_MAKER_MAKE_RECORDING_H_

#include <string_view>
#include <vector>

#include "onnx_tag/model.h"
#include "recipes/book/recording.h"

namespace onnx_tag::recipes {

// Which module made a node.
struct KnownModule {
  NodeId node;
  std::string_view path;     // "encoder.layer.0"; "" for the root
  std::string_view classes;  // "BertModel/BertEncoder/ModuleList/BertLayer":
                             // the root's and one for each atom; may be empty
};

// Of the main graph. Family, exporter and version are left to the caller.
Recording MakeRecording(const Model& model,
                        const std::vector<KnownModule>& truth);

}  // namespace onnx_tag::recipes

#endif  // ONNX_TAG_BOOK_MAKER_MAKE_RECORDING_H_
