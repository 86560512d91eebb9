// Initializers under other names, everywhere in the file, as version 0.4 gave
// them; strip undoes it.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "core/tagging/renames.h"
#include "file/wire/rewrite.h"
#include "onnx_tag/model.h"

namespace onnx_tag::edit {

// What is asked for.
struct Rename {
  std::uint32_t initializer;  // index in Model::initializers()
  std::string name;
};

class Renamer {
 public:
  // Leaves out what cannot be renamed and undone, and settles names that are
  // taken. `model` must outlive this. REQUIRES: the model has no record of an
  // earlier renaming.
  Renamer(const Model& model, const std::vector<Rename>& renames);

  struct Refused {
    std::uint32_t initializer;
    std::string_view why;
  };
  // By old name.
  const NewNames& names() const { return names_; }
  const std::vector<Refused>& refused() const { return refused_; }

  std::uint64_t new_size() const { return rewrite_->new_size(); }
  void Write(wire::Rewrite::Sink& sink) const;

 private:
  void ChooseNames(const std::vector<Rename>& renames);
  void Settle(const std::vector<Rename>& renames);

  const Model& model_;
  const RenameRules rules_;
  NewNames names_;
  std::vector<Refused> refused_;
  std::string record_;  // the model's new metadata entry
  std::optional<RenameTree> tree_;
  std::optional<wire::Rewrite> rewrite_;
};

}  // namespace onnx_tag::edit
