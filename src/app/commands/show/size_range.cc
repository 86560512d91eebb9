// Tested by tests/app/commands/show_sizes_test.cc.
#include "app/commands/show/size_range.h"

#include <fmt/core.h>

#include <algorithm>
#include <numeric>

#include "app/commands/output/destinations.h"

namespace onnx_tag {
namespace {

// Every size of a short range; else doubled from point to point.
std::vector<std::int64_t> SizesIn(std::int64_t first, std::int64_t last) {
  constexpr std::int64_t kEach = 16;
  std::vector<std::int64_t> sizes;
  for (std::int64_t size = first; size < last;) {
    sizes.push_back(size);
    size =
        last - first < kEach ? size + 1 : std::max<std::int64_t>(1, 2 * size);
  }
  sizes.push_back(last);
  return sizes;
}

std::uint64_t Number(sizes::Dim dim) {
  if (dim.IsOver()) return sizes::kOver;
  return dim.IsNumber() && dim.number() > 0
             ? static_cast<std::uint64_t>(dim.number())
             : 0;
}

std::string NumberText(std::uint64_t number) {
  return number >= sizes::kOver ? "over 2^63" : Compact(number);
}

double Part(std::uint64_t part, std::uint64_t whole) {
  return whole == 0 ? 0
                    : static_cast<double>(part) / static_cast<double>(whole);
}

}  // namespace

SizeRange::SizeRange(const TaggedModel& model, const FoldedTree& tree,
                     const FoldOptions& folding, ModelCosts& costs,
                     std::vector<sizes::GivenShape> given)
    : model_(model), costs_(costs), given_(std::move(given)) {
  while (given_[ranged_].last == 0) ++ranged_;
  FindRows(tree, folding, costs);
  const sizes::GivenShape range = given_[ranged_];
  for (const std::int64_t size : SizesIn(range.dims.front(), range.last)) {
    points_.push_back(At(size));
  }
  FindLeads();
}

void SizeRange::FindRows(const FoldedTree& tree, const FoldOptions& folding,
                         ModelCosts& costs) {
  std::vector<std::string> paths;  // by depth
  tree.ForEachRow(ModuleTree::kRoot, folding, [&](const FoldedRow& row) {
    paths.resize(row.depth + 1);
    std::string& path = paths[row.depth];
    const std::string& above = row.depth == 0 ? path : paths[row.depth - 1];
    path = row.depth == 0 ? "" : (above.empty() ? "" : above + ".") + row.label;
    const bool lowest = folding.depth && row.depth == *folding.depth;
    sizes::FormulaSum sum(costs.shapes.formulas());
    for (const ModuleId id : row.modules) {
      sum.Add(lowest ? costs.formulas.totals[id].flops
                     : costs.formulas.own[id].flops);
    }
    rows_.push_back(
        {path, std::string(ClassOf(model_.tagging(), row.modules.front())),
         sum.Total()});
  });
  rows_.push_back({"[untagged]", "", costs.formulas.untagged.flops});
}

SizeRange::Point SizeRange::At(std::int64_t size) const {
  std::vector<sizes::GivenShape> given = given_;
  given[ranged_].dims = {size};
  const sizes::Assumptions assumed(model_.model(), costs_.shapes, given);
  Point point{.size = size, .dimensions = assumed.Text()};
  for (const Row& row : rows_) {
    point.flops.push_back(Number(assumed.numbers()(row.flops)));
    point.all = std::min(sizes::kOver, point.all + point.flops.back());
  }
  return point;
}

// The first of the most expensive rows is the leader.
std::vector<std::size_t> SizeRange::ByCost(const Point& point) const {
  std::vector<std::size_t> order(rows_.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::stable_sort(order.begin(), order.end(), [&](auto a, auto b) {
    return point.flops[a] > point.flops[b];
  });
  return order;
}

// If the leader changes between two points, finds one place where it does.
void SizeRange::FindLeads() {
  leads_.push_back({points_.front().size, Leader(points_.front())});
  for (std::size_t i = 1; i < points_.size(); ++i) {
    const std::size_t leader = Leader(points_[i]);
    if (leader == leads_.back().row) continue;
    std::int64_t before = points_[i - 1].size;
    std::int64_t from = points_[i].size;
    while (from - before > 1) {
      const std::int64_t middle = before + (from - before) / 2;
      (Leader(At(middle)) == leader ? from : before) = middle;
    }
    leads_.push_back({from, leader});
  }
}

void SizeRange::AddText(Result& result) const {
  const std::string& name = given_[ranged_].name;
  Table table{{{.heading = Message("{}", Short{name, 60}),
                .right = true,
                .width = std::max<std::size_t>(
                    8, std::min<std::size_t>(60, name.size()))},
               {.heading = "FLOPs", .right = true, .width = 11},
               {.heading = "most of it"}},
              {},
              {}};
  constexpr std::size_t kShown = 3;
  for (const Point& point : points_) {
    std::vector<std::string> most;
    for (const std::size_t row : ByCost(point)) {
      if (most.size() == kShown || point.flops[row] == 0) break;
      most.push_back(Message(
          "{} {:.0f}%",
          Short{rows_[row].path.empty() ? "<root>" : rows_[row].path, 100},
          100 * Part(point.flops[row], point.all)));
    }
    table.rows.push_back({point.size, NumberText(point.all), Join(most)});
  }
  result.Line("{}: FLOPs along {}, from {} to {}\n",
              Ours{Emphasized(ShownInput(model_.about().file))}, name,
              points_.front().dimensions, points_.back().dimensions);
  result.Add(std::move(table));
  result.Line("");
  for (const Lead& lead : leads_) {
    const Row& row = rows_[lead.row];
    result.Line("from {}={}: most is in {}", name, lead.from,
                Short{row.path.empty() ? "<root>" : row.path, 200});
  }
  const std::uint64_t unknown = costs_.sizes.all.unknown_flops;
  if (unknown > 0) {
    result.Line("FLOPs are unknown for {}", Count(unknown, "node"));
  }
}

Table SizeRange::Rows() const {
  Table table{{{.heading = given_[ranged_].name},
               {.heading = "module"},
               {.heading = "class", .none = ""},
               {.heading = "flops"},
               {.heading = "share"}},
              {},
              {}};
  for (const Point& point : points_) {
    for (std::size_t i = 0; i < rows_.size(); ++i) {
      if (point.flops[i] == 0) continue;
      table.rows.push_back({point.size, Datum::Module(rows_[i].path),
                            Datum::OrNull(rows_[i].name), point.flops[i],
                            Datum::Share(Part(point.flops[i], point.all))});
    }
  }
  return table;
}

Datum SizeRange::Data() const {
  Datum::List points, leads;
  for (const Point& point : points_) {
    Datum::List modules;
    for (const std::size_t row : ByCost(point)) {
      if (point.flops[row] == 0) break;
      modules.push_back(Datum::Object(
          {{"path", rows_[row].path}, {"flops", point.flops[row]}}));
    }
    points.push_back(Datum::Object({{"size", point.size},
                                    {"flops", point.all},
                                    {"modules", std::move(modules)}}));
  }
  for (const Lead& lead : leads_) {
    leads.push_back(
        Datum::Object({{"from", lead.from}, {"path", rows_[lead.row].path}}));
  }
  return Datum::Object({{"dimension", given_[ranged_].name},
                        {"points", std::move(points)},
                        {"leads", std::move(leads)}});
}

}  // namespace onnx_tag
