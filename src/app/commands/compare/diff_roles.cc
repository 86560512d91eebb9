#include <fmt/core.h>

#include <map>
#include <set>
#include <string>
#include <vector>

#include "app/commands/compare/compare.h"
#include "base/text.h"

namespace onnx_tag {
namespace {

// What a model has of one role.
struct RoleShare {
  std::uint64_t nodes = 0;
  std::set<ModuleId> modules;
  std::set<std::int32_t> layers;
  std::map<std::string, std::uint64_t> operators;

  bool operator==(const RoleShare& other) const {
    return nodes == other.nodes && modules.size() == other.modules.size() &&
           layers.size() == other.layers.size() && operators == other.operators;
  }
};

using RoleShares = std::map<std::string, RoleShare>;

RoleShares SharesOf(const TaggedModel& model) {
  const Tagging& tagging = model.tagging();
  RoleShares shares;
  for (const NodeId node : model.model().Nodes()) {
    const Tag& tag = tagging.tags[node];
    std::string name = "[untagged]";
    if (tag.tagged()) {
      const Role& role = tagging.roles[tag.role];
      name = kRoleTypeNames[static_cast<std::size_t>(role.type)];
      if (!role.component.empty()) name += "/" + role.component;
    }
    RoleShare& share = shares[name];
    ++share.nodes;
    ++share.operators[std::string(model.model().OpType(node))];
    if (!tag.tagged()) continue;
    share.modules.insert(tag.module);
    const std::int32_t layer = tagging.roles[tag.role].layer;
    if (layer >= 0) share.layers.insert(layer);
  }
  return shares;
}

// "+2 MatMul, -1 Gemm"
std::string OperatorsText(const RoleShare& a, const RoleShare& b) {
  std::vector<std::string> words;
  std::map<std::string, std::int64_t> more;
  for (const auto& [op, count] : b.operators) {
    more[op] += static_cast<std::int64_t>(count);
  }
  for (const auto& [op, count] : a.operators) {
    more[op] -= static_cast<std::int64_t>(count);
  }
  for (const auto& [op, count] : more) {
    if (count != 0) words.push_back(Message("{:+} {}", count, op));
  }
  return Join(words);
}

Datum ShareValue(const RoleShare& share) {
  return Datum::Object(
      {{"nodes", share.nodes},
       {"modules", share.modules.size()},
       {"layers", share.layers.size()},
       {"operators", Datum::Object(Datum::Members(share.operators.begin(),
                                                  share.operators.end()))}});
}

}  // namespace

Result DiffRoles(const TaggedModel& a, const TaggedModel& b) {
  RoleShares old = SharesOf(a);
  RoleShares now = SharesOf(b);
  for (const auto& [role, share] : now) old[role];
  for (const auto& [role, share] : old) now[role];
  Table table{{{.heading = "role"},
               {.heading = "modules", .right = true},
               {.heading = "layers", .right = true},
               {.heading = "nodes", .right = true},
               {.heading = "operators", .longest = std::string::npos}},
              {},
              {}};
  Datum::List roles;
  for (const auto& [role, share] : old) {
    const RoleShare& other = now[role];
    const bool equal = share == other;
    roles.push_back(Datum::Object({{"role", role},
                                   {"equal", equal},
                                   {"a", ShareValue(share)},
                                   {"b", ShareValue(other)}}));
    if (equal) continue;
    const auto both = [](std::size_t x, std::size_t y) {
      return x == y ? std::to_string(x) : fmt::format("{} -> {}", x, y);
    };
    table.rows.push_back(
        {role, both(share.modules.size(), other.modules.size()),
         both(share.layers.size(), other.layers.size()),
         both(share.nodes, other.nodes), OperatorsText(share, other)});
  }
  const std::size_t differing = table.rows.size();
  Result result;
  result.Line("A  {}\nB  {}\n", a.about().file, b.about().file);
  if (differing > 0) {
    result.Add(std::move(table));
    result.Line("");
  }
  result.Line("{}",
              Ours{differing == 0 ? std::string("no difference")
                                  : fmt::format("{} of {} differ", differing,
                                                Count(old.size(), "role"))});
  result.data = Datum::Object({{"a", a.about().file},
                               {"b", b.about().file},
                               {"equal", differing == 0},
                               {"roles", std::move(roles)}});
  if (differing > 0) result.exit_code = ExitCode::kFindings;
  return result;
}

}  // namespace onnx_tag
