#include "uses/edit/renamer.h"

#include <algorithm>
#include <unordered_set>

#include "base/text.h"
#include "core/tagging/tag_format.h"
#include "file/json/writer.h"
#include "file/model/onnx_fields.h"
#include "file/protobuf/messages.h"
#include "file/wire/encoding.h"
#include "file/wire/field_reader.h"
#include "uses/edit/graph_edit.h"

namespace onnx_tag::edit {
namespace {

constexpr std::uint64_t kRecordToken = ~std::uint64_t{0};

std::string EncodeRenames(const NewNames& renames) {
  // In the order of the new names: the same input gives the same bytes.
  std::vector<std::pair<std::string_view, std::string_view>> pairs;
  for (const auto& [old_name, new_name] : renames) {
    pairs.emplace_back(new_name, old_name);
  }
  std::sort(pairs.begin(), pairs.end());
  JsonWriter json;
  json.BeginObject();
  for (const auto& [new_name, old_name] : pairs) {
    json.Key(new_name).String(old_name);
  }
  json.EndObject();
  return json.Take();
}

}  // namespace

Renamer::Renamer(const Model& model, const std::vector<Rename>& renames)
    : model_(model), rules_(model) {
  ChooseNames(renames);
  tree_.emplace(model, names_);
  if (!tree_->fixed().empty()) {
    Settle(renames);
    tree_.emplace(model, names_);
  }
  wire::AppendLengthDelimited(
      record_, onnx::ModelProto::kMetadataProps,
      protobuf::BuildMetadataEntry(keys::kRenamed, EncodeRenames(names_)));

  rewrite_.emplace(model.bytes(), tree_->tree());
  const std::vector<RenameTree::Mention>& mentions = tree_->mentions();
  for (std::size_t i = 0; i < mentions.size(); ++i) {
    const std::string& name = names_.at(std::string(mentions[i].name));
    rewrite_->Erase(mentions[i].message, mentions[i].name);
    rewrite_->Append(mentions[i].message, name.size(), i);
  }
  rewrite_->Layout();
  if (!names_.empty()) {
    rewrite_->Append(0, record_.size(), kRecordToken);
  }
}

void Renamer::ChooseNames(const std::vector<Rename>& renames) {
  FreeNames names(model_);
  for (const Rename& rename : renames) {
    const Initializer& tensor = model_.initializers()[rename.initializer];
    const std::string old_name(model_.ValueName(tensor.value));
    if (rename.name == old_name || names_.contains(old_name)) continue;
    const std::string_view why = rules_.WhyNot(tensor);
    if (!why.empty()) {
      refused_.push_back({rename.initializer, why});
      continue;
    }
    names_.emplace(old_name, names.Take(rename.name));
  }
}

// Leaves out names that must stay.
void Renamer::Settle(const std::vector<Rename>& renames) {
  const std::unordered_set<std::string_view> fixed(tree_->fixed().begin(),
                                                   tree_->fixed().end());
  for (const Rename& rename : renames) {
    const std::string old_name(
        model_.ValueName(model_.initializers()[rename.initializer].value));
    if (!fixed.contains(old_name) || names_.erase(old_name) == 0) continue;
    refused_.push_back({rename.initializer,
                        "the name is in a field that strip could not restore"});
  }
}

void Renamer::Write(wire::Rewrite::Sink& sink) const {
  rewrite_->Write(sink, [this](std::uint64_t token, std::string& out) {
    out += token == kRecordToken
               ? record_
               : names_.at(std::string(tree_->mentions()[token].name));
  });
}

}  // namespace onnx_tag::edit
