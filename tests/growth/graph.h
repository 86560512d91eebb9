// A model as it is put together, for graphs of any size.
#pragma once

#include <array>
#include <cstdint>
#include <random>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "support/wire_builder.h"

namespace onnx_tag::test {

using Names = std::vector<std::string>;
using Entries = std::vector<std::pair<std::string, std::string>>;
using U32 = std::uint32_t;

inline constexpr std::array<std::string_view, 24> kOps = {
    "MatMul",  "Add",     "Mul",    "Relu",
    "Softmax", "Reshape", "Gemm",   "Transpose",
    "Conv",    "Div",     "Erf",    "Sigmoid",
    "Concat",  "Slice",   "Gather", "Unsqueeze",
    "Shape",   "Cast",    "Tanh",   "ReduceMean",
    "Sub",     "Pow",     "Sqrt",   "LayerNormalization"};

inline std::string Entry(std::string_view key, std::string_view value) {
  return Wire(BytesField(1, key), BytesField(2, value));
}

// A model as it is put together.
class Graph {
 public:
  explicit Graph(U32 seed) : random_(seed) {}

  // Numbers and operators by chance, the same on every machine.
  U32 Random(U32 below) { return static_cast<U32>(random_() % below); }
  std::string_view AnyOp() { return kOps[Random(kOps.size())]; }

  static std::string Node(std::string_view op, const Names& inputs,
                          const Names& outputs, std::string_view name = "",
                          std::string_view more = "") {
    std::string node;
    for (const std::string& input : inputs) node += BytesField(1, input);
    for (const std::string& output : outputs) node += BytesField(2, output);
    if (!name.empty()) node += BytesField(3, name);
    node += BytesField(4, op);
    node += more;
    return node;
  }
  void Add(std::string_view op, const Names& inputs, const Names& outputs,
           std::string_view name = "", std::string_view more = "") {
    body_ += BytesField(1, Node(op, inputs, outputs, name, more));
    ++nodes_;
  }
  // A node that reads `from` and makes the value `to`.
  void Step(std::string_view op, const std::string& from, const std::string& to,
            std::string_view name = "") {
    Add(op, {from}, {to}, name);
  }
  void Weight(std::string_view name, const std::vector<U32>& dims) {
    std::string tensor;
    for (const U32 dim : dims) tensor += VarintField(1, dim);
    weights_ +=
        BytesField(5, Wire(tensor, VarintField(2, 1), BytesField(8, name)));
  }
  // An input of two dimensions without a number.
  void OpenInput(std::string_view name) {
    const std::string shape =
        BytesField(2, BytesField(1, "") + BytesField(1, ""));
    inputs_ += BytesField(
        11, Wire(BytesField(1, name),
                 BytesField(2, BytesField(1, Wire(VarintField(1, 1), shape)))));
  }
  // An input whose dimensions are all 1.
  void Ones(std::string_view name, U32 rank) {
    std::string dims;
    for (U32 i = 0; i < rank; ++i) dims += BytesField(1, VarintField(1, 1));
    inputs_ += BytesField(
        11, Wire(BytesField(1, name),
                 BytesField(2, BytesField(1, Wire(VarintField(1, 1),
                                                  BytesField(2, dims))))));
  }
  void Input(std::string_view name) { inputs_ += BytesField(11, Info(name)); }
  void Output(std::string_view name) { outputs_ += BytesField(12, Info(name)); }
  void Function(std::string_view name, const std::string& node,
                std::string_view overload = "", const Names& inputs = {"a"}) {
    std::string formals;
    for (const std::string& input : inputs) formals += BytesField(4, input);
    functions_ += BytesField(
        25, Wire(BytesField(1, name), formals, BytesField(5, "b"),
                 BytesField(7, node), BytesField(9, VarintField(2, 17)),
                 BytesField(10, "pkg"),
                 overload.empty() ? "" : BytesField(13, overload)));
  }
  // The same with any number of nodes and results.
  void Function(std::string_view name, const std::vector<std::string>& nodes,
                const Names& inputs, const Names& outputs,
                std::string_view more = "") {
    std::string fields;
    for (const std::string& input : inputs) fields += BytesField(4, input);
    for (const std::string& output : outputs) fields += BytesField(5, output);
    for (const std::string& node : nodes) fields += BytesField(7, node);
    functions_ += BytesField(
        25, Wire(BytesField(1, name), fields, BytesField(9, VarintField(2, 17)),
                 BytesField(10, "pkg"), std::string(more)));
  }
  void Metadata(std::string_view key, std::string_view value) {
    metadata_ += BytesField(14, Entry(key, value));
  }
  void Opset(std::string_view domain) {
    opsets_ += BytesField(8, Wire(BytesField(1, domain), VarintField(2, 1)));
  }
  U32 nodes() const { return nodes_; }

  // A subgraph in an attribute.
  static std::string Subgraph(std::string_view attribute,
                              const std::vector<std::string>& nodes,
                              std::string_view output) {
    std::string graph;
    for (const std::string& node : nodes) graph += BytesField(1, node);
    graph += BytesField(2, "body") + BytesField(12, Info(output));
    return BytesField(5, Wire(BytesField(1, attribute), BytesField(6, graph),
                              VarintField(20, 5)));
  }
  static std::string Meta(const Entries& entries) {
    std::string fields;
    for (const auto& [key, value] : entries) {
      fields += BytesField(9, Entry(key, value));
    }
    return fields;
  }

  std::string Model() const {
    return Wire(
        VarintField(1, 10), BytesField(2, "pytorch"), BytesField(3, "2.1.0"),
        BytesField(
            7, Wire(body_, BytesField(2, "main"), weights_, inputs_, outputs_)),
        BytesField(8, VarintField(2, 17)), opsets_, metadata_, functions_);
  }

 private:
  static std::string Info(std::string_view name) {
    return Wire(BytesField(1, name),
                BytesField(2, BytesField(1, VarintField(1, 1))));
  }

  std::mt19937 random_;
  std::string body_, weights_, inputs_, outputs_, functions_, metadata_,
      opsets_;
  U32 nodes_ = 0;
};

inline std::string V(U32 i) { return "v" + std::to_string(i); }

// v0 -> v1 -> ... with an operator and a name for each step.
template <typename Op, typename Name>
std::string Chain(U32 n, U32 seed, Op op, Name name) {
  Graph graph(seed);
  for (U32 i = 0; i < n; ++i) {
    graph.Step(op(graph, i), V(i), V(i + 1), name(graph, i));
  }
  graph.Input("v0");
  graph.Output(V(n));
  return graph.Model();
}

inline std::string_view AnyOpOf(Graph& graph, U32) { return graph.AnyOp(); }

inline std::string NoName(Graph&, U32) { return ""; }

// A product with the weight `name` for each step.
template <typename Name>
std::string Products(U32 n, U32 seed, Name name,
                     const std::vector<U32>& dims = {8, 8},
                     std::string_view op = "MatMul") {
  Graph graph(seed);
  for (U32 i = 0; i < n; ++i) {
    graph.Weight(name(i), dims);
    graph.Add(op, {V(i), name(i)}, {V(i + 1)});
  }
  graph.Input("v0");
  graph.Output(V(n));
  return graph.Model();
}

}  // namespace onnx_tag::test
