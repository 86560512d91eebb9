// weights --refit and --lora: what is written, and what is refused. The oracle
// is the same model made from the new numbers here; tests/clients holds the
// command against real exporters and quantizers.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <filesystem>
#include <map>
#include <nlohmann/json.hpp>

#include "support/json_schema.h"
#include "support/onnx_models.h"
#include "support/run_cli.h"
#include "support/temporary_folder.h"

namespace onnx_tag::test {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;
using Json = nlohmann::json;
using Shape = std::vector<std::int64_t>;

struct Array {
  Shape shape;
  std::vector<float> numbers;

  std::string bytes() const {
    return std::string(reinterpret_cast<const char*>(numbers.data()),
                       numbers.size() * sizeof(float));
  }
};
using State = std::map<std::string, Array>;

std::size_t CountOf(const Shape& shape) {
  std::size_t count = 1;
  for (const std::int64_t dim : shape) count *= static_cast<std::size_t>(dim);
  return count;
}

// Numbers between -1 and 1 that no two tensors share.
Array Random(const Shape& shape, std::uint32_t seed) {
  Array array{shape, std::vector<float>(CountOf(shape))};
  std::uint32_t state = seed * 7919 + 17;
  for (float& number : array.numbers) {
    state = state * 1664525 + 1013904223;
    number = static_cast<float>(state >> 8) / 8388608.0F - 1.0F;
  }
  return array;
}

Array Transposed(const Array& a) {
  const auto rows = static_cast<std::size_t>(a.shape[0]);
  const auto columns = static_cast<std::size_t>(a.shape[1]);
  Array result{{a.shape[1], a.shape[0]}, a.numbers};
  for (std::size_t r = 0; r < rows; ++r) {
    for (std::size_t c = 0; c < columns; ++c) {
      result.numbers[c * rows + r] = a.numbers[r * columns + c];
    }
  }
  return result;
}

std::string Safetensors(const State& state) {
  Json head = Json::object();
  std::string data;
  for (const auto& [name, array] : state) {
    const std::size_t begin = data.size();
    data += array.bytes();
    head[name] = {{"dtype", "F32"},
                  {"shape", array.shape},
                  {"data_offsets", {begin, data.size()}}};
  }
  const std::string text = head.dump();
  std::string file;
  for (std::size_t i = 0; i < 8; ++i) {
    file += static_cast<char>(text.size() >> (8 * i));
  }
  return file + text + data;
}

void AddTensor(schema::GraphProto& graph, const std::string& name,
               const Shape& shape, int type, const std::string& bytes) {
  schema::TensorProto* const tensor = graph.add_initializer();
  tensor->set_name(name);
  tensor->set_data_type(type);
  for (const std::int64_t dim : shape) tensor->add_dims(dim);
  tensor->set_raw_data(bytes);
}

void AddArray(schema::GraphProto& graph, const std::string& name,
              const Array& array) {
  AddTensor(graph, name, array.shape, 1, array.bytes());
}

State MakeState(std::uint32_t seed) {
  return {{"fc.weight", Random({6, 5}, seed)},
          {"fc.bias", Random({6}, seed + 1)},
          {"conv.weight", Random({6, 3, 2, 2}, seed + 2)},
          {"bn.weight", Random({6}, seed + 3)},
          {"bn.bias", Random({6}, seed + 4)},
          {"bn.running_mean", Random({6}, seed + 5)},
          {"bn.running_var",
           {{6}, std::vector<float>(6, 0.25F + static_cast<float>(seed))}},
          {"q.weight", Random({8, 8}, seed + 6)},
          {"k.weight", Random({8, 8}, seed + 7)},
          {"v.weight", Random({8, 8}, seed + 8)},
          {"int8.weight", Random({4, 8}, seed + 9)}};
}

// A product, a convolution with a folded norm, a packed attention and a
// quantized product. `off`: the root of the first variance is the next smaller
// number, as MKL has it on some processors.
std::string MakeModel(const State& state, bool off = false) {
  schema::ModelProto model = ModelFromText(
      "ir_version: 8 producer_name: 'pytorch' opset_import { version: 17 } "
      "graph { name: 'main' }");
  schema::GraphProto& graph = *model.mutable_graph();
  AddNode(graph, "MatMul", "/fc/MatMul", {"x", "onnx::MatMul_9"}, {"a"});
  AddNode(graph, "Add", "/fc/Add", {"fc.bias", "a"}, {"b"});
  AddNode(graph, "Conv", "/conv/Conv", {"i", "onnx::Conv_1", "onnx::Conv_2"},
          {"c"});
  AddNode(graph, "MatMul", "/qkv/MatMul", {"y", "packed"}, {"d"});
  AddNode(graph, "DynamicQuantizeMatMul", "/int8/MatMul",
          {"z", "q8", "q8_scale", "q8_zero"}, {"e"})
      ->set_domain("com.microsoft");
  AddArray(graph, "onnx::MatMul_9", Transposed(state.at("fc.weight")));
  AddArray(graph, "fc.bias", state.at("fc.bias"));

  Array weight = state.at("conv.weight");
  Array bias{{6}, std::vector<float>(6)};
  for (std::size_t o = 0; o < 6; ++o) {
    const float root = std::sqrt(state.at("bn.running_var").numbers[o] + 1e-5F);
    const float scale = state.at("bn.weight").numbers[o] /
                        (off && o == 0 ? std::nextafter(root, 0.0F) : root);
    for (std::size_t i = 0; i < 12; ++i) weight.numbers[o * 12 + i] *= scale;
    // Volatile: a compiler may not fuse the product with the sum.
    volatile float product = -state.at("bn.running_mean").numbers[o] * scale;
    bias.numbers[o] = product + state.at("bn.bias").numbers[o];
  }
  AddArray(graph, "onnx::Conv_1", weight);
  AddArray(graph, "onnx::Conv_2", bias);

  Array packed{{8, 24}, std::vector<float>(8 * 24)};
  const char* const names[] = {"q.weight", "k.weight", "v.weight"};
  for (std::size_t part = 0; part < 3; ++part) {
    const Array turned = Transposed(state.at(names[part]));
    for (std::size_t r = 0; r < 8; ++r) {
      for (std::size_t c = 0; c < 8; ++c) {
        packed.numbers[r * 24 + part * 8 + c] = turned.numbers[r * 8 + c];
      }
    }
  }
  AddArray(graph, "packed", packed);

  const Array turned = Transposed(state.at("int8.weight"));
  float reach = 0;
  for (const float number : turned.numbers) {
    reach = std::max(reach, std::fabs(number));
  }
  const auto scale = static_cast<float>(double{reach} * 2 / 254);
  std::string quantized;
  for (const float number : turned.numbers) {
    quantized +=
        static_cast<char>(static_cast<int>(std::nearbyint(number / scale)));
  }
  AddTensor(graph, "q8", {8, 4}, 3, quantized);
  AddArray(graph, "q8_scale", {{1}, {scale}});
  // As ONNX Runtime writes it: not in raw_data.
  schema::TensorProto* const zero = graph.add_initializer();
  zero->set_name("q8_zero");
  zero->set_data_type(3);
  zero->add_dims(1);
  zero->add_int32_data(0);
  return model.SerializeAsString();
}

class RefitTest : public ::testing::Test {
 protected:
  CliResult Run(const State& was, const State& now,
                std::vector<std::string> more = {}) {
    std::vector<std::string> words = {
        "weights", folder_.Write("m.onnx", model_),
        "--refit", folder_.Write("now.safetensors", Safetensors(now)),
        "--was",   folder_.Write("was.safetensors", Safetensors(was)),
        "-o",      folder_ / "out.onnx",
        "--force", "--json"};
    words.insert(words.end(), more.begin(), more.end());
    const CliResult result = RunCli(words);
    if (result.exit < 2) {
      static const JsonSchema schema(
          Json::parse(ReadFile(ONNX_TAG_DOCS "/weights.schema.json")));
      EXPECT_THAT(schema.Violations(Json::parse(result.out)), IsEmpty());
    }
    return result;
  }
  std::map<std::string, Json> Rows(const CliResult& result) {
    std::map<std::string, Json> rows;
    const Json answer = Json::parse(result.out);
    for (const Json& row : answer["tensors"]) {
      rows[row["tensor"]] = row;
    }
    return rows;
  }

