#include "mapping/classes/catalogue/identify.h"

#include <fmt/core.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <deque>
#include <map>
#include <stdexcept>
#include <string>
#include <vector>

#include "base/text.h"
#include "catalogue_maker/source.h"

namespace onnx_tag::catalogue {
namespace {

using testing::Contains;
using testing::IsEmpty;
using testing::Not;

// A file as an exporter would leave it: modules that were called, parameters,
// and operators at leaves.
class File {
 public:
  File& Calls(std::string_view path, std::string_view ops = "") {
    modules_.push_back({std::string(path), std::string(ops)});
    return *this;
  }
  File& Has(std::string_view parameter) {
    parameters_.emplace_back(parameter);
    return *this;
  }
  File& Records(std::string_view path, std::string_view class_name) {
    tree_.SetClass(tree_.Add(path), class_name);
    return *this;
  }

  ClassAnswer Find(std::string_view path, const Table& table = BuiltIn(),
                   std::string_view hidden = {}) {
    for (const auto& [module, ops] : modules_) tree_.Add(module);
    for (const std::string& name : parameters_) {
      tree_.Add(name.substr(0, name.rfind('.')));
    }
    Observation seen(tree_);
    seen.scopes = !modules_.empty();
    seen.linear_weights_lost = true;
    for (const auto& [module, ops] : modules_) {
      SeenModule& at = seen.seen[tree_.Find(module)];
      at.called = true;
      if (ops.empty()) continue;
      for (const std::string_view op : Split(ops, ' ')) {
        at.operators |= SetOf(FindOp(op));
      }
    }
    std::map<ModuleId, std::vector<SeenParameter>> by_module;
    for (const std::string& name : parameters_) {
      const std::size_t dot = name.rfind('.');
      by_module[tree_.Find(name.substr(0, dot))].push_back(
          {std::string_view(name).substr(dot + 1), 1, 8});
    }
    for (const auto& [module, parameters] : by_module) {
      seen.seen[module].parameters = parameters;
    }
    found_ = Identify(table, seen, hidden);
    return found_[tree_.Find(path)];
  }

