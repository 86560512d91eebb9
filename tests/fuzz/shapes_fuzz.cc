// Any bytes as a model: shapes, formulas and sizes are worked out without an
// error, whatever the operators are given, and sums add up.
#include "fuzz/read_any.h"
#include "fuzz/require.h"
#include "onnx_tag/tagging.h"
#include "uses/sizes/assumptions.h"
#include "uses/sizes/module_sizes.h"
#include "uses/sizes/shapes.h"

namespace onnx_tag {
namespace {

void CheckSizes(const Model& model) {
  sizes::Shapes shapes(model);
  for (const ValueId value : AllIds<ValueId>(model.value_count())) {
    if (!shapes.Of(value)) continue;
    for (const sizes::Dim dim : *shapes.Of(value)) {
      Require(!dim.IsNumber() || dim.number() >= 0);
    }
    shapes.BytesOf(value);
  }
  Tagging tagging;
  tagging.tags.resize(model.node_count());
  const sizes::ModelSizes sizes = sizes::CountSizes(
      model, tagging, shapes, sizes::Assumptions(model, shapes, {}));
  Require(sizes.flops.size() == model.node_count());
  // Nothing is tagged: all of it is untagged.
  Require(sizes.untagged.flops == sizes.all.flops);
  sizes::SumFormulas(model, tagging, shapes);
}

}  // namespace
}  // namespace onnx_tag

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data,
                                      std::size_t size) {
  using namespace onnx_tag;
  const std::optional<Model> model = ReadAny(data, size);
  if (model) CheckSizes(*model);
  return 0;
}
