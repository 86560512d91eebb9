"""Diffusion and other makers: U-nets with time, a transformer with modulation, a quantizing autoencoder, a flow."""
import math
from typing import Any, Optional

import torch
import torch.nn.functional as F
from torch import Tensor, nn


def timestep_embedding(t: Tensor, d: int) -> Tensor:
    f = torch.exp(-math.log(10000) * torch.arange(d // 2).float() / (d // 2))
    a = t[:, None].float() * f[None]
    return torch.cat([torch.cos(a), torch.sin(a)], -1)


# ---------------------------------------------------------------- a U-net whose sequences hand the time on
class Timed(nn.Module):
    """What takes the embedding of the time as well."""


class TimedSequential(nn.Sequential, Timed):
    def forward(self, x: Tensor, emb: Tensor) -> Tensor:
        for layer in self:
            x = layer(x, emb) if isinstance(layer, Timed) else layer(x)
        return x


class Norm32(nn.GroupNorm):
    def forward(self, x: Tensor) -> Tensor:
        return super().forward(x.float()).type(x.dtype)


class ResBlock(Timed):
    def __init__(self, c: int, emb: int, out: int) -> None:
        super().__init__()
        self.in_layers = nn.Sequential(Norm32(4, c), nn.SiLU(), nn.Conv2d(c, out, 3, padding=1))
        self.emb_layers = nn.Sequential(nn.SiLU(), nn.Linear(emb, 2 * out))
        self.out_layers = nn.Sequential(Norm32(4, out), nn.SiLU(), nn.Dropout(0.1), nn.Conv2d(out, out, 3, padding=1))
        self.skip_connection = nn.Identity() if c == out else nn.Conv2d(c, out, 1)

    def forward(self, x: Tensor, emb: Tensor) -> Tensor:
        h = self.in_layers(x)
        scale, shift = self.emb_layers(emb)[..., None, None].chunk(2, 1)
        norm, rest = self.out_layers[0], self.out_layers[1:]
        return self.skip_connection(x) + rest(norm(h) * (1 + scale) + shift)


class QKVAttention(nn.Module):
    def forward(self, qkv: Tensor) -> Tensor:
        b, c, t = qkv.shape
        q, k, v = qkv.reshape(b * 2, c // 2, t).split(c // 6, 1)
        s = 1 / math.sqrt(math.sqrt(c // 6))
        w = torch.softmax(torch.einsum("bct,bcs->bts", q * s, k * s), -1)
        return torch.einsum("bts,bcs->bct", w, v).reshape(b, -1, t)


class AttentionBlock(nn.Module):
    def __init__(self, c: int) -> None:
        super().__init__()
        self.norm, self.qkv, self.attention, self.proj_out = Norm32(4, c), nn.Conv1d(c, 3 * c, 1), QKVAttention(), nn.Conv1d(c, c, 1)

    def forward(self, x: Tensor) -> Tensor:
        y = x.flatten(2)
        return (y + self.proj_out(self.attention(self.qkv(self.norm(y))))).reshape(x.shape)


class Resample(nn.Module):
    def __init__(self, c: int, up: bool) -> None:
        super().__init__()
        self.up = up
        self.add_module("conv" if up else "op", nn.Conv2d(c, c, 3, 1 if up else 2, 1))

    def forward(self, x: Tensor) -> Tensor:
        return self.conv(F.interpolate(x, scale_factor=2, mode="nearest")) if self.up else self.op(x)


class GuidedUNet(nn.Module):
    def __init__(self, c: int = 8, emb: int = 16) -> None:
        super().__init__()
        self.c = c
        self.time_embed, self.label_emb = nn.Sequential(nn.Linear(c, emb), nn.SiLU(), nn.Linear(emb, emb)), nn.Embedding(5, emb)
        self.input_blocks = nn.ModuleList([TimedSequential(nn.Conv2d(3, c, 3, padding=1)), TimedSequential(ResBlock(c, emb, c)),
                                           TimedSequential(Resample(c, False)), TimedSequential(ResBlock(c, emb, 12), AttentionBlock(12))])
        self.middle_block = TimedSequential(ResBlock(12, emb, 12), AttentionBlock(12), ResBlock(12, emb, 12))
        self.output_blocks = nn.ModuleList([TimedSequential(ResBlock(24, emb, 12), AttentionBlock(12)),
                                            TimedSequential(ResBlock(12 + c, emb, 12), Resample(12, True)),
                                            TimedSequential(ResBlock(12 + c, emb, c)), TimedSequential(ResBlock(2 * c, emb, c))])
        self.out = nn.Sequential(Norm32(4, c), nn.SiLU(), nn.Conv2d(c, 6, 3, padding=1))

    def forward(self, x: Tensor, t: Tensor, y: Tensor) -> Tensor:
        hs, emb = [], self.time_embed(timestep_embedding(t, self.c)) + self.label_emb(y)
        for module in self.input_blocks:
            x = module(x, emb)
            hs.append(x)
        x = self.middle_block(x, emb)
        for module in self.output_blocks:
            x = module(torch.cat([x, hs.pop()], 1), emb)
        return self.out(x)


# ---------------------------------------------------------------- written here: a transformer modulated from outside, one table for all blocks
class Modulated(nn.Module):
    def __init__(self, d: int) -> None:
        super().__init__()
        self.ln1, self.ln2 = nn.LayerNorm(d, elementwise_affine=False), nn.LayerNorm(d, elementwise_affine=False)
        self.qkv, self.out, self.fc = nn.Linear(d, 3 * d), nn.Linear(d, d), nn.Sequential(nn.Linear(d, 2 * d), nn.GELU("tanh"), nn.Linear(2 * d, d))
        self.scale_shift_table = nn.Parameter(torch.randn(6, d) / d**0.5)

    def forward(self, x: Tensor, m: Tensor) -> Tensor:
        s1, b1, g1, s2, b2, g2 = (self.scale_shift_table[None] + m).unbind(1)
        b, n, d = x.shape
        q, k, v = self.qkv(self.ln1(x) * (1 + s1[:, None]) + b1[:, None]).view(b, n, 3, 2, d // 2).permute(2, 0, 3, 1, 4)
        x = x + g1[:, None] * self.out(F.scaled_dot_product_attention(q, k, v).transpose(1, 2).flatten(2))
        return x + g2[:, None] * self.fc(self.ln2(x) * (1 + s2[:, None]) + b2[:, None])


class PatchDiffusion(nn.Module):
    def __init__(self, d: int = 16) -> None:
        super().__init__()
        self.d, self.patchify = d, nn.Conv2d(4, d, 2, 2)
        self.register_buffer("grid", torch.randn(1, 16, d))
        self.t_block = nn.Sequential(nn.Linear(d, d), nn.SiLU(), nn.Linear(d, 6 * d))
        self.stack = nn.ModuleList([Modulated(d) for _ in range(3)])
        self.last = nn.ModuleDict({"norm": nn.LayerNorm(d, elementwise_affine=False), "to_pixels": nn.Linear(d, 16)})

    def forward(self, x: Tensor, t: Tensor) -> Tensor:
        m = self.t_block(timestep_embedding(t, self.d)).unflatten(1, (6, self.d))
        x = self.patchify(x).flatten(2).transpose(1, 2) + self.grid
        for block in self.stack:
            x = block(x, m)
        x = self.last["to_pixels"](self.last["norm"](x))
        return x.view(-1, 4, 4, 4, 2, 2).permute(0, 3, 1, 4, 2, 5).reshape(-1, 4, 8, 8)


# ---------------------------------------------------------------- written here: an autoencoder with residual quantization, codes by distance
class Codebook(nn.Module):
    def __init__(self, n: int, d: int) -> None:
        super().__init__()
        self.down, self.up = nn.Conv2d(d, 4, 1), nn.Conv2d(4, d, 1)
        self.entries = nn.Parameter(torch.randn(n, 4))

    def forward(self, z: Tensor) -> Tensor:
        q = F.normalize(self.down(z).permute(0, 2, 3, 1), dim=-1)
        book = F.normalize(self.entries, dim=-1)
        found = book[(q @ book.T).argmax(-1)]
        return self.up(found.permute(0, 3, 1, 2))


class Unit(nn.Sequential):
    def __init__(self, c: int) -> None:
        super().__init__(nn.ELU(), nn.Conv2d(c, c, 3, padding=1), nn.ELU(), nn.Conv2d(c, c, 1))

    def forward(self, x: Tensor) -> Tensor:
        return x + super().forward(x)


class Codes(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.analysis = nn.Sequential(nn.Conv2d(3, 6, 3, padding=1), Unit(6), nn.Conv2d(6, 8, 4, 2, 1), Unit(8), nn.Conv2d(8, 8, 4, 2, 1))
        self.quantizer = nn.ModuleList([Codebook(6, 8) for _ in range(3)])
        self.synthesis = nn.Sequential(nn.ConvTranspose2d(8, 8, 4, 2, 1), Unit(8), nn.ConvTranspose2d(8, 6, 4, 2, 1), Unit(6), nn.Conv2d(6, 3, 3, padding=1))

    def forward(self, x: Tensor) -> Tensor:
        rest = self.analysis(x)
        total: Optional[Tensor] = None
        for book in self.quantizer:
            y = book(rest)
            rest, total = rest - y, y if total is None else total + y
        return torch.sigmoid(self.synthesis(total))


# ---------------------------------------------------------------- written here: a flow read backwards, nets named by parity
class Coupling(nn.Module):
    def __init__(self, d: int) -> None:
        super().__init__()
        self.s_net, self.t_net = (nn.Sequential(nn.Linear(d, 12), nn.LeakyReLU(0.2), nn.Linear(12, d)) for _ in range(2))
        self.scale = nn.Parameter(torch.rand(d))

    def inverse(self, y: Tensor, swap: bool) -> Tensor:
        a, b = y.chunk(2, -1)
        a, b = (b, a) if swap else (a, b)
        b = (b - self.t_net(a)) * torch.exp(-torch.tanh(self.s_net(a)) * self.scale)
        return torch.cat((b, a) if swap else (a, b), -1)

    forward = inverse


class Flow(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        for k in range(4):
            setattr(self, f"{'even' if k % 2 == 0 else 'odd'}_{k}", Coupling(4))
        self.log_scale, self.shift = nn.Parameter(torch.rand(8)), nn.Parameter(torch.rand(8))

    def forward(self, z: Tensor) -> Tensor:
        for k in reversed(range(4)):
            z = getattr(self, f"{'even' if k % 2 == 0 else 'odd'}_{k}")(z, k % 2 == 0)
        return z * self.log_scale.exp() + self.shift


# ---------------------------------------------------------------- the policy of a robot as a denoiser of actions
class Mish1d(nn.Module):
    def __init__(self, i: int, o: int) -> None:
        super().__init__()
        self.block = nn.Sequential(nn.Conv1d(i, o, 3, padding=1), nn.GroupNorm(2, o), nn.Mish())

    def forward(self, x: Tensor) -> Tensor:
        return self.block(x)


class Filmed(nn.Module):
    def __init__(self, i: int, o: int, cond: int) -> None:
        super().__init__()
        self.o, self.blocks = o, nn.ModuleList([Mish1d(i, o), Mish1d(o, o)])
        self.cond_encoder = nn.Sequential(nn.Mish(), nn.Linear(cond, 2 * o), nn.Unflatten(-1, (-1, 1)))
        self.residual_conv = nn.Conv1d(i, o, 1) if i != o else nn.Identity()

    def forward(self, x: Tensor, cond: Tensor) -> Tensor:
        e = self.cond_encoder(cond).reshape(-1, 2, self.o, 1)
        return self.blocks[1](e[:, 0] * self.blocks[0](x) + e[:, 1]) + self.residual_conv(x)


class Sinus(nn.Module):
    def __init__(self, d: int) -> None:
        super().__init__()
        self.d = d

    def forward(self, t: Tensor) -> Tensor:
        return timestep_embedding(t, self.d)


class Sampled(nn.Module):
    def __init__(self, d: int, up: bool) -> None:
        super().__init__()
        self.conv = nn.ConvTranspose1d(d, d, 4, 2, 1) if up else nn.Conv1d(d, d, 3, 2, 1)

    def forward(self, x: Tensor) -> Tensor:
        return self.conv(x)


class Policy(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.diffusion_step_encoder = nn.Sequential(Sinus(8), nn.Linear(8, 16), nn.Mish(), nn.Linear(16, 8))
        c = 8 + 6
        self.mid_modules = nn.ModuleList([Filmed(12, 12, c), Filmed(12, 12, c)])
        self.up_modules = nn.ModuleList([nn.ModuleList([Filmed(24, 8, c), Filmed(8, 8, c), Sampled(8, True)])])
        self.down_modules = nn.ModuleList([nn.ModuleList([Filmed(4, 8, c), Filmed(8, 8, c), Sampled(8, False)]),
                                           nn.ModuleList([Filmed(8, 12, c), Filmed(12, 12, c), nn.Identity()])])
        self.final_conv = nn.Sequential(Mish1d(8, 8), nn.Conv1d(8, 4, 1))

    def forward(self, sample: Tensor, t: Tensor, seen: Tensor) -> Any:
        x, h = sample.transpose(1, 2), []
        cond = torch.cat([self.diffusion_step_encoder(t), seen], -1)
        for one, two, down in self.down_modules:
            x = two(one(x, cond), cond)
            h.append(x)
            x = down(x)
        for mid in self.mid_modules:
            x = mid(x, cond)
        for one, two, up in self.up_modules:
            x = up(two(one(torch.cat((x, h.pop()), 1), cond), cond))
        return self.final_conv(x).transpose(1, 2)


MODELS = {
    "guided": (GuidedUNet, [(2, 3, 8, 8), ("ids", 9, 2), ("ids", 5, 2)]), "patchdiff": (PatchDiffusion, [(2, 4, 8, 8), ("ids", 9, 2)]),
    "codes": (Codes, [(2, 3, 16, 16)]), "flow": (Flow, [(3, 8)]), "policy": (Policy, [(2, 8, 4), ("ids", 9, 2), (2, 6)]),
}
