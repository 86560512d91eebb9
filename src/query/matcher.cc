#include "query/matcher.h"

#include <charconv>
#include <optional>

#include "base/glob.h"
#include "onnx_tag/query.h"
#include "query/fields.h"
#include "query/parser.h"
#include "tagging/words.h"

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
    std::uint32_t number = 0;
    std::from_chars(value.text.data(), value.text.data() + value.text.size(),
                    number);
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

std::string_view ClassOf(const Tagging& tagging, ModuleId module) {
  const std::string_view name = tagging.modules.Class(module);
  if (name.empty() && module == ModuleTree::kRoot) return tagging.root.name;
  return name;
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
  switch (condition.field) {
    case Field::kModule:
      return ByModule(condition);
    case Field::kUnder:
      return WithDescendants(ByModule(condition));
    case Field::kOrigin:
      return ByOrigin(condition);
    case Field::kClass:
      return ByClass(condition);
    case Field::kClassConfidence:
      return ByClassConfidence(condition);
    case Field::kWithin:
      return WithDescendants(ByClass(condition));
    case Field::kTag:
      return ByText(condition, false);
    case Field::kRole:
      return ByText(condition, true);
    case Field::kType:
    case Field::kTypeConfidence:
    case Field::kComponent:
    case Field::kAttention:
    case Field::kLayer:
      return ByRole(condition);
    case Field::kFile:
    case Field::kLine:
      return ByLine(condition);
    case Field::kOp:
    case Field::kName:
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

Matcher::Table Matcher::ByClass(const Condition& condition) const {
  Table table(tagging_.modules.size());
  for (const ModuleId id : AllIds<ModuleId>(table.size())) {
    table[Index(id)] = FitsText(condition, ClassOf(tagging_, id));
  }
  return table;
}

Matcher::Table Matcher::ByClassConfidence(const Condition& condition) const {
  Table table(tagging_.modules.size());
  for (const ModuleId id : AllIds<ModuleId>(table.size())) {
    const ModuleFacts* const facts = tagging_.FactsOf(id);
    if (facts == nullptr || tagging_.modules.Class(id).empty()) continue;
    table[Index(id)] = FitsConfidence(condition, facts->class_confidence);
  }
  return table;
}

Matcher::Table Matcher::ByText(const Condition& condition,
                               bool role_paths) const {
  const ModuleFormat format(tagging_);
  Table table(tagging_.modules.size());
  for (const ModuleId id : AllIds<ModuleId>(table.size())) {
    if (!used_[Index(id)]) continue;
    table[Index(id)] = FitsText(
        condition, role_paths ? format.RolePath(id) : format.HierarchyTag(id));
  }
  return table;
}

Matcher::Table Matcher::ByRole(const Condition& condition) const {
  Table table;
  for (const Role& role : tagging_.roles) {
    bool fits = false;
    if (condition.field == Field::kLayer) {
      fits = FitsLayer(condition, role.layer);
    } else if (condition.field == Field::kType) {
      fits = FitsText(condition, EnumToWord(kRoleTypeNames, role.type));
    } else if (condition.field == Field::kTypeConfidence) {
      fits = FitsConfidence(condition, role.confidence);
    } else if (condition.field == Field::kComponent) {
      fits = FitsText(condition, role.component);
    } else {
      fits = FitsText(condition,
                      EnumToWord(kAttentionKindNames, role.attention_kind));
    }
    table.push_back(fits);
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
    case Field::kType:
    case Field::kTypeConfidence:
    case Field::kComponent:
    case Field::kAttention:
    case Field::kLayer:
      return table[Index(tag.role)] != 0;
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

}  // namespace onnx_tag::query

namespace onnx_tag {

std::vector<NodeId> FindNodes(const Model& model, const Tagging& tagging,
                              std::string_view query) {
  const query::Expression expression = query::Parse(std::string(query));
  return query::Matcher(expression, tagging, model).All();
}

}  // namespace onnx_tag
