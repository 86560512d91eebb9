// Shapes with functions, subgraphs, operators and attributes.
#include <fmt/core.h>

#include "growth/families.h"
#include "growth/graph.h"

namespace onnx_tag::test {
namespace {

std::string Branches(U32 n, U32 seed) {
  Graph graph(seed);
  for (U32 i = 0; i < n; ++i) {
    graph.Add("If", {V(i)}, {V(i + 1)}, "",
              Graph::Subgraph("then_branch",
                              {Graph::Node("Relu", {V(i)}, {"o"})}, "o"));
  }
  graph.Input("v0");
  graph.Output(V(n));
  return graph.Model();
}

// One If that captures n values.
std::string Captures(U32 n, U32 seed) {
  Graph graph(seed);
  std::vector<std::string> body;
  for (U32 i = 0; i < n; ++i) {
    graph.Step("Relu", "x", V(i));
    body.push_back(Graph::Node("Relu", {V(i)}, {"s" + std::to_string(i)}));
  }
  graph.Add("If", {"c"}, {"y"}, "", Graph::Subgraph("then_branch", body, "s0"));
  graph.Add("Add", {"y", "v0"}, {"z"});
  graph.Input("x");
  graph.Input("c");
  graph.Output("z");
  return graph.Model();
}

std::string InPackage(const std::string& op, std::string_view from,
                      std::string_view to) {
  return Graph::Node(op, {std::string(from)}, {std::string(to)}, "",
                     BytesField(7, "pkg"));
}

std::string Functions(U32 n, U32 seed) {
  Graph graph(seed);
  for (U32 i = 0; i < n; ++i) {
    graph.Function(fmt::format("F{}", i), Graph::Node("Relu", {"a"}, {"b"}));
    graph.Add(fmt::format("F{}", i), {V(i)}, {V(i + 1)}, "",
              BytesField(7, "pkg"));
  }
  graph.Input("v0");
  graph.Output(V(n));
  return graph.Model();
}

// F0 calls F1 calls F2 ...
std::string FunctionChain(U32 n, U32 seed) {
  Graph graph(seed);
  for (U32 i = 0; i < n; ++i) {
    graph.Function(fmt::format("F{}", i),
                   InPackage(fmt::format("F{}", i + 1), "a", "b"));
  }
  graph.Add("F0", {"x"}, {"y"}, "", BytesField(7, "pkg"));
  graph.Input("x");
  graph.Output("y");
  return graph.Model();
}

std::string OneFunction(U32 n, U32 seed) {
  Graph graph(seed);
  graph.Function("F", Graph::Node("Relu", {"a"}, {"b"}));
  for (U32 i = 0; i < n; ++i) {
    graph.Add("F", {V(i)}, {V(i + 1)}, fmt::format("/layers.{}/F", i),
              BytesField(7, "pkg"));
  }
  graph.Input("v0");
  graph.Output(V(n));
  return graph.Model();
}

std::string ManyOpTypes(U32 n, U32 seed) {
  Graph graph(seed);
  for (U32 i = 0; i < n; ++i) {
    graph.Step(fmt::format("Op{}", i), V(i), V(i + 1),
               fmt::format("/m.{}/x", i));
    graph.Opset(fmt::format("domain.{}", i));
  }
  graph.Input("v0");
  graph.Output(V(n));
  return graph.Model();
}

// One node with n attributes, one of them a list of n numbers.
std::string ManyAttributes(U32 n, U32 seed) {
  std::string attributes;
  std::string numbers;
  for (U32 i = 0; i < n; ++i) {
    attributes += BytesField(
        5, Wire(BytesField(1, fmt::format("a{}", i)), VarintField(3, i)));
    numbers += VarintField(8, i);
  }
  attributes += BytesField(5, Wire(BytesField(1, "perm"), numbers));
  Graph graph(seed);
  graph.Add("Transpose", {"x"}, {"y"}, "/a/Transpose", attributes);
  graph.Add("Conv", {"y"}, {"z"}, "/a/Conv", attributes);
  graph.Input("x");
  graph.Output("z");
  return graph.Model();
}

// Functions of one name: overloads, or all the same.
std::string Overloads(U32 n, U32 seed, bool equal) {
  Graph graph(seed);
  for (U32 i = 0; i < n; ++i) {
    const std::string overload = equal ? "" : fmt::format("o{}", i);
    graph.Function("F", Graph::Node("Relu", {"a"}, {"b"}), overload);
    graph.Add("F", {V(i)}, {V(i + 1)}, "",
              BytesField(7, "pkg") + (equal ? "" : BytesField(8, overload)));
  }
  graph.Input("v0");
  graph.Output(V(n));
  return graph.Model();
}

// One call that hands over n weights.
std::string FunctionOfWeights(U32 n, U32 seed) {
  Graph graph(seed);
  Names formals = {"a"};
  Names actual = {"x"};
  for (U32 i = 0; i < n; ++i) {
    formals.push_back(V(i));
    actual.push_back(fmt::format("w{}", i));
    graph.Weight(actual.back(), {4, 4});
  }
  graph.Function("F", Graph::Node("Concat", formals, {"b"}), "", formals);
  graph.Add("F", actual, {"y"}, "/f/F", BytesField(7, "pkg"));
  graph.Input("x");
  graph.Output("y");
  return graph.Model();
}

std::string Number(std::string_view name, U32 number) {
  return Wire(BytesField(1, name), VarintField(3, number), VarintField(20, 2));
}

// A chain of n Relus, or a Split into n parts, from "a" to "b".
std::vector<std::string> Body(U32 n, bool wide) {
  std::vector<std::string> nodes;
  if (wide) {
    Names parts;
    for (U32 i = 0; i < n; ++i) parts.push_back(V(i));
    nodes.push_back(Graph::Node("Split", {"a"}, parts));
    nodes.push_back(Graph::Node("Relu", {"v0"}, {"b"}));
    return nodes;
  }
  for (U32 i = 0; i < n; ++i) {
    nodes.push_back(Graph::Node("Relu", {i == 0 ? "a" : V(i)},
                                {i + 1 == n ? "b" : V(i + 1)}));
  }
  return nodes;
}

// n calls of one large function, each with another number.
std::string DifferentCalls(U32 n, U32 seed, bool wide) {
  Graph graph(seed);
  graph.Function("F", Body(n, wide), {"a"}, {"b"});
  for (U32 i = 0; i < n; ++i) {
    graph.Add("F", {V(i)}, {V(i + 1)}, "",
              Wire(BytesField(7, "pkg"), BytesField(5, Number("k", i))));
  }
  graph.Input("v0");
  graph.Output(V(n));
  return graph.Model();
}

// n nodes of a function read attributes of the call, every other one a default.
std::string References(U32 n, U32 seed) {
  Graph graph(seed);
  std::vector<std::string> nodes;
  std::string given = BytesField(7, "pkg");
  std::string defaults;
  for (U32 i = 0; i < n; ++i) {
    const std::string name = fmt::format("k{}", i);
    const std::string value = i == 0 ? "a" : V(i);
    nodes.push_back(Graph::Node(
        "Concat", {value, value}, {i + 1 == n ? "b" : V(i + 1)}, "",
        BytesField(5, Wire(BytesField(1, "axis"), BytesField(21, name),
                           VarintField(20, 2)))));
    (i % 2 == 0 ? given : defaults) +=
        BytesField(i % 2 == 0 ? 5 : 11, Number(name, 0));
  }
  graph.Function("F", nodes, {"a"}, {"b"}, defaults);
  graph.Add("F", {"x"}, {"y"}, "", given);
  graph.Ones("x", 2);
  graph.Output("y");
  return graph.Model();
}

// n calls hand on a value of n dimensions.
std::string HighRank(U32 n, U32 seed) {
  Graph graph(seed);
  graph.Function("F", Graph::Node("Relu", {"a"}, {"b"}));
  for (U32 i = 0; i < n; ++i) {
    graph.Add("F", {"x"}, {V(i)}, "", BytesField(7, "pkg"));
  }
  graph.Ones("x", n);
  graph.Output("v0");
  return graph.Model();
}

// n nodes join n tensors of one sequence.
std::string LongSequence(U32 n, U32 seed) {
  Graph graph(seed);
  graph.Add("SequenceConstruct", Names(n, "x"), {"s"});
  for (U32 i = 0; i < n; ++i) {
    graph.Add("ConcatFromSequence", {"s"}, {V(i)}, "",
              BytesField(5, Number("axis", 0)));
  }
  graph.Ones("x", 2);
  graph.Output("v0");
  return graph.Model();
}

// A call with n inputs and n results that look like caches.
std::string ReturnedCaches(U32 n, U32 seed) {
  Graph graph(seed);
  Names inputs, results, formals, made;
  std::vector<std::string> nodes;
  for (U32 i = 0; i < n; ++i) {
    formals.push_back(fmt::format("a{}", i));
    made.push_back(fmt::format("b{}", i));
    nodes.push_back(Graph::Node("Relu", {formals.back()}, {made.back()}));
    inputs.push_back(fmt::format("x{}", i));
    results.push_back(fmt::format("present.{}", i));
    graph.Ones(inputs.back(), 2);
    graph.Output(results.back());
  }
  graph.Function("F", nodes, formals, made);
  graph.Add("F", inputs, results, "", BytesField(7, "pkg"));
  return graph.Model();
}

constexpr auto kCallsShapes = std::to_array<Family>({
    {"different_calls",
     [](U32 n, U32 seed) { return DifferentCalls(n, seed, false); }},
    {"calls_of_a_split",
     [](U32 n, U32 seed) { return DifferentCalls(n, seed, true); }},
    {"references", References},
    {"high_rank", HighRank},
    {"long_sequence", LongSequence},
    {"returned_caches", ReturnedCaches},

    {"branches", Branches},
    {"captures", Captures},
    {"functions", Functions},
    {"function_chain", FunctionChain},
    {"one_function", OneFunction},
    {"many_operators", ManyOpTypes},
    {"many_attributes", ManyAttributes},
    {"overloads", [](U32 n, U32 seed) { return Overloads(n, seed, false); }},
    {"equal_functions",
     [](U32 n, U32 seed) { return Overloads(n, seed, true); }},
    {"function_of_weights", FunctionOfWeights},
});

}  // namespace

std::span<const Family> CallsFamilies() { return kCallsShapes; }

}  // namespace onnx_tag::test
