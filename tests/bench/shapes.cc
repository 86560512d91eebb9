// What is known of the shapes in models, for tests against ONNX Runtime.
//
//   shapes --share LIST     for each file named in LIST: nodes with known
//                           shapes, known as formulas, unknown
//   shapes MODEL [NAME=N...]  each value of the main graph: its shape, and the
//                           numbers for these dimensions
#include "uses/sizes/shapes.h"

#include <fmt/core.h>

#include <algorithm>
#include <charconv>
#include <fstream>
#include <string>
#include <vector>

#include "onnx_tag/error.h"
#include "onnx_tag/model.h"
#include "uses/sizes/formulas.h"

namespace {

using namespace onnx_tag;
using sizes::Dim;
using sizes::Shapes;

std::string ReadFile(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

bool IsDynamic(const Model& model) {
  for (const ValueId value : model[GraphId{0}].inputs) {
    if (model.InitializerOf(value) != nullptr) continue;
    const ValueInfo* const info = model.InfoOf(value);
    if (info == nullptr || !info->has_shape) continue;
    for (const std::int64_t dim : model.Dims(*info)) {
      if (dim < 0) return true;
    }
  }
  return false;
}

// 0: numbers, 1: formulas, 2: names that depend on data, 3: unknown.
int KindOf(const Shapes& shapes, ValueId value) {
  if (shapes.SequenceOf(value) != nullptr) return 0;
  const auto& shape = shapes.Of(value);
  if (!shape) return 3;
  int kind = 0;
  for (const Dim dim : *shape) {
    if (!dim.known()) return 3;
    if (dim.IsNumber()) continue;
    kind = std::max(kind, shapes.formulas().HasData(dim) ? 2 : 1);
  }
  return kind;
}

void PrintShare(const std::string& path) {
  const std::string bytes = ReadFile(path);
  try {
    const Model model = ReadModel(bytes);
    const Shapes shapes(model);
    std::size_t counts[4] = {};
    std::size_t flops = 0;
    for (const NodeId node : model.Nodes()) {
      int kind = 0;
      for (const ValueId output : model.Outputs(node)) {
        if (output != kNo<ValueId>)
          kind = std::max(kind, KindOf(shapes, output));
      }
      ++counts[kind];
      if (shapes.Flops(node).known()) ++flops;
    }
    fmt::print("{}\t{}\t{}\t{}\t{}\t{}\t{}\t{}\t{}\n", path,
               IsDynamic(model) ? 1 : 0, model.node_count(), counts[0],
               counts[1], counts[2], counts[3], flops,
               shapes.contradiction_count());
  } catch (const Error& error) {
    fmt::print("{}\terror\t{}\n", path, error.what());
  }
}

std::string ShapeText(const Shapes& shapes, const sizes::Shape& shape,
                      const sizes::Evaluation* numbers) {
  std::string text = "[";
  for (const Dim dim : shape) {
    if (text.size() > 1) text += ", ";
    text += FormulaText(shapes.formulas(), numbers ? (*numbers)(dim) : dim);
  }
  return text + "]";
}

int PrintValues(const std::string& path, std::span<char* const> words) {
  const std::string bytes = ReadFile(path);
  const Model model = ReadModel(bytes);
  const Shapes shapes(model);
  sizes::Evaluation numbers(shapes.formulas());
  for (const std::string_view word : words) {
    const std::size_t equals = word.rfind('=');
    std::int64_t number = 0;
    std::from_chars(word.data() + equals + 1, word.data() + word.size(),
                    number);
    const auto symbol = shapes.formulas().OnlySymbol(
        shapes.formulas().Find(word.substr(0, equals)));
    if (symbol != kNo<sizes::SymbolId>) numbers.Set(symbol, number);
  }
  for (std::size_t i = 0; i < model.value_count(); ++i) {
    const auto value = MakeId<ValueId>(i);
    if (model[value].graph != GraphId{0}) continue;
    const auto& shape = shapes.Of(value);
    fmt::print("{}\t{}\t{}\t{}\n", model.ValueName(value), shapes.TypeOf(value),
               !shape ? "?" : ShapeText(shapes, *shape, &numbers),
               !shape ? "?" : ShapeText(shapes, *shape, nullptr));
  }
  for (const sizes::Contradiction& one : shapes.contradictions()) {
    fmt::print(stderr, "{}: recorded {}, inferred {}\n",
               model.ValueName(one.value),
               ShapeText(shapes, one.recorded, nullptr),
               ShapeText(shapes, one.inferred, nullptr));
  }
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  const std::span<char* const> words(argv, static_cast<std::size_t>(argc));
  if (words.size() == 3 && std::string_view(words[1]) == "--share") {
    std::ifstream list(words[2]);
    for (std::string path; std::getline(list, path);) PrintShare(path);
    return 0;
  }
  if (words.size() < 2) return 2;
  return PrintValues(words[1], words.subspan(2));
}
