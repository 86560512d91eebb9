// Makes the models that tests/bench/bench.sh measures.
//
//   make_model KIND NODES FILE
//
// KIND is
//   scoped    node names as torch writes them, for a transformer of 12 layers
//   unscoped  `MatMul_24` and numbers, as torch wrote them before 1.11
//   modules   as scoped, with one module and one parameter for each node
//   weights   as scoped, and 1.5 GB of weights in 2,500 initializers
//   constant  as scoped, and one Constant of 64 MB
//   external  as weights, with 100 GB of them in a sparse file beside the model
//
// A message's length stands before it, so the model is emitted twice: once to
// count and once to disk. What is held is one node.
#include <fmt/core.h>
#include <unistd.h>

#include <array>
#include <cstdint>
#include <cstdlib>
#include <fstream>
#include <functional>
#include <stdexcept>
#include <string>
#include <string_view>

#include "file/wire/encoding.h"

namespace onnx_tag {
namespace {

using wire::AppendLengthDelimited;
using wire::AppendVarintField;

// Where a model goes: counted or written.
class Sink {
 public:
  explicit Sink(std::ofstream* file) : file_(file) {}

  void Write(std::string_view bytes) {
    size_ += bytes.size();
    if (file_ != nullptr) {
      file_->write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
    }
  }

  // Weights. No zeros: a file system may leave those out.
  void Fill(std::uint64_t size) {
    static const std::string block = [] {
      std::string bytes(1 << 20, '\0');
      std::uint32_t state = 1;
      for (char& byte : bytes) {
        state = state * 1664525 + 1013904223;
        byte = static_cast<char>(state >> 24);
      }
      return bytes;
    }();
    if (file_ == nullptr) {
      size_ += size;
      return;
    }
    for (; size > block.size(); size -= block.size()) Write(block);
    Write(std::string_view(block).substr(0, size));
  }

  std::uint64_t size() const { return size_; }

 private:
  std::ofstream* file_;
  std::uint64_t size_ = 0;
};

constexpr std::uint64_t kWeightBytes = 1'500'000'000;
constexpr std::uint64_t kWeightCount = 2500;
constexpr std::uint64_t kConstantBytes = 64 << 20;
constexpr std::uint64_t kExternalBytes = 100'000'000'000;

struct Module {
  std::string_view scope;
  std::string_view path;
};
constexpr std::array<Module, 8> kModules = {{
    {"attn/query", "attn.query"},
    {"attn/key", "attn.key"},
    {"attn/value", "attn.value"},
    {"attn", "attn"},
    {"attn/out/dense", "attn.out.dense"},
    {"mlp/up", "mlp.up"},
    {"mlp/down", "mlp.down"},
    {"norm", "norm"},
}};
constexpr std::array<std::string_view, 4> kOps = {"MatMul", "Add", "Mul",
                                                  "Sub"};
constexpr std::uint64_t kLayers = 12;

class Generator {
 public:
  Generator(std::string_view kind, std::uint64_t nodes)
      : kind_(kind),
        nodes_(nodes),
        layers_(kind == "modules"
                    ? (nodes + kModules.size() - 1) / kModules.size()
                    : kLayers) {
    if (kind != "scoped" && kind != "unscoped" && kind != "modules" &&
        kind != "weights" && kind != "constant" && kind != "external") {
      throw std::runtime_error(fmt::format("no kind '{}'", kind));
    }
  }

  void EmitModel(Sink& out, std::uint64_t graph_size) const {
    std::string head;
    AppendVarintField(head, 1, 8);  // ir_version
    AppendLengthDelimited(head, 2, "pytorch");
    AppendLengthDelimited(head, 3, kind_ == "unscoped" ? "1.9" : "2.1.0");
    wire::AppendTag(head, 7, wire::WireType::kLengthDelimited);
    wire::AppendVarint(head, graph_size);
    out.Write(head);
    EmitGraph(out);
    std::string opset;
    AppendVarintField(opset, 2, 17);
    std::string tail;
    AppendLengthDelimited(tail, 8, opset);
    out.Write(tail);
  }

  void EmitGraph(Sink& out) const {
    std::string field;
    for (std::uint64_t i = 0; i < nodes_; ++i) {
      field.clear();
      AppendLengthDelimited(field, 1, Node(i));
      out.Write(field);
    }
    if (kind_ == "constant") EmitConstant(out);
    field.clear();
    AppendLengthDelimited(field, 2, "main_graph");
    out.Write(field);
    EmitInitializers(out);
    field.clear();
    std::string value;
    AppendLengthDelimited(value, 1, "input");
    AppendLengthDelimited(field, 11, value);
    value.clear();
    AppendLengthDelimited(value, 1, Output(nodes_ - 1));
    AppendLengthDelimited(field, 12, value);
    out.Write(field);
  }

 private:
  bool scoped() const { return kind_ != "unscoped"; }
  // Nodes of a layer stand together, and in it those of a module.
  std::uint64_t Layer(std::uint64_t i) const { return i * layers_ / nodes_; }
  std::size_t ModuleOf(std::uint64_t i) const {
    const std::uint64_t in_layer = i * layers_ % nodes_;
    return static_cast<std::size_t>(in_layer * kModules.size() / nodes_);
  }

  std::string Name(std::uint64_t i) const {
    const std::string_view op = kOps[i % kOps.size()];
    if (!scoped()) return fmt::format("{}_{}", op, i);
    return fmt::format("/layer.{}/{}/{}_{}", Layer(i),
                       kModules[ModuleOf(i)].scope, op, i);
  }

