// Finds the layer: the index in the first list on the path from the root that
// has at least two elements of similar structure.
#include <algorithm>
#include <iterator>

#include "base/jaccard.h"
#include "base/lists.h"
#include "core/hierarchy/name_parts.h"
#include "mapping/roles/role_facts.h"

namespace onnx_tag {
namespace {

// -1: it is no element of a list.
std::int32_t ElementIndex(std::string_view atom) {
  return hierarchy::SmallNumber(atom, -1);
}

// The sorted names of a module's children; all numbers count as one name.
using Structure = std::vector<std::string_view>;

Structure StructureOf(const ModuleTree& tree, ModuleId id) {
  Structure structure;
  for (const ModuleId child : tree.Children(id)) {
    const std::string_view atom = tree.Atom(child);
    structure.push_back(ElementIndex(atom) < 0 ? atom : "#");
  }
  SortUnique(structure);
  return structure;
}

class Lists {
 public:
  Lists(const ModuleTree& tree, const std::vector<std::uint32_t>& leaf_kind)
      : tree_(tree), leaf_kind_(leaf_kind) {}

  // Whether the numbered children of `owner` are layers.
  bool IsLayerList(ModuleId owner) const {
    std::vector<ModuleId> elements;
    for (const ModuleId child : tree_.Children(owner)) {
      if (ElementIndex(tree_.Atom(child)) >= 0) elements.push_back(child);
    }
    if (elements.size() < 2) return false;
    const bool classes = !AnyIn(elements, [&](ModuleId element) {
      return tree_.Class(element).empty();
    });
    return classes ? AlikeByClass(elements) : AlikeByStructure(elements);
  }

 private:
  bool AlikeByClass(const std::vector<ModuleId>& elements) const {
    std::vector<std::string_view> all;
    std::vector<std::string_view> inner;  // of those with children
    for (const ModuleId element : elements) {
      all.push_back(tree_.Class(element));
      if (!tree_.Children(element).empty()) inner.push_back(all.back());
    }
    std::sort(inner.begin(), inner.end());
    return std::adjacent_find(inner.begin(), inner.end()) != inner.end() ||
           std::adjacent_find(all.begin(), all.end(), std::not_equal_to<>()) ==
               all.end();
  }

  bool AlikeByStructure(const std::vector<ModuleId>& elements) const {
    // A list with more different kinds is not a list of layers.
    constexpr std::size_t kMostKinds = 16;
    constexpr std::size_t kMostChildren = 64;
    std::vector<Structure> seen;
    bool leaves = true;
    for (const ModuleId element : elements) {
      if (tree_.Children(element).empty()) continue;
      leaves = false;
      Structure structure = StructureOf(tree_, element);
      if (structure.size() > kMostChildren) structure.resize(kMostChildren);
      // A block with a shortcut is like one without; T5's self-attention is
      // not like its feed-forward.
      for (const Structure& other : seen) {
        if (Jaccard(structure, other) >= 0.5) return true;
      }
      if (seen.size() < kMostKinds) seen.push_back(std::move(structure));
    }
    return leaves && LeavesAlike(elements);
  }

  // A missing number is a part without nodes, mostly of another kind: for
  // example, a ReLU that was fused into the preceding convolution.
  bool LeavesAlike(const std::vector<ModuleId>& elements) const {
    std::int32_t highest = 0;
    for (const ModuleId element : elements) {
      highest = std::max(highest, ElementIndex(tree_.Atom(element)));
      if (leaf_kind_[Index(element)] != leaf_kind_[Index(elements[0])]) {
        return false;
      }
    }
    return static_cast<std::size_t>(highest) + 1 == elements.size();
  }

  const ModuleTree& tree_;
  const std::vector<std::uint32_t>& leaf_kind_;
};

}  // namespace

std::vector<std::int32_t> LayerIndices(
    const ModuleTree& tree, const std::vector<std::uint32_t>& leaf_kind) {
  const Lists lists(tree, leaf_kind);
  std::vector<std::int32_t> layers(tree.size(), -1);
  // Parents precede their children, so each owner is checked at most once.
  for (const ModuleId owner : tree.All()) {
    if (tree.Children(owner).empty()) continue;
    const bool counts = layers[Index(owner)] < 0 && lists.IsLayerList(owner);
    for (const ModuleId child : tree.Children(owner)) {
      const std::int32_t index = ElementIndex(tree.Atom(child));
      layers[Index(child)] =
          counts && index >= 0 ? index : layers[Index(owner)];
    }
  }
  return layers;
}

}  // namespace onnx_tag
