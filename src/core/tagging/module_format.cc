#include "core/tagging/module_format.h"

#include <algorithm>
#include <array>
#include <span>

#include "base/text.h"
#include "core/hierarchy/name_parts.h"
#include "generated/torch_nn_classes.h"

namespace onnx_tag {

const std::array<std::string_view, 9> kDefaultExceptions = {
    "BatchNorm1d",    "BatchNorm2d",    "BatchNorm3d",
    "LayerNorm",      "GroupNorm",      "InstanceNorm1d",
    "InstanceNorm2d", "InstanceNorm3d", "Embedding"};

namespace {

constexpr std::size_t kUsualPath = 128;  // bytes; seldom longer
constexpr std::uint8_t kNoClass = kConfidenceNames.size();

// The common prefix of the classes of a family: "Bert" of BertForMaskedLM.
std::string FamilyOf(std::string_view root_class) {
  std::size_t end = std::string_view::npos;
  for (const std::string_view mark : {"Model", "For", "LMHead", "Encoder",
                                      "Decoder", "PreTrained", "Stack"}) {
    const std::size_t at = root_class.find(mark, 1);
    end = std::min(end, at);
  }
  return end == std::string_view::npos ? ""
                                       : std::string(root_class.substr(0, end));
}

}  // namespace

ModuleFormat::ModuleFormat(const Tagging& tagging)
    : tagging_(tagging), family_words_(tagging.family_words) {
  if (family_words_.empty()) {
    family_words_.push_back(FamilyOf(tagging.root.name));
  }
  std::stable_sort(family_words_.begin(), family_words_.end(),
                   [](const std::string& a, const std::string& b) {
                     return a.size() > b.size();
                   });
  std::unordered_set<std::string_view> torch_nn;
  if (!tagging.format.torch_nn) {
    torch_nn = TorchNnClasses();
    for (const std::string& name : tagging.format.exceptions) {
      torch_nn.erase(name);
    }
  }
  torch_nn.insert({"ModuleList", "ModuleDict"});
  const ModuleTree& tree = tagging.modules;
  left_out_.resize(tree.size());
  weakest_.resize(tree.size(), kNoClass);
  // Parents come before their children.
  for (const ModuleId id : tree.All()) {
    const std::string_view name = tree.Class(id);
    const bool root = id == ModuleTree::kRoot;
    // A module of unknown class whose children are all indices is a list.
    left_out_[Index(id)] =
        name.empty() ? tree.IsList(id) && !hierarchy::IsNumeric(tree.Atom(id))
                     : torch_nn.contains(name);
    std::uint8_t& weakest = weakest_[Index(id)];
    if (!root) weakest = weakest_[Index(tree.Parent(id))];
    const ModuleFacts* const facts = tagging.FactsOf(id);
    const bool in_tag = root || !left_out_[Index(id)];
    const bool named = root ? !tagging.root.name.empty() : !name.empty();
    if (in_tag && named && facts != nullptr) {
      weakest = std::min(
          weakest, static_cast<std::uint8_t>(root ? tagging.root.confidence
                                                  : facts->class_confidence));
    }
  }
}

std::string ModuleFormat::HierarchyTag(ModuleId module) const {
  return HierarchyTag(Tag{.module = module});
}

std::string ModuleFormat::HierarchyTag(const Tag& tag) const {
  std::string path;
  path.reserve(kUsualPath);
  AppendHierarchyTag(tag, path);
  return path;
}

void ModuleFormat::AppendHierarchyTag(const Tag& tag, std::string& out) const {
  const std::string_view read_back = TagReadBack(tag.module);
  if (read_back.empty()) {
    AppendPath(tag.module, false, out);
  } else {
    out += read_back;
  }
  if (tag.source == Source::kAuxiliary) out += kAuxiliarySegment;
}

std::string ModuleFormat::RolePath(ModuleId module) const {
  if (Index(module) < tagging_.given.size() &&
      !tagging_.given[module].role_path.empty()) {
    return tagging_.given[module].role_path;
  }
  std::string path;
  path.reserve(kUsualPath);
  AppendPath(module, true, path);
  return path;
}

std::string_view ModuleFormat::TagReadBack(ModuleId module) const {
  if (Index(module) >= tagging_.given.size()) return {};
  return tagging_.given[module].hierarchy_tag;
}

ModuleId ModuleFormat::TagModule(ModuleId module) const {
  while (module != ModuleTree::kRoot) {
    const ModuleId parent = tagging_.modules.Parent(module);
    const std::string_view tag = TagReadBack(module);
    // A module that is left out of tags has the tag of its parent.
    const bool left_out =
        tag.empty() ? left_out_[Index(module)] : tag == TagReadBack(parent);
    if (!left_out) break;
    module = parent;
  }
  return module;
}

std::string_view ModuleFormat::TagClassConfidence(ModuleId module) const {
  const std::uint8_t weakest = weakest_[Index(module)];
  return weakest == kNoClass ? std::string_view() : kConfidenceNames[weakest];
}

void ModuleFormat::AppendPath(ModuleId module, bool roles,
                              std::string& path) const {
  const ModuleTree& tree = tagging_.modules;
  // From the module to the root. Few are deeper, and a list on the heap for
  // each of 10^6 modules takes longer than the text.
  std::array<ModuleId, 32> few;
  std::vector<ModuleId> many;
  const std::size_t depth = tree.Depth(module);
  if (depth > few.size()) many.resize(depth);
  const std::span<ModuleId> chain = depth > few.size()
                                        ? std::span<ModuleId>(many)
                                        : std::span<ModuleId>(few).first(depth);
  for (ModuleId& id : chain) {
    id = module;
    module = tree.Parent(module);
  }
  path += '/';
  path += roles || tagging_.root.name.empty() ? "Model" : tagging_.root.name;
  std::string indices;         // ".0.1": since the last printed segment
  std::string_view attribute;  // the list that has these indices
  for (auto at = chain.rbegin(); at != chain.rend(); ++at) {
    const std::string_view atom = tree.Atom(*at);
    const std::string_view name = tree.Class(*at);
    const bool index = hierarchy::IsNumeric(atom);
    if (index) {
      indices += '.';
      indices += atom;
    } else {
      attribute = atom;
    }
    if (left_out_[Index(*at)]) continue;
    path += '/';
    const std::string_view segment = name.empty() ? attribute : name;
    if (roles) {
      path += RoleSegment(segment, !name.empty());
    } else {
      path += segment;
    }
    path += indices;
    indices.clear();
  }
}

std::string ModuleFormat::RoleSegment(std::string_view name,
                                      bool is_class) const {
  if (is_class) {
    for (const std::string& word : family_words_) {
      if (name.size() > word.size() && name.starts_with(word)) {
        name.remove_prefix(word.size());
        break;
      }
    }
    // torchvision's _DenseLayer and timm's DenseLayer have the same role.
    if (name.size() > 1 && name.starts_with('_')) name.remove_prefix(1);
    return std::string(name);
  }
  // "self_attn" -> "SelfAttn": looks like a class.
  std::string words;
  bool start = true;
  for (const char c : name) {
    if (c == '_') {
      start = true;
      continue;
    }
    words +=
        start && c >= 'a' && c <= 'z' ? static_cast<char>(c - 'a' + 'A') : c;
    start = false;
  }
  return words;
}

const std::unordered_set<std::string_view>& TorchNnClasses() {
  static const std::unordered_set<std::string_view> classes = [] {
    const auto names = Split(kTorchNnClasses, '\n');
    return std::unordered_set<std::string_view>(names.begin(), names.end());
  }();
  return classes;
}

}  // namespace onnx_tag
