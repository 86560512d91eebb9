#include "commands/write/node_lines.h"

#include "json/writer.h"
#include "tagging/module_format.h"
#include "tagging/node_json.h"

namespace onnx_tag {

void WriteNodeLines(const std::string& path, const Model& model,
                    const Tagging& tagging, const NodeLines& lines) {
  constexpr std::size_t kPiece = 64 * 1024;
  std::string head = "{\"record\": \"node\", \"path\": ";
  AppendJsonString(head, path);
  head += ", ";
  const ModuleFormat format(tagging);
  NodeJson nodes(model, tagging, format);
  std::string piece;
  for (const NodeId node : model.Nodes()) {
    piece += head;
    nodes.AppendMembers(node, piece);
    piece += "}\n";
    if (piece.size() < kPiece) continue;
    lines(piece);
    piece.clear();
  }
  if (!piece.empty()) lines(piece);
}

}  // namespace onnx_tag
