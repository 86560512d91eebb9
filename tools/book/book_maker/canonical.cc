#include "book_maker/canonical.h"

#include <algorithm>
#include <map>
#include <set>

#include "clues/recipes/book/recipe.h"

namespace onnx_tag::recipes {
namespace {

class Canonizer {
 public:
  explicit Canonizer(const Recipe& old) : old_(old) {
    made_.family = old.family;
    made_.exporter = old.exporter;
    made_.version = old.version;
  }

  Recipe Run() {
    SortTexts();
    SortModules();
    side_of_.assign(old_.side_nodes.size(), kNone);
    for (const RecordedToken& token : old_.tokens) AddToken(token);
    made_.outputs = old_.outputs;
    return std::move(made_);
  }

 private:
  void SortTexts() {
    std::set<std::string> used = {""};
    for (const RecordedModule& module : old_.modules) {
      used.insert(old_.texts[module.atom]);
      used.insert(old_.texts[module.class_name]);
    }
    for (const SideNode& side : old_.side_nodes) {
      used.insert(old_.texts[side.op]);
    }
    for (const RecordedToken& token : old_.tokens) {
      used.insert(old_.texts[token.label]);
      used.insert(old_.texts[token.extra]);
      for (const std::uint32_t op : token.ops) used.insert(old_.texts[op]);
    }
    made_.texts.assign(used.begin(), used.end());
  }

  std::uint32_t Text(std::uint32_t text) const {
    return static_cast<std::uint32_t>(std::lower_bound(made_.texts.begin(),
                                                       made_.texts.end(),
                                                       old_.texts[text]) -
                                      made_.texts.begin());
  }

  // By path; a parent's is a prefix of its children's.
  void SortModules() {
    std::map<std::string, std::uint32_t> by_path;
    for (std::uint32_t i = 0; i < old_.modules.size(); ++i) {
      by_path[PathOf(old_, i)] = i;
    }
    module_of_.assign(old_.modules.size(), kNone);
    std::uint32_t next = 0;
    for (const auto& [path, module] : by_path) module_of_[module] = next++;
    made_.modules.resize(next);
    for (const auto& [path, module] : by_path) {
      const RecordedModule& old = old_.modules[module];
      made_.modules[module_of_[module]] = {Module(old.parent), Text(old.atom),
                                           Text(old.class_name)};
    }
  }

  std::uint32_t Module(std::uint32_t module) const {
    return module == kNone ? kNone : module_of_[module];
  }

  // In the order of first use, inputs first.
  std::uint32_t Side(std::uint32_t side) {
    if (side == kNone || side_of_[side] != kNone) {
      return side == kNone ? kNone : side_of_[side];
    }
    const SideNode& old = old_.side_nodes[side];
    SideNode made{Text(old.op), Module(old.module), {}};
    for (const std::uint32_t input : old.inputs) {
      made.inputs.push_back(Side(input));
    }
    side_of_[side] = static_cast<std::uint32_t>(made_.side_nodes.size());
    made_.side_nodes.push_back(std::move(made));
    return side_of_[side];
  }

  void AddToken(const RecordedToken& old) {
    RecordedToken token = old;
    token.label = Text(old.label);
    token.extra = Text(old.extra);
    token.module = Module(old.module);
    token.anchor = Module(old.anchor);
    for (std::uint32_t& op : token.ops) op = Text(op);
    for (SideReference& reference : token.sides) {
      reference.side = Side(reference.side);
    }
    made_.tokens.push_back(std::move(token));
  }

  const Recipe& old_;
  Recipe made_;
  std::vector<std::uint32_t> module_of_;
  std::vector<std::uint32_t> side_of_;
};

}  // namespace

Recipe Canonical(const Recipe& recipe) { return Canonizer(recipe).Run(); }

}  // namespace onnx_tag::recipes
