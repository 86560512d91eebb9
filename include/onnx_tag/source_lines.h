// The lines of Python code that made the nodes of a model.
//
//   if (const auto line = tagging.lines.Of(node)) Use(line->file, line->line);
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "onnx_tag/ids.h"
#include "onnx_tag/model.h"

namespace onnx_tag {

struct SourceLine {
  // "transformers/models/bert/modeling_bert.py": the part after
  // `site-packages`, or after the folder that all of the model's files share.
  std::string_view file;
  std::uint32_t line = 0;
  std::string_view function;  // "forward"; may be empty
  std::string_view text;      // the code; empty: not known

  bool operator==(const SourceLine&) const = default;
};

// "modeling_bert.py:238": the file without its folders.
std::string ShortPlace(const SourceLine& line);

enum class LineId : std::uint32_t {};

// Equal lines are stored once. A model without lines takes no memory.
class SourceLines {
 public:
  // The innermost line of the model's own code; none if it is not known. Valid
  // until a line is added.
  std::optional<SourceLine> Of(NodeId node) const;
  // All frames of the node, the innermost first, those of torch included.
  // Empty unless they were added.
  std::vector<SourceLine> FramesOf(NodeId node) const;

  void Set(NodeId node, const SourceLine& line);
  void SetFrames(NodeId node, std::span<const SourceLine> frames);

  bool empty() const { return of_node_.empty(); }

  // The distinct lines, for work that is done once for each.
  std::size_t line_count() const { return lines_.size(); }
  SourceLine operator[](LineId id) const;
  LineId IdOf(NodeId node) const;  // kNo: the node has no line

 private:
  // A line, as indices in texts_.
  struct Row {
    std::uint32_t file;
    std::uint32_t line;
    std::uint32_t function;
    std::uint32_t text;
    auto operator<=>(const Row&) const = default;
  };
  // A frame and the frame that called it.
  using Frame = std::pair<LineId, std::uint32_t>;

  std::uint32_t Intern(std::string_view text);
  LineId Add(const SourceLine& line);

  std::vector<std::string> texts_;
  // Finds a text without copying it.
  struct TextHash {
    using is_transparent = void;
    std::size_t operator()(std::string_view text) const {
      return std::hash<std::string_view>()(text);
    }
  };
  std::unordered_map<std::string, std::uint32_t, TextHash, std::equal_to<>>
      text_index_;
  IdVector<LineId, Row> lines_;
  std::map<Row, LineId> line_index_;
  IdVector<NodeId, LineId> of_node_;  // may be shorter than the model
  std::vector<Frame> frames_;
  std::map<Frame, std::uint32_t> frame_index_;
  IdVector<NodeId, std::uint32_t> frames_of_node_;
};

}  // namespace onnx_tag