  const TemporaryFolder folder_;
  std::string model_ = MakeModel(MakeState(1));
};

TEST_F(RefitTest, NewNumbersGiveTheFileThatTheyWouldHaveGiven) {
  const CliResult result = Run(MakeState(1), MakeState(2));
  ASSERT_EQ(result.exit, 0) << result.out << result.err;
  EXPECT_EQ(ReadFile(folder_ / "out.onnx"), MakeModel(MakeState(2)));
  const auto rows = Rows(result);
  EXPECT_EQ(rows.at("onnx::MatMul_9")["transform"], "transposed");
  EXPECT_EQ(rows.at("onnx::Conv_1")["transform"], "folded");
  EXPECT_EQ(rows.at("packed")["transform"], "packed, transposed");
  EXPECT_EQ(rows.at("q8")["transform"], "transposed, int8 symmetric");
  EXPECT_EQ(rows.at("q8_scale")["transform"], "scale");
}

TEST_F(RefitTest, ATensorThatFollowsFromNothingIsRefusedAndNothingIsWritten) {
  State was = MakeState(1);
  was["q.weight"].numbers[5] += 0.001F;
  const CliResult result = Run(was, MakeState(2));
  EXPECT_EQ(result.exit, 1);
  EXPECT_EQ(Rows(result).at("packed")["fate"], "refused");
  EXPECT_FALSE(std::filesystem::exists(folder_ / "out.onnx"));
  EXPECT_THAT(result.err, HasSubstr("1 tensor refused; nothing was written"));

  EXPECT_EQ(Run(was, MakeState(2), {"--partial"}).exit, 1);
  EXPECT_TRUE(std::filesystem::exists(folder_ / "out.onnx"));
  EXPECT_EQ(Run(was, MakeState(2), {"--keep", "pack*"}).exit, 0);
}

TEST_F(RefitTest, ANewCheckpointThatLacksAParameterIsRefused) {
  State now = MakeState(2);
  now.erase("k.weight");
  now["fc.weight"].shape = {5, 6};
  const CliResult result = Run(MakeState(1), now);
  EXPECT_EQ(result.exit, 1);
  EXPECT_EQ(Rows(result).at("packed")["why"],
            "the new checkpoint has no k.weight");
  EXPECT_EQ(Rows(result).at("onnx::MatMul_9")["why"],
            "fc.weight is [6, 5] in the old checkpoint, [5, 6] in the new one");
}

// An exporter merges tensors that happen to be equal. The nodes that read them
// say which is which.
TEST_F(RefitTest, TensorsThatWereEqualByAccidentAreSplit) {
  State was = MakeState(1);
  was["fc.bias"].numbers.assign(6, 0.0F);
  was["other.bias"] = was["fc.bias"];
  was["other.weight"] = Random({6, 6}, 98);
  State now = MakeState(2);
  now["other.bias"] = Random({6}, 99);
  now["other.weight"] = Random({6, 6}, 100);
  const auto add_other = [](schema::GraphProto& graph, const State& state,
                            const std::string& bias) {
    AddNode(graph, "MatMul", "", {"b", "w"}, {"e1"});
    AddNode(graph, "Add", "", {"e1", bias}, {"f"});
    AddArray(graph, "w", Transposed(state.at("other.weight")));
  };
  schema::ModelProto model;
  ASSERT_TRUE(model.ParseFromString(MakeModel(was)));
  add_other(*model.mutable_graph(), was, "fc.bias");
  model_ = model.SerializeAsString();
  const CliResult result = Run(was, now);
  ASSERT_EQ(result.exit, 0) << result.out;
  EXPECT_EQ(Rows(result).at("other.bias")["why"], "fc.bias held it, too");
  schema::ModelProto split;
  ASSERT_TRUE(split.ParseFromString(ReadFile(folder_ / "out.onnx")));
  ASSERT_TRUE(model.ParseFromString(MakeModel(now)));
  add_other(*model.mutable_graph(), now, "other.bias");
  AddArray(*model.mutable_graph(), "other.bias", now.at("other.bias"));
  EXPECT_EQ(split.SerializeAsString(), model.SerializeAsString());

  // A reader that no parameter belongs to: nothing says what it wants.
  ASSERT_TRUE(model.ParseFromString(model_));
  AddNode(*model.mutable_graph(), "Sub", "/third/Sub", {"d", "fc.bias"}, {"g"});
  const std::string merged = model_;
  model_ = model.SerializeAsString();
  EXPECT_EQ(Rows(Run(was, now)).at("fc.bias")["fate"], "refused");
  model_ = merged;

  // Both still share their numbers: there is nothing to tell apart.
  now["other.bias"] = now["fc.bias"];
  EXPECT_EQ(Rows(Run(was, now)).at("fc.bias")["fate"], "written");
}

// A sum with zeros is left out of the graph: it has no place for new numbers.
TEST_F(RefitTest, AParameterThatWasLeftOutIsNotForgotten) {
  State was = MakeState(1);
  was["fc.bias"].numbers.assign(6, 0.0F);
  schema::ModelProto model;
  ASSERT_TRUE(model.ParseFromString(MakeModel(was)));
  model.mutable_graph()->mutable_node()->DeleteSubrange(1, 1);
  model.mutable_graph()->mutable_initializer()->DeleteSubrange(1, 1);
  model_ = model.SerializeAsString();
  const CliResult result = Run(was, MakeState(2));
  EXPECT_EQ(result.exit, 1);
  EXPECT_THAT(result.err, HasSubstr("fc.bias was 0 or 1 throughout"));
  EXPECT_FALSE(std::filesystem::exists(folder_ / "out.onnx"));
}

// The old export was made where roots are one bit off; the new one need not be.
TEST_F(RefitTest, ARootMayBeOneUnitInTheLastPlaceOff) {
  ASSERT_NE(MakeModel(MakeState(1), true), MakeModel(MakeState(1)));
  model_ = MakeModel(MakeState(1), true);
  const CliResult result = Run(MakeState(1), MakeState(2));
  ASSERT_EQ(result.exit, 0) << result.out << result.err;
  EXPECT_EQ(ReadFile(folder_ / "out.onnx"), MakeModel(MakeState(2)));
}

// Each damage leaves a transform that would give the present bytes.
TEST_F(RefitTest, ADamagedOldCheckpointProvesNothing) {
  State was = MakeState(1);
  for (float& number : was["fc.bias"].numbers) number *= 0.5F;
  EXPECT_EQ(Rows(Run(was, MakeState(2))).at("fc.bias")["fate"], "refused");
  was = MakeState(1);
  for (float& number : was["fc.bias"].numbers) number = -number;
  EXPECT_EQ(Rows(Run(was, MakeState(2))).at("fc.bias")["fate"], "refused");
  was = MakeState(1);
  std::vector<float>& numbers = was["fc.weight"].numbers;
  std::rotate(numbers.begin(), numbers.begin() + 10, numbers.end());
  EXPECT_EQ(Rows(Run(was, MakeState(2))).at("onnx::MatMul_9")["fate"],
            "refused");
}

// Products, one behind another, that have no names of parameters.
std::string MakeProducts(const State& state) {
  schema::ModelProto model = ModelFromText(
      "ir_version: 8 opset_import { version: 17 } graph { name: 'main' "
      "input { name: 'v0' } output { name: 'v6' } }");
  schema::GraphProto& graph = *model.mutable_graph();
  int place = 0;
  for (const auto& [name, array] : state) {
    const std::string number = std::to_string(place++);
    AddNode(graph, "MatMul", "n" + number, {"v" + number, "w" + number},
            {"v" + std::to_string(place)});
    AddArray(graph, "w" + number, Transposed(array));
  }
  return model.SerializeAsString();
}

TEST_F(RefitTest, EqualLayersReadTheirParametersAtEqualPlaces) {
  const auto make = [](std::uint32_t seed) {
    State state;
    for (const char* const name :
         {"h.0.a", "h.0.b", "h.0.c", "h.1.a", "h.1.b", "h.1.c"}) {
      state[name] = Random({8, 8}, seed++);
    }
    return state;
  };
  model_ = MakeProducts(make(1));
  EXPECT_EQ(Run(make(1), make(9)).exit, 0);
  EXPECT_EQ(ReadFile(folder_ / "out.onnx"), MakeProducts(make(9)));
  // In one layer, of one name in two layers, and of two names in two layers.
  for (const char* const other : {"h.0.b", "h.1.a", "h.1.b"}) {
    State was = make(1);
    std::swap(was["h.0.a"], was[other]);
    const CliResult result = Run(was, make(9), {"--partial"});
    EXPECT_EQ(ReadFile(folder_ / "out.onnx"), model_) << other;
    EXPECT_THAT(result.out, HasSubstr("seem to be swapped")) << other;
  }
  State was = make(1);
  was["h.1.b"] = Transposed(was["h.1.b"]);
  EXPECT_EQ(Rows(Run(was, make(9))).at("w4")["fate"], "refused");
}

// Whole multiples of a step, the largest of them 127: int8 holds them exactly.
Array Steps(const Shape& shape, int seed, float step) {
  Array array{shape, std::vector<float>(CountOf(shape))};
  for (std::size_t i = 0; i < array.numbers.size(); ++i) {
    const int whole = (static_cast<int>(i) * 37 + seed * 11) % 255 - 127;
    array.numbers[i] = static_cast<float>(i == 0 ? 127 : whole) * step;
  }
  return array;
}

// A layer of integers with a bias of int32, whose scale is that of the input
// times that of the weight. The input is a row of a table, or comes from data.
std::string MakeIntegers(const State& state, float table, float weight,
                         bool looks_up) {
  schema::ModelProto model = ModelFromText(
      "ir_version: 8 producer_name: 'pytorch' opset_import { version: 17 } "
      "graph { name: 'main' }");
  schema::GraphProto& graph = *model.mutable_graph();
  const std::string scale = looks_up ? "emb.weight_scale" : "data_scale";
  AddNode(graph, "Gather", "g", {"emb.weight_quantized", "ids"}, {"rows"});
  AddNode(graph, "DequantizeLinear", "d1", {"rows", "emb.weight_scale", "zero"},
          {"row"});
  AddNode(graph, "DequantizeLinear", "d2",
          {looks_up ? "rows" : "data", scale, "zero"}, {"x"});
  AddNode(graph, "DequantizeLinear", "d3",
          {"fc.weight_quantized", "fc.weight_scale", "zero"}, {"w"});
  AddNode(graph, "DequantizeLinear", "d4",
          {"fc.bias_quantized", "fc.bias_scale", "zero32"}, {"b"});
  AddNode(graph, "Gemm", "f", {"x", "w", "b"}, {"y"});
  const auto add = [&](const std::string& name, float step, int type) {
    const Array& array = state.at(name);
    std::string bytes;
    for (const float number : array.numbers) {
      const auto whole = static_cast<std::int32_t>(number / step);
      bytes.append(reinterpret_cast<const char*>(&whole), type == 3 ? 1 : 4);
    }
    AddTensor(graph, name + "_quantized", array.shape, type, bytes);
    AddArray(graph, name + "_scale",
             {{type == 3 ? Shape{} : Shape{1}}, {step}});
  };
  add("emb.weight", table, 3);
  add("fc.weight", weight, 3);
  add("fc.bias", (looks_up ? table : 0.5F) * weight, 6);
  AddArray(graph, "data_scale", {{}, {0.5F}});
  AddTensor(graph, "zero", {}, 3, std::string(1, '\0'));
  AddTensor(graph, "zero32", {1}, 6, std::string(4, '\0'));
  return model.SerializeAsString();
}

// The scale of a looked-up input is the table's: with new numbers it is
// another, and the scale of the bias is, too.
TEST_F(RefitTest, ABiasBehindATableHasTheTablesNewScale) {
  const auto state = [](int seed, float table, float weight, float bias) {
    return State{{"emb.weight", Steps({20, 5}, seed, table)},
                 {"fc.weight", Steps({5, 20}, seed + 1, weight)},
                 {"fc.bias", Steps({20}, seed + 2, bias)}};
  };
  for (const bool looks_up : {false, true}) {
    const float input = looks_up ? 0x1p-6F : 0.5F;
    const State was = state(1, 0x1p-6F, 0x1p-7F, input * 0x1p-7F);
    const float new_input = looks_up ? 0x1p-5F : 0.5F;
    const State now = state(5, 0x1p-5F, 0x1p-8F, new_input * 0x1p-8F);
    model_ = MakeIntegers(was, 0x1p-6F, 0x1p-7F, looks_up);
    const CliResult result = Run(was, now);
    EXPECT_EQ(result.exit, 0) << result.out;
    EXPECT_EQ(ReadFile(folder_ / "out.onnx"),
              MakeIntegers(now, 0x1p-5F, 0x1p-8F, looks_up));
  }
}

State TablesState(std::uint32_t seed) {
  return {{"fc.weight", Random({6, 5}, seed)},
          {"fc.bias", Random({6}, seed + 1)},
          {"scale.lambda", Random({6}, seed + 2)},
          {"positions", Random({1, 9, 4}, seed + 3)},
          {"relative.weight", Random({31, 3}, seed + 4)},
          {"small.bias", Random({3}, seed + 5)}};
}

// A vector multiplied into a layer, rows of a table of positions, a table of
// relative positions that is looked up for each pair, and a few numbers whose
// name has a wrapper's prefix.
std::string MakeTables(const State& state) {
  schema::ModelProto model = ModelFromText(
      "ir_version: 8 producer_name: 'pytorch' opset_import { version: 17 } "
      "graph { name: 'main' }");
  schema::GraphProto& graph = *model.mutable_graph();
  Array weight = state.at("fc.weight");
  Array bias = state.at("fc.bias");
  for (std::size_t o = 0; o < 6; ++o) {
    const float scale = state.at("scale.lambda").numbers[o];
    for (std::size_t i = 0; i < 5; ++i) weight.numbers[o * 5 + i] *= scale;
    bias.numbers[o] *= scale;
  }
  AddNode(graph, "Gemm", "/fc/Gemm", {"x", "fused", "fused_bias"}, {"a"});
  AddArray(graph, "fused", weight);
  AddArray(graph, "fused_bias", bias);

  const Array& positions = state.at("positions");
  AddNode(graph, "Add", "/Add", {"y", "rows"}, {"b"});
  AddArray(
      graph, "rows",
      {{1, 8, 4}, {positions.numbers.begin() + 4, positions.numbers.end()}});

  Array looked{{1, 3, 16, 16}, std::vector<float>(3 * 256)};
  for (std::size_t h = 0; h < 3; ++h) {
    for (std::size_t p = 0; p < 256; ++p) {
      const std::size_t row = p / 16 + 15 - p % 16;
      looked.numbers[h * 256 + p] =
          state.at("relative.weight").numbers[row * 3 + h];
    }
  }
  const Array& relative = state.at("relative.weight");
  AddNode(graph, "Concat", "/Concat", {"v", "last"}, {"e"});
  AddArray(graph, "last",
           {{3, 3}, {relative.numbers.end() - 9, relative.numbers.end()}});
  AddNode(graph, "Add", "/Add_1", {"z", "looked"}, {"c"});
  AddArray(graph, "looked", looked);

  AddNode(graph, "Add", "/model/small/Add", {"model.small.bias", "w"}, {"d"});
  AddArray(graph, "model.small.bias", state.at("small.bias"));
  return model.SerializeAsString();
}

TEST_F(RefitTest, FindsProductsRowsAndLookedUpTables) {
  model_ = MakeTables(TablesState(1));
  const CliResult result = Run(TablesState(1), TablesState(2));
  ASSERT_EQ(result.exit, 0) << result.out << result.err;
  EXPECT_EQ(ReadFile(folder_ / "out.onnx"), MakeTables(TablesState(2)));
  EXPECT_EQ(Rows(result).at("looked")["transform"], "looked up");

  // Rows in another order: row r has the place of r^7, by 31.
  State was = TablesState(1);
  const State sound = was;
  for (std::size_t row = 0; row < 31; ++row) {
    std::size_t place = 1;
    for (int power = 0; power < 7; ++power) place = place * row % 31;
    std::copy_n(sound.at("relative.weight").numbers.begin() +
                    static_cast<std::ptrdiff_t>(row * 3),
                3,
                was["relative.weight"].numbers.begin() +
                    static_cast<std::ptrdiff_t>(place * 3));
  }
  EXPECT_EQ(Rows(Run(was, TablesState(2))).at("looked")["why"],
            "it has the rows of relative.weight in another order");

  // Two equal rows: which of them a place has is lost.
  was = sound;
  std::copy_n(was["relative.weight"].numbers.begin(), 3,
              was["relative.weight"].numbers.begin() + 6);
  model_ = MakeTables(was);
  EXPECT_EQ(Rows(Run(was, TablesState(2))).at("looked")["fate"], "refused");
}

TEST_F(RefitTest, WithoutTheOldCheckpointOnlyNamesWithoutDoubtAreTaken) {
  const std::string now =
      folder_.Write("now.safetensors", Safetensors(MakeState(2)));
  const CliResult result =
      RunCli({"weights", folder_.Write("m.onnx", model_), "--refit", now,
              "--unproven", "--dry-run", "--json"});
  EXPECT_EQ(result.exit, 1);
  const auto rows = Rows(result);
  EXPECT_EQ(rows.at("fc.bias")["proof"], "its name");
  EXPECT_EQ(rows.at("onnx::Conv_1")["fate"], "refused");
  EXPECT_EQ(rows.at("q8")["fate"], "refused");
  EXPECT_EQ(RunCli({"weights", folder_ / "m.onnx", "--refit", now}).exit, 2);
}

TEST_F(RefitTest, ExternalWeightsGoIntoANewFile) {
  schema::ModelProto model;
  ASSERT_TRUE(model.ParseFromString(model_));
  std::string data;
  for (schema::TensorProto& tensor :
       *model.mutable_graph()->mutable_initializer()) {
    if (tensor.name() == "q8_zero") continue;
    const std::pair<std::string, std::string> entries[] = {
        {"location", "m.data"},
        {"offset", std::to_string(data.size())},
        {"length", std::to_string(tensor.raw_data().size())}};
    for (const auto& [key, value] : entries) {
      auto* const entry = tensor.add_external_data();
      entry->set_key(key);
      entry->set_value(value);
    }
    data += tensor.raw_data();
    tensor.clear_raw_data();
    tensor.set_data_location(1);
  }
  model_ = model.SerializeAsString();
  folder_.Write("m.data", data);
  ASSERT_EQ(Run(MakeState(1), MakeState(2)).exit, 0);
  EXPECT_EQ(ReadFile(folder_ / "m.data"), data) << "an input was changed";

  schema::ModelProto now;
  schema::ModelProto expected;
  ASSERT_TRUE(now.ParseFromString(ReadFile(folder_ / "out.onnx")));
  ASSERT_TRUE(expected.ParseFromString(MakeModel(MakeState(2))));
  std::string expected_data;
  for (int i = 0; i < now.graph().initializer_size(); ++i) {
    const schema::TensorProto& tensor = now.graph().initializer(i);
    if (tensor.name() != "q8_zero") {
      EXPECT_EQ(tensor.external_data(0).value(), "out.onnx.data");
      expected_data += expected.graph().initializer(i).raw_data();
    }
  }
  EXPECT_EQ(ReadFile(folder_ / "out.onnx.data"), expected_data);
}

TEST_F(RefitTest, AnAdapterIsAddedToItsWeight) {
  const State was = MakeState(1);
  State now = was;
  const Array a = Random({2, 5}, 50);
  const Array b = Random({6, 2}, 51);
  for (std::size_t r = 0; r < 6; ++r) {
    for (std::size_t c = 0; c < 5; ++c) {
      const double sum =
          double{b.numbers[r * 2]} * double{a.numbers[c]} +
          double{b.numbers[r * 2 + 1]} * double{a.numbers[5 + c]};
      now["fc.weight"].numbers[r * 5 + c] += static_cast<float>(sum) * 4.0F;
    }
  }
  folder_.Write("adapter_config.json",
                R"({"peft_type": "LORA", "r": 2, "lora_alpha": 8})");
  folder_.Write("adapter_model.safetensors",
                Safetensors({{"base_model.model.fc.lora_A.weight", a},
                             {"base_model.model.fc.lora_B.weight", b}}));
  const std::vector<std::string> words = {
      "weights", folder_.Write("m.onnx", model_),
      "--was",   folder_.Write("was.safetensors", Safetensors(was)),
      "--lora",  folder_.path(),
      "-o",      folder_ / "out.onnx",
      "--force"};
  ASSERT_EQ(RunCli(words).exit, 0);
  schema::ModelProto made;
  ASSERT_TRUE(made.ParseFromString(ReadFile(folder_ / "out.onnx")));
  const Array expected = Transposed(now["fc.weight"]);
  const std::string& bytes = made.graph().initializer(0).raw_data();
  for (std::size_t i = 0; i < expected.numbers.size(); ++i) {
    float number = 0;
    std::memcpy(&number, bytes.data() + i * sizeof number, sizeof number);
    EXPECT_NEAR(number, expected.numbers[i], 1e-6);
  }
  folder_.Write("adapter_config.json",
                R"({"peft_type": "LORA", "r": 2, "use_dora": true})");
  EXPECT_THAT(RunCli(words).err,
              HasSubstr("uses use_dora, which is not supported"));
  folder_.Write("adapter_config.json",
                R"({"peft_type": "LORA", "init_lora_weights": "pissa"})");
  EXPECT_THAT(RunCli(words).err, HasSubstr("may change the base weights"));
}

// What torch.save() writes: a zip, stored, with a pickle and the numbers.
std::string TorchFile(const std::string& pickle) {
  const auto number = [](std::size_t value, std::size_t width) {
    std::string text;
    for (std::size_t i = 0; i < width; ++i, value >>= 8) {
      text += static_cast<char>(value);
    }
    return text;
  };
  std::string file;
  std::string list;
  const std::pair<std::string, std::string> entries[] = {
      {"m/data.pkl", pickle}, {"m/data/0", "01234567"}};
  for (const auto& [name, bytes] : entries) {
    const std::string sizes = number(0, 4) + number(bytes.size(), 4) +
                              number(bytes.size(), 4) + number(name.size(), 2) +
                              number(0, 2);
    const std::string head = number(0, 2) + number(0, 2) + number(0, 4) + sizes;
    list += "PK\1\2" + number(0, 4) + head + number(0, 10) +
            number(file.size(), 4) + name;
    file += "PK\3\4" + number(0, 2) + head + name + bytes;
  }
  return file + list + "PK\5\6" + number(0, 4) + number(2, 2) + number(2, 2) +
         number(list.size(), 4) + number(file.size(), 4) + number(0, 2);
}

// A state dict of one tensor whose dimensions are the bytes `dims`.
std::string TorchState(const std::string& dims) {
  return "\x80\x02}X" + std::string("\1\0\0\0", 4) +
         "actorch._utils\n_rebuild_tensor_v2\n((X" +
         std::string("\7\0\0\0", 4) + "storagectorch\nFloatStorage\nX" +
         std::string("\1\0\0\0", 4) + "0X" + std::string("\3\0\0\0", 4) +
         "cpuK\2tQK" + std::string("\0", 1) + dims + "tRs.";
}

// Each is one line with exit code 2, and nothing is executed.
TEST_F(RefitTest, ReadsAStrangersPickleAsData) {
  const std::string wide = std::string("\x8a\x07\0\0\0\0\0\0\x01", 9);
  const std::pair<std::string, std::string> cases[] = {
      {"\x80\x02"
       "cos\nsystem\nX" +
           std::string("\2\0\0\0", 4) + "ls\x85R.",
       "its pickle calls os system"},
      {"\x80\x02\x95.", "an instruction that state dicts do not use"},
      {"\x80\x02" + std::string(300000, ']') + std::string(299999, 'a') + ".",
       "holds no state dict"},
      {"\x80\x02h\1.", "its pickle is damaged"},
      {"\x80\x02t.", "its pickle is damaged"},
      {"\x80\x02X\xff\xff\xff\x7f.", "is cut off"},
      {TorchState("K\3\x85K\1\x85"), "is cut off"},
      // 2^48 by 2^15 numbers of 4 bytes: 2^65 bytes.
      {TorchState("(" + wide + "J" + std::string("\0\x80\0\0", 4) + "t(J" +
                  std::string("\0\x80\0\0", 4) + "K\1t"),
       "is cut off"},
  };
  for (const auto& [pickle, message] : cases) {
    SCOPED_TRACE(message);
    const std::string now = folder_.Write("now.pt", TorchFile(pickle));
    const CliResult result =
        RunCli({"weights", folder_.Write("m.onnx", model_), "--refit", now,
                "--was", now, "--dry-run"});
    EXPECT_EQ(result.exit, 2) << result.err;
    EXPECT_THAT(result.err, HasSubstr(message));
  }
  const std::string good =
      folder_.Write("now.pt", TorchFile(TorchState("K\2\x85K\1\x85")));
  EXPECT_EQ(RunCli({"weights", folder_ / "m.onnx", "--refit", good, "--was",
                    good, "--dry-run"})
                .exit,
            1);
}

// Each is one line with exit code 2, and nothing is read outside the file.
TEST_F(RefitTest, ChecksEveryOffsetOfAStrangersHead) {
  const std::pair<std::string, std::string> cases[] = {
      {R"({"a":{"dtype":"F32","shape":[2],"data_offsets":[0,9223372036854775808]}})",
       "its bytes are not in the file"},
      {R"({"a":{"dtype":"F32","shape":[2],"data_offsets":[8,0]}})",
       "its bytes are not in the file"},
      {R"({"a":{"dtype":"F32","shape":[3],"data_offsets":[0,8]}})",
       "do not fit into 8 bytes"},
      {R"({"a":{"dtype":"F32","shape":[4294967296,4294967296,1],"data_offsets":[0,8]}})",
       "do not fit into 8 bytes"},
      {R"({"a":{"dtype":"F32","shape":[281474976710656,32768],"data_offsets":[0,0]}})",
       "do not fit into 0 bytes"},
      {R"({"a":{"dtype":"F33","shape":[2],"data_offsets":[0,8]}})",
       "unknown type: F33"},
      {R"({"a":{"dtype":"F32","shape":[2],"data_offsets":[0,8]},)"
       R"("b":{"dtype":"F32","shape":[1],"data_offsets":[4,8]}})",
       "a and b overlap"},
      {R"({"a":{"dtype":"F32","shape":[-2],"data_offsets":[0,8]}})",
       "a whole number"},
      {R"({"a")", "line 1"},
  };
  for (const auto& [head, message] : cases) {
    SCOPED_TRACE(head);
    std::string file;
    for (std::size_t i = 0; i < 8; ++i) {
      file += static_cast<char>(head.size() >> (8 * i));
    }
    const std::string now =
        folder_.Write("now.safetensors", file + head + "01234567");
    const CliResult result =
        RunCli({"weights", folder_.Write("m.onnx", model_), "--refit", now,
                "--was", now, "--dry-run"});
    EXPECT_EQ(result.exit, 2) << result.err;
    EXPECT_THAT(result.err, HasSubstr(message));
  }
  for (const std::string bytes :
       {"", "PK", "PK\5\6", "\xff\xff\xff\xff\xff\xff\xff\x7f{}"}) {
    const std::string now = folder_.Write("now.pt", bytes);
    EXPECT_EQ(RunCli({"weights", folder_.Write("m.onnx", model_), "--refit",
                      now, "--was", now, "--dry-run"})
                  .exit,
              2);
  }
}

}  // namespace
}  // namespace onnx_tag::test
