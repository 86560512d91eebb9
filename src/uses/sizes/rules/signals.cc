// Signals, text, and the operators of ai.onnx.ml.
#include <algorithm>

#include "uses/sizes/rules/rules.h"

namespace onnx_tag::sizes {
namespace {

Dim Rows(const NodeView& node) {
  const Shape* const data = node.Input(0);
  if (data == nullptr) return kUnknownDim;
  return data->size() > 1 ? (*data)[0] : Dim(1);
}

// Half of the frequencies mirror the others.
Dim Frequencies(const NodeView& node, Dim length, std::int64_t otherwise) {
  Formulas& formulas = node.formulas();
  return node.attributes().Int("onesided", otherwise) != 0
             ? formulas.Plus(formulas.Floor(length, 2), 1)
             : length;
}

}  // namespace

Facts Fourier(const NodeView& node) {
  const Shape* const data = node.Input(0);
  if (data == nullptr || data->size() < 2) return {};
  std::int64_t place = node.attributes().Int("axis", -2);
  if (node.Has(2)) {
    const Dim given = node.InputSize(2);
    if (!given.IsNumber()) return GivesOwn(node, data->size());
    place = given.number();
  }
  const auto axis = Axis(place, data->size());
  if (!axis) return {};
  Shape shape = *data;
  const bool inverse = node.attributes().Int("inverse", 0) != 0;
  const bool onesided = node.attributes().Int("onesided", 0) != 0;
  Dim length = shape[*axis];
  if (node.Has(1)) {
    length = node.InputSize(1);
  } else if (inverse && onesided) {
    length = node.formulas().Times(node.formulas().Minus(length, 1), 2);
  }
  shape[*axis] = inverse ? length : Frequencies(node, length, 0);
  shape.back() = inverse && onesided ? 1 : 2;
  return Gives(std::move(shape));
}

Facts ShortFourier(const NodeView& node) {
  const Shape* const signal = node.Input(0);
  if (signal == nullptr || signal->size() < 2) return {};
  Dim frame = node.InputSize(3);
  const Shape* const window = node.Input(2);
  if (!node.Has(3) && window != nullptr && window->size() == 1) {
    frame = (*window)[0];
  }
  Formulas& formulas = node.formulas();
  const Dim step = node.InputSize(1);
  const Dim frames = formulas.Plus(
      formulas.Floor(formulas.Minus((*signal)[1], frame), step), 1);
  return Gives({(*signal)[0], frames, Frequencies(node, frame, 1), 2});
}

Facts ImageDecoder(const NodeView& node) {
  const bool gray =
      node.attributes().Text("pixel_format") == std::string_view("Grayscale");
  return Gives({node.Own(0, 0), node.Own(0, 1), gray ? 1 : 3});
}

Facts TextList(const NodeView& node) {
  const Shape* const data = node.Input(0);
  if (data == nullptr) return {};
  Shape shape = *data;
  if (node.op() == Op::kStringNormalizer) {
    // Stop words are left out.
    if (node.attributes().Has("stopwords") && !shape.empty()) {
      shape.back() = node.Own(0, 0);
    }
    return Gives(std::move(shape));
  }
  shape.push_back(node.Own(0, 0));
  Facts facts = Gives(std::move(shape));
  facts.push_back({.shape = *data, .type = kInt64});
  return facts;
}

Facts TfIdf(const NodeView& node) {
  const Shape* const data = node.Input(0);
  const auto columns = node.attributes().IntList("ngram_indexes");
  if (data == nullptr || data->empty() || !columns || columns->empty()) {
    return {};
  }
  Shape shape = *data;
  shape.back() = *std::max_element(columns->begin(), columns->end()) + 1;
  return Gives(std::move(shape));
}

// Labels, then a score for each class.
Facts Classifier(const NodeView& node) {
  const Dim rows = Rows(node);
  std::size_t classes = 0;
  bool text = false;
  for (const char* const name :
       {"classlabels_int64s", "classlabels_ints", "class_labels"}) {
    if (const auto labels = node.attributes().IntList(name)) {
      classes = std::max(classes, labels->size());
    }
  }
  for (const char* const name : {"classlabels_strings"}) {
    const std::size_t count = node.attributes().TextCount(name);
    text = text || count > 0;
    classes = std::max(classes, count);
  }
  Facts facts(2);
  facts[0] = {.shape = Shape{rows}, .type = text ? kString : kInt64};
  facts[1] = {
      .shape =
          Shape{rows, classes == 0 ? kUnknownDim
                                   : Dim(static_cast<std::int64_t>(classes))},
      .type = kFloat};
  return facts;
}

Facts Regressor(const NodeView& node) {
  const bool tree = node.name().starts_with("Tree");
  return Gives({Rows(node), node.name().starts_with("SVM")
                                ? Dim(1)
                                : Dim(node.attributes().Int(
                                      tree ? "n_targets" : "targets", 1))});
}

Facts FeatureVectorizer(const NodeView& node) {
  const auto columns = node.attributes().IntList("inputdimensions");
  Dim sum = 0;
  if (columns) {
    for (const std::int64_t one : *columns) {
      sum = node.formulas().Plus(sum, one);
    }
  } else {
    sum = kUnknownDim;
  }
  return Gives({Rows(node), sum});
}

Facts PickedColumns(const NodeView& node) {  // ArrayFeatureExtractor
  const Shape* const data = node.Input(0);
  const Shape* const which = node.Input(1);
  if (data == nullptr || which == nullptr) return {};
  const Dim count = node.Product(*which);
  if (data->size() <= 1) return Gives({1, count});
  Shape shape = *data;
  shape.back() = count;
  return Gives(std::move(shape));
}

Facts OneHotEncoder(const NodeView& node) {
  const Shape* const data = node.Input(0);
  if (data == nullptr) return {};
  std::size_t classes = node.attributes().TextCount("cats_strings");
  if (const auto numbers = node.attributes().IntList("cats_int64s")) {
    classes = std::max(classes, numbers->size());
  }
  Shape shape = *data;
  shape.push_back(static_cast<std::int64_t>(classes));
  return Gives(std::move(shape));
}

}  // namespace onnx_tag::sizes