  std::string Output(std::uint64_t i) const {
    return scoped() ? Name(i) + "_output_0" : fmt::format("{}", i + 1000);
  }

  std::string WeightName(std::uint64_t k) const {
    if (k < layers_ * kModules.size()) {
      return fmt::format("layer.{}.{}.weight", k / kModules.size(),
                         kModules[k % kModules.size()].path);
    }
    return fmt::format("onnx::MatMul_{}", k);
  }

  std::string Node(std::uint64_t i) const {
    std::string node;
    AppendLengthDelimited(node, 1, i == 0 ? "input" : Output(i - 1));
    AppendLengthDelimited(node, 1,
                          WeightName(Layer(i) * kModules.size() + ModuleOf(i)));
    AppendLengthDelimited(node, 2, Output(i));
    AppendLengthDelimited(node, 3, Name(i));
    AppendLengthDelimited(node, 4, kOps[i % kOps.size()]);
    return node;
  }

  // A message of `size` bytes, of which `head` is the first part and weights
  // are the rest.
  static void EmitFilled(Sink& out, std::string_view head,
                         std::uint64_t weights) {
    out.Write(head);
    out.Fill(weights);
  }

  void EmitConstant(Sink& out) const {
    std::string tensor;
    AppendVarintField(tensor, 1, kConstantBytes / 4);  // dims
    AppendVarintField(tensor, 2, 1);                   // float
    wire::AppendTag(tensor, 9, wire::WireType::kLengthDelimited);
    wire::AppendVarint(tensor, kConstantBytes);
    std::string attribute;
    AppendLengthDelimited(attribute, 1, "value");
    AppendVarintField(attribute, 20, 4);
    wire::AppendTag(attribute, 5, wire::WireType::kLengthDelimited);
    wire::AppendVarint(attribute, tensor.size() + kConstantBytes);
    std::string node;
    AppendLengthDelimited(node, 2, "/norm/Constant_output_0");
    AppendLengthDelimited(node, 3, "/norm/Constant");
    AppendLengthDelimited(node, 4, "Constant");
    wire::AppendTag(node, 5, wire::WireType::kLengthDelimited);
    wire::AppendVarint(node, attribute.size() + tensor.size() + kConstantBytes);
    std::string field;
    wire::AppendTag(field, 1, wire::WireType::kLengthDelimited);
    wire::AppendVarint(
        field, node.size() + attribute.size() + tensor.size() + kConstantBytes);
    EmitFilled(out, field + node + attribute + tensor, kConstantBytes);
  }

  void EmitInitializers(Sink& out) const {
    const bool heavy = kind_ == "weights" || kind_ == "external";
    const std::uint64_t count =
        heavy ? kWeightCount : layers_ * kModules.size();
    const std::uint64_t bytes = kind_ == "weights"
                                    ? kWeightBytes / kWeightCount / 4 * 4
                                    : std::uint64_t{16};
    for (std::uint64_t k = 0; k < count; ++k) {
      std::string tensor;
      AppendVarintField(
          tensor, 1,
          kind_ == "external" ? kExternalBytes / kWeightCount / 4 : bytes / 4);
      AppendVarintField(tensor, 2, 1);
      AppendLengthDelimited(tensor, 8, WeightName(k));
      std::uint64_t weights = 0;
      if (kind_ == "external") {
        const auto entry = [&](std::string_view key, std::string_view value) {
          std::string text;
          AppendLengthDelimited(text, 1, key);
          AppendLengthDelimited(text, 2, value);
          AppendLengthDelimited(tensor, 13, text);
        };
        const std::uint64_t size = kExternalBytes / kWeightCount;
        entry("location", "external.data");
        entry("offset", fmt::format("{}", k * size));
        entry("length", fmt::format("{}", size));
        AppendVarintField(tensor, 14, 1);
      } else {
        weights = bytes;
        wire::AppendTag(tensor, 9, wire::WireType::kLengthDelimited);
        wire::AppendVarint(tensor, bytes);
      }
      std::string field;
      wire::AppendTag(field, 5, wire::WireType::kLengthDelimited);
      wire::AppendVarint(field, tensor.size() + weights);
      EmitFilled(out, field + tensor, weights);
    }
  }

  std::string_view kind_;
  std::uint64_t nodes_;
  std::uint64_t layers_;
};

void Make(std::string_view kind, std::uint64_t nodes, const std::string& path) {
  const Generator generator(kind, nodes);
  Sink counted(nullptr);
  generator.EmitGraph(counted);
  std::ofstream file(path, std::ios::binary);
  Sink written(&file);
  generator.EmitModel(written, counted.size());
  file.close();
  if (!file) throw std::runtime_error("cannot write " + path);
  if (kind == "external") {
    const std::string data =
        path.substr(0, path.rfind('/') + 1) + "external.data";
    std::ofstream(data, std::ios::binary).close();
    if (truncate(data.c_str(), kExternalBytes) != 0) {
      throw std::runtime_error("cannot write " + data);
    }
  }
}

}  // namespace
}  // namespace onnx_tag

int main(int argc, char** argv) {
  if (argc != 4) {
    fmt::print(stderr, "usage: make_model KIND NODES FILE\n");
    return 2;
  }
  try {
    onnx_tag::Make(argv[1], std::strtoull(argv[2], nullptr, 10), argv[3]);
  } catch (const std::exception& error) {
    fmt::print(stderr, "make_model: {}\n", error.what());
    return 1;
  }
  return 0;
}
