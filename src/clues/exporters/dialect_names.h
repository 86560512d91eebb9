// Files whose names are not PyTorch's: which dialect a file speaks, and what
// names say in dialects with rules of their own.
#ifndef ONNX_TAG_CLUES_EXPORTERS_DIALECT_NAMES_H_
#define ONNX_TAG_CLUES_EXPORTERS_DIALECT_NAMES_H_

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "clues/exporters/dialect.h"
#include "onnx_tag/model.h"
#include "onnx_tag/tagging.h"

namespace onnx_tag {

// What a name says in full, without the votes of parameters.
struct NamedModule {
  std::string module;
  Confidence confidence = Confidence::kHigh;
  std::string_view because;
  std::vector<std::string> origins;  // of a node packed from several modules
};

// Reads the names of one file in one dialect.
class DialectNames {
 public:
  virtual ~DialectNames() = default;

  // Nothing where the node's names say nothing.
  virtual std::optional<NamedModule> OfNode(NodeId node) const = 0;

  // The module that owns the tensor of this name, as UndoTensorName leaves it.
  virtual std::optional<std::string> OwnerOf(std::string_view tensor) const = 0;
};

// Who wrote the file.
struct ExporterFacts {
  // The exporter's dialect, not the last tool's: files are mixtures, and most
  // of their nodes decide.
  hierarchy::Dialect dialect = hierarchy::Dialect::kUnknown;
  // Null for dialects that AlignScopes or metadata serve. The model must
  // outlive it.
  std::shared_ptr<const DialectNames> names;
  // Another framework's exporter says that it made the file: the same
  // architectures, other modules.
  bool other_framework = false;
  // That framework is PaddlePaddle.
  bool paddle = false;
  // By node: TorchScript's exporter gave it its name, and no tool added to it.
  // These are most nodes of most files, so that no later step reads on. Empty:
  // nobody looked.
  IdVector<NodeId, bool> plain;

  bool IsPlain(NodeId node) const {
    return Index(node) < plain.size() && plain[node];
  }
};

// Recognises the exporter: once for a file, here and nowhere else.
ExporterFacts RecognizeExporter(const Model& model);

// One file each.
std::shared_ptr<const DialectNames> ReadGenaiNames(const Model& model);
std::shared_ptr<const DialectNames> ReadOnnxscriptNames(const Model& model);
std::shared_ptr<const DialectNames> ReadTfNames(const Model& model);

}  // namespace onnx_tag

#endif  // ONNX_TAG_CLUES_EXPORTERS_DIALECT_NAMES_H_
