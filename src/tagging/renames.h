// Initializers that were renamed: the record in the model's metadata, and all
// places of the file that mention a name.
//
// `weights --rename` writes the record {"new name": "old name", ...}; strip
// reads it and puts the old names back.
#ifndef ONNX_TAG_TAGGING_RENAMES_H_
#define ONNX_TAG_TAGGING_RENAMES_H_

#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "onnx_tag/model.h"
#include "wire/rewrite.h"

namespace onnx_tag {

using NewNames = std::unordered_map<std::string, std::string>;  // by old name

// The record, turned round: what strip renames. Empty where there is none, or
// where it cannot be read.
NewNames RenamesToUndo(const Model& model);

std::string EncodeRenames(const NewNames& renames);

// The tree of a file's messages, with those that must change when names do:
// each mention is a message of its own, and so is the tensor or value around
// it.
class RenameTree {
 public:
  struct Mention {
    wire::MessageId message;  // in tree(): the text itself
    std::string_view name;
  };

  // Finds the mentions of the names in `names`, outside functions.
  RenameTree(const Model& model, const NewNames& names);

  const std::vector<wire::Message>& tree() const { return tree_; }
  const std::vector<Mention>& mentions() const { return mentions_; }
  // The message of model.spine() in tree().
  wire::MessageId Id(wire::MessageId in_spine) const { return ids_[in_spine]; }
  // Names that must stay: a quantization annotation mentions them, or the
  // length prefix of a mention is padded (or that of any graph or node), so
  // that stripping could not give these bytes back.
  const std::vector<std::string_view>& fixed() const { return fixed_; }

 private:
  class Walk;

  std::vector<wire::Message> tree_;
  std::vector<wire::MessageId> ids_;  // by message of the spine
  std::vector<Mention> mentions_;
  std::vector<std::string_view> fixed_;
};

}  // namespace onnx_tag

#endif  // ONNX_TAG_TAGGING_RENAMES_H_
