// Nodes of a model cut out as a model of its own, for `extract` and `split`.
#ifndef ONNX_TAG_COMMANDS_WRITE_CUT_PART_H_
#define ONNX_TAG_COMMANDS_WRITE_CUT_PART_H_

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "commands/read/tag_source.h"
#include "commands/write/new_models.h"
#include "edit/part.h"
#include "json/writer.h"

namespace onnx_tag {

struct CutPart {
  std::size_t nodes = 0;
  std::size_t between = 0;    // nodes that were not asked for and come along
  std::size_t constants = 0;  // the same, for constants
  std::unique_ptr<const edit::PartWriter> writer;
};

// The part of `nodes`, closed so that it runs on its own. Where it cannot be
// cut out, says why and gives nothing. `name` is for messages.
std::optional<CutPart> CutPartOut(const TaggedModel& model,
                                  const sizes::Shapes& shapes,
                                  const std::vector<NodeId>& nodes,
                                  const std::string& name, Terminal& terminal);

// `"output": ..., "nodes": ..., "inputs": [...]` of an open object.
void AddPart(JsonWriter& json, const CutPart& part, const NewModel& written);

}  // namespace onnx_tag

#endif  // ONNX_TAG_COMMANDS_WRITE_CUT_PART_H_
