"""Plain torch.nn models for the recipe book: the composites of torch.nn, and forms that many projects share."""
from __future__ import annotations

import math
from typing import Any, Callable, Dict, Iterator, List, Tuple

import torch
from torch import Tensor, nn
from torch.nn import functional

from zoo import ids, noise

Made = Tuple[str, str, Callable[[], nn.Module], Dict[str, Tensor]]


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


class Recurrent(nn.Module):
    """Embedding, LSTM, GRU or RNN, a head."""

    def __init__(self, kind: type, name: str, both: bool, last: bool) -> None:
        super().__init__()
        self.embedding = nn.Embedding(64, 24)
        setattr(self, name, kind(24, 32, num_layers=2, batch_first=True, bidirectional=both))
        self.fc = nn.Linear(64 if both else 32, 3)
        self.name, self.last = name, last

    def forward(self, x: Tensor) -> Tensor:
        out, _ = getattr(self, self.name)(self.embedding(x))
        return self.fc(out[:, -1] if self.last else out)


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


class DoubleConv(nn.Module):
    def __init__(self, wide: int, out: int) -> None:
        super().__init__()
        self.double_conv = nn.Sequential(
            nn.Conv2d(wide, out, 3, padding=1, bias=False), nn.BatchNorm2d(out), nn.ReLU(inplace=True),
            nn.Conv2d(out, out, 3, padding=1, bias=False), nn.BatchNorm2d(out), nn.ReLU(inplace=True))

    def forward(self, x: Tensor) -> Tensor:
        return self.double_conv(x)


class Down(nn.Module):
    def __init__(self, wide: int, out: int) -> None:
        super().__init__()
        self.maxpool_conv = nn.Sequential(nn.MaxPool2d(2), DoubleConv(wide, out))

    def forward(self, x: Tensor) -> Tensor:
        return self.maxpool_conv(x)


class Up(nn.Module):
    def __init__(self, wide: int, out: int, bilinear: bool) -> None:
        super().__init__()
        if bilinear:
            self.up = nn.Upsample(scale_factor=2, mode="bilinear", align_corners=True)
            self.conv = DoubleConv(wide + out, out)
        else:
            self.up = nn.ConvTranspose2d(wide, out, 2, stride=2)
            self.conv = DoubleConv(2 * out, out)

    def forward(self, x: Tensor, skip: Tensor) -> Tensor:
        return self.conv(torch.cat([skip, self.up(x)], dim=1))


class UNet(nn.Module):
    def __init__(self, bilinear: bool) -> None:
        super().__init__()
        self.inc = DoubleConv(3, 8)
        self.down1, self.down2, self.down3, self.down4 = Down(8, 16), Down(16, 24), Down(24, 32), Down(32, 48)
        self.up1, self.up2 = Up(48, 32, bilinear), Up(32, 24, bilinear)
        self.up3, self.up4 = Up(24, 16, bilinear), Up(16, 8, bilinear)
        self.outc = nn.Conv2d(8, 2, 1)

    def forward(self, x: Tensor) -> Tensor:
        x1 = self.inc(x)
        x2 = self.down1(x1)
        x3 = self.down2(x2)
        x4 = self.down3(x3)
        x = self.up1(self.down4(x4), x4)
        return self.outc(self.up4(self.up3(self.up2(x, x3), x2), x1))


class DigitNet(nn.Module):
    """The first network of most tutorials."""

    def __init__(self, dropout: bool) -> None:
        super().__init__()
        self.conv1 = nn.Conv2d(1, 6, 3)
        self.conv2 = nn.Conv2d(6, 12, 3)
        self.fc1 = nn.Linear(12 * 5 * 5, 32)
        self.fc2 = nn.Linear(32, 24)
        self.fc3 = nn.Linear(24, 10)
        self.drop = nn.Dropout(0.5) if dropout else None

    def forward(self, x: Tensor) -> Tensor:
        x = functional.max_pool2d(functional.relu(self.conv1(x)), 2)
        x = functional.max_pool2d(functional.relu(self.conv2(x)), 2)
        x = functional.relu(self.fc1(torch.flatten(x, 1)))
        if self.drop is not None:
            x = self.drop(x)
        return functional.log_softmax(self.fc3(functional.relu(self.fc2(x))), dim=1)


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


class ResidualDenseBlock(nn.Module):
    def __init__(self, width: int, grow: int) -> None:
        super().__init__()
        for i in range(5):
            setattr(self, f"conv{i + 1}", nn.Conv2d(width + i * grow, grow if i < 4 else width, 3, 1, 1))
        self.lrelu = nn.LeakyReLU(0.2, inplace=True)

    def forward(self, x: Tensor) -> Tensor:
        parts = [x]
        for i in range(4):
            parts.append(self.lrelu(getattr(self, f"conv{i + 1}")(torch.cat(parts, 1))))
        return self.conv5(torch.cat(parts, 1)) * 0.2 + x


