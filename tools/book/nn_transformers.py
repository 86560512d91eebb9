"""Transformers as projects write them by hand, of torch.nn and of their own attention; for the recipe book."""
from __future__ import annotations

import math
from typing import Tuple

import torch
from torch import Tensor, nn
from torch.nn import functional


class Sentence(nn.Module):
    """Embedding, positions, nn.TransformerEncoder, a head."""

    def __init__(self, norm_first: bool, final: bool, batch_first: bool = True) -> None:
        super().__init__()
        self.embedding = nn.Embedding(64, 32)
        self.pos_encoder = nn.Embedding(16, 32)
        layer = nn.TransformerEncoderLayer(32, 4, 48, batch_first=batch_first, norm_first=norm_first,
                                           activation="gelu" if final else "relu")
        self.transformer_encoder = nn.TransformerEncoder(layer, 2, norm=nn.LayerNorm(32) if final else None,
                                                         enable_nested_tensor=False)
        self.fc = nn.Linear(32, 3)

    def forward(self, src: Tensor) -> Tensor:
        x = self.embedding(src) + self.pos_encoder(torch.arange(src.shape[1]))
        return self.fc(self.transformer_encoder(x).mean(dim=1))


class Translator(nn.Module):
    """nn.Transformer between two embeddings and a generator."""

    def __init__(self) -> None:
        super().__init__()
        self.src_embed = nn.Embedding(64, 32)
        self.tgt_embed = nn.Embedding(64, 32)
        self.transformer = nn.Transformer(32, 4, 2, 2, 48, batch_first=True)
        self.generator = nn.Linear(32, 64)

    def forward(self, src: Tensor, tgt: Tensor) -> Tensor:
        mask = torch.triu(torch.full((tgt.shape[1], tgt.shape[1]), float("-inf")), diagonal=1)
        return self.generator(self.transformer(self.src_embed(src), self.tgt_embed(tgt), tgt_mask=mask))


