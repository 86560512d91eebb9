// Tested by tests/core/tagging/source_lines_test.cc.
#include "onnx_tag/source_lines.h"

#include <fmt/core.h>

#include "core/hierarchy/name_parts.h"

namespace onnx_tag {
namespace {

constexpr std::uint32_t kNoFrame = 0xffffffff;

}  // namespace

std::string ShortPlace(const SourceLine& line) {
  return fmt::format("{}:{}", hierarchy::LastPart(line.file, '/'), line.line);
}

std::optional<SourceLine> SourceLines::Of(NodeId node) const {
  const LineId id = IdOf(node);
  if (id == kNo<LineId>) return std::nullopt;
  return (*this)[id];
}

LineId SourceLines::IdOf(NodeId node) const {
  return Index(node) < of_node_.size() ? of_node_[node] : kNo<LineId>;
}

SourceLine SourceLines::operator[](LineId id) const {
  const Row& row = lines_[id];
  return {texts_[row.file], row.line, texts_[row.function], texts_[row.text]};
}

std::vector<SourceLine> SourceLines::FramesOf(NodeId node) const {
  std::vector<SourceLine> frames;
  if (Index(node) >= frames_of_node_.size()) return frames;
  for (std::uint32_t at = frames_of_node_[node]; at != kNoFrame;
       at = frames_[at].second) {
    frames.push_back((*this)[frames_[at].first]);
  }
  return frames;
}

void SourceLines::Set(NodeId node, const SourceLine& line) {
  of_node_.Grown(node, kNo<LineId>) = Add(line);
}

void SourceLines::SetFrames(NodeId node, std::span<const SourceLine> frames) {
  std::uint32_t caller = kNoFrame;
  for (auto frame = frames.rbegin(); frame != frames.rend(); ++frame) {
    const auto [at, added] = frame_index_.try_emplace(
        {Add(*frame), caller}, static_cast<std::uint32_t>(frames_.size()));
    if (added) frames_.push_back(at->first);
    caller = at->second;
  }
  frames_of_node_.Grown(node, kNoFrame) = caller;
}

std::uint32_t SourceLines::Intern(std::string_view text) {
  const auto known = text_index_.find(text);
  if (known != text_index_.end()) return known->second;
  const auto id = static_cast<std::uint32_t>(texts_.size());
  text_index_.emplace(text, id);
  texts_.emplace_back(text);
  return id;
}

LineId SourceLines::Add(const SourceLine& line) {
  const Row row{Intern(line.file), line.line, Intern(line.function),
                Intern(line.text)};
  const auto [at, added] =
      line_index_.try_emplace(row, MakeId<LineId>(lines_.size()));
  if (added) lines_.Add(row);
  return at->second;
}

}  // namespace onnx_tag
