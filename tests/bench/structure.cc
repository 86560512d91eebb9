// The modules found in the graph alone.
//
//   structure MODEL.onnx...            the tree of modules, with node counts
//   structure --nodes MODEL.onnx...    a line for each node: graph, index, path
//   structure --time RUNS MODEL.onnx   milliseconds, the median of RUNS runs
#include "clues/structure/structure.h"

#include <fmt/core.h>

#include <algorithm>
#include <chrono>
#include <string>
#include <string_view>
#include <vector>

#include "onnx_tag/error.h"
#include "truth.h"

namespace onnx_tag::bench {
namespace {

std::string_view Differs(CopyKind kind) {
  switch (kind) {
    case CopyKind::kEqual:
      return "";
    case CopyKind::kOtherWidth:
      return "  other width";
    case CopyKind::kAlike:
      return "  alike";
  }
  return "";
}

void PrintBelow(const Structure& found,
                const std::vector<std::vector<FoundId>>& children,
                std::size_t at, int depth) {
  for (const FoundId id : children[at]) {
    const FoundModule& module = found[id];
    if (module.nodes == 0) continue;
    fmt::print("{:6}  {:{}}{}", module.nodes, "", 2 * depth, found.Name(id));
    if (module.kind == FoundKind::kCopy) {
      fmt::print(" of {}{}", module.copies, Differs(module.like));
    }
    fmt::print("\n");
    PrintBelow(found, children, Index(id) + 1, depth + 1);
  }
}

void PrintTree(const std::string& path) {
  const std::string bytes = ReadAll(path);
  const Model model = ReadModel(bytes);
  const Structure found = FindStructure(GraphFacts(model));
  std::vector<std::vector<FoundId>> children(found.size() + 1);
  for (const FoundId id : found.Modules()) {
    const FoundId parent = found[id].parent;
    children[parent == kNo<FoundId> ? 0 : Index(parent) + 1].push_back(id);
  }
  // As the first nodes run, not as modules were named.
  std::vector<std::size_t> first(found.size(), model.node_count());
  for (const NodeId node : model.Nodes()) {
    FoundId id = found.ModuleOf(node);
    for (; id != kNo<FoundId>; id = found[id].parent) {
      first[Index(id)] = std::min(first[Index(id)], Index(node));
    }
  }
  for (std::vector<FoundId>& row : children) {
    std::stable_sort(row.begin(), row.end(), [&](FoundId a, FoundId b) {
      return first[Index(a)] < first[Index(b)];
    });
  }
  fmt::print("{}: {} nodes\n", path, model.node_count());
  PrintBelow(found, children, 0, 0);
}

void PrintNodes(const std::string& path) {
  const std::string bytes = ReadAll(path);
  const Model model = ReadModel(bytes);
  const Structure found = FindStructure(GraphFacts(model));
  for (const NodeId node : model.Nodes()) {
    fmt::print("{}\t{}\t{}\n", model.GraphPath(model[node].graph),
               model[node].index, found.Path(found.ModuleOf(node)));
  }
  fmt::print("\n");
}

void PrintTime(int runs, const std::string& path) {
  const std::string bytes = ReadAll(path);
  const Model model = ReadModel(bytes);
  std::vector<double> times;
  for (int i = 0; i < runs; ++i) {
    const auto start = std::chrono::steady_clock::now();
    FindStructure(GraphFacts(model));
    times.push_back(std::chrono::duration<double, std::milli>(
                        std::chrono::steady_clock::now() - start)
                        .count());
  }
  std::sort(times.begin(), times.end());
  fmt::print("{}: {} nodes, {:.1f} ms\n", path, model.node_count(),
             times[times.size() / 2]);
}

int Run(std::vector<std::string> words) {
  if (words.size() > 2 && words[0] == "--time") {
    for (std::size_t i = 2; i < words.size(); ++i) {
      PrintTime(std::stoi(words[1]), words[i]);
    }
    return 0;
  }
  const bool nodes = !words.empty() && words[0] == "--nodes";
  for (std::size_t i = nodes ? 1 : 0; i < words.size(); ++i) {
    nodes ? PrintNodes(words[i]) : PrintTree(words[i]);
  }
  return 0;
}

}  // namespace
}  // namespace onnx_tag::bench

int main(int argc, char** argv) {
  try {
    return onnx_tag::bench::Run({argv + 1, argv + argc});
  } catch (const onnx_tag::Error& error) {
    fmt::print(stderr, "structure: {}\n", error.what());
    return 1;
  }
}
