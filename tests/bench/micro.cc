// The inner loops: walking fields, undoing names, laying out a rewrite.
#include <benchmark/benchmark.h>
#include <fmt/core.h>

#include <array>
#include <string>
#include <string_view>
#include <vector>

#include "clues/exporters/tools/original_name.h"
#include "file/wire/encoding.h"
#include "file/wire/field_reader.h"
#include "file/wire/rewrite.h"

namespace onnx_tag {
namespace {

constexpr std::uint32_t kGraph = 7;
constexpr std::uint32_t kNode = 1;

// A model with `count` nodes of some 125 bytes, and where they are.
struct File {
  explicit File(std::size_t count) {
    std::vector<std::string> nodes;
    std::string graph;
    std::vector<wire::Message> in_graph;
    for (std::size_t i = 0; i < count; ++i) {
      const std::string name =
          fmt::format("/layer.{}/attn/query/MatMul_{}", i * 12 / count, i);
      std::string node;
      wire::AppendLengthDelimited(node, 1, name + "_input");
      wire::AppendLengthDelimited(node, 2, name + "_output_0");
      wire::AppendLengthDelimited(node, 3, name);
      wire::AppendLengthDelimited(node, 4, "MatMul");
      wire::AppendLengthDelimited(graph, kNode, node);
      in_graph.push_back({.begin = graph.size() - node.size(),
                          .size = node.size(),
                          .parent = 1,
                          .prefix_width = static_cast<std::uint8_t>(
                              wire::VarintSize(node.size()))});
    }
    wire::AppendLengthDelimited(bytes, kGraph, graph);
    const std::uint64_t begin = bytes.size() - graph.size();
    tree.push_back({.begin = 0, .size = bytes.size()});
    tree.push_back({.begin = begin,
                    .size = graph.size(),
                    .parent = 0,
                    .prefix_width = static_cast<std::uint8_t>(
                        wire::VarintSize(graph.size()))});
    for (wire::Message message : in_graph) {
      message.begin += begin;
      tree.push_back(message);
    }
  }

  std::string bytes;
  std::vector<wire::Message> tree;
};

void WalkFields(benchmark::State& state) {
  const auto count = static_cast<std::size_t>(state.range(0));
  const File file(count);
  for (auto _ : state) {
    std::size_t text = 0;
    wire::FieldReader model(file.bytes);
    for (wire::Field graph; model.Next(graph);) {
      wire::FieldReader nodes(graph.bytes, 1);
      for (wire::Field node; nodes.Next(node);) {
        wire::FieldReader fields(node.bytes, 2);
        for (wire::Field field; fields.Next(field);) text += field.bytes.size();
      }
    }
    benchmark::DoNotOptimize(text);
  }
  state.SetItemsProcessed(state.iterations() * state.range(0));
  state.SetBytesProcessed(state.iterations() *
                          static_cast<std::int64_t>(file.bytes.size()));
}
BENCHMARK(WalkFields)->Arg(1000)->Arg(100'000);

void UndoNodeName(benchmark::State& state) {
  constexpr std::array<std::string_view, 6> kNames = {
      "/encoder/layer.0/attention/self/query/MatMul",
      "/encoder/layer.0/attention/self/query/MatMul_quant_scales_mul",
      "/encoder/layer.0/attention/output/LayerNorm/Add_1",
      "MatMul_124_quant",
      "fused MatMul_12",
      "graph_input_cast_0",
  };
  for (auto _ : state) {
    for (const std::string_view name : kNames) {
      benchmark::DoNotOptimize(hierarchy::UndoNodeName(name));
    }
  }
  state.SetItemsProcessed(state.iterations() *
                          static_cast<std::int64_t>(kNames.size()));
}
BENCHMARK(UndoNodeName);

// Counts the bytes instead of writing them.
class CountingSink : public wire::Rewrite::Sink {
 public:
  void Copy(std::uint64_t /*offset*/, std::uint64_t size) override {
    size_ += size;
  }
  void Write(Bytes bytes) override { size_ += bytes.size(); }
  std::uint64_t size() const { return size_; }

 private:
  std::uint64_t size_ = 0;
};

void RewriteEveryNode(benchmark::State& state) {
  const File file(static_cast<std::size_t>(state.range(0)));
  const std::string entry(300, 'x');
  for (auto _ : state) {
    wire::Rewrite rewrite(file.bytes, file.tree);
    for (wire::MessageId id = 2; id < file.tree.size(); ++id) {
      rewrite.Append(id, static_cast<std::uint32_t>(entry.size()), id);
    }
    rewrite.Layout();
    CountingSink sink;
    rewrite.Write(sink, [&](std::uint64_t, std::string& out) { out += entry; });
    benchmark::DoNotOptimize(sink.size());
  }
  state.SetItemsProcessed(state.iterations() * state.range(0));
}
BENCHMARK(RewriteEveryNode)->Arg(1000)->Arg(100'000);

}  // namespace
}  // namespace onnx_tag

BENCHMARK_MAIN();
