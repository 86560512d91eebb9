// What the parts of a mapping cost, on one file: the median of many runs.
//
//   stages MODEL.onnx [RUNS]
#include <fmt/core.h>

#include <algorithm>
#include <chrono>
#include <functional>
#include <string>
#include <vector>

#include "mapping/classes/assign_classes.h"
#include "mapping/roles/roles.h"
#include "onnx_tag/mapping.h"
#include "truth.h"

namespace onnx_tag::bench {
namespace {

double MedianMs(int runs, const std::function<void()>& work) {
  std::vector<double> times;
  for (int i = 0; i < runs; ++i) {
    const auto start = std::chrono::steady_clock::now();
    work();
    times.push_back(std::chrono::duration<double, std::milli>(
                        std::chrono::steady_clock::now() - start)
                        .count());
  }
  std::sort(times.begin(), times.end());
  return times[times.size() / 2];
}

void Run(const std::string& path, int runs) {
  const std::string bytes = ReadAll(path);
  const Model model = ReadModel(bytes);
  const GraphFacts graph = GatherGraph(model);
  const ModuleTree recorded = GatherEvidence(graph).modules;
  const ModuleEvidence evidence(GatherEvidence(graph));
  MappingOptions options;
  options.recipes = false;  // as the evidence: both know the same modules
  const Tagging mapped = MapNodes(model, options);
  fmt::print("{}: {} nodes, {} modules, median of {} runs\n", path,
             model.node_count(), mapped.modules.count(), runs);
  const auto print = [&](std::string_view what,
                         const std::function<void()>& work) {
    fmt::print("{:18} {:8.3f} ms\n", what, MedianMs(runs, work));
  };
  print("read", [&] { ReadModel(bytes); });
  print("gather graph", [&] { GatherGraph(model); });
  print("gather evidence", [&] { GatherEvidence(graph); });
  print("map", [&] { MapNodes(model, options); });
  print("map, with recipes", [&] { MapNodes(model, {}); });
  Tagging open = mapped;
  const auto forget = [&] {
    for (const ModuleId id : open.modules.All()) {
      open.modules.SetClass(id, recorded.Class(id));
    }
    open.facts = {};
  };
  const double forgetting = MedianMs(runs, forget);
  const double classes = MedianMs(runs, [&] {
    forget();
    AssignClasses(graph, evidence, open);
  });
  fmt::print("{:18} {:8.3f} ms\n", "classes", classes - forgetting);
  print("roles", [&] { AssignRoles(graph, open); });
}

}  // namespace
}  // namespace onnx_tag::bench

int main(int argc, char** argv) {
  if (argc < 2) {
    fmt::print(stderr, "usage: stages MODEL.onnx [RUNS]\n");
    return 2;
  }
  onnx_tag::bench::Run(argv[1], argc > 2 ? std::stoi(argv[2]) : 21);
}
