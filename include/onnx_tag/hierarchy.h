// The modules of the source model: a tree of attribute names.
//
//   ModuleTree tree;
//   const ModuleId query = tree.Add("encoder.layer.0.attention.self.query");
//   tree.SetClass(query, "Linear");
//   tree.Path(tree.Parent(query));  // "encoder.layer.0.attention.self"
//
// A module stores its own atom and its parent, not its path. So a chain of
// 100,000 modules needs a few megabytes; the paths would need 5 GB.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "onnx_tag/ids.h"
#include "onnx_tag/interner.h"

namespace onnx_tag {

enum class ModuleId : std::uint32_t {};

// The root in texts for people, and in what people write.
inline constexpr std::string_view kRootText = "<root>";
inline std::string_view ShownPath(std::string_view path) {
  return path.empty() ? kRootText : path;
}

class ModuleTree {
 public:
  // The module whose path is "".
  static constexpr ModuleId kRoot = ModuleId{0};

  ModuleTree();
  ModuleTree(const ModuleTree& other);
  ModuleTree& operator=(const ModuleTree& other);
  ModuleTree(ModuleTree&&) = default;
  ModuleTree& operator=(ModuleTree&&) = default;
  ~ModuleTree() = default;

  // Finds or adds. `atom` is one attribute name, without dots.
  ModuleId Child(ModuleId parent, std::string_view atom);

  // Finds or adds the module and its ancestors. Empty atoms are ignored:
  // "a..b" is "a.b".
  ModuleId Add(std::string_view dotted_path);

  // kNo<ModuleId> if there is no such module.
  ModuleId Find(std::string_view dotted_path) const;
  ModuleId FindChild(ModuleId parent, std::string_view atom) const;

  // kNo<ModuleId> for the root.
  ModuleId Parent(ModuleId id) const { return modules_[id].parent; }

  // "" for the root. The views are valid as long as the tree lives, also after
  // the tree is moved.
  std::string_view Atom(ModuleId id) const {
    return interner_[modules_[id].atom];
  }

  // 0 for the root.
  std::size_t Depth(ModuleId id) const { return modules_[id].depth; }

  std::string Path(ModuleId id) const;
  // The same for people: the root's path is empty.
  std::string Shown(ModuleId id) const {
    return std::string(ShownPath(Path(id)));
  }

  ModuleId CommonAncestor(ModuleId a, ModuleId b) const;
  // The same where either may be kNo: then the other one.
  ModuleId Join(ModuleId a, ModuleId b) const;

  // The atoms of a path, outermost first.
  using Atoms = std::vector<std::string_view>;
  // The atoms on the way from `ancestor` down to `module`.
  Atoms AtomsBelow(ModuleId ancestor, ModuleId module) const;
  // The module at the end of this way; kNo if there is none.
  ModuleId Down(ModuleId from, std::span<const std::string_view> atoms) const;
  // The same, but adds what is missing.
  ModuleId AddDown(ModuleId from, std::span<const std::string_view> atoms);
  // The module whose path is that of `module` without these atoms at its end;
  // kNo if it does not end so.
  ModuleId Without(ModuleId module,
                   std::span<const std::string_view> atoms) const;

  // Whether all children are numbered: a ModuleList or a Sequential.
  bool IsList(ModuleId id) const;

  // Whether `module` is `ancestor` or lies below it.
  bool IsAncestor(ModuleId ancestor, ModuleId module) const;

  // Whether the paths part at two indices: the modules are in different items
  // of a list.
  bool InOtherLayer(ModuleId a, ModuleId b) const;

  // In the order in which they were added. Adding a module invalidates the
  // range, not the ids.
  class ChildRange;
  ChildRange Children(ModuleId id) const;

  // The module's Python class; "" if unknown.
  void SetClass(ModuleId id, std::string_view class_name);
  std::string_view Class(ModuleId id) const {
    return interner_[modules_[id].class_name];
  }

  // Leaves out the modules that `kept` does not have. They keep their ids,
  // parents, atoms and classes, but All(), Children() and Find() pass over
  // them. `kept` has the root, and the parent of each module that it has.
  void KeepOnly(const IdVector<ModuleId, bool>& kept);

  // The modules that were not left out. Parents come before their children.
  class ModuleRange;
  ModuleRange All() const;

  // The number of ids, including those of modules that were left out. The id of
  // a module is greater than the id of its parent.
  std::size_t size() const { return modules_.size(); }
  // The number of modules in All().
  std::size_t count() const { return modules_.size() - left_out_count_; }

 private:
  enum class TextId : std::uint32_t {};
  struct Module {
    ModuleId parent = kNo<ModuleId>;
    TextId atom = TextId{0};
    TextId class_name = TextId{0};
    std::uint32_t depth = 0;
    std::uint32_t children = 0;
    ModuleId first_child = kNo<ModuleId>;
    ModuleId last_child = kNo<ModuleId>;
    ModuleId next_sibling = kNo<ModuleId>;
  };

  TextId Intern(std::string_view text);
  // The child that was added last, if it has this atom; else kNo<ModuleId>.
  ModuleId LastChild(ModuleId parent, std::string_view atom) const;
  static std::uint32_t Hash(ModuleId parent, TextId atom);
  ModuleId FindChild(ModuleId parent, TextId atom) const;
  void Link(ModuleId id);
  bool IsLeftOut(ModuleId id) const {
    return Index(id) < left_out_.size() && left_out_[id];
  }

  IdVector<ModuleId, Module> modules_;
  // The first children of a module are found one by one: they are together in
  // memory. Only later ones are in the table, which is spread over megabytes.
  static constexpr std::uint32_t kFewChildren = 8;
  IdTable<ModuleId> by_name_;  // by parent and atom
  // A deque, because the interner needs strings that do not move.
  std::deque<std::string> texts_;
  Interner<TextId> interner_;
  IdVector<ModuleId, bool> left_out_;  // may be shorter than modules_
  std::size_t left_out_count_ = 0;
};

class ModuleTree::ModuleRange {
 public:
  explicit ModuleRange(const ModuleTree* tree)
      : tree_(tree), end_(tree->size()) {
    Skip();
  }
  ModuleRange begin() const { return *this; }
  EndOfRange end() const { return {}; }
  bool operator==(EndOfRange) const { return at_ == end_; }
  ModuleId operator*() const { return MakeId<ModuleId>(at_); }
  ModuleRange& operator++() {
    ++at_;
    Skip();
    return *this;
  }

 private:
  void Skip() {
    while (at_ < end_ && tree_->IsLeftOut(MakeId<ModuleId>(at_))) ++at_;
  }

  const ModuleTree* tree_;
  std::size_t at_ = 0;
  std::size_t end_;
};

inline ModuleTree::ModuleRange ModuleTree::All() const {
  return ModuleRange(this);
}

class ModuleTree::ChildRange {
 public:
  ChildRange(const ModuleTree* tree, ModuleId first)
      : tree_(tree), at_(first) {}
  ChildRange begin() const { return *this; }
  EndOfRange end() const { return {}; }
  bool operator==(EndOfRange) const { return empty(); }
  ModuleId operator*() const { return at_; }
  ChildRange& operator++() {
    at_ = tree_->modules_[at_].next_sibling;
    return *this;
  }
  bool empty() const { return at_ == kNo<ModuleId>; }

 private:
  const ModuleTree* tree_;
  ModuleId at_;
};

inline ModuleTree::ChildRange ModuleTree::Children(ModuleId id) const {
  return ChildRange(this, modules_[id].first_child);
}

}  // namespace onnx_tag
