#include "growth/families.h"

#include <fmt/core.h>

#include <cmath>

#include "growth/graph.h"

namespace onnx_tag::test {
namespace {

std::string V(U32 i) { return "v" + std::to_string(i); }

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
std::string_view AnyOpOf(Graph& graph, U32) { return graph.AnyOp(); }
std::string NoName(Graph&, U32) { return ""; }

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

// One layer of BERT: 31 nodes, and others between them where there is noise.
class Layers {
 public:
  Layers(U32 seed, bool named, U32 noise_percent)
      : graph_(seed), named_(named), noise_(noise_percent) {}

  std::string Make(U32 n) {
    std::string x = "input_ids";
    for (U32 layer = 0; graph_.nodes() < n; ++layer) x = Layer(layer, x);
    graph_.Input("input_ids");
    graph_.Output(x);
    return graph_.Model();
  }

 private:
  std::string Run(std::string_view op, Names inputs, const std::string& scope) {
    std::string out =
        named_ ? fmt::format("{}/{}_{}_output_0", scope, op, ++count_)
               : V(++count_);
    graph_.Add(op, inputs, {out},
               named_ ? fmt::format("{}/{}_{}", scope, op, count_) : "");
    if (graph_.Random(100) >= noise_) return out;
    const std::string more = V(++count_);
    graph_.Step(graph_.AnyOp(), out, more);
    return more;
  }
  std::string Weight(const std::string& name, const std::vector<U32>& dims) {
    const std::string shown =
        named_ ? name : fmt::format("onnx::MatMul_{}", ++count_);
    graph_.Weight(shown, dims);
    return shown;
  }
  std::string Linear(std::string x, const std::string& scope, std::string path,
                     U32 in, U32 out) {
    x = Run("MatMul", {x, Weight(path + ".weight", {in, out})}, scope);
    return Run("Add", {x, Weight(path + ".bias", {out})}, scope);
  }
  std::string Norm(std::string x, const std::string& scope, std::string path) {
    return Run(
        "LayerNormalization",
        {x, Weight(path + ".weight", {128}), Weight(path + ".bias", {128})},
        scope);
  }

  std::string Layer(U32 number, const std::string& x) {
    const std::string scope = fmt::format("/encoder/layer.{}", number);
    const std::string path = fmt::format("encoder.layer.{}", number);
    const std::string self = scope + "/attention/self";
    Names heads;
    for (const std::string part : {"query", "key", "value"}) {
      std::string y = Linear(x, self + "/" + part,
                             path + ".attention.self." + part, 128, 128);
      y = Run("Reshape", {y}, self);
      heads.push_back(Run("Transpose", {y}, self));
    }
    std::string y = Run("MatMul", {heads[0], heads[1]}, self);
    for (const std::string_view op : {"Div", "Add", "Softmax"}) {
      y = Run(op, {y}, self);
    }
    y = Run("MatMul", {y, heads[2]}, self);
    y = Run("Reshape", {Run("Transpose", {y}, self)}, self);
    const std::string out = scope + "/attention/output";
    y = Linear(y, out + "/dense", path + ".attention.output.dense", 128, 128);
    y = Run("Add", {y, x}, out);
    y = Norm(y, out + "/LayerNorm", path + ".attention.output.LayerNorm");
    const std::string skip = y;
    const std::string act = scope + "/intermediate/intermediate_act_fn";
    y = Linear(y, scope + "/intermediate/dense", path + ".intermediate.dense",
               128, 512);
    std::string z = Run("Erf", {Run("Div", {y}, act)}, act);
    z = Run("Mul", {y, Run("Add", {z}, act)}, act);
    y = Run("Mul", {z}, act);
    y = Linear(y, scope + "/output/dense", path + ".output.dense", 512, 128);
    y = Run("Add", {y, skip}, scope + "/output");
    return Norm(y, scope + "/output/LayerNorm", path + ".output.LayerNorm");
  }

