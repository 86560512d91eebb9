#include "recipes/tokens/program.h"

#include <algorithm>
#include <numeric>

#include "base/hash.h"
#include "base/interner.h"
#include "recipes/tokens/jumps.h"

namespace onnx_tag::recipes {
namespace {

std::uint64_t HashSorted(std::vector<std::uint64_t>& labels) {
  std::sort(labels.begin(), labels.end());
  std::uint64_t hash = labels.size() + 1;
  for (const std::uint64_t label : labels) hash = HashMix(hash, label);
  return hash;
}

}  // namespace

Shape ShapeOf(const TokenGraph& graph) {
  Shape shape;
  for (const Token& token : graph.tokens()) {
    shape.labels.emplace_back(token.label);
    shape.extras.emplace_back(token.extra);
    shape.inputs.push_back(token.inputs);
  }
  shape.outputs = graph.Outputs();
  return shape;
}

Shape ShapeOf(const Recipe& recipe) {
  Shape shape;
  for (const RecordedToken& token : recipe.tokens) {
    shape.labels.emplace_back(recipe.texts[token.label]);
    shape.extras.emplace_back(recipe.texts[token.extra]);
    shape.inputs.push_back(token.inputs);
  }
  shape.outputs = recipe.outputs;
  return shape;
}

Shape WithoutRelus(Shape shape) {
  const std::size_t count = shape.labels.size();
  shape.skipped.resize(count);
  for (std::size_t i = 0; i < count; ++i) {
    shape.skipped[i] = shape.labels[i] == "Relu" && shape.inputs[i].size() == 1;
  }
  const auto look_through = [&](std::uint32_t& token) {
    // Nearly all inputs precede their token, so no cycle can be longer.
    for (std::size_t step = 0; shape.skipped[token] && step < count; ++step) {
      token = shape.inputs[token][0];
    }
  };
  for (auto& inputs : shape.inputs) {
    std::for_each(inputs.begin(), inputs.end(), look_through);
  }
  std::for_each(shape.outputs.begin(), shape.outputs.end(), look_through);
  return shape;
}

std::vector<Step> MakeSteps(const Shape& shape, Order order) {
  const std::size_t count = shape.labels.size();
  std::vector<std::uint64_t> label(count);
  std::vector<std::vector<std::uint32_t>> readers(count);
  for (std::uint32_t i = 0; i < count; ++i) {
    label[i] = HashBytes(shape.labels[i]);
    if (!shape.skipped.empty() && shape.skipped[i]) continue;
    for (const std::uint32_t input : shape.inputs[i]) {
      readers[input].push_back(i);
    }
  }
  std::vector<std::uint32_t> sequence(count);
  std::iota(sequence.begin(), sequence.end(), 0);
  if (order == Order::kDepthFirst) {
    sequence = DepthFirstOrder(shape.inputs, shape.outputs);
  }
  std::vector<Step> steps;
  steps.reserve(count);
  std::vector<std::uint64_t> around;
  const auto hash_of = [&](const std::vector<std::uint32_t>& tokens) {
    around.clear();
    for (const std::uint32_t token : tokens) around.push_back(label[token]);
    return HashSorted(around);
  };
  for (const std::uint32_t token : sequence) {
    if (!shape.skipped.empty() && shape.skipped[token]) continue;
    const std::string_view text = shape.labels[token];
    steps.push_back(
        {.token = token,
         .label = label[token],
         .inputs = hash_of(shape.inputs[token]),
         .readers = hash_of(readers[token]),
         .extra = HashMix(label[token], HashBytes(shape.extras[token])),
         .soft = SoftClasses(text),
         .weight = LabelWeight(text),
         .solid = IsSolid(text),
         .convolution = text == "CONV",
         .batch_norm = text == "BN",
         .gather = text.starts_with("Gather")});
  }
  return steps;
}

RecordedPaths::RecordedPaths(const Recipe& recipe, AtomTable& atoms) {
  paths_.reserve(recipe.modules.size());
  generic_.reserve(recipe.modules.size());
  for (const RecordedModule& module : recipe.modules) {
    Path path;
    if (module.parent != kNone) {
      path = paths_[module.parent];
      path.push_back(atoms.Of(recipe.texts[module.atom]));
    }
    generic_.push_back(Generic(path));
    paths_.push_back(std::move(path));
  }
}

Program MakeProgram(const Recipe& recipe, const Shape& shape,
                    const RecordedPaths& paths, Order order) {
  Program program;
  program.steps = MakeSteps(shape, order);
  for (const Step& step : program.steps) {
    const RecordedToken& token = recipe.tokens[step.token];
    program.path.push_back(paths.of(token.module));
    program.generic.push_back(paths.generic(token.module));
    program.anchor.push_back(paths.of(token.anchor));
  }
  program.jumps = FindJumps(program);
  return program;
}

}  // namespace onnx_tag::recipes