class Rrdb(nn.Module):
    def __init__(self, width: int, grow: int) -> None:
        super().__init__()
        self.rdb1, self.rdb2, self.rdb3 = (ResidualDenseBlock(width, grow) for _ in range(3))

    def forward(self, x: Tensor) -> Tensor:
        return self.rdb3(self.rdb2(self.rdb1(x))) * 0.2 + x


class RrdbNet(nn.Module):
    """The generator of the ESRGAN upscalers."""

    def __init__(self) -> None:
        super().__init__()
        self.conv_first = nn.Conv2d(3, 16, 3, 1, 1)
        self.body = nn.Sequential(*[Rrdb(16, 8) for _ in range(2)])
        self.conv_body = nn.Conv2d(16, 16, 3, 1, 1)
        self.conv_up1 = nn.Conv2d(16, 16, 3, 1, 1)
        self.conv_up2 = nn.Conv2d(16, 16, 3, 1, 1)
        self.conv_hr = nn.Conv2d(16, 16, 3, 1, 1)
        self.conv_last = nn.Conv2d(16, 3, 3, 1, 1)
        self.lrelu = nn.LeakyReLU(0.2, inplace=True)

    def forward(self, x: Tensor) -> Tensor:
        first = self.conv_first(x)
        x = first + self.conv_body(self.body(first))
        x = self.lrelu(self.conv_up1(functional.interpolate(x, scale_factor=2, mode="nearest")))
        x = self.lrelu(self.conv_up2(functional.interpolate(x, scale_factor=2, mode="nearest")))
        return self.conv_last(self.lrelu(self.conv_hr(x)))


def perceptron(norm: bool) -> nn.Module:
    layers: List[nn.Module] = []
    for wide, out in ((16, 32), (32, 24)):
        layers += [nn.Linear(wide, out)] + ([nn.BatchNorm1d(out)] if norm else []) + [nn.ReLU()]
    return nn.Sequential(*layers, nn.Linear(24, 3))


def convolutions() -> nn.Module:
    return nn.Sequential(nn.Conv2d(3, 8, 3, padding=1), nn.BatchNorm2d(8), nn.ReLU(), nn.MaxPool2d(2),
                         nn.Conv2d(8, 16, 3, padding=1), nn.BatchNorm2d(16), nn.ReLU(), nn.AdaptiveAvgPool2d(1),
                         nn.Flatten(), nn.Linear(16, 3))


def models() -> Iterator[Made]:
    words, image = {"src": ids(2, 8)}, {"input": noise(2, 3, 32, 32)}
    for first in (False, True):
        for final in (False, True):
            yield ("nn_transformer_encoder", f"encoder_{'pre' if first else 'post'}{'_norm' if final else ''}",
                   lambda first=first, final=final: Sentence(first, final), words)
    yield "nn_transformer", "translator", Translator, {"src": ids(2, 8), "tgt": ids(2, 6)}
    layer: Dict[str, Any] = dict(d_model=32, nhead=4, dim_feedforward=48, batch_first=True)
    yield ("nn_transformer", "decoder", lambda: nn.TransformerDecoder(nn.TransformerDecoderLayer(**layer), 2),
           {"tgt": noise(2, 6, 32), "memory": noise(2, 8, 32)})
    yield ("nn_transformer", "encoder", lambda: nn.TransformerEncoder(
        nn.TransformerEncoderLayer(**layer), 2, enable_nested_tensor=False), {"src": noise(2, 8, 32)})
    for kind, name in ((nn.LSTM, "lstm"), (nn.GRU, "gru"), (nn.RNN, "rnn")):
        for both in (False, True):
            for last in (False, True):
                yield (f"nn_{name}", f"{name}{'_both' if both else ''}{'_last' if last else ''}",
                       lambda kind=kind, name=name, both=both, last=last: Recurrent(kind, name, both, last),
                       {"x": ids(2, 8)})
    for flash in (False, True):
        yield "nn_gpt", f"gpt{'_sdpa' if flash else ''}", lambda flash=flash: SmallGpt(flash), {"idx": ids(2, 8)}
    for bilinear in (False, True):
        yield "nn_unet", f"unet{'_bilinear' if bilinear else ''}", lambda bilinear=bilinear: UNet(bilinear), {
            "x": noise(1, 3, 64, 64)}
    for dropout in (False, True):
        yield "nn_digits", f"digits{'_dropout' if dropout else ''}", lambda dropout=dropout: DigitNet(dropout), {
            "x": noise(2, 1, 28, 28)}
    yield "nn_attention", "attended", Attended, {"x": noise(2, 8, 16)}
    yield "nn_rrdb", "rrdb", RrdbNet, {"x": noise(1, 3, 16, 16)}
    for norm in (False, True):
        yield "nn_perceptron", f"perceptron{'_norm' if norm else ''}", lambda norm=norm: perceptron(norm), {
            "input": noise(2, 16)}
    yield "nn_convolutions", "convolutions", convolutions, image
