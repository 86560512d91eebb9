#include "query/suggest.h"

#include <fmt/core.h>

#include <algorithm>
#include <set>

#include "base/glob.h"
#include "base/text.h"
#include "query/fields.h"

namespace onnx_tag::query {
namespace {

// Comparing with more values would take too long for a hint.
constexpr std::size_t kMostValues = 20'000;
constexpr std::size_t kListed = 5;

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
    if (field == Field::kFile) {
      if (const auto line = tagging.lines.Of(node)) values.emplace(line->file);
    }
    if (!tag.tagged()) continue;
    const Role& role = tagging.roles[tag.role];
    if (field == Field::kClass) values.emplace(ClassOf(tagging, tag.module));
    if (field == Field::kComponent) values.insert(role.component);
    if (field == Field::kTag) values.insert(format.HierarchyTag(tag));
    if (field == Field::kRole) values.insert(format.RolePath(tag.module));
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

std::string Lower(std::string_view text) {
  std::string lower(text);
  for (char& c : lower) {
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  }
  return lower;
}

// The most similar value, else the values that contain the text.
std::vector<std::string_view> Closest(std::string_view text,
                                      const Values& values) {
  const std::vector<std::string_view> words(values.begin(), values.end());
  const std::string_view near = NearestWord(text, words);
  if (!near.empty()) return {near};
  std::vector<std::string_view> found;
  const std::string wanted = Lower(text);
  for (const std::string_view word : words) {
    if (wanted.empty() || found.size() == kListed) break;
    if (Lower(word).find(wanted) != std::string::npos) found.push_back(word);
  }
  return found;
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
  std::string list;
  std::size_t count = 0;
  for (const ModuleId child : tree.Children(at)) {
    if (++count > kListed) continue;
    if (!list.empty()) list += ", ";
    list += Message("{}", Short{tree.Atom(child), 60});
  }
  if (count == 0) return "";
  if (count > kListed) list += fmt::format(" and {} more", count - kListed);
  return Message("; {} has {}",
                 at == ModuleTree::kRoot ? "the root" : tree.Path(at), list);
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
  const Values values = ValuesOf(condition.field, tagging, model);
  const std::vector<std::string_view> closest = Closest(value.text, values);
  if (closest.size() == 1) {
    return Message(", did you mean '{}'?", closest[0]);
  }
  if (closest.empty()) {
    const bool path =
        condition.field == Field::kModule || condition.field == Field::kUnder;
    return path ? BelowText(tagging.modules, value.text) : "";
  }
  std::string list;
  for (const std::string_view word : closest) {
    list += Message("{}{}", list.empty() ? "" : ", ", Short{word, 100});
  }
  return "; similar: " + list;
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
          "no node has {}{}", text,
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