  Graph graph_;
  bool named_;
  U32 noise_;
  U32 count_ = 0;
};

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

// Six-node blocks whose nodes have no names, but whose parameters do.
std::string BlocksWithParameters(U32 n, U32 seed) {
  Graph graph(seed);
  std::string x = "input_ids";
  for (U32 layer = 0; graph.nodes() < n; ++layer) {
    const std::string start = x;
    for (const std::string part :
         {"fc1", "act", "fc2", "norm", "add", "drop"}) {
      const std::string weight =
          fmt::format("layers.{}.{}.weight", layer, part);
      const std::string out = V(graph.nodes());
      if (part == "fc1" || part == "fc2") {
        graph.Weight(weight, {64, 64});
        graph.Add("Gemm", {x, weight}, {out});
      } else if (part == "norm") {
        graph.Weight(weight, {64});
        graph.Add("LayerNormalization", {x, weight}, {out});
      } else if (part == "add") {
        graph.Add("Add", {x, start}, {out});
      } else {
        graph.Step("Relu", x, out);
      }
      x = out;
      if (graph.Random(20) == 0) {
        graph.Step(graph.AnyOp(), x, V(graph.nodes()));
        x = V(graph.nodes() - 1);
      }
    }
  }
  graph.Input("input_ids");
  graph.Output(x);
  return graph.Model();
}

// `block_1` is a module and may be the second call of `block`, too: its last
// node reads the only parameter.
std::string SecondCalls(U32 n, U32 seed) {
  Graph graph(seed);
  graph.Weight("block_1.weight", {4, 4});
  graph.Step("Relu", "x", V(0), "/block/Relu");
  for (U32 i = 1; i < n; ++i) {
    graph.Step("Relu", V(i - 1), V(i), fmt::format("/block_1/Relu_{}", i));
  }
  graph.Add("MatMul", {V(n - 1), "block_1.weight"}, {"y"}, "/block_1/MatMul");
  graph.Input("x");
  graph.Output("y");
  return graph.Model();
}

std::string RandomScopes(U32 n, U32 seed) {
  return Chain(n, seed, AnyOpOf, [n](Graph& graph, U32 i) {
    std::string name;
    for (U32 depth = 1 + graph.Random(4); depth > 0; --depth) {
      switch (graph.Random(5)) {
        case 0:
          name += "/a";
          break;
        case 1:
          name += "/b";
          break;
        case 2:
          name += "/attn";
          break;
        case 3:
          name += "/mlp";
          break;
        default:
          name += fmt::format("/layers.{}", graph.Random(n / 20 + 1));
      }
    }
    return name + fmt::format("/Op_{}", i);
  });
}

// Two of three nodes have a name; backwards in the file where `reversed`.
std::string Gaps(U32 n, U32 seed, bool reversed) {
  Graph graph(seed);
  for (U32 k = 0; k < n; ++k) {
    const U32 i = reversed ? n - 1 - k : k;
    graph.Step(
        graph.AnyOp(), V(i), V(i + 1),
        i % 3 != 0 ? fmt::format("/layers.{}/attn/Op_{}", i / 50, i) : "");
  }
  graph.Input("v0");
  graph.Output(V(n));
  return graph.Model();
}

std::string Interleaved(U32 n, U32 seed) {
  return Chain(n, seed, AnyOpOf, [](Graph&, U32 i) {
    return i % 2 != 0 ? fmt::format("/layers.{}/m/Op_{}", i % 200, i) : "";
  });
}

std::string DynamoMetadata(U32 n, U32 seed) {
  Graph graph(seed);
  for (U32 i = 0; i < n; ++i) {
    const U32 layer = i / 20;
    const Entries entries = {
        {"namespace",
         fmt::format(": __main__.M/layers.{}: torch.nn.Linear/linear: "
                     "aten.linear.default",
                     layer)},
        {"pkg.torch.onnx.class_hierarchy",
         "['__main__.M', 'torch.nn.modules.linear.Linear', "
         "'aten.linear.default']"},
        {"pkg.torch.onnx.name_scopes",
         fmt::format("['', 'layers.{}', 'linear_{}']", layer, i)},
        {"pkg.torch.onnx.fx_node", fmt::format("%linear_{}", i)}};
    graph.Add("MatMul", {V(i)}, {V(i + 1)}, fmt::format("node_{}", i),
              i % 2 != 0 ? Graph::Meta(entries) : "");
  }
  graph.Input("v0");
  graph.Output(V(n));
  return graph.Model();
}

// Names of up to 1,000 atoms; as many nodes as keep the file in proportion.
std::string DeepNames(U32 n, U32 seed) {
  const U32 count = std::max<U32>(n / 250, 1);
  return Products(count, seed,
                  [](U32 i) { return Repeat("m.", i % 1000 + 1) + "weight"; });
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

std::string OneOutputName(U32 n, U32 seed) {
  Graph graph(seed);
  for (U32 i = 0; i < n; ++i) {
    graph.Step(i % 2 == 0 ? "LayerNormalization" : "Relu", "v", "v",
               fmt::format("/l.{}/Relu", i));
  }
  graph.Input("v");
  graph.Output("v");
  return graph.Model();
}

std::string NestedLists(U32 n, U32 seed) {
  Graph graph(seed);
  for (U32 i = 0; i < n; ++i) {
    const std::string name =
        fmt::format("a.{}.b.{}.c.{}.weight", i % 100, i / 100, i);
    graph.Weight(name, {4, 4});
    graph.Add("Gemm", {V(i), name}, {V(i + 1)});
    graph.Step("Relu", V(i + 1), "u" + std::to_string(i));
  }
  graph.Input("v0");
  graph.Output(V(n));
  return graph.Model();
}

std::string UnusedWeights(U32 n, U32 seed) {
  Graph graph(seed);
  for (U32 i = 0; i < n; ++i) {
    graph.Weight(fmt::format("layers.{}.mod{}.weight", i, i % 17),
                 {i % 50 + 1, 4});
  }
  graph.Step("Relu", "x", "y");
  graph.Input("x");
  graph.Output("y");
  return graph.Model();
}

std::string ForgedTags(U32 n, U32 seed) {
  Graph graph(seed);
  Entries entries;
  for (U32 i = 0; i < n; ++i) {
    entries.emplace_back("pkg.onnx_tag.module", fmt::format("m{}", i));
    graph.Metadata(fmt::format("pkg.onnx_tag.{}", i), "z");
  }
  graph.Add("Relu", {"x"}, {"y"}, "/a/Relu", Graph::Meta(entries));
  graph.Input("x");
  graph.Output("y");
  return graph.Model();
}

// One node whose scope has n parts, each longer than the last where `dotted`.
std::string LongScopes(U32 n, U32 seed, bool dotted) {
  const U32 parts = dotted ? static_cast<U32>(std::sqrt(n)) : n;
  std::string scopes = "[''";
  std::string classes = "['M'";
  for (U32 i = 0; i < parts; ++i) {
    scopes +=
        dotted ? ", '" + Repeat("a.", i) + "a'" : fmt::format(", 'a{}'", i);
    classes += fmt::format(", 'C{}'", i);
  }
  Graph graph(seed);
  graph.Add("Relu", {"x"}, {"y"}, "node_1",
            Graph::Meta({{"pkg.torch.onnx.name_scopes", scopes + "]"},
                         {"pkg.torch.onnx.class_hierarchy", classes + "]"}}));
  graph.Input("x");
  graph.Output("y");
  return graph.Model();
}

// A few nodes and weights whose names have n bytes.
std::string LongNames(U32 n, U32 seed, std::string_view piece) {
  Graph graph(seed);
  const std::string name =
      Repeat(piece, n / static_cast<U32>(piece.size()) + 1);
  graph.Weight(name + ".weight", {4, 4});
  graph.Add("MatMul", {"x", name + ".weight"},
            {"/" + name + "/MatMul_output_0"}, "/" + name + "/MatMul");
  graph.Add("Relu", {"/" + name + "/MatMul_output_0"}, {"y"}, name);
  graph.Input("x");
  graph.Output("y");
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

// One parameter in n initializers, as after constants were folded.
std::string OneParameter(U32 n, U32 seed) {
  Graph graph(seed);
  for (U32 i = 0; i < n; ++i) {
    const std::string weight =
        i == 0 ? "fc.weight" : fmt::format("onnx::MatMul_{}", i);
    graph.Weight(weight, {4, 4});
    graph.Add("MatMul", {V(i), weight}, {V(i + 1)},
              i == 0 ? "/fc/MatMul" : fmt::format("/fc/MatMul_{}", i));
  }
  graph.Input("v0");
  graph.Output(V(n));
  return graph.Model();
}

// A sum of the first value and the last of n modules.
std::string LongResidual(U32 n, U32 seed) {
  Graph graph(seed);
  graph.Step("Relu", "x", "v0", "/a/Relu");
  for (U32 i = 0; i < n; ++i) {
    graph.Step("Relu", V(i), V(i + 1), fmt::format("/m.{}/Relu", i));
  }
  graph.Add("Add", {"v0", V(n)}, {"y"}, "/a/Add");
  graph.Input("x");
  graph.Output("y");
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

// One long name of a graph's output, and products to compare.
std::string LongOutput(U32 n, U32 seed) {
  Graph graph(seed);
  const std::string end(10 * n, 's');
  for (U32 i = 0; i < 120; ++i) {
    const std::string weight = fmt::format("fc{}.weight", i);
    graph.Add("Gemm", {"x", weight}, {V(i)}, fmt::format("/fc{}/Gemm", i));
    graph.Step("Relu", V(i), i == 0 ? end : fmt::format("r{}", i));
    graph.Weight(weight, {4, 4});
  }
  graph.Input("x");
  graph.Output(end);
  return graph.Model();
}

// A module called twice: its second call has the name of a sibling.
std::string MergedScopes(U32 n, U32 seed) {
  Graph graph(seed);
  graph.Weight("block.weight", {4, 4});
  graph.Weight("block_1.weight", {4, 4});
  graph.Add("MatMul", {"x", "block.weight"}, {V(0)}, "/block/MatMul");
  for (U32 i = 0; i < n; ++i) {
    graph.Step("Relu", V(i), V(i + 1), fmt::format("/block_1/Relu_{}", i));
  }
  graph.Add("MatMul", {V(n), "block_1.weight"}, {"y"}, "/block_1/MatMul");
  graph.Input("x");
  graph.Output("y");
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

std::string NamedOutputs(U32 n, U32 seed) {
  Graph graph(seed);
  Names all;
  for (U32 i = 0; i < n; ++i) all.push_back(V(i));
  graph.Add("Split", {"x"}, all, "/s/Split");
  for (U32 i = 0; i < n; ++i) {
    const std::string y = fmt::format("y{}", i);
    graph.Step("Relu", V(i), y, fmt::format("/l.{}/Relu", i));
    graph.Output(y);
  }
  graph.Input("x");
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

// Inputs whose names begin with the same 300 letters, of unknown shapes.
std::string OpenInputs(U32 n, U32 seed) {
  Graph graph(seed);
  for (U32 i = 0; i < n; ++i) {
    const std::string x = std::string(300, 'x') + std::to_string(i);
    graph.Step("Relu", x, V(i));
    graph.OpenInput(x);
    graph.Output(V(i));
  }
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

// Modules for every way to cut a name, and n inlined calls with that name.
std::string AllCuts(U32 n, U32 seed) {
  Graph graph(seed);
  std::string text;
  for (U32 i = 0; i < 60; ++i) text += "a_";
  std::vector<std::string> modules = {""};
  for (U32 i = 0; modules.size() <= n; ++i) {
    for (const std::string_view atom : {"a", "a_a"}) {
      modules.push_back(modules[i].empty()
                            ? std::string(atom)
                            : fmt::format("{}.{}", modules[i], atom));
    }
  }
  graph.Input("x");
  std::string last = "x";
  for (U32 i = 1; i <= n; ++i) {
    const std::string weight = modules[i] + ".weight";
    graph.Weight(weight, {4, 4});
    graph.Add("MatMul", {last, weight}, {fmt::format("t__{}", i)},
              fmt::format("MatMul_0__{}", i));
    last = text + std::to_string(i);
    graph.Step("Relu", fmt::format("t__{}", i), last,
               fmt::format("Relu_1__{}", i));
  }
  graph.Output(last);
  return graph.Model();
}

// Between inlined calls, n nodes of torchlib with numbers that fit no call.
std::string StrayHelpers(U32 n, U32 seed) {
  Graph graph(seed);
  graph.Input("x");
  std::string last = "x";
  for (U32 call = 0; call < 6; ++call) {
    const std::string weight = fmt::format("a.b.fc{}.weight", call);
    graph.Weight(weight, {4, 4});
    graph.Add("MatMul", {last, weight}, {fmt::format("a_b_fc{}_1", call)},
              "MatMul_0");
    last = fmt::format("a_b_fc{}_1", call);
    for (U32 i = 0; call == 3 && i < n; ++i) {
      graph.Step("Relu", last, V(i), fmt::format("n1000000_{}", i));
      last = V(i);
    }
  }
  graph.Output(last);
  return graph.Model();
}

// n inlined calls, one in another; inside all of them n results of the caller.
std::string DeepCalls(U32 n, U32 seed) {
  Graph graph(seed);
  graph.Weight("m.fc.weight", {4, 4});
  graph.Input("x");
  std::string last = "x";
  const auto add = [&](std::string_view name, const std::string& value) {
    graph.Step("Relu", last, value, name);
    last = value;
  };
  for (U32 i = 1; i <= n; ++i) {
    add(fmt::format("Relu_0__{}", i), fmt::format("t__{}", i));
  }
  for (U32 i = 0; i < n; ++i) add(fmt::format("Relu_{}__{}", i, n), V(i));
  for (U32 i = n; i > 0; --i) {
    add(fmt::format("Relu_9__{}", i), fmt::format("e__{}", i));
  }
  graph.Output(last);
  return graph.Model();
}

// n compiled modules, each around what may be a model with adapters.
std::string WrappedModels(U32 n, U32 seed) {
  Graph graph(seed);
  for (U32 i = 0; i < n; ++i) {
    const std::string weight =
        fmt::format("m{}._orig_mod.base_model.model.fc.weight", i);
    graph.Weight(weight, {4, 4});
    graph.Add("MatMul", {V(i), weight}, {V(i + 1)});
  }
  graph.Input("v0");
  graph.Output(V(n));
  return graph.Model();
}

constexpr auto kFamilies = std::to_array<Family>({
    {"second_calls", SecondCalls},
    {"chain_same",
     [](U32 n, U32 seed) {
       return Chain(
           n, seed, [](Graph&, U32) { return "Relu"; }, NoName);
     }},
    {"chain_mixed",
     [](U32 n, U32 seed) { return Chain(n, seed, AnyOpOf, NoName); }},
    {"chain_products",
     [](U32 n, U32 seed) {
       return Products(
           n, seed, [](U32 i) { return fmt::format("onnx::MatMul_{}", i); },
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
    {"blocks_nameless",
     [](U32 n, U32 seed) { return Layers(seed, false, 0).Make(n); }},
    {"blocks_named",
     [](U32 n, U32 seed) { return Layers(seed, true, 0).Make(n); }},
    {"blocks_with_noise",
     [](U32 n, U32 seed) { return Layers(seed, false, 10).Make(n); }},
    {"blocks_with_parameters", BlocksWithParameters},
    {"scopes_by_chance", RandomScopes},
    {"scopes_with_gaps",
     [](U32 n, U32 seed) { return Gaps(n, seed, false); }},
    {"scopes_reversed", [](U32 n, U32 seed) { return Gaps(n, seed, true); }},
    {"scopes_interleaved", Interleaved},
    {"one_module",
     [](U32 n, U32 seed) {
       return Chain(n, seed, AnyOpOf,
                    [](Graph&, U32 i) { return fmt::format("/layer/Op_{}", i); });
     }},
    {"one_name",
     [](U32 n, U32 seed) {
       return Chain(n, seed, AnyOpOf,
                    [](Graph&, U32) { return "/layer/Relu"; });
     }},
    {"one_output_name", OneOutputName},
    {"module_per_node",
     [](U32 n, U32 seed) {
       return Chain(n, seed, AnyOpOf, [](Graph&, U32 i) {
         return fmt::format("/layers.{}/fc/Op", i);
       });
     }},
    {"parameters_of_one_module",
     [](U32 n, U32 seed) {
       return Products(n, seed, [](U32 i) {
         return fmt::format("block.parameter_{}", i);
       });
     }},
    {"shared_prefix",
     [](U32 n, U32 seed) {
       return Products(n, seed, [](U32 i) {
         return fmt::format("model.layers.0.block.sub.deep.module_{}.weight", i);
       });
     }},
    {"modules_of_the_root",
     [](U32 n, U32 seed) {
       return Products(n, seed,
                       [](U32 i) { return fmt::format("m{}.weight", i); });
     }},
    {"layer_per_node",
     [](U32 n, U32 seed) {
       return Products(n, seed, [](U32 i) {
         return i % 2 != 0 ? fmt::format("layers.{}.fc.weight", i)
                           : fmt::format("onnx::MatMul_{}", i);
       });
     }},
    {"nested_lists", NestedLists},
    {"unused_weights", UnusedWeights},
    {"dynamo_metadata", DynamoMetadata},
    {"deep_names", DeepNames},
    {"long_name", [](U32 n, U32 seed) { return LongNames(n, seed, "x"); }},
    {"long_dotted_name",
     [](U32 n, U32 seed) { return LongNames(n, seed, "ab."); }},
    {"long_scoped_name",
     [](U32 n, U32 seed) { return LongNames(n, seed, "ab/"); }},
    {"long_list_name",
     [](U32 n, U32 seed) { return LongNames(n, seed, "b.1."); }},
    {"long_underscored_name",
     [](U32 n, U32 seed) { return LongNames(n, seed, "a_"); }},
    {"long_scope_list",
     [](U32 n, U32 seed) { return LongScopes(n, seed, false); }},
    {"long_dotted_scopes",
     [](U32 n, U32 seed) { return LongScopes(n, seed, true); }},
    {"inlined",
     [](U32 n, U32 seed) {
       return Chain(n, seed, AnyOpOf, [](Graph&, U32 i) {
         return fmt::format("n{}__node_{}", i / 7, i);
       });
     }},
    {"many_outputs",
     [](U32 n, U32 seed) { return ManyOutputs(n, seed, false); }},
    {"graph_outputs", GraphOutputs},
    {"graph_inputs", GraphInputs},
    {"branches", Branches},
    {"captures", Captures},
    {"functions", Functions},
    {"function_chain", FunctionChain},
    {"one_function", OneFunction},
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
    {"forged_tags", ForgedTags},
    {"shared_cube", SharedCube},
    {"wide_cube", WideCube},
    {"shared_mean", SharedMean},
    {"many_operators", ManyOpTypes},
    {"many_attributes", ManyAttributes},
    {"one_parameter", OneParameter},
    {"long_residual", LongResidual},
    {"one_weight", OneWeight},
    {"long_output_name", LongOutput},
    {"merged_scopes", MergedScopes},
    {"gemm_fan_out", GemmFanOut},
    {"overloads", [](U32 n, U32 seed) { return Overloads(n, seed, false); }},
    {"equal_functions",
     [](U32 n, U32 seed) { return Overloads(n, seed, true); }},
    {"function_of_weights", FunctionOfWeights},
    {"named_outputs", NamedOutputs},
    {"fused_fan", FusedFan},
    {"two_concats", TwoConcats},
    {"open_inputs", OpenInputs},
    {"split_to_layers",
     [](U32 n, U32 seed) { return ManyOutputs(n, seed, true); }},
    {"softmax_fan", SoftmaxFan},
    {"table_readers", [](U32 n, U32 seed) { return Tables(n, seed, false); }},
    {"table_calls", [](U32 n, U32 seed) { return Tables(n, seed, true); }},
    {"shape_readers", ShapeReaders},
    {"reshaped_for_gemms", ReshapedForGemms},
    {"all_cuts", AllCuts},
    {"stray_helpers", StrayHelpers},
    {"deep_calls", DeepCalls},
    {"wrapped_models", WrappedModels},
});

}  // namespace

std::span<const Family> Families() { return kFamilies; }

}  // namespace onnx_tag::test
