#include "mapping/mapping/apply_rules.h"

#include <fmt/core.h>

#include "base/lists.h"
#include "base/text.h"
#include "core/tagging/role_index.h"
#include "mapping/classes/assign_classes.h"
#include "mapping/evidence/evidence.h"
#include "mapping/rules/rules.h"

namespace onnx_tag {
namespace {

// The class of a module from the catalogue in the rules: uses the nearest
// ancestor whose class has a member with that path.
const AddedMember* FindAdded(const Rules& rules, const ModuleTree& tree,
                             ModuleId id) {
  std::string path;
  // Lists are rarely nested deeper than this.
  constexpr int kDeepest = 4;
  ModuleId at = id;
  for (int i = 0; i < kDeepest && at != ModuleTree::kRoot; ++i) {
    path = path.empty() ? std::string(tree.Atom(at))
                        : std::string(tree.Atom(at)) + "." + path;
    at = tree.Parent(at);
    const auto owner = rules.classes.find(tree.Class(at));
    if (owner == rules.classes.end()) continue;
    for (const AddedMember& member : owner->second) {
      if (member.path.Matches(path)) return &member;
    }
  }
  return nullptr;
}

void SetClass(Tagging& tagging, ModuleId id, std::string_view name,
              Confidence confidence) {
  tagging.modules.SetClass(id, name);
  tagging.facts[id].class_confidence = confidence;
  tagging.facts[id].candidates.clear();
}

// Whether one of these members is an attribute with this name.
bool HasAttribute(const std::vector<AddedMember>& members,
                  std::string_view atom) {
  return AnyIn(members, [&](const AddedMember& member) {
    const std::string_view path = member.path.text();
    return path.substr(0, path.find('.')) == atom;
  });
}

// Sets the class of an unknown root, if exactly one class in the rules has all
// its children.
void NameRoot(const Rules& rules, Tagging& tagging) {
  const ModuleTree& tree = tagging.modules;
  if (!tree.Class(ModuleTree::kRoot).empty()) return;
  const std::string* found = nullptr;
  for (const auto& [name, members] : rules.classes) {
    std::size_t children = 0;
    bool all = true;
    for (const ModuleId child : tree.Children(ModuleTree::kRoot)) {
      ++children;
      all = all && HasAttribute(members, tree.Atom(child));
    }
    if (children < 2 || !all) continue;
    if (found != nullptr) return;
    found = &name;
  }
  if (found != nullptr) {
    SetClass(tagging, ModuleTree::kRoot, *found, Confidence::kHigh);
  }
}

std::string GivesText(const Rule& rule, const Captures& captures) {
  std::string text;
  const auto add = [&](std::string_view what, std::string_view value) {
    if (!text.empty()) text += ", ";
    text += fmt::format("the {} {}", what, value);
  };
  if (!rule.gives_class.empty()) {
    add("class", FillIn(rule.gives_class, captures));
  }
  if (!rule.gives_tag.empty()) add("tag", FillIn(rule.gives_tag, captures));
  if (rule.gives_role) {
    std::string role(
        kRoleTypeNames[static_cast<std::size_t>(rule.gives_role->type)]);
    if (!rule.gives_role->component.empty()) {
      role += "/" + rule.gives_role->component;
    }
    add("role", role);
  }
  return text;
}

}  // namespace

// The rules for modules in reverse order, so that the first rule takes
// precedence.
template <typename Use>
void RuleApplication::ForEachModule(const Tagging& tagging, Use use) const {
  for (std::size_t i = rules_->rules.size(); i-- > 0;) {
    const Rule& rule = rules_->rules[i];
    if (!rule.OfModules()) continue;
    for (const ModuleId id : tagging.modules.All()) {
      Captures captures;
      const std::string path = tagging.modules.Path(id);
      if (rule.module->Matches(path, captures)) use(i, rule, id, captures);
    }
  }
}

// The rules for nodes, with the final module of each node; in the same order.
template <typename Use>
void RuleApplication::ForEachNode(const NodeSource& nodes,
                                  const Tagging& tagging, Use use) const {
  const std::vector<Rule>& rules = rules_->rules;
  if (!AnyIn(rules, [](const Rule& rule) {
        return rule.gives_role || !rule.gives_class.empty() ||
               !rule.gives_tag.empty();
      })) {
    return;
  }
  for (const NodeId node : nodes.model.Nodes()) {
    const Tag& tag = tagging.tags[node];
    if (!tag.tagged()) continue;
    std::string path;
    for (std::size_t i = rules.size(); i-- > 0;) {
      const Rule& rule = rules[i];
      Captures captures;
      if (rule.module && rule.gives_module) {
        // The rule moved the node, so its condition is no longer true.
        if (moved_.empty() || moved_[node] != static_cast<int>(i)) continue;
        use(i, rule, node, captures);
        continue;
      }
      if (rule.module && path.empty()) path = tagging.modules.Path(tag.module);
      if (HoldsForNode(rule, nodes.model, nodes.parameters, node, captures) &&
          (!rule.module || rule.module->Matches(path, captures))) {
        use(i, rule, node, captures);
      }
    }
  }
}

RuleApplication::RuleApplication(std::shared_ptr<const Rules> rules)
    : rules_(std::move(rules)) {}

std::optional<RuleMove> RuleApplication::FindMove(const Evidence& evidence,
                                                  NodeId node,
                                                  ModuleId module) const {
  if (rules_ == nullptr) return std::nullopt;
  std::string path;
  for (std::uint32_t i = 0; i < rules_->rules.size(); ++i) {
    const Rule& rule = rules_->rules[i];
    if (!rule.module || !rule.gives_module) continue;
    Captures captures;
    if (!HoldsForNode(rule, evidence.model, evidence, node, captures)) continue;
    if (path.empty()) path = evidence.modules.Path(module);
    if (!rule.module->Matches(path, captures)) continue;
    return RuleMove{node, FillIn(*rule.gives_module, captures), i,
                    rule.because};
  }
  return std::nullopt;
}

std::vector<RuleMove> RuleApplication::FindMoves(const Evidence& evidence,
                                                 const Placed& placed) {
  std::vector<RuleMove> moves;
  if (rules_ == nullptr) return moves;
  matches_ = evidence.rule_matches;
  const std::vector<Rule>& rules = rules_->rules;
  if (!AnyIn(rules, [](const Rule& rule) {
        return rule.module && rule.gives_module;
      })) {
    return moves;
  }
  moved_.resize(placed.size(), -1);
  for (const NodeId node : evidence.model.Nodes()) {
    if (!placed[node].tagged()) continue;
    std::optional<RuleMove> move =
        FindMove(evidence, node, placed[node].module);
    if (!move) continue;
    ++matches_[move->rule];
    moved_[node] = static_cast<int>(move->rule);
    moves.push_back(*std::move(move));
  }
  return moves;
}

void RuleApplication::Classify(const Model& model,
                               const ParameterFacts& parameters,
                               Tagging& tagging) const {
  if (rules_ == nullptr) return;
  const Rules& rules = *rules_;
  ForEachModule(tagging, [&](std::size_t, const Rule& rule, ModuleId id,
                             const Captures& captures) {
    if (rule.gives_class.empty()) return;
    SetClass(tagging, id, FillIn(rule.gives_class, captures),
             Confidence::kCertain);
  });
  ForEachNode({model, parameters}, tagging,
              [&](std::size_t, const Rule& rule, NodeId node,
                  const Captures& captures) {
                if (rule.gives_class.empty() || rule.OfModules()) return;
                SetClass(tagging, tagging.tags[node].module,
                         FillIn(rule.gives_class, captures),
                         Confidence::kCertain);
              });
  NameRoot(rules, tagging);
  // Parents come before their children.
  for (const ModuleId id : tagging.modules.All()) {
    if (rules.classes.empty() || id == ModuleTree::kRoot) continue;
    const bool fact =
        tagging.facts[id].class_confidence == Confidence::kCertain &&
        !tagging.modules.Class(id).empty();
    const AddedMember* const added = FindAdded(rules, tagging.modules, id);
    if (added == nullptr) continue;
    if (fact && tagging.modules.Class(id) != added->class_name) {
      tagging.notes.push_back(Message(
          "{}: the catalogue of the rules gives {} the class {}, but it is {}",
          rules.file, tagging.modules.Path(id), added->class_name,
          tagging.modules.Class(id)));
      continue;
    }
    SetClass(tagging, id, added->class_name, Confidence::kCertain);
  }
  DescribeClasses(tagging);
}

std::vector<std::string> RuleApplication::Describe(const Evidence& evidence,
                                                   NodeId node,
                                                   ModuleId module) const {
  std::vector<std::string> notes;
  if (rules_ == nullptr) return notes;
  const std::string path = evidence.modules.Path(module);
  for (const Rule& rule : rules_->rules) {
    Captures captures;
    if (!HoldsForNode(rule, evidence.model, evidence, node, captures) ||
        (rule.module && !rule.module->Matches(path, captures))) {
      continue;
    }
    const std::string gives = GivesText(rule, captures);
    if (!gives.empty()) {
      notes.push_back(fmt::format("{} gives {}", rule.because, gives));
    }
  }
  return notes;
}

void RuleApplication::Finish(const Model& model,
                             const ParameterFacts& parameters,
                             Tagging& tagging) {
  if (rules_ == nullptr) return;
  const auto give_tag = [&](const Rule& rule, ModuleId module,
                            const Captures& captures) {
    if (!rule.gives_tag.empty()) {
      tagging.Give(module).hierarchy_tag = FillIn(rule.gives_tag, captures);
    }
  };
  ForEachModule(tagging, [&](std::size_t i, const Rule& rule, ModuleId id,
                             const Captures& captures) {
    ++matches_[i];
    give_tag(rule, id, captures);
  });
  RoleIndex roles(tagging);
  ForEachNode({model, parameters}, tagging,
              [&](std::size_t i, const Rule& rule, NodeId node,
                  const Captures& captures) {
                ++matches_[i];
                Tag& tag = tagging.tags[node];
                if (!rule.OfModules()) give_tag(rule, tag.module, captures);
                if (!rule.gives_role) return;
                Role role = *rule.gives_role;
                if (!rule.gives_layer) {
                  role.layer = tagging.roles[tag.role].layer;
                }
                tag.role = roles.Add(role);
              });
  for (std::size_t i = 0; i < matches_.size(); ++i) {
    if (matches_[i] > 0) continue;
    tagging.notes.push_back(Message("{}: {} matches nothing", rules_->file,
                                    rules_->rules[i].title));
  }
}

}  // namespace onnx_tag
