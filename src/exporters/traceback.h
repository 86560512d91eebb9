// Tracebacks that exporters write into a node, and whose code their frames are.
#ifndef ONNX_TAG_EXPORTERS_TRACEBACK_H_
#define ONNX_TAG_EXPORTERS_TRACEBACK_H_

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "tagging/source_lines.h"

namespace onnx_tag {

// Adds the frames of a traceback to an empty list, the innermost first; files
// as they are written. Takes both forms, in linear time; other lines are
// skipped.
//
//   File "/x/model.py", line 25, in forward      dynamo: outermost first
//       x = self.conv1(x)
//
//   /x/model.py(25): forward                     TorchScript: innermost first
void ParseTraceback(std::string_view text, std::vector<SourceLine>& frames);

enum class CodeOwner : std::uint8_t {
  kModel,  // the user's code, and libraries of models
  kTools,  // torch, and packages that help to export
  kEntry,  // where an export begins; frames around it are not the model's
  kInterpreter,
};

CodeOwner OwnerOf(std::string_view file);

// Shortens the names of files. Knows first all files of the model's own code.
class FileNames {
 public:
  void Learn(std::string_view file);
  // "transformers/activations.py" after `site-packages`, else the name below
  // the longest folder that the learned files outside of packages share.
  std::string Shorten(std::string_view file) const;

 private:
  std::string folder_;  // ends with '/'
  bool any_ = false;
};

}  // namespace onnx_tag

#endif  // ONNX_TAG_EXPORTERS_TRACEBACK_H_