class CausalSelfAttention(nn.Module):
    def __init__(self, width: int, heads: int, flash: bool) -> None:
        super().__init__()
        self.c_attn = nn.Linear(width, 3 * width)
        self.c_proj = nn.Linear(width, width)
        self.heads, self.flash = heads, flash
        self.register_buffer("bias", torch.tril(torch.ones(16, 16)).view(1, 1, 16, 16))

    def forward(self, x: Tensor) -> Tensor:
        batch, length, width = x.size()
        q, k, v = self.c_attn(x).split(width, dim=2)
        k = k.view(batch, length, self.heads, width // self.heads).transpose(1, 2)
        q = q.view(batch, length, self.heads, width // self.heads).transpose(1, 2)
        v = v.view(batch, length, self.heads, width // self.heads).transpose(1, 2)
        if self.flash:
            y = functional.scaled_dot_product_attention(q, k, v, is_causal=True)
        else:
            att = (q @ k.transpose(-2, -1)) * (1.0 / math.sqrt(k.size(-1)))
            att = att.masked_fill(self.bias[:, :, :length, :length] == 0, float("-inf"))
            y = functional.softmax(att, dim=-1) @ v
        return self.c_proj(y.transpose(1, 2).contiguous().view(batch, length, width))


class Mlp(nn.Module):
    def __init__(self, width: int) -> None:
        super().__init__()
        self.c_fc = nn.Linear(width, 4 * width)
        self.gelu = nn.GELU()
        self.c_proj = nn.Linear(4 * width, width)

    def forward(self, x: Tensor) -> Tensor:
        return self.c_proj(self.gelu(self.c_fc(x)))


class Block(nn.Module):
    def __init__(self, width: int, heads: int, flash: bool) -> None:
        super().__init__()
        self.ln_1 = nn.LayerNorm(width)
        self.attn = CausalSelfAttention(width, heads, flash)
        self.ln_2 = nn.LayerNorm(width)
        self.mlp = Mlp(width)

    def forward(self, x: Tensor) -> Tensor:
        x = x + self.attn(self.ln_1(x))
        return x + self.mlp(self.ln_2(x))


class SmallGpt(nn.Module):
    """The decoder that teaching projects write: a ModuleDict with wte, wpe, h, ln_f."""

    def __init__(self, flash: bool) -> None:
        super().__init__()
        self.transformer = nn.ModuleDict(dict(
            wte=nn.Embedding(64, 32), wpe=nn.Embedding(16, 32), drop=nn.Dropout(0.1),
            h=nn.ModuleList([Block(32, 4, flash) for _ in range(2)]), ln_f=nn.LayerNorm(32)))
        self.lm_head = nn.Linear(32, 64, bias=False)

    def forward(self, idx: Tensor) -> Tensor:
        pos = torch.arange(0, idx.shape[1], dtype=torch.long)
        x = self.transformer.drop(self.transformer.wte(idx) + self.transformer.wpe(pos))
        for block in self.transformer.h:
            x = block(x)
        return self.lm_head(self.transformer.ln_f(x))


class Attended(nn.Module):
    """nn.MultiheadAttention between a projection and a norm."""

    def __init__(self) -> None:
        super().__init__()
        self.proj = nn.Linear(16, 32)
        self.attn = nn.MultiheadAttention(32, 4, batch_first=True)
        self.cross = nn.MultiheadAttention(32, 4, kdim=16, vdim=16, batch_first=True)
        self.norm = nn.LayerNorm(32)
        self.head = nn.Sequential(nn.Linear(32, 24), nn.ReLU(), nn.Linear(24, 3))

    def forward(self, x: Tensor) -> Tensor:
        y = self.proj(x)
        y = self.norm(y + self.attn(y, y, y, need_weights=False)[0])
        y = y + self.cross(y, x, x)[0]
        return self.head(y.mean(dim=1))


class PositionalEncoding(nn.Module):
    def __init__(self, width: int, length: int = 32) -> None:
        super().__init__()
        self.dropout = nn.Dropout(0.1)
        position = torch.arange(length).unsqueeze(1)
        rates = torch.exp(torch.arange(0, width, 2) * (-math.log(10000.0) / width))
        pe = torch.zeros(1, length, width)
        pe[0, :, 0::2], pe[0, :, 1::2] = torch.sin(position * rates), torch.cos(position * rates)
        self.register_buffer("pe", pe)

    def forward(self, x: Tensor) -> Tensor:
        return self.dropout(x + self.pe[:, :x.size(1)])


class MaskedTransformer(nn.Module):
    """The language model of the torch.nn tutorial: sines, an encoder with a causal mask."""

    def __init__(self, batch_first: bool) -> None:
        super().__init__()
        self.pos_encoder = PositionalEncoding(32)
        layer = nn.TransformerEncoderLayer(32, 4, 48, batch_first=batch_first)
        self.transformer_encoder = nn.TransformerEncoder(layer, 2, enable_nested_tensor=False)
        self.encoder = nn.Embedding(64, 32)
        self.decoder = nn.Linear(32, 64)

    def forward(self, src: Tensor) -> Tensor:
        x = self.pos_encoder(self.encoder(src) * math.sqrt(32))
        mask = torch.triu(torch.full((x.shape[1], x.shape[1]), float("-inf")), diagonal=1)
        if not self.transformer_encoder.layers[0].self_attn.batch_first:
            x = x.transpose(0, 1)
        return self.decoder(self.transformer_encoder(x, mask))


class SeriesTransformer(nn.Module):
    """Numbers in, a transformer encoder, a class or a value out."""

    def __init__(self) -> None:
        super().__init__()
        self.input_proj = nn.Linear(4, 32)
        self.cls_token = nn.Parameter(torch.zeros(1, 1, 32))
        self.pos_embedding = nn.Parameter(torch.zeros(1, 9, 32))
        layer = nn.TransformerEncoderLayer(32, 4, 64, batch_first=True, norm_first=True, activation="gelu")
        self.encoder = nn.TransformerEncoder(layer, 2, enable_nested_tensor=False)
        self.norm = nn.LayerNorm(32)
        self.head = nn.Linear(32, 3)

    def forward(self, x: Tensor) -> Tensor:
        x = self.input_proj(x)
        x = torch.cat([self.cls_token.expand(x.shape[0], -1, -1), x], dim=1) + self.pos_embedding
        return self.head(self.norm(self.encoder(x))[:, 0])


class MultiHeadAttention(nn.Module):
    """As the paper is written down in most projects: four linear layers."""

    def __init__(self, width: int, heads: int, names: Tuple[str, str, str, str]) -> None:
        super().__init__()
        self.num_heads, self.names = heads, names
        for name in names:
            setattr(self, name, nn.Linear(width, width))
        self.dropout = nn.Dropout(0.1)

    def forward(self, query: Tensor, key: Tensor, value: Tensor, mask: "Tensor | None" = None) -> Tensor:
        batch, _, width = query.shape
        head = width // self.num_heads
        q, k, v = (getattr(self, name)(x).view(batch, -1, self.num_heads, head).transpose(1, 2)
                   for name, x in zip(self.names, (query, key, value)))
        scores = torch.matmul(q, k.transpose(-2, -1)) / math.sqrt(head)
        if mask is not None:
            scores = scores.masked_fill(mask == 0, -1e9)
        out = torch.matmul(self.dropout(functional.softmax(scores, dim=-1)), v)
        return getattr(self, self.names[3])(out.transpose(1, 2).contiguous().view(batch, -1, width))


class FeedForward(nn.Module):
    def __init__(self, width: int, names: Tuple[str, str]) -> None:
        super().__init__()
        self.names = names
        setattr(self, names[0], nn.Linear(width, 2 * width))
        self.dropout = nn.Dropout(0.1)
        setattr(self, names[1], nn.Linear(2 * width, width))

    def forward(self, x: Tensor) -> Tensor:
        first, second = (getattr(self, name) for name in self.names)
        return second(self.dropout(functional.relu(first(x))))


class EncoderLayer(nn.Module):
    def __init__(self, attention: Tuple[str, str, str, str], forward: Tuple[str, str]) -> None:
        super().__init__()
        self.self_attn = MultiHeadAttention(32, 4, attention)
        self.feed_forward = FeedForward(32, forward)
        self.norm1, self.norm2 = nn.LayerNorm(32), nn.LayerNorm(32)
        self.dropout = nn.Dropout(0.1)

    def forward(self, x: Tensor, mask: "Tensor | None" = None) -> Tensor:
        x = self.norm1(x + self.dropout(self.self_attn(x, x, x, mask)))
        return self.norm2(x + self.dropout(self.feed_forward(x)))


class DecoderLayer(nn.Module):
    def __init__(self, attention: Tuple[str, str, str, str], forward: Tuple[str, str]) -> None:
        super().__init__()
        self.self_attn = MultiHeadAttention(32, 4, attention)
        self.cross_attn = MultiHeadAttention(32, 4, attention)
        self.feed_forward = FeedForward(32, forward)
        self.norm1, self.norm2, self.norm3 = nn.LayerNorm(32), nn.LayerNorm(32), nn.LayerNorm(32)
        self.dropout = nn.Dropout(0.1)

    def forward(self, x: Tensor, memory: Tensor, mask: Tensor) -> Tensor:
        x = self.norm1(x + self.dropout(self.self_attn(x, x, x, mask)))
        x = self.norm2(x + self.dropout(self.cross_attn(x, memory, memory)))
        return self.norm3(x + self.dropout(self.feed_forward(x)))


class OwnTransformer(nn.Module):
    """The whole of the paper, written anew: lists of layers, attention of one's own."""

    def __init__(self, attention: Tuple[str, str, str, str], forward: Tuple[str, str]) -> None:
        super().__init__()
        self.encoder_embedding, self.decoder_embedding = nn.Embedding(64, 32), nn.Embedding(64, 32)
        self.positional_encoding = PositionalEncoding(32)
        self.encoder_layers = nn.ModuleList([EncoderLayer(attention, forward) for _ in range(2)])
        self.decoder_layers = nn.ModuleList([DecoderLayer(attention, forward) for _ in range(2)])
        self.fc = nn.Linear(32, 64)
        self.dropout = nn.Dropout(0.1)

    def forward(self, src: Tensor, tgt: Tensor) -> Tensor:
        length = tgt.shape[1]
        mask = torch.tril(torch.ones(1, 1, length, length))
        memory = self.dropout(self.positional_encoding(self.encoder_embedding(src)))
        x = self.dropout(self.positional_encoding(self.decoder_embedding(tgt)))
        for layer in self.encoder_layers:
            memory = layer(memory)
        for layer in self.decoder_layers:
            x = layer(x, memory, mask)
        return self.fc(x)


class OwnEncoder(nn.Module):
    """A classifier of such layers."""

    def __init__(self, attention: Tuple[str, str, str, str], forward: Tuple[str, str]) -> None:
        super().__init__()
        self.embedding = nn.Embedding(64, 32)
        self.pos_encoding = PositionalEncoding(32)
        self.layers = nn.ModuleList([EncoderLayer(attention, forward) for _ in range(2)])
        self.classifier = nn.Linear(32, 3)

    def forward(self, x: Tensor) -> Tensor:
        x = self.pos_encoding(self.embedding(x))
        for layer in self.layers:
            x = layer(x)
        return self.classifier(x.mean(dim=1))


class Head(nn.Module):
    """One head of a decoder that is written head by head."""

    def __init__(self, width: int, size: int) -> None:
        super().__init__()
        self.key, self.query, self.value = (nn.Linear(width, size, bias=False) for _ in range(3))
        self.register_buffer("tril", torch.tril(torch.ones(16, 16)))

    def forward(self, x: Tensor) -> Tensor:
        _, length, _ = x.shape
        k, q = self.key(x), self.query(x)
        weights = q @ k.transpose(-2, -1) * k.shape[-1] ** -0.5
        weights = weights.masked_fill(self.tril[:length, :length] == 0, float("-inf"))
        return functional.softmax(weights, dim=-1) @ self.value(x)


class ManyHeads(nn.Module):
    def __init__(self, heads: int, size: int) -> None:
        super().__init__()
        self.heads = nn.ModuleList([Head(heads * size, size) for _ in range(heads)])
        self.proj = nn.Linear(heads * size, heads * size)
        self.dropout = nn.Dropout(0.2)

    def forward(self, x: Tensor) -> Tensor:
        return self.dropout(self.proj(torch.cat([head(x) for head in self.heads], dim=-1)))


class HeadwiseForward(nn.Module):
    def __init__(self, width: int) -> None:
        super().__init__()
        self.net = nn.Sequential(nn.Linear(width, 4 * width), nn.ReLU(), nn.Linear(4 * width, width), nn.Dropout(0.2))

    def forward(self, x: Tensor) -> Tensor:
        return self.net(x)


class HeadwiseBlock(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.sa = ManyHeads(4, 8)
        self.ffwd = HeadwiseForward(32)
        self.ln1, self.ln2 = nn.LayerNorm(32), nn.LayerNorm(32)

    def forward(self, x: Tensor) -> Tensor:
        x = x + self.sa(self.ln1(x))
        return x + self.ffwd(self.ln2(x))


class HeadwiseGpt(nn.Module):
    """The decoder of lessons: blocks in a Sequential, heads in a list."""

    def __init__(self) -> None:
        super().__init__()
        self.token_embedding_table = nn.Embedding(64, 32)
        self.position_embedding_table = nn.Embedding(16, 32)
        self.blocks = nn.Sequential(HeadwiseBlock(), HeadwiseBlock())
        self.ln_f = nn.LayerNorm(32)
        self.lm_head = nn.Linear(32, 64)

    def forward(self, idx: Tensor) -> Tensor:
        x = self.token_embedding_table(idx) + self.position_embedding_table(torch.arange(idx.shape[1]))
        return self.lm_head(self.ln_f(self.blocks(x)))
