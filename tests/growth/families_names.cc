// Shapes whose names are long, many, or alike: nodes, modules, parameters.
#include <fmt/core.h>

#include <cmath>

#include "growth/families.h"
#include "growth/graph.h"

namespace onnx_tag::test {
namespace {

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

constexpr auto kNamesShapes = std::to_array<Family>({
    {"second_calls", SecondCalls},
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
    {"forged_tags", ForgedTags},
    {"one_parameter", OneParameter},
    {"long_residual", LongResidual},
    {"long_output_name", LongOutput},
    {"merged_scopes", MergedScopes},
    {"named_outputs", NamedOutputs},
    {"open_inputs", OpenInputs},
    {"all_cuts", AllCuts},
    {"stray_helpers", StrayHelpers},
    {"deep_calls", DeepCalls},
    {"wrapped_models", WrappedModels},
});

}  // namespace

std::span<const Family> NamesFamilies() { return kNamesShapes; }

}  // namespace onnx_tag::test