 private:
  ModuleTree tree_;
  std::vector<std::pair<std::string, std::string>> modules_;
  std::deque<std::string> parameters_;
  ClassAnswers found_;
};

std::vector<std::string_view> CandidatesOf(const ClassAnswer& answer) {
  const auto names = answer.candidates.names();
  return {names.begin(), names.end()};
}

void AddLinear(File& file, const std::string& path) {
  file.Calls(path, "MatMul Add").Has(path + ".bias");
}

void AddNorm(File& file, const std::string& path) {
  file.Calls(path, "LayerNormalization")
      .Has(path + ".weight")
      .Has(path + ".bias");
}

// BERT, and what copies its names.
File Bert(const std::string& prefix, bool pooler = true) {
  File file;
  for (const char* name : {"word", "position", "token_type"}) {
    const std::string path = prefix + "embeddings." + name + "_embeddings";
    file.Calls(path, "Gather").Has(path + ".weight");
  }
  AddNorm(file, prefix + "embeddings.LayerNorm");
  for (const char* layer : {"0", "1"}) {
    const std::string at = prefix + "encoder.layer." + layer;
    file.Calls(at + ".attention.self", "MatMul Softmax");
    for (const char* name : {"query", "key", "value"}) {
      AddLinear(file, at + ".attention.self." + name);
    }
    AddLinear(file, at + ".attention.output.dense");
    AddNorm(file, at + ".attention.output.LayerNorm");
    AddLinear(file, at + ".intermediate.dense");
    file.Calls(at + ".intermediate.intermediate_act_fn", "Erf Mul");
    AddLinear(file, at + ".output.dense");
    AddNorm(file, at + ".output.LayerNorm");
  }
  if (pooler) {
    AddLinear(file, prefix + "pooler.dense");
    file.Calls(prefix + "pooler.activation", "Tanh");
  }
  return file;
}

TEST(IdentifyTest, BertIsFirstAmongItsCopies) {
  File file = Bert("");
  const ClassAnswer root = file.Find("");
  EXPECT_EQ(root.name, "BertModel");
  EXPECT_NE(root.confidence, Confidence::kCertain);
  EXPECT_THAT(CandidatesOf(root), Contains("RobertaModel"));
  EXPECT_LE(CandidatesOf(root).size(), kMostCandidates);
  EXPECT_EQ(file.Find("encoder.layer.1.attention.self").name,
            "BertSelfAttention");
  EXPECT_EQ(file.Find("encoder.layer").name, "ModuleList");
  const ClassAnswer query = file.Find("encoder.layer.0.attention.self.query");
  EXPECT_EQ(query.name, "Linear");
  EXPECT_EQ(query.confidence, Confidence::kCertain);
  EXPECT_EQ(file.Find("encoder.layer.0.intermediate.intermediate_act_fn").name,
            "GELUActivation");
}

TEST(IdentifyTest, AnEncoderIsOfTheFamilyThatOthersCopied) {
  File file;
  for (const std::string name : {"conv1", "conv2", "layer_norm"}) {
    file.Has(name + ".weight").Has(name + ".bias");
  }
  file.Has("embed_positions.weight");
  for (const std::string layer : {"layers.0.", "layers.1.", "layers.2."}) {
    for (const std::string part : {"self_attn.q_proj", "self_attn.v_proj",
                                   "self_attn.out_proj", "fc1", "fc2"}) {
      file.Has(layer + part + ".bias");
    }
    for (const std::string norm :
         {"self_attn_layer_norm", "final_layer_norm"}) {
      file.Has(layer + norm + ".weight").Has(layer + norm + ".bias");
    }
  }
  const ClassAnswer answer = file.Find("");
  EXPECT_EQ(answer.name, "WhisperEncoder");
  EXPECT_THAT(CandidatesOf(answer), Contains("VoxtralEncoder"));
}

TEST(IdentifyTest, AWrapperIsNoPartOfTheModel) {
  File file = Bert("module.");
  EXPECT_EQ(file.Find("").name, "");
  EXPECT_EQ(file.Find("module").name, "BertModel");
  EXPECT_EQ(file.Find("module.encoder.layer.0").name, "BertLayer");
}

TEST(IdentifyTest, AnExportedPartIsFound) {
  File file;
  for (int layer = 0; layer < 4; ++layer) {
    const std::string at = fmt::format("layers.{}", layer);
    for (const char* name : {"q_proj", "k_proj", "v_proj", "out_proj"}) {
      AddLinear(file, at + ".self_attn." + name);
    }
    file.Calls(at + ".self_attn", "Softmax");
    AddNorm(file, at + ".self_attn_layer_norm");
    AddLinear(file, at + ".fc1");
    AddLinear(file, at + ".fc2");
    AddNorm(file, at + ".final_layer_norm");
  }
  file.Calls("embed_tokens", "Gather").Has("embed_tokens.weight");
  file.Calls("embed_positions", "Gather").Has("embed_positions.weight");
  AddNorm(file, "layernorm_embedding");
  const ClassAnswer root = file.Find("");
  EXPECT_THAT(root.name, testing::HasSubstr("Encoder"));
  EXPECT_THAT(file.Find("layers.2").name, testing::HasSubstr("EncoderLayer"));
}

TEST(IdentifyTest, AnUnknownArchitectureIsRefused) {
  File file;
  for (int i = 0; i < 20; ++i) {
    AddLinear(file, fmt::format("zork.{}.frob", i));
    AddNorm(file, fmt::format("zork.{}.glim", i));
  }
  EXPECT_EQ(file.Find("").name, "");
  EXPECT_EQ(file.Find("zork.3.frob").name, "");
}

TEST(IdentifyTest, AKnownPartOfAnUnknownModelIsNamed) {
  File file = Bert("encoders.text.");
  for (int i = 0; i < 60; ++i) AddLinear(file, fmt::format("zork.{}.frob", i));
  EXPECT_EQ(file.Find("").name, "");
  const ClassAnswer part = file.Find("encoders.text");
  EXPECT_EQ(part.name, "BertModel");
  EXPECT_LT(part.confidence, Confidence::kCertain);
}

TEST(IdentifyTest, WhatTheFileRecordsBeatsTheCatalogue) {
  File file = Bert("");
  file.Records("", "RobertaModel");
  EXPECT_EQ(file.Find("encoder").name, "RobertaEncoder");
  EXPECT_THAT(CandidatesOf(file.Find("encoder")), IsEmpty());
}

TEST(IdentifyTest, ARecordTheCatalogueNeverHeardOfLeavesItsPartsOpen) {
  File file = Bert("");
  file.Records("", "MyOwnModel");
  EXPECT_EQ(file.Find("").name, "");
}

TEST(IdentifyTest, AHiddenFamilyIsNotNamed) {
  File file = Bert("");
  const ClassAnswer root = file.Find("", BuiltIn(), "transformers.models.bert");
  EXPECT_NE(root.name, "BertModel");
  EXPECT_THAT(CandidatesOf(root), Not(Contains("BertModel")));
  EXPECT_NE(root.confidence, Confidence::kCertain);
}

TEST(IdentifyTest, TheSameFileGivesTheSameAnswer) {
  const ClassAnswer first = Bert("").Find("");
  const ClassAnswer second = Bert("").Find("");
  EXPECT_EQ(first.name, second.name);
  EXPECT_EQ(CandidatesOf(first), CandidatesOf(second));
}

TEST(IdentifyTest, AThousandLayersAreIdentifiedLikeTwelve) {
  const auto layers = [](int count) {
    File file;
    for (int i = 0; i < count; ++i) {
      const std::string at = fmt::format("h.{}", i);
      AddNorm(file, at + ".ln_1");
      AddLinear(file, at + ".mlp.c_fc");
    }
    return file;
  };
  const ClassAnswer twelve = layers(12).Find("");
  const ClassAnswer thousand = layers(1000).Find("");
  EXPECT_EQ(thousand.name, twelve.name);
  EXPECT_EQ(CandidatesOf(thousand), CandidatesOf(twelve));
}

TEST(IdentifyTest, ADeepChainIsHarmless) {
  std::string path = "encoder";
  for (int i = 0; i < 5000; ++i) path += ".layer";
  File file;
  file.Calls(path, "MatMul");
  EXPECT_EQ(file.Find("").name, "");
}

// A Sequential in an attribute `model` has all members of a detector of
// ultralytics, which is a list of any parts.
TEST(IdentifyTest, NamesThatEverybodyUsesProveNoFamily) {
  File file;
  for (const char* index : {"0", "2", "4", "6", "8"}) {
    const std::string path = std::string("model.") + index;
    file.Calls(path, "Gemm").Has(path + ".weight").Has(path + ".bias");
  }
  for (const char* index : {"1", "3", "5", "7"}) {
    file.Calls(std::string("model.") + index, "Relu");
  }
  EXPECT_EQ(file.Find("").name, "");
  EXPECT_EQ(file.Find("model.1").name, "");
}

TEST(CommonNamesTest, AWeightIsTheRarityOfTheName) {
  EXPECT_EQ(WeightOf("", "features"), 0) << "plain networks have it";
  EXPECT_EQ(WeightOf("model", "0"), 0);
  EXPECT_GT(WeightOf("self", "query"), 1.2);
  EXPECT_GT(WeightOf("self", "query"), WeightOf("attn", "qkv"))
      << "five libraries have it";
  EXPECT_GT(WeightOf("attn", "qkv"), 0);
}

TEST(LeafClassTest, AnOperatorOrAParameterContradictsAClass) {
  SeenModule module;
  module.all_operators = SetOf(Op::kGemm);
  EXPECT_TRUE(Contradicts(module, "ReLU"));
  EXPECT_FALSE(Contradicts(module, "Linear"));
  EXPECT_FALSE(Contradicts(module, "BertPooler")) << "says nothing of leaves";
  module.all_operators = SetOf(Op::kRelu);
  EXPECT_FALSE(Contradicts(module, "ReLU"));
  EXPECT_TRUE(Contradicts(module, "Linear"));
  const std::vector<SeenParameter> parameters = {{"weight", 2, 8}};
  module.parameters = parameters;
  EXPECT_TRUE(Contradicts(module, "ReLU")) << "a ReLU has no weight";
}

TEST(LeafClassTest, OperatorsAndShapesDecide) {
  SeenModule module;
  module.operators = SetOf(Op::kConv);
  std::vector<SeenParameter> parameters = {{"weight", 4, 8}, {"bias", 1, 8}};
  module.parameters = parameters;
  EXPECT_EQ(GuessLeafClass(module).name, "Conv2d");
  parameters[0].rank = 3;
  EXPECT_EQ(GuessLeafClass(module).name, "Conv1d");
  module.operators = SetOf(Op::kMatMul) | SetOf(Op::kAdd);
  parameters[0].rank = 2;
  EXPECT_EQ(GuessLeafClass(module).name, "Linear");
  EXPECT_LT(GuessLeafClass(module).confidence, Confidence::kCertain);
  // A parameter that no such class has.
  parameters.push_back({"gate", 1, 8});
  module.parameters = parameters;
  EXPECT_EQ(GuessLeafClass(module).name, "");
}

TEST(LeafClassTest, WhatComputesWithoutParametersIsToldByItsOperator) {
  SeenModule module;
  module.operators = SetOf(Op::kRelu);
  EXPECT_EQ(GuessLeafClass(module).name, "ReLU");
  module.operators = SetOf(Op::kAdd);
  EXPECT_EQ(GuessLeafClass(module).name, "");
}

TEST(LeafKindTest, AFunctionOfAFunctionIsAnotherKind) {
  EXPECT_NE(KindOf("ReLUSquaredActivation"), KindOf("ReLU"));
  EXPECT_NE(KindOf("XIELUActivation"), KindOf("ELU"));
  EXPECT_EQ(KindOf("QuickGELUActivation"), KindOf("QuickGELU"));
  EXPECT_NE(KindOf("QuickGELU"), KindOf("GELU"));
  // Squares have other operators besides; nothing is concluded from them.
  EXPECT_EQ(Fit(KindOf("ReLUSquaredActivation"), SetOf(Op::kRelu), true), 0);
  EXPECT_EQ(Fit(KindOf("ReLU"), SetOf(Op::kRelu), true), 1);
}

TEST(LeafKindTest, WhatAToolWroteCountsAsTheOperatorThatItIsLike) {
  EXPECT_EQ(SetOf(Op::kQLinearConv), SetOf(Op::kConv));
  EXPECT_EQ(SetOf(Op::kDynamicQuantizeLSTM), SetOf(Op::kLSTM));
  EXPECT_EQ(SetOf(Op::kCast), 0U);
  SeenModule module;
  module.operators = SetOf(Op::kDynamicQuantizeLSTM);
  EXPECT_EQ(GuessLeafClass(module).name, "LSTM");
}

TEST(ClassRulesTest, TraitsAndVersionsExist) {
  for (const ClassRule* rule : RulesOf("kind")) {
    for (const std::string_view trait : (*rule)["is"]) {
      EXPECT_THAT(kTraitNames, Contains(trait)) << rule->name;
    }
  }
  const LibraryVersion newest(BuiltIn(), "");
  for (const ClassRule* rule : RulesOf("torch")) {
    const LibraryVersion found(BuiltIn(), std::string(rule->name) + ".1+cpu");
    EXPECT_NE(found.likely, newest.likely) << rule->name;
    EXPECT_FALSE(found.today) << rule->name;
  }
  EXPECT_TRUE(LibraryVersion(BuiltIn(), "2.99.0").today);
}

TEST(ClassRulesTest, AWordThatDoesNotExistIsRefused) {
  EXPECT_EQ(ReadClassRules("kind relu words=relu any=Relu,Clip")[0]["any"],
            (Words{"Relu", "Clip"}));
  for (const char* row :
       {"knd relu", "kind", "kind relu wrds=relu", "kind relu relu"}) {
    EXPECT_THROW(ReadClassRules(row), std::invalid_argument) << row;
  }
}

}  // namespace
}  // namespace onnx_tag::catalogue
