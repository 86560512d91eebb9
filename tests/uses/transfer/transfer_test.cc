#include "onnx_tag/transfer.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <map>

#include "clues/structure/small_nets.h"
#include "core/tagging/sidecar.h"
#include "onnx_tag/mapping.h"
#include "support/model_builder.h"
#include "uses/transfer/names.h"

namespace onnx_tag::test {
namespace {

// A model and tags that a test gives its nodes, in file order; "-" is none.
class Tagged {
 public:
  Tagged(const schema::ModelProto& model, const Names& modules)
      : bytes_(model.SerializeAsString()), model_(ReadModel(bytes_)) {
    tagging_.roles.Add(Role());
    for (const std::string& module : modules) {
      Tag tag;
      if (module != "-") {
        tag.module = tagging_.modules.Add(module);
        tag.confidence = Confidence::kCertain;
      }
      tagging_.tags.Add(tag);
    }
  }

  // The modules of `to`'s nodes after the transfer.
  Names Onto(const schema::ModelProto& to) {
    const std::string bytes = to.SerializeAsString();
    const Model model = ReadModel(bytes);
    carried_ = TransferTags(model_, tagging_, model, &counts_, &lineage_);
    Names modules;
    for (const Tag& tag : carried_.tags) {
      modules.push_back(tag.tagged() ? carried_.modules.Path(tag.module) : "-");
    }
    return modules;
  }
  Confidence ConfidenceOf(std::size_t node) const {
    return carried_.tags[MakeId<NodeId>(node)].confidence;
  }
  const Tagging& carried() const { return carried_; }
  const TransferCounts& counts() const { return counts_; }
  // "0+1 fused" for each new node, then "2: fused 0" for each old one that is
  // gone.
  Names lineage() const {
    Names texts;
    for (const Lineage::Node& node : lineage_.nodes) {
      std::string from;
      for (const NodeId old : node.from) {
        from += (from.empty() ? "" : "+") + std::to_string(Index(old));
      }
      texts.push_back(from + " " + std::string(node.how));
    }
    for (const Lineage::Gone& gone : lineage_.gone) {
      texts.push_back(
          std::to_string(Index(gone.node)) + ": " + std::string(gone.why) +
          (gone.into == kNo<NodeId> ? ""
                                    : " " + std::to_string(Index(gone.into))));
    }
    return texts;
  }

