#include "uses/sizes/rules/rules.h"

namespace onnx_tag::sizes {
namespace {

Dim At(const Shape* shape, std::size_t axis) {
  return shape != nullptr && axis < shape->size() ? (*shape)[axis]
                                                  : kUnknownDim;
}

// The size of an axis of a state for the next run: what came before, and more.
Dim Longer(const NodeView& node, std::size_t past, std::size_t axis, Dim more) {
  if (!node.Has(past)) return more;
  return node.formulas().Plus(At(node.Input(past), axis), more);
}

std::optional<AttentionSizes> PlainSizes(const NodeView& node) {
  const Shape* const query = node.Input(0);
  const Shape* const key = node.Input(1);
  const Shape* const value = node.Input(2);
  if (query == nullptr || key == nullptr || value == nullptr) {
    return std::nullopt;
  }
  AttentionSizes sizes;
  sizes.batch = At(query, 0);
  sizes.packed = query->size() == 3;
  Dim keys;
  if (sizes.packed) {
    sizes.heads = node.attributes().Int("q_num_heads", 0);
    sizes.key_heads = node.attributes().Int("kv_num_heads", 0);
    if (sizes.heads.Is(0) || sizes.key_heads.Is(0)) return std::nullopt;
    sizes.length = At(query, 1);
    keys = At(key, 1);
    sizes.key_size = node.formulas().Floor(At(key, 2), sizes.key_heads);
    sizes.value_size = node.formulas().Floor(At(value, 2), sizes.key_heads);
  } else {
    sizes.heads = At(query, 1);
    sizes.key_heads = At(key, 1);
    sizes.length = At(query, 2);
    keys = At(key, 2);
    sizes.key_size = At(key, 3);
    sizes.value_size = At(value, 3);
  }
  sizes.total = Longer(node, 4, 2, keys);
  return sizes;
}

std::optional<AttentionSizes> MultiHeadSizes(const NodeView& node) {
  const Shape* const query = node.Input(0);
  const Shape* const key = node.Input(1);
  const Shape* const value = node.Input(2);
  if (query == nullptr || query->size() < 3) return std::nullopt;
  Formulas& formulas = node.formulas();
  AttentionSizes sizes;
  sizes.packed = true;
  sizes.heads = sizes.key_heads = node.attributes().Int("num_heads", 1);
  sizes.batch = At(query, 0);
  sizes.length = At(query, 1);
  Dim keys;
  if (query->size() == 5) {
    sizes.key_size = sizes.value_size = At(query, 4);
    keys = sizes.length;
  } else if (key != nullptr && key->size() == 5) {
    sizes.key_size = sizes.value_size = At(key, 4);
    keys = At(key, 1);
  } else {
    sizes.key_size = formulas.Floor(At(query, 2), sizes.heads);
    const bool apart = value != nullptr && value->size() == 4;
    sizes.value_size = value == nullptr ? sizes.key_size
                       : apart          ? At(value, 3)
                               : formulas.Floor(At(value, 2), sizes.heads);
    keys = key == nullptr ? sizes.length : At(key, key->size() == 4 ? 2 : 1);
  }
  const bool step = node.op() == Op::kDecoderMaskedMultiHeadAttention;
  sizes.total = Longer(node, step ? 5 : 6, 2, keys);
  return sizes;
}

std::optional<AttentionSizes> GroupQuerySizes(const NodeView& node) {
  const Shape* const query = node.Input(0);
  const std::int64_t heads = node.attributes().Int("num_heads", 0);
  const std::int64_t key_heads = node.attributes().Int("kv_num_heads", 0);
  if (query == nullptr || query->size() != 3 || heads <= 0 || key_heads <= 0) {
    return std::nullopt;
  }
  AttentionSizes sizes;
  sizes.packed = true;
  sizes.batch = At(query, 0);
  sizes.length = At(query, 1);
  sizes.heads = heads;
  sizes.key_heads = key_heads;
  const Dim all = node.formulas().Plus(
      heads, node.Has(1) ? Dim(0) : node.formulas().Times(key_heads, 2));
  sizes.key_size = sizes.value_size = node.formulas().Floor(At(query, 2), all);
  sizes.total = node.InputSize(6);
  if (!sizes.total.known()) sizes.total = Longer(node, 3, 2, sizes.length);
  return sizes;
}

}  // namespace

std::optional<AttentionSizes> AttentionSizesOf(const NodeView& node) {
  const ShapeRule rule = RulesOf(node.op()).shape;
  if (rule == shape::Attention) return PlainSizes(node);
  if (rule == shape::MultiHeadAttention) return MultiHeadSizes(node);
  if (rule == shape::GroupQueryAttention) return GroupQuerySizes(node);
  return std::nullopt;
}

namespace shape {

// ONNX: [batch, heads, sequence, size] or [batch, sequence, heads · size].
Facts Attention(const NodeView& node) {
  const auto sizes = PlainSizes(node);
  if (!sizes) return {};
  const auto& [batch, heads, key_heads, length, total, key_size, value_size,
               packed] = *sizes;
  Facts facts(4);
  facts[0].shape =
      packed ? Shape{batch, length, node.formulas().Times(heads, value_size)}
             : Shape{batch, heads, length, value_size};
  facts[1].shape = Shape{batch, key_heads, total, key_size};
  facts[2].shape = Shape{batch, key_heads, total, value_size};
  facts[3].shape = Shape{batch, heads, length, total};
  facts[1].type = node.InputType(1);
  facts[2].type = node.InputType(2);
  return facts;
}

Facts LinearAttention(const NodeView& node) {
  const Shape* const query = node.Input(0);
  const Shape* const key = node.Input(1);
  const Shape* const value = node.Input(2);
  const std::int64_t heads = node.attributes().Int("q_num_heads", 0);
  const std::int64_t key_heads = node.attributes().Int("kv_num_heads", 0);
  if (query == nullptr || query->size() != 3 || heads <= 0 || key_heads <= 0) {
    return {};
  }
  Formulas& formulas = node.formulas();
  const Dim value_size = formulas.Floor(At(value, 2), key_heads);
  Facts facts(2);
  facts[0].shape =
      Shape{At(query, 0), At(query, 1), formulas.Times(value_size, heads)};
  facts[1].shape = Shape{At(query, 0), key_heads,
                         formulas.Floor(At(key, 2), key_heads), value_size};
  facts[1].type = node.Has(3) ? node.InputType(3) : node.InputType(0);
  return facts;
}

// com.microsoft: [batch, sequence, hidden], or all three in the query:
// [batch, sequence, heads, 3, size]; keys and values may come with heads apart.
Facts MultiHeadAttention(const NodeView& node) {
  const auto sizes = MultiHeadSizes(node);
  if (!sizes) return {};
  Facts facts(3);
  facts[0].shape =
      Shape{sizes->batch, sizes->length,
            node.formulas().Times(sizes->heads, sizes->value_size)};
  facts[1].shape =
      Shape{sizes->batch, sizes->heads, sizes->total, sizes->key_size};
  facts[2].shape =
      Shape{sizes->batch, sizes->heads, sizes->total, sizes->value_size};
  return facts;
}

// com.microsoft: fewer heads of keys and values; the state may be a buffer that
// is longer than what it holds.
Facts GroupQueryAttention(const NodeView& node) {
  const auto sizes = GroupQuerySizes(node);
  if (!sizes) return {};
  Dim buffer = sizes->total;
  if (node.Has(3)) {
    buffer = node.formulas().Max(At(node.Input(3), 2), sizes->total);
  }
  Facts facts(3);
  facts[0].shape = Shape{sizes->batch, sizes->length,
                         node.formulas().Times(sizes->key_size, sizes->heads)};
  facts[1].shape = facts[2].shape =
      Shape{sizes->batch, sizes->key_heads, buffer, sizes->key_size};
  if (node.Has(3)) facts[1].type = node.InputType(3);
  if (node.Has(4)) facts[2].type = node.InputType(4);
  return facts;
}

// com.microsoft: [batch, sequence, hidden] with the projection in its weight.
Facts PackedAttention(const NodeView& node) {
  const Shape* const data = node.Input(0);
  const Shape* const weight = node.Input(1);
  if (data == nullptr || data->size() != 3) return {};
  Formulas& formulas = node.formulas();
  const auto sizes = node.attributes().IntList("qkv_hidden_sizes");
  const std::int64_t heads = node.attributes().Int("num_heads", 0);
  Dim hidden;
  if (sizes && sizes->size() == 3) {
    hidden = (*sizes)[2];
  } else {
    hidden = formulas.Floor(At(weight, 1), 3);
  }
  const std::size_t past = node.op() == Op::kQAttention ? 8 : 4;
  Facts facts(2);
  facts[0].shape = Shape{(*data)[0], (*data)[1], hidden};
  if (heads > 0) {
    facts[1].shape =
        Shape{2, (*data)[0], heads, Longer(node, past, 3, (*data)[1]),
              formulas.Floor(hidden, heads)};
    facts[1].type = node.InputType(3);
    if (node.op() != Op::kQAttention) facts[1].type = node.InputType(0);
  }
  return facts;
}

// com.microsoft: the tokens of all sequences in one row.
Facts PackedTokens(const NodeView& node) {
  const Shape* const query = node.Input(0);
  if (query == nullptr || query->empty()) return {};
  if (node.op() == Op::kPackedAttention) {
    const Dim hidden = node.formulas().Floor(At(node.Input(1), 1), 3);
    return Gives({(*query)[0], hidden});
  }
  const Shape* const value = node.Input(2);
  return Gives({(*query)[0], value == nullptr ? kUnknownDim : value->back()});
}

// com.microsoft: ids [batch, sequence], a table of words.
Facts EmbedLayerNorm(const NodeView& node) {
  const Shape* const ids = node.Input(0);
  const Shape* const table = node.Input(2);
  if (ids == nullptr || ids->size() != 2) return {};
  Facts facts(3);
  facts[0].shape = facts[2].shape = Shape{(*ids)[0], (*ids)[1], At(table, 1)};
  facts[0].type = facts[2].type = node.InputType(2);
  facts[1] = {.shape = Shape{(*ids)[0]}, .type = kInt32};
  return facts;
}

// com.microsoft: BeamSearch gives [batch, sequences, length], the others
// [batch, length].
Facts Generation(const NodeView& node) {
  const Shape* const ids = node.Input(0);
  const Dim batch = At(ids, 0);
  Dim longest = node.InputSize(1);
  if (!longest.known()) longest = node.Own(0, 2);
  Shape shape = {batch};
  const bool beams =
      node.op() == Op::kBeamSearch || node.op() == Op::kWhisperBeamSearch;
  if (beams) shape.push_back(node.InputSize(4));
  shape.push_back(longest);
  Facts facts = Gives(shape);
  if (beams) {
    shape.pop_back();
    facts.push_back({.shape = std::move(shape), .type = kFloat});
  }
  return facts;
}

}  // namespace shape
}  // namespace onnx_tag::sizes
