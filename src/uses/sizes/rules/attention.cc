#include "uses/sizes/rules/rules.h"

namespace onnx_tag::sizes {
namespace {

// The size of an axis of a state for the next run: what came before, and more.
Dim Longer(const NodeView& node, std::size_t past, std::int64_t axis,
           Dim more) {
  return node.Has(past) ? node.formulas().Plus(node.Size(past, axis), more)
                        : more;
}

// What queries, keys and values say that have heads apart or in one axis.
std::optional<AttentionSizes> PlainSizes(const NodeView& node) {
  const Shape* const query = node.Input(0);
  if (query == nullptr || node.Input(1) == nullptr ||
      node.Input(2) == nullptr) {
    return std::nullopt;
  }
  AttentionSizes sizes;
  sizes.batch = node.Size(0, 0);
  sizes.packed = query->size() == 3;
  if (sizes.packed) {
    sizes.heads = node.Int("q_num_heads");
    sizes.key_heads = node.Int("kv_num_heads");
    if (sizes.heads.Is(0) || sizes.key_heads.Is(0)) return std::nullopt;
    Formulas& formulas = node.formulas();
    sizes.key_size = formulas.Floor(node.Size(1, 2), sizes.key_heads);
    sizes.value_size = formulas.Floor(node.Size(2, 2), sizes.key_heads);
  } else {
    sizes.heads = node.Size(0, 1);
    sizes.key_heads = node.Size(1, 1);
    sizes.key_size = node.Size(1, 3);
    sizes.value_size = node.Size(2, 3);
  }
  const int axis = sizes.packed ? 1 : 2;
  sizes.length = node.Size(0, axis);
  sizes.total = Longer(node, 4, 2, node.Size(1, axis));
  return sizes;
}

// com.microsoft: [batch, sequence, hidden], or all three in the query:
// [batch, sequence, heads, 3, size]; keys and values may come with heads apart.
std::optional<AttentionSizes> MultiHeadSizes(const NodeView& node) {
  const Shape* const query = node.Input(0);
  const Shape* const key = node.Input(1);
  const Shape* const value = node.Input(2);
  if (query == nullptr || query->size() < 3) return std::nullopt;
  AttentionSizes sizes;
  sizes.packed = true;
  sizes.batch = node.Size(0, 0);
  sizes.heads = sizes.key_heads = node.Int("num_heads", 1);
  sizes.length = node.Size(0, 1);
  Dim keys;
  if (query->size() == 5) {
    sizes.key_size = sizes.value_size = node.Size(0, 4);
    keys = sizes.length;
  } else if (key != nullptr && key->size() == 5) {
    sizes.key_size = sizes.value_size = node.Size(1, 4);
    keys = node.Size(1, 1);
  } else {
    Formulas& formulas = node.formulas();
    sizes.key_size = formulas.Floor(node.Size(0, 2), sizes.heads);
    sizes.value_size = value == nullptr ? sizes.key_size
                       : value->size() == 4
                           ? node.Size(2, 3)
                           : formulas.Floor(node.Size(2, 2), sizes.heads);
    keys =
        key == nullptr ? sizes.length : node.Size(1, key->size() == 4 ? 2 : 1);
  }
  const bool step = node.op() == Op::kDecoderMaskedMultiHeadAttention;
  sizes.total = Longer(node, step ? 5 : 6, 2, keys);
  return sizes;
}

// com.microsoft: fewer heads of keys and values.
std::optional<AttentionSizes> GroupQuerySizes(const NodeView& node) {
  const Shape* const query = node.Input(0);
  const std::int64_t heads = node.Int("num_heads");
  const std::int64_t key_heads = node.Int("kv_num_heads");
  if (query == nullptr || query->size() != 3 || heads <= 0 || key_heads <= 0) {
    return std::nullopt;
  }
  Formulas& formulas = node.formulas();
  AttentionSizes sizes;
  sizes.packed = true;
  sizes.batch = node.Size(0, 0);
  sizes.length = node.Size(0, 1);
  sizes.heads = heads;
  sizes.key_heads = key_heads;
  const Dim all =
      formulas.Plus(heads, node.Has(1) ? Dim(0) : formulas.Times(key_heads, 2));
  sizes.key_size = sizes.value_size = formulas.Floor(node.Size(0, 2), all);
  sizes.total = node.InputSize(6);
  if (!sizes.total.known()) sizes.total = Longer(node, 3, 2, sizes.length);
  return sizes;
}

// The result, and keys, values and scores. The state for the next run may be a
// `buffer` that is longer than what it holds.
Facts GivesAttention(const NodeView& node, const AttentionSizes& sizes,
                     Dim buffer, std::int32_t key_type,
                     std::int32_t value_type) {
  const auto& [batch, heads, key_heads, length, total, key_size, value_size,
               packed] = sizes;
  const Dim hidden = node.formulas().Times(heads, value_size);
  return {
      {.shape = packed ? Shape{batch, length, hidden}
                       : Shape{batch, heads, length, value_size}},
      {.shape = Shape{batch, key_heads, buffer, key_size}, .type = key_type},
      {.shape = Shape{batch, key_heads, buffer, value_size},
       .type = value_type},
      {.shape = Shape{batch, heads, length, total}}};
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
  return GivesAttention(node, *sizes, sizes->total, node.InputType(1),
                        node.InputType(2));
}

Facts MultiHeadAttention(const NodeView& node) {
  const auto sizes = MultiHeadSizes(node);
  if (!sizes) return {};
  Facts facts = GivesAttention(node, *sizes, sizes->total, 0, 0);
  facts.pop_back();
  return facts;
}

Facts GroupQueryAttention(const NodeView& node) {
  const auto sizes = GroupQuerySizes(node);
  if (!sizes) return {};
  const Dim buffer = node.Has(3)
                         ? node.formulas().Max(node.Size(3, 2), sizes->total)
                         : sizes->total;
  Facts facts = GivesAttention(node, *sizes, buffer, node.InputType(3),
                               node.InputType(4));
  facts.pop_back();
  return facts;
}

Facts LinearAttention(const NodeView& node, const Shape& query) {
  const std::int64_t heads = node.Int("q_num_heads");
  const std::int64_t key_heads = node.Int("kv_num_heads");
  if (query.size() != 3 || heads <= 0 || key_heads <= 0) return {};
  Formulas& formulas = node.formulas();
  const Dim key_size = formulas.Floor(node.Size(1, 2), key_heads);
  const Dim value_size = formulas.Floor(node.Size(2, 2), key_heads);
  return {
      {.shape = Shape{query[0], query[1], formulas.Times(value_size, heads)}},
      {.shape = Shape{query[0], key_heads, key_size, value_size},
       .type = node.InputType(3)}};
}

// com.microsoft: [batch, sequence, hidden] with the projection in its weight.
Facts PackedAttention(const NodeView& node, const Shape& data) {
  if (data.size() != 3) return {};
  Formulas& formulas = node.formulas();
  const auto sizes = node.attributes().IntList("qkv_hidden_sizes");
  const std::int64_t heads = node.Int("num_heads");
  const Dim hidden = sizes && sizes->size() == 3
                         ? Dim((*sizes)[2])
                         : formulas.Floor(node.Size(1, 1), 3);
  const bool quantized = node.op() == Op::kQAttention;
  Fact state{.type = node.InputType(quantized ? 3 : 0)};
  if (heads > 0) {
    state.shape =
        Shape{2, data[0], heads, Longer(node, quantized ? 8 : 4, 3, data[1]),
              formulas.Floor(hidden, heads)};
  }
  return {{.shape = Shape{data[0], data[1], hidden}}, state};
}

// com.microsoft: the tokens of all sequences in one row.
Facts PackedTokens(const NodeView& node, const Shape& query) {
  if (query.empty()) return {};
  return Gives({query[0], node.op() == Op::kPackedAttention
                              ? node.formulas().Floor(node.Size(1, 1), 3)
                              : node.Size(2, -1)});
}

// com.microsoft: ids [batch, sequence], a table of words.
Facts EmbedLayerNorm(const NodeView& node, const Shape& ids) {
  if (ids.size() != 2) return {};
  const Fact result{.shape = With(ids, Shape{node.Size(2, 1)}),
                    .type = node.InputType(2)};
  return {result, {.shape = Shape{ids[0]}, .type = kInt32}, result};
}

// com.microsoft: BeamSearch gives [batch, sequences, length], the others
// [batch, length].
Facts Generation(const NodeView& node) {
  const Dim longest = node.OwnIfUnknown(node.InputSize(1), 2);
  const Shape one = {node.Size(0, 0), longest};
  if (node.op() != Op::kBeamSearch && node.op() != Op::kWhisperBeamSearch) {
    return Gives(one);
  }
  return {{.shape = Shape{one[0], node.InputSize(4), longest}},
          {.shape = Shape{one[0], node.InputSize(4)}, .type = kFloat}};
}

}  // namespace shape
}  // namespace onnx_tag::sizes