 private:
  std::string bytes_;
  Model model_;
  Tagging tagging_;
  Tagging carried_;
  TransferCounts counts_;
  Lineage lineage_;
};

void AddInterface(schema::ModelProto& model, const std::string& input,
                  const std::string& output) {
  model.set_ir_version(8);
  model.mutable_graph()->add_input()->set_name(input);
  model.mutable_graph()->add_output()->set_name(output);
}

// x -> MatMul(w) -> Add(b) -> Relu -> y
schema::ModelProto Linear() {
  schema::ModelProto model;
  AddInterface(model, "x", "y");
  AddParameters(model, {"a.weight", "a.bias"});
  auto* graph = model.mutable_graph();
  AddNode(graph, "MatMul", {"x", "a.weight"}, {"/a/m"}, "/a/MatMul");
  AddNode(graph, "Add", {"/a/m", "a.bias"}, {"/a/s"}, "/a/Add");
  AddNode(graph, "Relu", {"/a/s"}, {"y"}, "/act/Relu");
  return model;
}

TEST(Transfer, CarriesByNamesWhateverTheOrder) {
  schema::ModelProto to = Linear();
  to.mutable_graph()->mutable_node()->SwapElements(0, 2);
  Tagged from(Linear(), {"q.7", "q.7", "r"});
  EXPECT_EQ(from.Onto(to), (Names{"r", "q.7", "q.7"}));
  EXPECT_EQ(from.counts().by_name, 3u);
  EXPECT_EQ(from.ConfidenceOf(0), Confidence::kCertain);
  EXPECT_EQ(from.carried().tags[NodeId{0}].source, Source::kTransfer);
}

TEST(Transfer, CarriesByStructureWhereNoNameIsLeft) {
  schema::ModelProto to = Linear();
  for (schema::NodeProto& node : *to.mutable_graph()->mutable_node()) {
    node.clear_name();
  }
  to.mutable_graph()->mutable_node(0)->set_output(0, "1");
  to.mutable_graph()->mutable_node(1)->set_input(0, "1");
  to.mutable_graph()->mutable_node(1)->set_output(0, "2");
  to.mutable_graph()->mutable_node(2)->set_input(0, "2");
  Tagged from(Linear(), {"q", "q", "r"});
  EXPECT_EQ(from.Onto(to), (Names{"q", "q", "r"}));
  EXPECT_EQ(from.ConfidenceOf(0), Confidence::kHigh);
}

// ONNX Runtime makes one Reshape of two, and names it after the first.
TEST(Transfer, AMergedReshapeIsItsReaders) {
  schema::ModelProto from;
  AddInterface(from, "x", "y");
  AddParameters(from, {"p.weight", "p.bias"});
  auto* graph = from.mutable_graph();
  AddNode(graph, "Transpose", {"x"}, {"/attn/t"}, "/attn/Transpose");
  AddNode(graph, "Reshape", {"/attn/t"}, {"/attn/r"}, "/attn/Reshape");
  AddNode(graph, "MatMul", {"/attn/r", "p.weight"}, {"/p/m"}, "/p/MatMul");
  AddNode(graph, "Add", {"/p/m", "p.bias"}, {"y"}, "/p/Add");
  schema::ModelProto to;
  AddInterface(to, "x", "y");
  AddParameters(to, {"p.weight", "p.bias"});
  graph = to.mutable_graph();
  AddNode(graph, "Transpose", {"x"}, {"/attn/t"}, "/attn/Transpose");
  AddNode(graph, "Reshape", {"/attn/t"}, {"r2"}, "/attn/Reshape_new_reshape");
  AddNode(graph, "Gemm", {"r2", "p.weight", "p.bias"}, {"g"},
          "/p/MatMul/MatMulAddFusion");
  AddNode(graph, "Reshape", {"g"}, {"y"}, "");
  Tagged tagged(from, {"attn", "attn", "p", "p"});
  EXPECT_EQ(tagged.Onto(to), (Names{"attn", "p", "p", "p"}));
  EXPECT_EQ(tagged.ConfidenceOf(1), Confidence::kMedium);
  EXPECT_EQ(tagged.ConfidenceOf(2), Confidence::kHigh);
}

// Tools merge equal constants: bounds of a Slice are no weights.
TEST(Transfer, ConstantsThatSayHowAreNobodys) {
  schema::ModelProto from = Linear();
  AddParameters(from, {"axes"});
  AddNode(from.mutable_graph(), "Unsqueeze", {"x", "axes"}, {"u"}, "/u/Unsq");
  schema::ModelProto to = Linear();
  AddParameters(to, {"axes"});
  AddNode(to.mutable_graph(), "Slice", {"/a/s", "axes"}, {"s"}, "Slice_7");
  Tagged tagged(from, {"a", "a", "act", "far.away"});
  EXPECT_NE(tagged.Onto(to).back(), "far.away");
  EXPECT_LT(tagged.ConfidenceOf(3), Confidence::kHigh);
}

// x -> Gemm(w, b) -> Relu -> y, and the same after dynamic quantization,
// without any name of a node or a value.
schema::ModelProto Product() {
  schema::ModelProto model;
  AddInterface(model, "x", "y");
  AddParameters(model, {"a.weight", "a.bias"});
  auto* graph = model.mutable_graph();
  AddNode(graph, "Gemm", {"x", "a.weight", "a.bias"}, {"/a/g"}, "/a/Gemm");
  AddNode(graph, "Relu", {"/a/g"}, {"y"}, "/act/Relu");
  return model;
}

schema::ModelProto QuantizedProduct() {
  schema::ModelProto model;
  AddInterface(model, "in", "out");
  AddParameters(model, {"q", "q_scale", "q_zero_point", "b"});
  auto* graph = model.mutable_graph();
  AddNode(graph, "DynamicQuantizeLinear", {"in"}, {"1", "2", "3"});
  AddNode(graph, "Mul", {"2", "q_scale"}, {"4"});
  AddNode(graph, "MatMulInteger", {"1", "q", "3", "q_zero_point"}, {"5"});
  AddNode(graph, "Cast", {"5"}, {"6"});
  AddNode(graph, "Mul", {"6", "4"}, {"7"});
  AddNode(graph, "Add", {"7", "b"}, {"8"});
  AddNode(graph, "Relu", {"8"}, {"out"});
  return model;
}

TEST(Transfer, AQuantizedProductIsTheProductItWasMadeOf) {
  Tagged from(Product(), {"q", "r"});
  EXPECT_EQ(from.Onto(QuantizedProduct()),
            (Names{"q", "q", "q", "q", "q", "q", "r"}));
  EXPECT_EQ(from.ConfidenceOf(2), Confidence::kHigh);
  EXPECT_EQ(from.ConfidenceOf(4), Confidence::kHigh);
}

// x -> MatMul -> Relu -> Add(branch, MatMul) -> y without names, as a static
// quantizer writes it: the Relu is in a range, the inputs are swapped.
TEST(Transfer, StaticQuantizersHideNoProduct) {
  schema::ModelProto model;
  AddInterface(model, "x", "y");
  AddParameters(model, {"a.weight", "b.weight"});
  auto* graph = model.mutable_graph();
  AddNode(graph, "MatMul", {"x", "a.weight"}, {"/a/m"});
  AddNode(graph, "Relu", {"/a/m"}, {"/act/r"});
  AddNode(graph, "MatMul", {"/act/r", "b.weight"}, {"/b/m"});
  AddNode(graph, "Tanh", {"/a/m"}, {"/t/t"});
  AddNode(graph, "Add", {"/t/t", "/b/m"}, {"y"});
  schema::ModelProto to;
  AddInterface(to, "in", "out");
  AddParameters(to, {"1", "2", "s", "z"});
  graph = to.mutable_graph();
  const auto restore = [&](const std::string& name) {
    AddNode(graph, "DequantizeLinear", {name, "s", "z"}, {name + "d"});
    return name + "d";
  };
  const auto pass = [&](const std::string& name) {
    AddNode(graph, "QuantizeLinear", {name, "s", "z"}, {name + "q"});
    return restore(name + "q");
  };
  AddNode(graph, "MatMul", {pass("in"), restore("1")}, {"3"});
  const std::string shared = pass("3");
  AddNode(graph, "MatMul", {shared, restore("2")}, {"4"});
  AddNode(graph, "Tanh", {shared}, {"5"});
  const std::string left = pass("4");
  AddNode(graph, "Add", {left, pass("5")}, {"out"});
  Tagged tagged(model, {"a", "act", "b", "t", ""});
  const Names modules = tagged.Onto(to);
  for (int i = 0; i < to.graph().node_size(); ++i) {
    const std::string& op = to.graph().node(i).op_type();
    const std::string& module = modules[static_cast<std::size_t>(i)];
    if (op == "Tanh") EXPECT_EQ(module, "t");
    if (op == "Add") EXPECT_EQ(module, "");
    if (op == "MatMul") {
      EXPECT_EQ(module, to.graph().node(i).output(0) == "3" ? "a" : "b");
      EXPECT_GE(tagged.ConfidenceOf(static_cast<std::size_t>(i)),
                Confidence::kMedium);
    }
  }
}

// The first operators are others, so that only the way up from the MatMul
// tells: the value before it was the Relu's, and its node is the Sigmoid.
TEST(Transfer, ANodeInFrontOfAHiddenActivationIsNotTheActivation) {
  schema::ModelProto model;
  AddInterface(model, "x", "y");
  AddParameters(model, {"a.weight"});
  auto* graph = model.mutable_graph();
  AddNode(graph, "Exp", {"x"}, {"/e"});
  AddNode(graph, "Sigmoid", {"/e"}, {"/s"});
  AddNode(graph, "Relu", {"/s"}, {"/r"});
  AddNode(graph, "MatMul", {"/r", "a.weight"}, {"y"});
  schema::ModelProto to;
  AddInterface(to, "in", "out");
  AddParameters(to, {"1", "s", "z"});
  graph = to.mutable_graph();
  AddNode(graph, "Erf", {"in"}, {"2"});
  AddNode(graph, "Sigmoid", {"2"}, {"3"});
  AddNode(graph, "QuantizeLinear", {"3", "s", "z"}, {"4"});
  AddNode(graph, "DequantizeLinear", {"4", "s", "z"}, {"5"});
  AddNode(graph, "DequantizeLinear", {"1", "s", "z"}, {"6"});
  AddNode(graph, "MatMul", {"5", "6"}, {"out"});
  Tagged tagged(model, {"e", "s", "act", "a"});
  EXPECT_EQ(tagged.Onto(to)[1], "s");
}

// A SiLU in one node: what it reads is what the Sigmoid and the Mul read.
TEST(Transfer, ANodeInFrontOfAFusedActivationIsFound) {
  schema::ModelProto model;
  AddInterface(model, "x", "y");
  auto* graph = model.mutable_graph();
  AddNode(graph, "Exp", {"x"}, {"/e"});
  AddNode(graph, "Tanh", {"/e"}, {"/t"});
  AddNode(graph, "Sigmoid", {"/t"}, {"/s"});
  AddNode(graph, "Mul", {"/t", "/s"}, {"y"});
  schema::ModelProto to;
  AddInterface(to, "in", "out");
  graph = to.mutable_graph();
  AddNode(graph, "Erf", {"in"}, {"1"});
  AddNode(graph, "Tanh", {"1"}, {"2"});
  AddNode(graph, "QuickGelu", {"2"}, {"out"});
  Tagged tagged(model, {"e", "t", "act", "act"});
  EXPECT_EQ(tagged.Onto(to)[1], "t");
  EXPECT_EQ(tagged.Onto(to)[2], "act");
}

// Numbered names mean the same in a file that a tool changed in one place.
TEST(Transfer, EqualNodesComeFirst) {
  schema::ModelProto from;
  AddInterface(from, "x", "y");
  auto* graph = from.mutable_graph();
  AddNode(graph, "Relu", {"x"}, {"relu"}, "node_relu");
  AddNode(graph, "Relu", {"x"}, {"relu_1"}, "node_relu_1");
  AddNode(graph, "Abs", {"x"}, {"abs_1"}, "node_abs_1");
  AddNode(graph, "Concat", {"relu", "relu_1", "abs_1"}, {"y"}, "node_cat");
  schema::ModelProto to = from;
  to.mutable_graph()->mutable_node(3)->set_op_type("FusedConcat");
  to.mutable_graph()->mutable_node(3)->mutable_input()->SwapElements(0, 1);
  Tagged tagged(from, {"a", "b", "c", "d"});
  const Names modules = tagged.Onto(to);
  EXPECT_EQ(modules[0], "a");
  EXPECT_EQ(modules[1], "b");
  EXPECT_EQ(modules[2], "c");
  EXPECT_EQ(tagged.ConfidenceOf(0), Confidence::kCertain);
}

// Tags of the same three nodes, by module and level.
Tagging Given(const std::vector<std::pair<std::string, Confidence>>& tags) {
  Tagging tagging;
  tagging.roles.Add(Role());
  for (const auto& [module, level] : tags) {
    Tag tag;
    if (module != "-") {
      tag.module = tagging.modules.Add(module);
      tag.confidence = level;
    }
    tagging.tags.Add(tag);
  }
  return tagging;
}

TEST(TakeSurer, TakesSurerTagsAndFillsOpenNodes) {
  Tagging carried = Given({{"a", Confidence::kHigh},
                           {"a", Confidence::kMedium},
                           {"-", Confidence::kLow}});
  const Tagging mapped = Given({{"a", Confidence::kHigh},
                                {"b.c", Confidence::kHigh},
                                {"a", Confidence::kMedium}});
  EXPECT_EQ(TakeSurer(mapped, carried), 2u);
  EXPECT_EQ(carried.modules.Path(carried.tags[NodeId{1}].module), "b.c");
  EXPECT_EQ(carried.modules.Path(carried.tags[NodeId{2}].module), "a");
}

// What it cannot carry is tagged as `tag` would tag it.
TEST(TakeSurer, FillsOpenNodesWithLowTags) {
  Tagging carried = Given({{"a", Confidence::kHigh}, {"-", Confidence::kLow}});
  const Tagging mapped =
      Given({{"a", Confidence::kHigh}, {"a", Confidence::kLow}});
  EXPECT_EQ(TakeSurer(mapped, carried), 1u);
  EXPECT_TRUE(carried.tags[NodeId{1}].tagged());
}

// If no tag is sure, the names of the modules tell whether they are the same.
TEST(TakeSurer, ComparesTheNamesOfAllModulesIfNoTagIsSure) {
  Tagging carried = Given({{"a", Confidence::kLow}, {"b", Confidence::kHigh}});
  const Tagging mapped =
      Given({{"b", Confidence::kMedium}, {"b", Confidence::kMedium}});
  EXPECT_EQ(TakeSurer(mapped, carried), 1u);
  Tagging other = Given({{"x", Confidence::kLow}, {"y", Confidence::kHigh}});
  EXPECT_EQ(TakeSurer(mapped, other), 0u);
}

// The old version may have been exported from a wrapper.
TEST(TakeSurer, TakesNothingIfModulesAreNamedDifferently) {
  Tagging carried =
      Given({{"w.a", Confidence::kHigh}, {"w.a", Confidence::kLow}});
  const Tagging mapped =
      Given({{"a", Confidence::kHigh}, {"a", Confidence::kHigh}});
  EXPECT_EQ(TakeSurer(mapped, carried), 0u);
}

TEST(Transfer, LeavesUntaggedWhatWasUntagged) {
  Tagged from(Linear(), {"q", "-", "r"});
  EXPECT_EQ(from.Onto(Linear()), (Names{"q", "-", "r"}));
  EXPECT_EQ(from.counts().open_in_from + from.counts().no_counterpart, 1u);
}

TEST(Transfer, IsNoSurerThanTheOldTag) {
  schema::ModelProto model = Linear();
  const std::string bytes = model.SerializeAsString();
  const Model old = ReadModel(bytes);
  Tagging tags;
  tags.roles.Add(Role());
  for (int i = 0; i < 3; ++i) {
    tags.tags.Add(
        {.module = tags.modules.Add("q"), .confidence = Confidence::kMedium});
  }
  const Tagging carried = TransferTags(old, tags, old);
  EXPECT_EQ(carried.tags[NodeId{1}].confidence, Confidence::kMedium);
}

TEST(Transfer, TakesAQuantizersHelpersToWhatTheyServe) {
  schema::ModelProto to;
  AddInterface(to, "x", "y");
  AddParameters(to, {"a.weight_quantized", "a.weight_scale", "a.bias"});
  auto* graph = to.mutable_graph();
  AddNode(graph, "DynamicQuantizeLinear", {"x"}, {"xq", "xs", "xz"},
          "x_QuantizeLinear");
  AddNode(graph, "MatMulInteger", {"xq", "a.weight_quantized", "xz"}, {"i"},
          "/a/MatMul_quant");
  AddNode(graph, "Cast", {"i"}, {"f"}, "/a/m_output_quantized_cast");
  AddNode(graph, "Mul", {"xs", "a.weight_scale"}, {"s"},
          "/a/MatMul_quant_scales_mul");
  AddNode(graph, "Mul", {"f", "s"}, {"/a/m"},
          "/a/MatMul_quant_output_scale_mul");
  AddNode(graph, "Add", {"/a/m", "a.bias"}, {"/a/s"}, "/a/Add");
  AddNode(graph, "Relu", {"/a/s"}, {"y"}, "/act/Relu");
  Tagged from(Linear(), {"q", "q", "r"});
  EXPECT_EQ(from.Onto(to), (Names{"q", "q", "q", "q", "q", "q", "r"}));
}

TEST(Transfer, SaysWhatAFusedNodeWasMadeOf) {
  schema::ModelProto to;
  AddInterface(to, "x", "y");
  AddParameters(to, {"a.weight", "a.bias"});
  AddNode(to.mutable_graph(), "FusedGemm", {"x", "a.weight", "a.bias"}, {"y"},
          "fused /a/MatMul/MatMulAddFusion");
  Tagged from(Linear(), {"q", "q", "r"});
  EXPECT_EQ(from.Onto(to), (Names{"q"}));
  ASSERT_EQ(from.carried().origins.size(), 1u);
  EXPECT_EQ(from.carried().modules.Path(from.carried().origins[0].module), "r");
  EXPECT_EQ(from.counts().fused, 1u);
}

// The search for origins looks at a bounded number of edges, also where one
// node reads very many: 150,000 inputs took seconds when each was compared with
// all.
TEST(Transfer, OriginsOfANodeWithVeryManyInputsTakeNoTime) {
  constexpr int kInputs = 150'000;
  schema::ModelProto from;
  AddInterface(from, "x", "y");
  std::vector<std::string> parts;
  Names modules;
  for (int i = 0; i < kInputs; ++i) {
    parts.push_back("/p/o" + std::to_string(i));
    AddNode(from.mutable_graph(), "Relu", {"x"}, {parts.back()});
    modules.push_back("p");
  }
  AddNode(from.mutable_graph(), "Concat", parts, {"y"}, "/c/Concat");
  modules.push_back("c");
  schema::ModelProto to;
  AddInterface(to, "x", "y");
  AddNode(to.mutable_graph(), "Fused", {"x"}, {"y"}, "fused");
  Tagged tagged(from, modules);
  const auto start = std::chrono::steady_clock::now();
  EXPECT_EQ(tagged.Onto(to), Names{"c"});
  // With sanitizers, on a machine with much other work.
  EXPECT_LT(std::chrono::steady_clock::now() - start, std::chrono::seconds(30));
  ASSERT_EQ(tagged.carried().origins.size(), 1u);
}

// Two branches that only their order tells apart.
TEST(Transfer, TellsEqualBranchesByTheOrderOfInputs) {
  const auto make = [](bool named) {
    schema::ModelProto model;
    AddInterface(model, "x", "y");
    auto* graph = model.mutable_graph();
    const auto name = [&](const char* text) { return named ? text : ""; };
    AddNode(graph, "Relu", {"x"}, {named ? "/l/o" : "7"}, name("/l/Relu"));
    AddNode(graph, "Relu", {"x"}, {named ? "/r/o" : "5"}, name("/r/Relu"));
    AddNode(graph, "Sub", {named ? "/l/o" : "7", named ? "/r/o" : "5"}, {"y"},
            name("/Sub"));
    return model;
  };
  schema::ModelProto to = make(false);
  to.mutable_graph()->mutable_node()->SwapElements(0, 1);
  Tagged from(make(true), {"left", "right", ""});
  EXPECT_EQ(from.Onto(to), (Names{"right", "left", ""}));
}

TEST(Transfer, FollowsSubgraphs) {
  const auto make = [](const std::string& name) {
    schema::ModelProto model;
    AddInterface(model, "x", "y");
    schema::NodeProto* node =
        AddNode(model.mutable_graph(), "If", {"x"}, {"y"}, "/If");
    for (const char* branch : {"then_branch", "else_branch"}) {
      schema::AttributeProto* attribute = node->add_attribute();
      attribute->set_name(branch);
      AddNode(attribute->mutable_g(), "Relu", {"x"}, {"o"}, name);
      attribute->mutable_g()->add_output()->set_name("o");
    }
    return model;
  };
  Tagged from(make("/b/Relu"), {"", "t", "e"});
  EXPECT_EQ(from.Onto(make("/b/Relu")), (Names{"", "t", "e"}));
  EXPECT_EQ(from.Onto(make("")), (Names{"", "t", "e"}));
}

TEST(Transfer, TellsNothingOfAnotherModel) {
  schema::ModelProto to;
  AddInterface(to, "pixels", "boxes");
  std::string last = "pixels";
  for (int i = 0; i < 8; ++i) {
    const std::string next = i == 7 ? "boxes" : "v" + std::to_string(i);
    AddNode(to.mutable_graph(), "Sigmoid", {last}, {next},
            "/n" + std::to_string(i) + "/Sigmoid");
    last = next;
  }
  Tagged from(Linear(), {"q", "q", "r"});
  const Names modules = from.Onto(to);
  // No more than the ends, which any two models have.
  EXPECT_LE(std::count_if(modules.begin(), modules.end(),
                          [](const std::string& m) { return m != "-"; }),
            2);
}

TEST(Transfer, ReadsASidecarAsItsModel) {
  const std::string bytes = Linear().SerializeAsString();
  const Model model = ReadModel(bytes);
  Tagging tags;
  tags.roles.Add(Role());
  for (const char* module : {"q", "q", "r"}) {
    tags.tags.Add({.module = tags.modules.Add(module)});
  }
  std::string json;
  WriteSidecar(model, tags, AboutModel("a.onnx", model, tags),
               [&](Bytes piece) { json += piece; });
  const Sidecar sidecar = ReadSidecar(json);
  const Tagging carried = TransferTags(sidecar.graph, sidecar.tagging, model);
  EXPECT_EQ(carried.modules.Path(carried.tags[NodeId{2}].module), "r");
  const auto counterparts = FindCounterparts(sidecar.graph, model);
  EXPECT_EQ(counterparts[NodeId{1}], NodeId{1});
}

TEST(CountedNames, AreToldFromGivenOnes) {
  for (const char* name : {"123", "MatMul_12", "onnx::Add_7", "val_4", "Gelu",
                           "input.3", "linear"}) {
    EXPECT_TRUE(transfer::IsCounted(name)) << name;
  }
  for (const char* name : {"/a/MatMul", "/MatMul_12", "a.weight", "a.b.0.w"}) {
    EXPECT_FALSE(transfer::IsCounted(name)) << name;
  }
  EXPECT_FALSE(transfer::IsCountedWord("weight"));
}

// Four layers. In the second version no name is left, and each product with its
// bias is a Gemm between two Reshapes. If it is pruned, the weights are
// smaller.
enum class Version { kOld, kNew, kPruned };

schema::ModelProto Layers(Version version) {
  Net net;
  std::string x = net.Linear("x", 4, 8);
  for (int i = 0; i < 4; ++i) x = net.Layer(x, 8);
  net.Output(net.Linear(x, 8, 2));
  if (version == Version::kOld) return net.model();
  Net result;
  std::map<std::string, std::string> renamed = {{"x", "x"}};
  for (const auto& weight : net.graph()->initializer()) {
    std::vector<std::int64_t> dims(weight.dims().begin(), weight.dims().end());
    if (version == Version::kPruned) {
      std::replace(dims.begin(), dims.end(), std::int64_t{8}, std::int64_t{6});
    }
    renamed[weight.name()] = result.Weight(dims);
  }
  const auto& nodes = net.graph()->node();
  for (int i = 0; i < nodes.size(); ++i) {
    std::vector<std::string> inputs;
    for (const std::string& input : nodes[i].input()) {
      inputs.push_back(renamed.at(input));
    }
    std::string& output = renamed[nodes[i].output(0)];
    if (nodes[i].op_type() == "MatMul" && i + 1 < nodes.size() &&
        nodes[i + 1].op_type() == "Add") {
      output = result.Node(
          "Gemm", {result.Node("Reshape", {inputs[0], result.Weight({2})}),
                   inputs[1], renamed.at(nodes[i + 1].input(1))});
      ++i;
      renamed[nodes[i].output(0)] =
          result.Node("Reshape", {output, result.Weight({2})});
    } else {
      output = result.Node(nodes[i].op_type(), inputs);
    }
  }
  result.Output(renamed.at(net.graph()->output(0).name()));
  // Numbers of values mean other values now.
  for (schema::NodeProto& node : *result.graph()->mutable_node()) {
    for (std::string& input : *node.mutable_input()) {
      if (input != "x") input += "_new";
    }
    node.set_output(0, node.output(0) + "_new");
  }
  for (auto& weight : *result.graph()->mutable_initializer()) {
    weight.set_name(weight.name() + "_new");
  }
  result.graph()->mutable_output(0)->set_name(result.graph()->output(0).name() +
                                              "_new");
  return result.model();
}

TEST(TransferOrMap, FoundBlocksFillWhatHasNoCounterpart) {
  const std::string from_bytes = Layers(Version::kOld).SerializeAsString();
  const std::string to_bytes = Layers(Version::kPruned).SerializeAsString();
  const Model from = ReadModel(from_bytes);
  const Model to = ReadModel(to_bytes);
  const Tagging tags = MapNodes(from, NoBook());
  const Transferred result = TransferOrMap(from, tags, to, NoBook());
  EXPECT_GT(result.mapped, 0u) << "all nodes have counterparts";
  EXPECT_EQ(CountTags(result.tagging).found(), to.node_count());
  const FoundBlock* const layer =
      result.tagging.FindFound(result.tagging.modules.Find("layers.2"));
  ASSERT_NE(layer, nullptr);
  EXPECT_NE(layer->description.find("layer 2 of 4"), std::string::npos)
      << layer->description;
}

TEST(Transfer, FindsLayersAcrossWhatAToolMerged) {
  const std::string from_bytes = Layers(Version::kOld).SerializeAsString();
  const std::string to_bytes = Layers(Version::kNew).SerializeAsString();
  const Model from = ReadModel(from_bytes);
  const Model to = ReadModel(to_bytes);
  std::vector<NodeId> products;
  for (const NodeId node : from.Nodes()) {
    const auto readers = from.Consumers(from.Outputs(node)[0]);
    if (from.OpType(node) == "MatMul" && from.OpType(readers[0]) == "Add") {
      products.push_back(node);
    }
  }
  std::vector<NodeId> counterparts;
  const auto all = FindCounterparts(from, to);
  for (const NodeId node : to.Nodes()) {
    if (to.OpType(node) == "Gemm") counterparts.push_back(all[node]);
  }
  EXPECT_EQ(counterparts, products);
}

TEST(Lineage, SaysWhichNodesWentIntoWhich) {
  schema::ModelProto from = Linear();
  auto* graph = from.mutable_graph();
  // Folded, dead, bypassed and merged.
  graph->mutable_node(2)->set_output(0, "r");
  AddNode(graph, "Neg", {"a.bias"}, {"n"}, "/Neg");
  AddNode(graph, "Exp", {"x"}, {"e"}, "/Exp");
  AddNode(graph, "Identity", {"r"}, {"i"}, "/Identity");
  AddNode(graph, "Sin", {"i"}, {"s1"}, "/Sin");
  AddNode(graph, "Sin", {"i"}, {"s2"}, "/Sin_1");
  AddNode(graph, "Sum", {"s1", "s2", "n"}, {"y"}, "/Sum");
  schema::ModelProto to;
  AddInterface(to, "x", "y");
  AddParameters(to, {"a.weight", "a.bias", "n"});
  // Conv and Relu in one, as ONNX Runtime writes them.
  auto* nodes = to.mutable_graph();
  AddNode(nodes, "Gemm", {"x", "a.weight", "a.bias"}, {"/a/s"},
          "/a/MatMul/MatMulAddFusion");
  AddNode(nodes, "Relu", {"/a/s"}, {"r"}, "/act/Relu");
  AddNode(nodes, "Sin", {"r"}, {"s1"}, "/Sin");
  AddNode(nodes, "Sum", {"s1", "s1", "n"}, {"y"}, "/Sum");
  Tagged tagged(from, {"a", "a", "r", "-", "-", "-", "-", "-", "-"});
  tagged.Onto(to);
  EXPECT_EQ(tagged.lineage(),
            (Names{"0+1 fused", "2 name", "6+7 name", "8 name", "1: fused 0",
                   "3: folded", "4: dead", "5: bypassed", "7: merged 2"}));
}

TEST(Lineage, AnActivationGoesIntoTheNodeBeforeIt) {
  schema::ModelProto from;
  AddInterface(from, "x", "y");
  AddParameters(from, {"a.weight", "b.weight"});
  AddNode(from.mutable_graph(), "Conv", {"x", "a.weight"}, {"c"}, "conv");
  AddNode(from.mutable_graph(), "Relu", {"c"}, {"relu"}, "relu");
  AddNode(from.mutable_graph(), "Conv", {"relu", "b.weight"}, {"d"}, "conv_1");
  AddNode(from.mutable_graph(), "Relu", {"d"}, {"y"}, "relu_1");
  schema::ModelProto to;
  AddInterface(to, "x", "y");
  AddParameters(to, {"a.weight", "b.weight"});
  AddNode(to.mutable_graph(), "FusedConv", {"x", "a.weight"}, {"relu"}, "conv");
  AddNode(to.mutable_graph(), "FusedConv", {"relu", "b.weight"}, {"y"},
          "conv_1");
  Tagged tagged(from, {"a", "r", "b", "r"});
  tagged.Onto(to);
  EXPECT_EQ(tagged.lineage(),
            (Names{"0+1 fused", "2+3 fused", "1: fused 0", "3: fused 1"}));
}

}  // namespace
}  // namespace onnx_tag::test
