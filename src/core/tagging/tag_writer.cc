#include "core/tagging/tag_writer.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <charconv>

#include "base/text.h"
#include "core/hierarchy/name_parts.h"
#include "core/tagging/node_json.h"
#include "core/tagging/tag_format.h"
#include "core/tagging/words.h"
#include "file/json/writer.h"
#include "file/wire/encoding.h"
#include "generated/version.h"

namespace onnx_tag {
namespace {

// NodeProto.metadata_props and name, ModelProto.metadata_props.
constexpr std::uint32_t kNodeMetadata = 9;
constexpr std::uint32_t kNodeNameField = 3;
constexpr std::uint32_t kModelMetadata = 14;
constexpr std::uint64_t kModelToken = ~std::uint64_t{0};
constexpr std::size_t kMostKey = 80;  // longer than all keys
// With the index of a mention of a name, or with a node.
constexpr std::uint64_t kNameToken = std::uint64_t{1} << 62;
constexpr std::uint64_t kNodeNameToken = std::uint64_t{1} << 61;

// `key` is one of ours or of tag_format.h. What precedes the value goes out in
// one piece: this is most of the work of writing a large model.
void AppendEntry(std::string& out, std::uint32_t field, std::string_view key,
                 std::string_view value) {
  std::array<char, 128> head;
  std::size_t size = 0;
  const auto put = [&](std::uint64_t number) {
    for (; number >= 0x80; number >>= 7) {
      head[size++] = static_cast<char>(number | 0x80);
    }
    head[size++] = static_cast<char>(number);
  };
  constexpr auto kText = wire::WireType::kLengthDelimited;
  put(wire::MakeTag(field, kText));
  put(wire::LengthDelimitedSize(1, key.size()) +
      wire::LengthDelimitedSize(2, value.size()));
  put(wire::MakeTag(1, kText));
  put(key.size());
  size += key.copy(head.data() + size, kMostKey);
  put(wire::MakeTag(2, kText));
  put(value.size());
  out.append(head.data(), size).append(value);
}

// The path of `around`, which is `module` or a module around it: the beginning
// of the module's path.
std::string_view PathAround(const ModuleTree& tree, ModuleId around,
                            ModuleId module, std::string_view path) {
  if (around == ModuleTree::kRoot) return {};
  for (; module != around; module = tree.Parent(module)) {
    path.remove_suffix(tree.Atom(module).size() + 1);
  }
  return path;
}

// A Python list literal, as torch writes them.
void AppendPythonText(std::string& out, std::string_view text) {
  const char quote = text.find('\'') != std::string_view::npos &&
                             text.find('"') == std::string_view::npos
                         ? '"'
                         : '\'';
  out += quote;
  for (const char c : text) {
    if (c == quote || c == '\\') out += '\\';
    if (c == '\n') {
      out += "\\n";
    } else {
      out += c;
    }
  }
  out += quote;
}

bool HasRenamedNodes(const Model& model) {
  for (const NodeId node : model.Nodes()) {
    if (model[node].metadata_count > 0 &&
        OldNameEntry(model, node) != nullptr) {
      return true;
    }
  }
  return false;
}

std::optional<RenameTree> TreeOf(const Model& model, const NewNames& names,
                                 bool node_names) {
  if (names.empty() && !node_names) return std::nullopt;
  return std::make_optional<RenameTree>(model, names, node_names);
}

std::span<const wire::Message> TreeOr(const std::optional<RenameTree>& tree,
                                      const Model& model) {
  return tree ? std::span<const wire::Message>(tree->tree()) : model.spine();
}

}  // namespace

TagWriter::TagWriter(const Model& model, const Tagging& tagging,
                     const KeyChoice& keys, bool renames)
    : model_(model),
      tagging_(&tagging),
      keys_(keys),
      node_names_(renames || HasRenamedNodes(model)),
      renamed_(TreeOf(model, {}, node_names_)),
      rewrite_(model.bytes(), TreeOr(renamed_, model)),
      module_entries_(tagging.modules.size()),
      role_entries_(tagging.roles.size()) {
  format_.emplace_back(tagging);
  if (keys.tags) module_table_ = WriteModuleTable(tagging);
  EraseOurs();
  RestoreWidths();
  PutNames();
  AppendTags();
  Finish();
}

TagWriter::TagWriter(const Model& model)
    : model_(model),
      old_names_(ReadRenames(model).names),
      node_names_(HasRenamedNodes(model)),
      renamed_(TreeOf(model, old_names_, node_names_)),
      rewrite_(model.bytes(), TreeOr(renamed_, model)) {
  EraseOurs();
  RestoreWidths();
  RestoreNames();
  PutNames();
  Finish();
}

TagWriter::NodeName TagWriter::NameOf(NodeId node) const {
  NodeName name{renamed_->NameAt(model_[node].message), {}, {}};
  const MetadataEntry* const old = OldNameEntry(model_, node);
  if (old != nullptr) {
    name.old_name = old->value;
  } else if (name.in_file != nullptr) {
    name.old_name = name.in_file->text;
  }
  name.new_name = tagging_ == nullptr ? name.old_name : model_[node].name;
  return name;
}

void TagWriter::PutNames() {
  if (!node_names_) return;
  for (const NodeId node : model_.Nodes()) {
    const NodeName name = NameOf(node);
    std::string field;
    if (name.replaced()) {
      rewrite_.Append(name.in_file->message, name.new_name.size(),
                      kNodeNameToken | Index(node));
    } else if (tagging_ == nullptr && name.had()) {
      wire::AppendLengthDelimited(field, kNodeNameField, name.new_name);
      rewrite_.Append(InTree(model_[node].message), field.size(),
                      kNodeNameToken | Index(node));
    }
  }
}

void TagWriter::EraseOurs() {
  struct Erased {
    wire::MessageId message;
    Bytes whole;
  };
  std::vector<Erased> erased;
  for (const NodeId node : model_.Nodes()) {
    if (model_[node].metadata_count == 0) continue;
    for (const MetadataEntry* entry : OurEntries(model_, node)) {
      erased.push_back({InTree(model_[node].message), entry->whole});
    }
  }
  for (const MetadataEntry& entry : model_.metadata()) {
    if (keys::IsOurs(entry.key)) erased.push_back({0, entry.whole});
  }
  if (renamed_) {
    for (const RenameTree::Mention& mention : renamed_->mentions()) {
      erased.push_back({mention.message, mention.name});
    }
  }
  for (const NodeId node : model_.Nodes()) {
    if (!node_names_) break;
    const NodeName name = NameOf(node);
    if (name.in_file == nullptr) continue;
    if (!name.had()) {
      erased.push_back({InTree(model_[node].message), name.in_file->whole});
    } else if (!name.in_file->text.empty()) {
      erased.push_back({name.in_file->message, name.in_file->text});
    }
  }
  // The metadata of a node may precede or follow its subgraphs.
  std::sort(erased.begin(), erased.end(), [](const Erased& a, const Erased& b) {
    return a.whole.data() < b.whole.data();
  });
  for (const Erased& field : erased) {
    rewrite_.Erase(field.message, field.whole);
  }
  changes_ |= !erased.empty();
}

void TagWriter::RestoreWidths() {
  for (const MetadataEntry& entry : model_.metadata()) {
    if (entry.key != keys::kLayout) continue;
    for (const std::string_view item : Split(entry.value, ',')) {
      const std::vector<std::string_view> parts = Split(item, ':');
      std::uint32_t message = 0;
      unsigned width = 0;
      if (parts.size() != 2) continue;
      std::from_chars(parts[0].data(), parts[0].data() + parts[0].size(),
                      message);
      std::from_chars(parts[1].data(), parts[1].data() + parts[1].size(),
                      width);
      if (message > 0 && width <= 10 &&
          (renamed_ || message < model_.spine().size())) {
        rewrite_.SetOriginalWidth(InTree(message),
                                  static_cast<std::uint8_t>(width));
      }
    }
  }
}

void TagWriter::RestoreNames() {
  if (!renamed_) return;
  const std::vector<RenameTree::Mention>& mentions = renamed_->mentions();
  for (std::size_t i = 0; i < mentions.size(); ++i) {
    const std::string& name = old_names_.at(std::string(mentions[i].name));
    rewrite_.Append(mentions[i].message, name.size(), kNameToken | i);
  }
}

void TagWriter::AppendTags() {
  std::string entries;
  for (const NodeId node : model_.Nodes()) {
    if (!tagging_->tags[node].tagged() && !keys_.source_line && !node_names_) {
      continue;
    }
    entries.clear();
    Generate(node, entries);
    if (entries.empty()) continue;
    rewrite_.Append(InTree(model_[node].message), entries.size(), Index(node));
    changes_ = true;
  }
}

void TagWriter::Finish() {
  rewrite_.Layout();
  const std::string entries = tagging_ == nullptr ? "" : ModelEntries();
  if (!entries.empty()) {
    rewrite_.Append(0, entries.size(), kModelToken);
    changes_ = true;
  }
}

std::string TagWriter::ModelEntries() const {
  std::string entries;
  AppendEntry(entries, kModelMetadata, keys::kVersion, kVersion);
  AppendEntry(entries, kModelMetadata, keys::kStrategy, tagging_->strategy);
  if (!module_table_.empty()) {
    AppendEntry(entries, kModelMetadata, keys::kModules, module_table_);
  }
  for (const MetadataEntry& entry : model_.metadata()) {
    // Names stay as they are until they are stripped.
    if (entry.key == keys::kRenamed) entries += entry.whole;
  }
  std::string layout;
  for (const wire::Rewrite::Width& width : rewrite_.WidthsToRecord()) {
    if (!layout.empty()) layout += ',';
    layout += fmt::format(
        "{}:{}", renamed_ ? renamed_->Number(width.message) : width.message,
        width.width);
  }
  if (!layout.empty()) {
    AppendEntry(entries, kModelMetadata, keys::kLayout, layout);
  }
  return entries;
}

void TagWriter::Write(wire::Rewrite::Sink& sink) {
  rewrite_.Write(sink, [this](std::uint64_t token, std::string& out) {
    if (token == kModelToken) {
      out += ModelEntries();
    } else if ((token & kNameToken) != 0) {
      out += old_names_.at(
          std::string(renamed_->mentions()[token & ~kNameToken].name));
    } else if ((token & kNodeNameToken) != 0) {
      const NodeName name = NameOf(MakeId<NodeId>(token & ~kNodeNameToken));
      if (name.replaced()) {
        out += name.new_name;
      } else {
        wire::AppendLengthDelimited(out, kNodeNameField, name.new_name);
      }
    } else {
      Generate(MakeId<NodeId>(token), out);
    }
  });
}

void TagWriter::Generate(NodeId node, std::string& out) {
  if (node_names_) AppendOldName(NameOf(node), out);
  if (keys_.source_line) {
    if (const std::optional<SourceLine> line = tagging_->lines.Of(node)) {
      JsonWriter json;
      AddSourceLine(*line, json);
      AppendEntry(out, kNodeMetadata, keys::kSourceLine, json.text());
    }
  }
  const Tag& tag = tagging_->tags[node];
  if (!tag.tagged()) return;
  if (keys_.tags) {
    if (tag.source == Source::kAuxiliary) {
      AppendModuleEntries(tag, out);
    } else {
      out += module_entries_.Of(tag.module, [&](std::string& text) {
        AppendModuleEntries(tag, text);
      });
    }
    out += role_entries_.Of(tag.role, [&](std::string& text) {
      AppendRoleEntries(tag.role, text);
    });
    AppendSureness(tag, out);
    AppendOrigins(node, out);
  }
  if (keys_.name_space || keys_.layer_ann || keys_.class_hierarchy) {
    AppendForeignKeys(node, tag.module, out);
  }
}

void TagWriter::AppendSureness(const Tag& tag, std::string& out) {
  const auto confidence = Index(tag.confidence);
  const auto source = Index(tag.source);
  const auto evidence = Index(tag.evidence);
  std::string& entries =
      sureness_entries_[(confidence * kSourceNames.size() + source) *
                            kEvidenceNames.size() +
                        evidence];
  if (entries.empty()) {
    AppendEntry(entries, kNodeMetadata, keys::kConfidence,
                kConfidenceNames[confidence]);
    AppendEntry(entries, kNodeMetadata, keys::kSource, kSourceNames[source]);
    AppendEntry(entries, kNodeMetadata, keys::kEvidence,
                kEvidenceNames[evidence]);
  }
  out += entries;
}

void TagWriter::AppendOldName(const NodeName& name, std::string& out) {
  if (!name.replaced()) {
    wire::AppendLengthDelimited(out, kNodeNameField, name.new_name);
  }
  if (name.had() && name.old_name == name.new_name) return;
  std::string entry;
  wire::AppendLengthDelimited(entry, 1, keys::kNodeName);
  if (name.had()) wire::AppendLengthDelimited(entry, 2, name.old_name);
  wire::AppendLengthDelimited(out, kNodeMetadata, entry);
}

void TagWriter::AppendOrigins(NodeId node, std::string& out) const {
  if (tagging_->OriginsOf(node).empty()) return;
  JsonWriter json;
  AddOrigins(*tagging_, node, json);
  AppendEntry(out, kNodeMetadata, keys::kOrigins, json.text());
}

void TagWriter::AppendModuleEntries(const Tag& tag, std::string& out) {
  const ModuleTree& tree = tagging_->modules;
  scratch_.clear();
  format_.front().AppendHierarchyTag(tag, scratch_);
  AppendEntry(out, kNodeMetadata, keys::kHierarchyTag, scratch_);
  const std::string path = tree.Path(tag.module);
  AppendEntry(out, kNodeMetadata, keys::kModule, path);
  const std::string_view name = tree.Class(tag.module);
  if (!name.empty()) AppendEntry(out, kNodeMetadata, keys::kClass, name);
  AppendEntry(out, kNodeMetadata, keys::kTagModule,
              PathAround(tree, format_.front().TagModule(tag.module),
                         tag.module, path));
  const std::string_view sure = format_.front().TagClassConfidence(tag.module);
  if (!sure.empty()) {
    AppendEntry(out, kNodeMetadata, keys::kTagClassConfidence, sure);
  }
}

void TagWriter::AppendRoleEntries(RoleId id, std::string& out) const {
  const Role& role = tagging_->roles[id];
  AppendEntry(out, kNodeMetadata, keys::kSemantic, RoleText(role));
  if (role.layer >= 0) {
    AppendEntry(out, kNodeMetadata, keys::kLayer, std::to_string(role.layer));
  }
  if (role.attention_kind != AttentionKind::kNone) {
    AppendEntry(out, kNodeMetadata, keys::kAttentionKind,
                EnumToWord(kAttentionKindNames, role.attention_kind));
  }
  AppendEntry(out, kNodeMetadata, keys::kSemanticConfidence,
              EnumToWord(kConfidenceNames, role.confidence));
}

namespace {

// Whether the module at `i` is a list, which nothing calls.
bool IsList(const ModuleTree& tree, std::span<const ModuleId> chain,
            std::size_t i) {
  const std::string_view class_name = tree.Class(chain[i]);
  return i > 0 && i + 1 < chain.size() &&
         (class_name == "ModuleList" || class_name == "ModuleDict" ||
          (class_name.empty() &&
           hierarchy::IsNumeric(tree.Atom(chain[i + 1]))));
}

// "BertModel/encoder: BertEncoder/layer.0: BertLayer": a group for each module,
// from the root. A list is not a group: its name precedes the number.
std::string GroupOf(const ModuleTree& tree, std::span<const ModuleId> chain,
                    std::string_view root) {
  std::string text(root);
  std::string name;
  for (std::size_t i = 1; i < chain.size(); ++i) {
    if (!name.empty()) name += '.';
    name += tree.Atom(chain[i]);
    const std::string_view class_name = tree.Class(chain[i]);
    if (IsList(tree, chain, i)) continue;
    text += '/' + name;
    if (!class_name.empty()) text += fmt::format(": {}", class_name);
    name.clear();
  }
  return text;
}

}  // namespace

void TagWriter::AppendForeignKeys(NodeId node, ModuleId module,
                                  std::string& out) const {
  const ModuleTree& tree = tagging_->modules;
  std::vector<ModuleId> chain;
  for (ModuleId id = module; id != ModuleTree::kRoot; id = tree.Parent(id)) {
    chain.push_back(id);
  }
  chain.push_back(ModuleTree::kRoot);
  std::reverse(chain.begin(), chain.end());
  const std::string_view root = tagging_->root.name.empty()
                                    ? std::string_view("Model")
                                    : tagging_->root.name;
  const auto class_of = [&](ModuleId id) {
    if (id == ModuleTree::kRoot) return root;
    return tree.Class(id).empty() ? tree.Atom(id) : tree.Class(id);
  };

  std::string wrote;
  const auto write = [&](std::string_view key, std::string_view value) {
    if (value.empty() || HasForeignKey(model_, node, key)) return;
    AppendEntry(out, kNodeMetadata, key, value);
    if (!wrote.empty()) wrote += ',';
    wrote += key;
  };
  if (keys_.name_space) {
    write(keys::kNamespace, GroupOf(tree, chain, root));
  }
  if (keys_.layer_ann) write(keys::kLayerAnn, tree.Path(module));
  if (keys_.class_hierarchy) {
    std::string scopes = "[";
    std::string classes = "[";
    // Torch lists the modules that were called. Where its metadata was read,
    // these are the modules whose class is a fact.
    const bool facts = tagging_->tags[node].source == Source::kMetadata;
    for (std::size_t i = 0; i < chain.size(); ++i) {
      const ModuleFacts* const known = tagging_->FactsOf(chain[i]);
      const bool not_called =
          facts && i > 0 && i + 1 < chain.size() &&
          (known == nullptr || tree.Class(chain[i]).empty() ||
           known->class_confidence != Confidence::kCertain);
      if (not_called || IsList(tree, chain, i)) continue;
      AppendPythonText(scopes, tree.Path(chain[i]));
      AppendPythonText(classes, class_of(chain[i]));
      scopes += ", ";
      classes += ", ";
    }
    // Torch ends both lists with the operation itself.
    AppendPythonText(scopes, model_[node].name);
    AppendPythonText(classes, model_.OpType(node));
    write(keys::kNameScopes, scopes + "]");
    write(keys::kClassHierarchy, classes + "]");
  }
  if (!wrote.empty()) AppendEntry(out, kNodeMetadata, keys::kWrote, wrote);
}

}  // namespace onnx_tag
