// Initializers that were renamed: the record in the model's metadata, and all
// places of the file that mention a name.
//
// `rename-weights` of the companion writes the record {"new name": "old name",
// ...}; strip reads it and puts the old names back.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "file/wire/rewrite.h"
#include "onnx_tag/model.h"

namespace onnx_tag {

using NewNames = std::unordered_map<std::string, std::string>;  // by old name

// Which initializers can get another name and get their own back.
class RenameRules {
 public:
  // `model` must outlive this.
  explicit RenameRules(const Model& model);

  // Why this tensor cannot; "" if it can.
  std::string_view WhyNot(const Initializer& tensor) const;
  // How many values have the name, in all graphs.
  std::uint32_t Uses(std::string_view name) const;

 private:
  const Model& model_;
  IdVector<NameId, std::uint32_t> uses_of_name_;
  bool has_training_ = false;
};

// What strip renames: the record, turned round, without names that the file no
// longer has. Anyone may have written the record, or changed the file since.
struct RecordedRenames {
  NewNames names;
  // Why the record does not fit the file; then `names` is empty.
  std::string fault;
};
RecordedRenames ReadRenames(const Model& model);

// The tree of a file's messages, with those that must change when names do:
// each mention is a message of its own, and so is the tensor or value around
// it.
class RenameTree {
 public:
  struct Mention {
    wire::MessageId message;  // in tree(): the text itself
    std::string_view name;
  };

  // The name of a node, where it has the field.
  struct NodeName {
    wire::MessageId message;  // in tree(): the text itself
    Bytes text;
    Bytes whole;
  };

  // Finds the mentions of the names in `names`, outside functions, and with
  // `node_names` the names of all nodes.
  RenameTree(const Model& model, const NewNames& names,
             bool node_names = false);

  const std::vector<wire::Message>& tree() const { return tree_; }
  const std::vector<Mention>& mentions() const { return mentions_; }
  // Messages have numbers that do not depend on names: those of model.spine(),
  // and then the name of the node at each of these. 0 in tree() if there is no
  // such message.
  wire::MessageId Id(wire::MessageId number) const;
  wire::MessageId Number(wire::MessageId in_tree) const;
  // Of the node at `in_spine`; null if it has none.
  const NodeName* NameAt(wire::MessageId in_spine) const;
  // Names that must stay: a quantization annotation mentions them, or the
  // length prefix of a mention is padded (or that of any graph or node), so
  // that stripping could not give these bytes back.
  const std::vector<std::string_view>& fixed() const { return fixed_; }

 private:
  class Visitor;

  std::vector<wire::Message> tree_;
  std::vector<wire::MessageId> ids_;  // by message of the spine
  std::vector<Mention> mentions_;
  std::unordered_map<wire::MessageId, NodeName> node_names_;  // by the node's
  std::vector<std::string_view> fixed_;
};

}  // namespace onnx_tag
