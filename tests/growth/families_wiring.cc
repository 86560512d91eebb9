// Shapes of the graph itself: chains, fans, edges by chance, shared values.
#include <fmt/core.h>

#include "growth/families.h"
#include "growth/graph.h"

namespace onnx_tag::test {
namespace {

std::string FanOut(U32 n, U32 seed) {
  Graph graph(seed);
  for (U32 i = 0; i < n; ++i) graph.Step(graph.AnyOp(), "x", V(i));
  graph.Input("x");
  graph.Output("v0");
  return graph.Model();
}

// n producers, then `joins` nodes that read all of them.
std::string FanIn(U32 n, U32 seed, std::string_view op, U32 joins,
                  bool permuted) {
  Graph graph(seed);
  Names all;
  for (U32 i = 0; i < n; ++i) {
    graph.Add("Relu", {permuted ? "x" + std::to_string(i) : "x"}, {V(i)},
              permuted ? fmt::format("/a/Relu_{}", i) : "");
    if (permuted) graph.Input("x" + std::to_string(i));
    all.push_back(V(i));
  }
  if (permuted) {
    for (U32 i = n; i > 1; --i) std::swap(all[i - 1], all[graph.Random(i)]);
  }
  for (U32 k = 0; k < joins; ++k) graph.Add(op, all, {"y" + std::to_string(k)});
  graph.Input("x");
  graph.Output("y0");
  return graph.Model();
}

std::string WideProducts(U32 n, U32 seed, bool named) {
  Graph graph(seed);
  Names all;
  for (U32 i = 0; i < n; ++i) {
    const std::string scope = fmt::format("/heads.{}/MatMul", i);
    const std::string weight =
        named ? fmt::format("heads.{}.weight", i) : fmt::format("w{}", i);
    graph.Weight(weight, {4, 4});
    all.push_back(named ? scope + "_output_0" : V(i));
    graph.Add("MatMul", {"x", weight}, {all.back()}, named ? scope : "");
  }
  graph.Add("Concat", all, {"y"}, named ? "/Concat" : "");
  graph.Input("x");
  graph.Output("y");
  return graph.Model();
}

// Levels of 30 nodes, each of which reads all of the level before.
std::string Bipartite(U32 n, U32 seed) {
  constexpr std::array<std::string_view, 4> kJoins = {"Add", "Mul", "Concat",
                                                      "Sum"};
  Graph graph(seed);
  Names before = {"x"};
  while (graph.nodes() < n) {
    Names outputs;
    for (int j = 0; j < 30; ++j) {
      outputs.push_back(V(graph.nodes()));
      graph.Add(kJoins[graph.Random(4)], before, {outputs.back()});
    }
    before = outputs;
  }
  graph.Input("x");
  for (const std::string& output : before) graph.Output(output);
  return graph.Model();
}

std::string Window(U32 n, U32 seed) {
  Graph graph(seed);
  for (U32 i = 0; i < n; ++i) {
    Names inputs;
    for (U32 j = 0; j < 30; ++j) inputs.push_back(V(i > j ? i - j : 0));
    graph.Add("Concat", inputs, {V(i + 1)});
  }
  graph.Input("v0");
  graph.Output(V(n));
  return graph.Model();
}

// `named`: each part goes to one of many layers.
std::string ManyOutputs(U32 n, U32 seed, bool named) {
  Graph graph(seed);
  Names all;
  for (U32 i = 0; i < n; ++i) all.push_back(V(i));
  graph.Add("Split", {"x"}, all);
  for (U32 i = 0; i < n; ++i) {
    const std::string out = "u" + std::to_string(i);
    graph.Add("Relu", {V(i)}, {out},
              named ? fmt::format("/a/b.{}/c.{}/Relu", i / 16, i % 16) : "");
    graph.Output(out);
  }
  graph.Input("x");
  return graph.Model();
}

std::string GraphOutputs(U32 n, U32 seed) {
  Graph graph(seed);
  for (U32 i = 0; i < n; ++i) {
    graph.Step("Relu", V(i), V(i + 1));
    graph.Output(V(i));
  }
  graph.Input("v0");
  return graph.Model();
}

std::string GraphInputs(U32 n, U32 seed) {
  Graph graph(seed);
  for (U32 i = 0; i < n; ++i) {
    const std::string x = "x" + std::to_string(i);
    graph.Add("Add", {x, "x" + std::to_string(std::uint64_t{i} * 7 % n)},
              {V(i)});
    graph.Input(x);
    graph.Output(V(i));
  }
  return graph.Model();
}

std::string Tied(U32 n, U32 seed, bool named) {
  Graph graph(seed);
  graph.Weight("emb.weight", {4, 4});
  for (U32 i = 0; i < n; ++i) {
    graph.Add("MatMul", {V(i), "emb.weight"}, {V(i + 1)},
              named ? fmt::format("/m.{}/MatMul", i) : "");
  }
  graph.Input("v0");
  graph.Output(V(n));
  return graph.Model();
}

// A weight handed on n times, and each hand read.
std::string CarriedWeight(U32 n, U32 seed, std::string_view carrier,
                          bool weight) {
  Graph graph(seed);
  if (weight) graph.Weight("w0", {4, 4});
  for (U32 i = 0; i < n; ++i) {
    const std::string w = "w" + std::to_string(i);
    graph.Step(carrier, w, "w" + std::to_string(i + 1));
    graph.Add("MatMul", {"x", w}, {"y" + std::to_string(i)});
  }
  graph.Input("x");
  if (!weight) graph.Input("w0");
  graph.Output("y0");
  return graph.Model();
}

std::string Ring(U32 n, U32 seed) {
  Graph graph(seed);
  for (U32 i = 0; i < n; ++i) {
    graph.Add(graph.AnyOp(), {V(i), V((i + 1) % n)}, {V((i + 1) % n)});
  }
  graph.Output("v0");
  return graph.Model();
}

std::string RandomEdges(U32 n, U32 seed, bool cyclic) {
  Graph graph(seed);
  for (U32 i = 0; i < n; ++i) {
    const U32 below = cyclic ? n : i + 1;
    const std::string a = V(graph.Random(below));
    const std::string b = V(graph.Random(below));
    graph.Add(graph.AnyOp(), {a, b}, {V(cyclic ? i : i + 1)},
              i % 4 == 0 ? fmt::format("/l.{}/s.{}/n{}", graph.Random(50),
                                       graph.Random(50), i)
                         : "");
  }
  graph.Input("v0");
  graph.Output(V(n - 1));
  return graph.Model();
}

std::string Quantized(U32 n, U32 seed) {
  Graph graph(seed);
  for (U32 i = 0; i < n; ++i) {
    const std::string weight =
        fmt::format("layers.{}.fc.weight_quantized", i / 4);
    const std::string w = "w" + std::to_string(i);
    if (i % 4 == 0) graph.Weight(weight, {4, 4});
    graph.Step("DequantizeLinear", weight, w);
    graph.Add("MatMul", {V(i), w}, {V(i + 1)});
  }
  graph.Input("v0");
  graph.Output(V(n));
  return graph.Model();
}

// n tanh-GELUs that share one Mul.
std::string SharedCube(U32 n, U32 seed) {
  Graph graph(seed);
  graph.Weight("c1", {1});
  graph.Weight("c2", {1});
  graph.Add("Mul", {"x", "x"}, {"m"});
  for (U32 i = 0; i < n / 6 + 1; ++i) {
    const std::string k = std::to_string(i);
    graph.Add("Add", {"x", "m"}, {"s" + k});
    graph.Add("Mul", {"s" + k, "c1"}, {"sc" + k});
    graph.Add("Tanh", {"sc" + k}, {"t" + k});
    graph.Add("Add", {"t" + k, "c2"}, {"a" + k});
    graph.Add("Mul", {"x", "a" + k}, {"p" + k});
    graph.Add("Mul", {"p" + k, "c1"}, {"o" + k});
    graph.Output("o" + k);
  }
  graph.Input("x");
  return graph.Model();
}

// n tanhs of one product whose sum reads the cube n times.
std::string WideCube(U32 n, U32 seed) {
  Graph graph(seed);
  graph.Weight("c", {1});
  graph.Add("Mul", {"x", "x"}, {"m"});
  graph.Add("Add", Names(n, "m"), {"s"});
  graph.Add("Mul", {"s", "c"}, {"sc"});
  for (U32 i = 0; i < n; ++i) {
    const std::string k = std::to_string(i);
    graph.Add("Tanh", {"sc"}, {"t" + k});
    graph.Add("Add", {"t" + k, "c"}, {"a" + k});
    graph.Add("Mul", {"x", "a" + k}, {"p" + k});
  }
  graph.Input("x");
  graph.Output("p0");
  return graph.Model();
}

// n norms that share one mean.
std::string SharedMean(U32 n, U32 seed) {
  Graph graph(seed);
  graph.Weight("e", {1});
  graph.Step("ReduceMean", "x", "mean");
  for (U32 i = 0; i < n / 6 + 1; ++i) {
    const std::string k = std::to_string(i);
    graph.Add("Sub", {"x", "mean"}, {"d" + k});
    graph.Add("Pow", {"d" + k, "e"}, {"q" + k});
    graph.Step("ReduceMean", "q" + k, "r" + k);
    graph.Add("Add", {"r" + k, "e"}, {"p" + k});
    graph.Step("Sqrt", "p" + k, "t" + k);
    graph.Add("Div", {"d" + k, "t" + k}, {"o" + k});
    graph.Output("o" + k);
  }
  graph.Input("x");
  return graph.Model();
}

// n heads that share one weight.
std::string OneWeight(U32 n, U32 seed) {
  Graph graph(seed);
  graph.Weight("heads.0.weight", {4, 4});
  for (U32 i = 0; i < n; ++i) {
    graph.Add("MatMul", {"x", "heads.0.weight"}, {V(i)},
              fmt::format("/heads.{}/MatMul", i));
    graph.Output(V(i));
  }
  graph.Input("x");
  return graph.Model();
}

std::string GemmFanOut(U32 n, U32 seed) {
  Graph graph(seed);
  graph.Weight("fc.weight", {4, 4});
  graph.Add("Reshape", {"x", "s"}, {"r"}, "/fc/Reshape");
  graph.Add("Gemm", {"r", "fc.weight"}, {"g"}, "/fc/Gemm");
  for (U32 i = 0; i < n; ++i) {
    graph.Step("Relu", "g", V(i));
    graph.Output(V(i));
  }
  graph.Input("x");
  graph.Input("s");
  return graph.Model();
}

// The second version has one node instead of a wide Concat.
std::string FusedFan(U32 n, U32 seed) {
  Graph graph(seed);
  graph.Weight("in.weight", {4, 4});
  graph.Weight("out.weight", {4, 4});
  graph.Add("MatMul", {"x", "in.weight"}, {"t"}, "/in/MatMul");
  Names all;
  for (U32 i = 0; i < n; ++i) {
    all.push_back(V(i));
    if (seed == 1) {
      graph.Step("Relu", "t", V(i), fmt::format("/m{}/Relu_{}", i % 3, i));
    }
  }
  if (seed == 1) {
    graph.Add("Concat", all, {"h"}, "/m0/Concat");
  } else {
    graph.Step("FusedThing", "t", "h", "fused");
  }
  graph.Add("MatMul", {"h", "out.weight"}, {"y"}, "/out/MatMul");
  graph.Input("x");
  graph.Output("y");
  return graph.Model();
}

// Two equal nodes read the same n values: nothing says which is which.
std::string TwoConcats(U32 n, U32 seed) {
  Graph graph(seed);
  Names all;
  for (U32 i = 0; i < n; ++i) {
    all.push_back(V(i));
    graph.Step("Relu", "x", V(i), fmt::format("/l.{}/Relu", i));
  }
  for (U32 i = 0; i < 4; ++i) {
    graph.Add("Sum", all, {fmt::format("s{}_{}", seed, i)});
    graph.Output(fmt::format("s{}_{}", seed, i));
  }
  graph.Input("x");
  return graph.Model();
}

// n softmaxes end in one Concat, which a product reads.
std::string SoftmaxFan(U32 n, U32 seed) {
  Graph graph(seed);
  Names all;
  for (U32 i = 0; i < n; ++i) {
    all.push_back(V(i));
    graph.Step("Softmax", "x", V(i));
  }
  graph.Add("Concat", all, {"c"});
  graph.Add("MatMul", {"c", "x"}, {"y"});
  graph.Input("x");
  graph.Output("y");
  return graph.Model();
}

// n products read one constant without a name, two calls of n / 2 what is cut
// from another.
std::string Tables(U32 n, U32 seed, bool cut) {
  Graph graph(seed);
  graph.Weight("onnx::Mul_7", {4, 4});
  graph.Weight("fc.weight", {4, 4});
  graph.Add("MatMul", {"x", "fc.weight"}, {"d0"});
  const U32 calls = cut ? 2 : 1;
  for (U32 call = 0; call < calls; ++call) {
    const std::string data = fmt::format("d{}", call);
    const std::string table = cut ? fmt::format("t{}", call) : "onnx::Mul_7";
    if (cut) graph.Add("Slice", {"onnx::Mul_7", "s", "e"}, {table});
    Names all;
    for (U32 i = 0; i < n / calls; ++i) {
      all.push_back(fmt::format("m{}_{}", call, i));
      graph.Add("Mul", {data, table}, {all.back()});
    }
    graph.Add("Concat", all, {fmt::format("d{}", call + 1)});
  }
  graph.Weight("s", {1});
  graph.Weight("e", {1});
  graph.Input("x");
  graph.Output(fmt::format("d{}", calls));
  return graph.Model();
}

// A value whose shape is asked for n times, and which n modules read.
std::string ShapeReaders(U32 n, U32 seed) {
  Graph graph(seed);
  graph.Step("Relu", "x", "h");
  for (U32 i = 0; i < n; ++i) graph.Step("Shape", "h", fmt::format("s{}", i));
  for (U32 i = 0; i < n; ++i) {
    const std::string own = fmt::format("m{}.p", i);
    const std::string weight = fmt::format("m{}.q.weight", i);
    graph.Weight(own, {4});
    graph.Weight(weight, {4, 4});
    graph.Add("Add", {"h", own}, {fmt::format("a{}", i)});
    graph.Add("MatMul", {fmt::format("a{}", i), weight}, {V(i)});
    graph.Output(V(i));
  }
  graph.Input("x");
  return graph.Model();
}

std::string ReshapedForGemms(U32 n, U32 seed) {
  Graph graph(seed);
  graph.Weight("s", {2});
  graph.Add("Reshape", {"x", "s"}, {"r"});
  for (U32 i = 0; i < n; ++i) {
    const std::string weight = fmt::format("l.{}.weight", i);
    graph.Weight(weight, {4, 4});
    graph.Add("Gemm", {"r", weight}, {V(i)});
    graph.Output(V(i));
  }
  graph.Input("x");
  return graph.Model();
}

// A quantized Concat of n values, each with a scale and a zero point.
std::string QuantizedConcat(U32 n, U32 seed) {
  Graph graph(seed);
  graph.Weight("s", {});
  graph.Weight("z", {});
  Names inputs = {"s", "z"};
  for (U32 i = 0; i < n; ++i) {
    const std::string scale = fmt::format("s{}_scale", i);
    const std::string zero = fmt::format("s{}_zero_point", i);
    graph.Weight(scale, {});
    graph.Weight(zero, {});
    inputs.insert(inputs.end(), {"x", scale, zero});
  }
  graph.Add("QLinearConcat", inputs, {"y"}, "/a/QLinearConcat",
            BytesField(7, "com.microsoft"));
  graph.Input("x");
  graph.Output("y");
  return graph.Model();
}

// n nodes read one list of n numbers, which the second version has otherwise.
std::string OneSetting(U32 n, U32 seed) {
  Graph graph(seed);
  std::string list = Wire(VarintField(1, n), VarintField(2, 7));
  for (U32 i = 0; i < n; ++i) list += VarintField(7, (i + seed) % 100);
  graph.Add("Constant", {}, {"c"}, "/Constant",
            BytesField(5, Wire(BytesField(1, "value"), BytesField(5, list),
                               VarintField(20, 4))));
  for (U32 i = 0; i < n; ++i) {
    graph.Add("Reshape", {"x", "c"}, {V(i)}, fmt::format("/m.{}/Reshape", i));
  }
  graph.Input("x");
  graph.Output("v0");
  return graph.Model();
}

constexpr auto kWiringShapes = std::to_array<Family>({
    {"quantized_concat", QuantizedConcat},
    {"one_setting", OneSetting},

    {"chain_same",
     [](U32 n, U32 seed) {
       return Chain(
           n, seed, [](Graph&, U32) { return "Relu"; }, NoName);
     }},
    {"chain_mixed",
     [](U32 n, U32 seed) { return Chain(n, seed, AnyOpOf, NoName); }},
    {"chain_products",
     [](U32 n, U32 seed) {
       return Products(n, seed,
                       [](U32 i) { return fmt::format("onnx::MatMul_{}", i); },
                       {64, 64});
     }},
    {"chain_convolutions",
     [](U32 n, U32 seed) {
       return Products(
           n, seed, [](U32 i) { return fmt::format("onnx::Conv_{}", i); },
           {64, 64, 3, 3}, "Conv");
     }},
    {"chain_lstm",
     [](U32 n, U32 seed) {
       return Products(
           n, seed, [](U32 i) { return fmt::format("onnx::LSTM_{}", i); },
           {1, 16, 4}, "LSTM");
     }},
    {"fan_out", FanOut},
    {"fan_in",
     [](U32 n, U32 seed) { return FanIn(n, seed, "Concat", 1, false); }},
    {"fan_in_thrice",
     [](U32 n, U32 seed) { return FanIn(n, seed, "Sum", 3, false); }},
    {"fan_in_permuted",
     [](U32 n, U32 seed) { return FanIn(n, seed, "Sum", 1, true); }},
    {"fan_in_products",
     [](U32 n, U32 seed) { return WideProducts(n, seed, false); }},
    {"fan_in_heads",
     [](U32 n, U32 seed) { return WideProducts(n, seed, true); }},
    {"bipartite", Bipartite},
    {"window", Window},
    {"many_outputs",
     [](U32 n, U32 seed) { return ManyOutputs(n, seed, false); }},
    {"graph_outputs", GraphOutputs},
    {"graph_inputs", GraphInputs},
    {"tied", [](U32 n, U32 seed) { return Tied(n, seed, false); }},
    {"tied_by_modules", [](U32 n, U32 seed) { return Tied(n, seed, true); }},
    {"identities",
     [](U32 n, U32 seed) { return CarriedWeight(n, seed, "Identity", true); }},
    {"quantizers",
     [](U32 n, U32 seed) {
       return CarriedWeight(n, seed, "DequantizeLinear", false);
     }},
    {"quantized", Quantized},
    {"ring", Ring},
    {"edges_by_chance",
     [](U32 n, U32 seed) { return RandomEdges(n, seed, false); }},
    {"cycles_by_chance",
     [](U32 n, U32 seed) { return RandomEdges(n, seed, true); }},
    {"shared_cube", SharedCube},
    {"wide_cube", WideCube},
    {"shared_mean", SharedMean},
    {"one_weight", OneWeight},
    {"gemm_fan_out", GemmFanOut},
    {"fused_fan", FusedFan},
    {"two_concats", TwoConcats},
    {"split_to_layers",
     [](U32 n, U32 seed) { return ManyOutputs(n, seed, true); }},
    {"softmax_fan", SoftmaxFan},
    {"table_readers", [](U32 n, U32 seed) { return Tables(n, seed, false); }},
    {"table_calls", [](U32 n, U32 seed) { return Tables(n, seed, true); }},
    {"shape_readers", ShapeReaders},
    {"reshaped_for_gemms", ReshapedForGemms},
});

}  // namespace

std::span<const Family> WiringFamilies() { return kWiringShapes; }

}  // namespace onnx_tag::test
