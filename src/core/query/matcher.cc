#include "core/query/matcher.h"

#include <fmt/core.h>

#include <algorithm>
#include <optional>
#include <set>

#include "base/glob.h"
#include "base/like_words.h"
#include "base/lists.h"
#include "base/parse_number.h"
#include "base/text.h"
#include "core/tagging/scope_path.h"
#include "core/tagging/words.h"
#include "onnx_tag/query.h"

namespace onnx_tag::query {
namespace {

bool IsPattern(const Value& value) {
  return !value.quoted && HasWildcards(value.text);
}

bool IsNone(const Value& value) {
  return !value.quoted && value.text == "none";
}

bool FitsValue(const FieldInfo& info, const Value& value,
               std::string_view text) {
  if (info.has_none && IsNone(value)) return text.empty();
  return IsPattern(value) ? MatchesPattern(value.text, text, info.separator)
                          : value.text == text;
}

// The module path of a value; a query may write the root as "<root>" or "".
std::string_view PathOf(const Value& value) {
  return !value.quoted && value.text == kRootText ? std::string_view()
                                                  : value.text;
}

bool Compare(Operator comparison, std::int64_t a, std::int64_t b) {
  switch (comparison) {
    case Operator::kEqual:
      return a == b;
    case Operator::kLess:
      return a < b;
    case Operator::kLessEqual:
      return a <= b;
    case Operator::kGreater:
      return a > b;
    case Operator::kGreaterEqual:
      break;
  }
  return a >= b;
}

bool FitsLayer(const Condition& condition, std::int32_t layer) {
  for (const Value& value : condition.values) {
    if (IsNone(value)) {
      if (layer < 0) return true;
      continue;
    }
    const auto number = ParseWhole<std::uint32_t>(value.text).value_or(0);
    if (layer >= 0 && Compare(condition.comparison, layer, number)) return true;
  }
  return false;
}

bool FitsLine(const Condition& condition, std::uint32_t line) {
  for (const Value& value : condition.values) {
    if (IsNone(value)) continue;
    const std::optional<LineRange> range = ParseLineRange(value.text);
    if (!range) continue;
    const bool fits = condition.comparison == Operator::kEqual
                          ? line >= range->first && line <= range->last
                          : Compare(condition.comparison, line, range->first);
    if (fits) return true;
  }
  return false;
}

bool FitsConfidence(const Condition& condition, Confidence confidence) {
  if (condition.comparison == Operator::kEqual) {
    return FitsText(condition, EnumToWord(kConfidenceNames, confidence));
  }
  const auto level =
      WordToEnum<Confidence>(kConfidenceNames, condition.values.front().text);
  return level &&
         Compare(condition.comparison, static_cast<std::int64_t>(confidence),
                 static_cast<std::int64_t>(*level));
}

// "MatMul", or "com.microsoft::Attention" with the domain.
bool FitsOp(const Condition& condition, std::string_view op,
            std::string_view domain) {
  if (FitsText(condition, op)) return true;
  return !domain.empty() &&
         FitsText(condition, std::string(domain) + "::" + std::string(op));
}

}  // namespace

bool FitsText(const Condition& condition, std::string_view text) {
  const FieldInfo& info = InfoOf(condition.field);
  for (const Value& value : condition.values) {
    if (FitsValue(info, value, text)) return true;
  }
  return false;
}

Matcher::Matcher(const Expression& expression, const Tagging& tagging,
                 const Model& model)
    : expression_(expression),
      tagging_(tagging),
      model_(model),
      used_(tagging.modules.size()) {
  for (const Tag& tag : tagging.tags) {
    if (tag.tagged()) used_[Index(tag.module)] = 1;
  }
  for (const Condition& condition : expression.conditions) {
    tables_.push_back(TableFor(condition));
  }
}

Matcher::Table Matcher::TableFor(const Condition& condition) const {
  const auto by_module = [&](const auto& fits) {
    Table table(tagging_.modules.size());
    for (const ModuleId id : AllIds<ModuleId>(table.size())) {
      table[Index(id)] = fits(id);
    }
    return table;
  };
  // Paths are long: only of modules with nodes.
  const auto by_path = [&](const auto& path_of) {
    return by_module([&](ModuleId id) {
      return used_[Index(id)] && FitsText(condition, path_of(id));
    });
  };
  const auto by_class = [&](ModuleId id) {
    return FitsText(condition, ClassOf(tagging_, id));
  };
  const auto by_role = [&](const auto& fits) {
    Table table;
    for (const Role& role : tagging_.roles) table.push_back(fits(role));
    return table;
  };
  switch (condition.field) {
    case Field::kModule:
      return ByModule(condition);
    case Field::kUnder:
      return WithDescendants(ByModule(condition));
    case Field::kOrigin:
      return ByOrigin(condition);
    case Field::kClass:
      return by_module(by_class);
    case Field::kWithin:
      return WithDescendants(by_module(by_class));
    case Field::kClassConfidence:
      return by_module([&](ModuleId id) {
        const ModuleFacts* const facts = tagging_.FactsOf(id);
        return facts != nullptr && !tagging_.modules.Class(id).empty() &&
               FitsConfidence(condition, facts->class_confidence);
      });
    case Field::kTag: {
      // First those of modules, then those of their auxiliary operations.
      const ModuleFormat format(tagging_);
      Table table =
          by_path([&](ModuleId id) { return format.HierarchyTag(id); });
      const Table auxiliary = by_path([&](ModuleId id) {
        Tag tag;
        tag.module = id;
        tag.source = Source::kAuxiliary;
        return format.HierarchyTag(tag);
      });
      table.insert(table.end(), auxiliary.begin(), auxiliary.end());
      return table;
    }
    case Field::kRole:
      return by_role([&](const Role& role) {
        return FitsText(condition, RoleText(role)) ||
               FitsText(condition, EnumToWord(kRoleTypeNames, role.type));
      });
    case Field::kRolePath: {
      const ModuleFormat format(tagging_);
      return by_path([&](ModuleId id) { return format.RolePath(id); });
    }
    case Field::kType:
      return by_role([&](const Role& role) {
        return FitsText(condition, EnumToWord(kRoleTypeNames, role.type));
      });
    case Field::kTypeConfidence:
      return by_role([&](const Role& role) {
        return FitsConfidence(condition, role.confidence);
      });
    case Field::kComponent:
      return by_role([&](const Role& role) {
        return FitsText(condition, role.component);
      });
    case Field::kAttention:
      return by_role([&](const Role& role) {
        return FitsText(condition,
                        EnumToWord(kAttentionKindNames, role.attention_kind));
      });
    case Field::kLayer:
      return by_role(
          [&](const Role& role) { return FitsLayer(condition, role.layer); });
    case Field::kFile:
    case Field::kLine:
      return ByLine(condition);
    case Field::kOp:
    case Field::kName:
    case Field::kScopePath:
    case Field::kConfidence:
    case Field::kSource:
    case Field::kUntagged:
      break;
  }
  return {};
}

// A path without wildcards is looked up in the tree. This avoids making the
// path of every module.
Matcher::Table Matcher::ByModule(const Condition& condition) const {
  const ModuleTree& tree = tagging_.modules;
  Table table(tree.size());
  bool patterns = false;
  for (const Value& value : condition.values) {
    patterns |= IsPattern(value);
    if (IsPattern(value)) continue;
    const ModuleId id = tree.Find(PathOf(value));
    if (id != kNo<ModuleId>) table[Index(id)] = 1;
  }
  if (!patterns) return table;
  for (const ModuleId id : tree.All()) {
    if (table[Index(id)]) continue;
    const std::string path = tree.Path(id);
    for (const Value& value : condition.values) {
      if (IsPattern(value) && MatchesPattern(value.text, path, '.')) {
        table[Index(id)] = 1;
      }
    }
  }
  return table;
}

Matcher::Table Matcher::WithDescendants(Table table) const {
  // A module's id is greater than its parent's.
  for (std::size_t i = 1; i < table.size(); ++i) {
    const ModuleId parent = tagging_.modules.Parent(MakeId<ModuleId>(i));
    if (table[Index(parent)]) table[i] = 1;
  }
  return table;
}

Matcher::Table Matcher::ByOrigin(const Condition& condition) const {
  const Table modules = ByModule(condition);
  Table table(model_.node_count());
  for (const Origin& origin : tagging_.origins) {
    if (modules[Index(origin.module)]) table[Index(origin.node)] = 1;
  }
  return table;
}

Matcher::Table Matcher::ByLine(const Condition& condition) const {
  const SourceLines& lines = tagging_.lines;
  Table table(lines.line_count() + 1);
  for (const LineId id : AllIds<LineId>(lines.line_count())) {
    table[Index(id)] = condition.field == Field::kFile
                           ? FitsText(condition, lines[id].file)
                           : FitsLine(condition, lines[id].line);
  }
  for (const Value& value : condition.values) {
    if (IsNone(value)) table.back() = 1;
  }
  return table;
}

bool Matcher::FitsCondition(std::size_t index, NodeId node) const {
  const Condition& condition = expression_.conditions[index];
  const Table& table = tables_[index];
  const Tag& tag = tagging_.tags[node];
  switch (condition.field) {
    case Field::kOp:
      return FitsOp(condition, model_.OpType(node), model_.Domain(node));
    case Field::kName:
      return FitsText(condition, model_[node].name);
    case Field::kScopePath:
      return FitsText(condition, ScopePath(model_, node));
    case Field::kUntagged:
      return !tag.tagged();
    case Field::kOrigin:
      return table[Index(node)] != 0;
    case Field::kFile:
    case Field::kLine: {
      const LineId line = tagging_.lines.IdOf(node);
      return line == kNo<LineId> ? table.back() != 0 : table[Index(line)] != 0;
    }
    default:
      break;
  }
  if (!tag.tagged()) return false;
  switch (condition.field) {
    case Field::kConfidence:
      return FitsConfidence(condition, tag.confidence);
    case Field::kSource:
      return FitsText(condition, EnumToWord(kSourceNames, tag.source));
    case Field::kRole:
    case Field::kType:
    case Field::kTypeConfidence:
    case Field::kComponent:
    case Field::kAttention:
    case Field::kLayer:
      return table[Index(tag.role)] != 0;
    case Field::kTag:
      return table[Index(tag.module) +
                   (tag.source == Source::kAuxiliary ? table.size() / 2 : 0)] !=
             0;
    default:
      return table[Index(tag.module)] != 0;
  }
}

bool Matcher::Fits(NodeId node) const {
  // Children precede their parents.
  std::vector<char> fits(expression_.terms.size());
  for (std::size_t i = 0; i < fits.size(); ++i) {
    const Term& term = expression_.terms[i];
    switch (term.kind) {
      case Kind::kCondition:
        fits[i] = FitsCondition(term.first, node);
        break;
      case Kind::kNot:
        fits[i] = !fits[term.first];
        break;
      case Kind::kAnd:
        fits[i] = fits[term.first] && fits[term.second];
        break;
      case Kind::kOr:
        fits[i] = fits[term.first] || fits[term.second];
        break;
    }
  }
  return !fits.empty() && fits.back();
}

std::vector<NodeId> Matcher::All() const {
  std::vector<NodeId> found;
  for (const NodeId node : model_.Nodes()) {
    if (Fits(node)) found.push_back(node);
  }
  return found;
}

namespace {

// Comparing with more values would take too long for a hint.
constexpr std::size_t kMostValues = 20'000;
constexpr std::size_t kListed = 5;
constexpr std::size_t kMostListed = 15;  // of all values

using Values = std::set<std::string>;

// The values of `field` that the model has.
Values ValuesOf(Field field, const Tagging& tagging, const Model& model) {
  Values values;
  const ModuleTree& tree = tagging.modules;
  const ModuleFormat format(tagging);
  for (const NodeId node : model.Nodes()) {
    if (values.size() >= kMostValues) break;
    const Tag& tag = tagging.tags[node];
    if (field == Field::kOp) values.emplace(model.OpType(node));
    if (field == Field::kName) values.emplace(model[node].name);
    if (field == Field::kScopePath) values.emplace(ScopePath(model, node));
    if (field == Field::kFile) {
      if (const auto line = tagging.lines.Of(node)) values.emplace(line->file);
    }
    if (!tag.tagged()) continue;
    const Role& role = tagging.roles[tag.role];
    if (field == Field::kClass) values.emplace(ClassOf(tagging, tag.module));
    if (field == Field::kComponent) values.insert(role.component);
    if (field == Field::kTag) values.insert(format.HierarchyTag(tag));
    if (field == Field::kRole) values.insert(RoleText(role));
    if (field == Field::kRolePath) values.insert(format.RolePath(tag.module));
    if (field == Field::kModule) values.insert(tree.Path(tag.module));
    if (field == Field::kLayer && role.layer >= 0) {
      values.insert(std::to_string(role.layer));
    }
  }
  if (field == Field::kUnder || field == Field::kWithin) {
    for (const ModuleId id : tree.All()) {
      if (values.size() >= kMostValues) break;
      values.insert(field == Field::kUnder ? tree.Path(id)
                                           : std::string(ClassOf(tagging, id)));
    }
  }
  for (const Origin& origin : tagging.origins) {
    if (field == Field::kOrigin) values.insert(tree.Path(origin.module));
  }
  values.erase("");
  return values;
}

std::string LayersText(const Tagging& tagging) {
  std::int32_t lowest = -1;
  std::int32_t highest = -1;
  for (const Tag& tag : tagging.tags) {
    if (!tag.tagged()) continue;
    const std::int32_t layer = tagging.roles[tag.role].layer;
    if (layer < 0) continue;
    if (lowest < 0 || layer < lowest) lowest = layer;
    highest = std::max(highest, layer);
  }
  return lowest < 0 ? "; the model has no layers"
                    : fmt::format("; the layers are {} to {}", lowest, highest);
}

// "; encoder.layer has 0, 1": the children of the longest existing prefix.
std::string BelowText(const ModuleTree& tree, std::string_view path) {
  ModuleId at = ModuleTree::kRoot;
  for (const std::string_view atom : Split(path, '.')) {
    const ModuleId child = tree.FindChild(at, atom);
    if (child == kNo<ModuleId>) break;
    at = child;
  }
  std::vector<std::string_view> atoms;
  for (const ModuleId child : tree.Children(at)) {
    atoms.push_back(tree.Atom(child));
  }
  if (atoms.empty()) return "";
  return Message("; {} has {}",
                 at == ModuleTree::kRoot ? "the root" : tree.Path(at),
                 Ours{FirstOf(atoms, kListed, 60)});
}

std::string HintFor(const Condition& condition, const Tagging& tagging,
                    const Model& model) {
  if (condition.field == Field::kLayer) return LayersText(tagging);
  const bool by_line =
      condition.field == Field::kFile || condition.field == Field::kLine;
  if (by_line && tagging.lines.empty()) {
    return "; the file has no lines of code: export with dynamo, or give a "
           "recording with --trace";
  }
  const Value& value = condition.values.front();
  if (!value.quoted && HasWildcards(value.text)) return "";
  if (value.quoted && HasWildcards(value.text)) {
    return "; in quotes, * and ? are not wildcards";
  }
  if (condition.field == Field::kModule) {
    const ModuleId id = tagging.modules.Find(PathOf(value));
    if (id != kNo<ModuleId>) {
      return Message("; {} has no nodes of its own, use under={}",
                     tagging.modules.Shown(id), value.text);
    }
  }
  const Values values = ValuesOf(condition.field, tagging, model);
  const std::vector<std::string_view> words(values.begin(), values.end());
  const std::vector<std::string_view> closest =
      LikeWords(value.text, words, kListed);
  if (closest.size() == 1) {
    return Message(", did you mean '{}'?", closest[0]);
  }
  if (closest.empty()) {
    const bool path =
        condition.field == Field::kModule || condition.field == Field::kUnder;
    if (path) return BelowText(tagging.modules, value.text);
    // Names and files of a model are too many to be listed.
    return words.empty() ||
                   IsOneOf(InfoOf(condition.field).name,
                           {"name", "scope_path", "file", "tag", "role_path"})
               ? ""
               : "; the model has " + FirstOf(words, kMostListed, 60);
  }
  return "; similar: " + FirstOf(closest, kListed, 100);
}

}  // namespace

std::vector<std::string> WhyNothingFits(const Expression& expression,
                                        const Tagging& tagging,
                                        const Model& model,
                                        const Matcher& matcher) {
  std::vector<std::string> lines;
  std::string counts;
  for (std::size_t i = 0; i < expression.conditions.size(); ++i) {
    if (lines.size() == kListed) break;
    const Condition& condition = expression.conditions[i];
    std::uint64_t fitting = 0;
    for (const NodeId node : model.Nodes()) {
      fitting += matcher.FitsCondition(i, node);
    }
    const std::string text =
        Message("{}", Short{expression.TextOf(condition), 200});
    if (fitting == 0) {
      lines.push_back(fmt::format(
          "no node {} {}{}", condition.field == Field::kUntagged ? "is" : "has",
          text,
          condition.values.empty() ? "" : HintFor(condition, tagging, model)));
    } else if (i < kListed) {
      counts += fmt::format("{}{}: {}", counts.empty() ? "" : ", ", text,
                            WithThousands(fitting));
    }
  }
  if (lines.empty()) {
    lines.push_back(
        fmt::format("no node matches the whole query ({})", counts));
  }
  return lines;
}

}  // namespace onnx_tag::query

namespace onnx_tag {

std::vector<NodeId> FindNodes(const Model& model, const Tagging& tagging,
                              std::string_view query) {
  const query::Expression expression = query::Parse(std::string(query));
  return query::Matcher(expression, tagging, model).All();
}

}  // namespace onnx_tag
