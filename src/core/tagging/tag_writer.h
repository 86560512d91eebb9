// Adds tags to a file and removes them. Every other byte is kept.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "core/tagging/module_format.h"
#include "core/tagging/renames.h"
#include "file/wire/rewrite.h"
#include "onnx_tag/ids.h"
#include "onnx_tag/tagging.h"

namespace onnx_tag {

// The texts of the ids that were asked for last. Nodes of one module follow
// each other, so nearly all texts are made once; the texts of all modules of a
// large model would be hundreds of megabytes.
template <typename Id>
class RecentTexts {
 public:
  // A small model has few ids, and a command may have many small models.
  explicit RecentTexts(std::size_t ids)
      : kept_(std::clamp<std::size_t>(ids, 1, 1024)) {}

  // `append(text)` makes the text of `id`. The result is valid until the next
  // call.
  template <typename Append>
  const std::string& Of(Id id, Append append) {
    Kept& kept = kept_[Index(id) % kept_.size()];
    if (kept.id != id) {
      kept.id = kNo<Id>;
      kept.text.clear();
      append(kept.text);
      kept.id = id;
    }
    return kept.text;
  }

 private:
  struct Kept {
    Id id = kNo<Id>;
    std::string text;
  };
  std::vector<Kept> kept_;
};

// The largest file that protobuf can read.
inline constexpr std::uint64_t kMaxModelBytes = 0x7fffffff;

// The edits that tag or strip a model. Tagging removes the tags of an earlier
// run and appends the new ones. So tagging twice gives the same file as tagging
// once.
//
//   TagWriter writer(model, tagging, keys);
//   if (writer.new_size() > kMaxModelBytes) refuse;
//   writer.Write(sink);
class TagWriter {
 public:
  // All three must outlive the writer. `renames`: the nodes of `model` have
  // other names than in its bytes (RenameNodes).
  TagWriter(const Model& model, const Tagging& tagging, const KeyChoice& keys,
            bool renames = false);
  // Strips, and gives renamed initializers and nodes their old names.
  explicit TagWriter(const Model& model);

  std::uint64_t new_size() const { return rewrite_.new_size(); }
  // False if the new file is the old one.
  bool changes() const { return changes_; }
  void Write(wire::Rewrite::Sink& sink);

 private:
  void EraseOurs();
  void RestoreWidths();
  void RestoreNames();
  // The name of a node, as it is, as the exporter gave it, and as it will be. A
  // view without data is a node without the field.
  struct NodeName {
    const RenameTree::NodeName* in_file;
    Bytes old_name;
    Bytes new_name;

    bool had() const { return old_name.data() != nullptr; }
    // Whether its text is replaced; else the field goes, or comes at the end.
    bool replaced() const { return in_file != nullptr && had(); }
  };
  NodeName NameOf(NodeId node) const;
  void PutNames();
  // By the numbers of RenameTree, in the tree that is rewritten.
  wire::MessageId InTree(wire::MessageId message) const {
    return renamed_ ? renamed_->Id(message) : message;
  }
  void AppendTags();
  void Finish();
  // The encoded entries of one node.
  void Generate(NodeId node, std::string& out);
  static void AppendOldName(const NodeName& name, std::string& out);
  void AppendForeignKeys(NodeId node, ModuleId module, std::string& out) const;
  void AppendOrigins(NodeId node, std::string& out) const;
  void AppendModuleEntries(const Tag& tag, std::string& out);
  void AppendRoleEntries(RoleId role, std::string& out) const;
  void AppendSureness(const Tag& tag, std::string& out);
  std::string ModelEntries() const;

  const Model& model_;
  const Tagging* tagging_ = nullptr;  // null: strip
  KeyChoice keys_;
  NewNames old_names_;                 // strip: by the name as it stands
  bool node_names_ = false;            // those of some nodes change, or did
  std::optional<RenameTree> renamed_;  // where all of these are
  wire::Rewrite rewrite_;
  bool changes_ = false;
  std::vector<ModuleFormat> format_;         // one, or none: strip
  std::string module_table_;                 // empty: none
  RecentTexts<ModuleId> module_entries_{0};  // encoded
  RecentTexts<RoleId> role_entries_{0};      // encoded
  // Encoded, by confidence x source x evidence; empty until one is needed.
  std::vector<std::string> sureness_entries_ = std::vector<std::string>(
      kConfidenceNames.size() * kSourceNames.size() * kEvidenceNames.size());
  std::string scratch_;  // its memory is used again
};

// Gives each node of `model` with a sure tag the name `<module>/<Op>[_k]`. A
// node without a name becomes `<Op>_<k>`; others get the exporter's name. All
// names differ, over all graphs and functions, also after characters, or runs
// of them, that are no letter and no digit became `_`: of two that would not,
// the second is named as if it had none. TagWriter writes the names. Returns
// how many differ from the exporter's.
std::uint64_t RenameNodes(const Tagging& tagging, Model& model);

}  // namespace onnx_tag
