"""Words, proteins, and words with pictures."""
from typing import Any, Optional

import torch
import torch.nn.functional as F
from torch import Tensor, nn


# ---------------------------------------------------------------- translation with sublayers that add and norm inside
class ScaledDot(nn.Module):
    def __init__(self, temperature: float) -> None:
        super().__init__()
        self.temperature, self.dropout = temperature, nn.Dropout(0.1)

    def forward(self, q: Tensor, k: Tensor, v: Tensor, mask: Optional[Tensor]) -> Tensor:
        attn = torch.matmul(q / self.temperature, k.transpose(2, 3))
        attn = attn if mask is None else attn.masked_fill(mask == 0, -1e9)
        return torch.matmul(self.dropout(F.softmax(attn, -1)), v)


class MultiHead(nn.Module):
    def __init__(self, d: int, heads: int = 2) -> None:
        super().__init__()
        self.heads = heads
        self.w_qs, self.w_ks, self.w_vs, self.fc = (nn.Linear(d, d, bias=False) for _ in range(4))
        self.attention, self.dropout, self.layer_norm = ScaledDot((d // heads) ** 0.5), nn.Dropout(0.1), nn.LayerNorm(d, eps=1e-6)

    def forward(self, q: Tensor, k: Tensor, v: Tensor, mask: Optional[Tensor] = None) -> Tensor:
        b, n, d = q.shape
        split = lambda t: t.view(b, -1, self.heads, d // self.heads).transpose(1, 2)
        y = self.attention(split(self.w_qs(q)), split(self.w_ks(k)), split(self.w_vs(v)), mask)
        return self.layer_norm(self.dropout(self.fc(y.transpose(1, 2).contiguous().view(b, n, d))) + q)


class PositionwiseFF(nn.Module):
    def __init__(self, d: int) -> None:
        super().__init__()
        self.w_1, self.w_2, self.layer_norm, self.dropout = nn.Linear(d, 2 * d), nn.Linear(2 * d, d), nn.LayerNorm(d, eps=1e-6), nn.Dropout(0.1)

    def forward(self, x: Tensor) -> Tensor:
        return self.layer_norm(self.dropout(self.w_2(F.relu(self.w_1(x)))) + x)


class EncoderLayer(nn.Module):
    def __init__(self, d: int) -> None:
        super().__init__()
        self.slf_attn, self.pos_ffn = MultiHead(d), PositionwiseFF(d)

    def forward(self, x: Tensor) -> Tensor:
        return self.pos_ffn(self.slf_attn(x, x, x))


class DecoderLayer(nn.Module):
    def __init__(self, d: int) -> None:
        super().__init__()
        self.slf_attn, self.enc_attn, self.pos_ffn = MultiHead(d), MultiHead(d), PositionwiseFF(d)

    def forward(self, x: Tensor, memory: Tensor, mask: Tensor) -> Tensor:
        return self.pos_ffn(self.enc_attn(self.slf_attn(x, x, x, mask), memory, memory))


class Positions(nn.Module):
    def __init__(self, n: int, d: int) -> None:
        super().__init__()
        a = torch.arange(n)[:, None] / 10000 ** (2 * (torch.arange(d) // 2) / d)
        self.register_buffer("pos_table", torch.where(torch.arange(d) % 2 == 0, a.sin(), a.cos())[None])

    def forward(self, x: Tensor) -> Tensor:
        return x + self.pos_table[:, :x.shape[1]]


class Half(nn.Module):
    def __init__(self, name: str, layer: Any, d: int) -> None:
        super().__init__()
        self.add_module(name, nn.Embedding(20, d))
        self.position_enc, self.layer_stack, self.layer_norm = Positions(10, d), nn.ModuleList([layer(d) for _ in range(2)]), nn.LayerNorm(d)
        self.name = name

    def forward(self, ids: Tensor, *more: Tensor) -> Tensor:
        x = self.layer_norm(self.position_enc(getattr(self, self.name)(ids)))
        for layer in self.layer_stack:
            x = layer(x, *more)
        return x


class Interpreter(nn.Module):
    def __init__(self, d: int = 12) -> None:
        super().__init__()
        self.encoder, self.decoder = Half("src_word_emb", EncoderLayer, d), Half("trg_word_emb", DecoderLayer, d)
        self.trg_word_prj = nn.Linear(d, 20, bias=False)

    def forward(self, src: Tensor, trg: Tensor) -> Tensor:
        mask = torch.tril(torch.ones(trg.shape[1], trg.shape[1]))
        return self.trg_word_prj(self.decoder(trg, self.encoder(src), mask)) * 12**-0.5


# ---------------------------------------------------------------- a recurrence over time by parameters of the block
class TimeMix(nn.Module):
    def __init__(self, d: int) -> None:
        super().__init__()
        self.time_decay, self.time_first = nn.Parameter(torch.rand(d)), nn.Parameter(torch.rand(d))
        self.time_shift = nn.ZeroPad2d((0, 0, 1, -1))
        self.time_mix_k, self.time_mix_v, self.time_mix_r = (nn.Parameter(torch.rand(1, 1, d)) for _ in range(3))
        self.key, self.value, self.receptance, self.output = (nn.Linear(d, d, bias=False) for _ in range(4))

    def forward(self, x: Tensor) -> Tensor:
        xx = self.time_shift(x)
        k = self.key(x * self.time_mix_k + xx * (1 - self.time_mix_k))
        v = self.value(x * self.time_mix_v + xx * (1 - self.time_mix_v))
        r = torch.sigmoid(self.receptance(x * self.time_mix_r + xx * (1 - self.time_mix_r)))
        decay, num, den, out = -torch.exp(self.time_decay), torch.zeros_like(k[:, 0]), torch.zeros_like(k[:, 0]), []
        for t in range(5):
            e = torch.exp(self.time_first + k[:, t])
            out.append((num + e * v[:, t]) / (den + e))
            num, den = torch.exp(decay) * num + torch.exp(k[:, t]) * v[:, t], torch.exp(decay) * den + torch.exp(k[:, t])
        return self.output(r * torch.stack(out, 1))


class ChannelMix(nn.Module):
    def __init__(self, d: int) -> None:
        super().__init__()
        self.time_shift = nn.ZeroPad2d((0, 0, 1, -1))
        self.time_mix_k, self.time_mix_r = nn.Parameter(torch.rand(1, 1, d)), nn.Parameter(torch.rand(1, 1, d))
        self.key, self.receptance, self.value = nn.Linear(d, 2 * d, bias=False), nn.Linear(d, d, bias=False), nn.Linear(2 * d, d, bias=False)

    def forward(self, x: Tensor) -> Tensor:
        xx = self.time_shift(x)
        k = torch.square(torch.relu(self.key(x * self.time_mix_k + xx * (1 - self.time_mix_k))))
        return torch.sigmoid(self.receptance(x * self.time_mix_r + xx * (1 - self.time_mix_r))) * self.value(k)


class Recurrent(nn.Module):
    def __init__(self, d: int = 10) -> None:
        super().__init__()
        self.emb = nn.Embedding(20, d)
        self.blocks = nn.Sequential(*[nn.ModuleDict({"ln1": nn.LayerNorm(d), "ln2": nn.LayerNorm(d), "att": TimeMix(d), "ffn": ChannelMix(d),
                                                     **({"ln0": nn.LayerNorm(d)} if k == 0 else {})}) for k in range(2)])
        self.ln_out, self.head = nn.LayerNorm(d), nn.Linear(d, 20, bias=False)

    def forward(self, ids: Tensor) -> Tensor:
        x = self.emb(ids)
        for b in self.blocks:
            x = b["ln0"](x) if "ln0" in b else x
            x = x + b["att"](b["ln1"](x))
            x = x + b["ffn"](b["ln2"](x))
        return self.head(self.ln_out(x))


# ---------------------------------------------------------------- proteins: positions turned inside attention, contacts from its weights
class Rotary(nn.Module):
    def __init__(self, d: int) -> None:
        super().__init__()
        self.register_buffer("inv_freq", 1.0 / 10000 ** (torch.arange(0, d, 2).float() / d))

    def forward(self, q: Tensor, k: Tensor) -> Any:
        f = torch.einsum("i,j->ij", torch.arange(q.shape[-2]).float(), self.inv_freq)
        e = torch.cat((f, f), -1)
        turn = lambda x: x * e.cos() + torch.cat((-x[..., x.shape[-1] // 2:], x[..., :x.shape[-1] // 2]), -1) * e.sin()
        return turn(q), turn(k)


class ProteinAttention(nn.Module):
    def __init__(self, d: int) -> None:
        super().__init__()
        self.k_proj, self.v_proj, self.q_proj, self.out_proj = (nn.Linear(d, d) for _ in range(4))
        self.rot_emb = Rotary(d // 2)

    def forward(self, x: Tensor) -> Any:
        b, n, d = x.shape
        q, k, v = (p(x).view(b, n, 2, d // 2).transpose(1, 2) for p in (self.q_proj, self.k_proj, self.v_proj))
        q, k = self.rot_emb(q * (d // 2) ** -0.5, k)
        w = F.softmax(torch.matmul(q, k.transpose(2, 3)), -1)
        return self.out_proj(torch.matmul(w, v).transpose(1, 2).reshape(b, n, d)), w


class ProteinLayer(nn.Module):
    def __init__(self, d: int) -> None:
        super().__init__()
        self.self_attn, self.self_attn_layer_norm = ProteinAttention(d), nn.LayerNorm(d)
        self.fc1, self.fc2, self.final_layer_norm = nn.Linear(d, 2 * d), nn.Linear(2 * d, d), nn.LayerNorm(d)

    def forward(self, x: Tensor) -> Any:
        y, w = self.self_attn(self.self_attn_layer_norm(x))
        x = x + y
        y = self.fc1(self.final_layer_norm(x))
        return x + self.fc2(y * 0.5 * (1.0 + torch.erf(y / 2**0.5))), w


class MaskedHead(nn.Module):
    def __init__(self, d: int, weight: nn.Parameter) -> None:
        super().__init__()
        self.dense, self.layer_norm, self.weight, self.bias = nn.Linear(d, d), nn.LayerNorm(d), weight, nn.Parameter(torch.rand(20))

    def forward(self, x: Tensor) -> Tensor:
        return F.linear(self.layer_norm(F.gelu(self.dense(x))), self.weight) + self.bias


class Contacts(nn.Module):
    def __init__(self, n: int) -> None:
        super().__init__()
        self.regression, self.activation = nn.Linear(n, 1), nn.Sigmoid()

    def forward(self, w: Tensor) -> Tensor:
        w = w + w.transpose(-1, -2)
        w = w - w.sum(-1, keepdim=True) * w.sum(-2, keepdim=True) / w.sum((-1, -2), keepdim=True)
        return self.activation(self.regression(w.permute(0, 2, 3, 1)).squeeze(3))


class Protein(nn.Module):
    def __init__(self, d: int = 12) -> None:
        super().__init__()
        self.embed_tokens, self.layers = nn.Embedding(20, d), nn.ModuleList([ProteinLayer(d) for _ in range(2)])
        self.contact_head, self.emb_layer_norm_after = Contacts(4), nn.LayerNorm(d)
        self.lm_head = MaskedHead(d, self.embed_tokens.weight)

    def forward(self, tokens: Tensor) -> Any:
        x, seen = self.embed_tokens(tokens), []
        for layer in self.layers:
            x, w = layer(x)
            seen.append(w)
        return self.lm_head(self.emb_layer_norm_after(x)), self.contact_head(torch.cat(seen, 1))


# ---------------------------------------------------------------- written here: decoder with latent keys, two kinds of layers, tied parts
class RMS(nn.Module):
    def __init__(self, d: int) -> None:
        super().__init__()
        self.scale = nn.Parameter(torch.rand(d) + 0.5)

    def forward(self, x: Tensor) -> Tensor:
        return x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + 1e-6) * self.scale


class Latent(nn.Module):
    def __init__(self, d: int) -> None:
        super().__init__()
        self.wq, self.wkv_a, self.kv_norm, self.wkv_b, self.wo = nn.Linear(d, d, False), nn.Linear(d, 4, False), RMS(4), nn.Linear(4, 2 * d, False), nn.Linear(d, d, False)

    def forward(self, x: Tensor) -> Tensor:
        b, n, d = x.shape
        q = self.wq(x).view(b, n, 2, -1).transpose(1, 2)
        k, v = self.wkv_b(self.kv_norm(self.wkv_a(x))).view(b, n, 2, -1).transpose(1, 2).chunk(2, -1)
        y = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        return self.wo(y.transpose(1, 2).reshape(b, n, d))


class Swish(nn.Module):
    def __init__(self, d: int, h: int) -> None:
        super().__init__()
        self.w1, self.w2, self.w3 = nn.Linear(d, h, False), nn.Linear(h, d, False), nn.Linear(d, h, False)

    def forward(self, x: Tensor) -> Tensor:
        return self.w2(F.silu(self.w1(x)) * self.w3(x))


class Mixture(nn.Module):
    def __init__(self, d: int) -> None:
        super().__init__()
        self.gate, self.bias = nn.Parameter(torch.randn(3, d)), nn.Parameter(torch.rand(3))
        self.experts, self.shared = nn.ModuleList([Swish(d, 8) for _ in range(3)]), Swish(d, 8)

    def forward(self, x: Tensor) -> Tensor:
        s = torch.sigmoid(F.linear(x, self.gate)) + self.bias
        s = s / s.sum(-1, keepdim=True)
        return self.shared(x) + sum(s[..., k:k + 1] * e(x) for k, e in enumerate(self.experts))


class Latents(nn.Module):
    def __init__(self, d: int = 12) -> None:
        super().__init__()
        self.model = nn.ModuleDict({"wte": nn.Embedding(20, d), "h": nn.ModuleList(
            [nn.ModuleList([RMS(d), Latent(d), RMS(d), Swish(d, 16) if k == 0 else Mixture(d)]) for k in range(3)]), "ln_f": RMS(d)})

    def forward(self, ids: Tensor) -> Tensor:
        x = self.model["wte"](ids)
        for n1, attend, n2, mix in self.model["h"]:
            x = x + attend(n1(x))
            x = x + mix(n2(x))
        return self.model["ln_f"](x) @ self.model["wte"].weight.T


# ---------------------------------------------------------------- written here: pictures and words, a resampler between, adapters put in afterwards
class Adapter(nn.Module):
    def __init__(self, inner: nn.Module, d: int) -> None:
        super().__init__()
        self.inner, self.down, self.up = inner, nn.Linear(d, 4), nn.Linear(4, d)

    def forward(self, x: Tensor) -> Tensor:
        y = self.inner(x)
        return y + self.up(F.relu(self.down(y)))


class Resampler(nn.Module):
    def __init__(self, d: int) -> None:
        super().__init__()
        self.latents, self.norm_media, self.norm_latents = nn.Parameter(torch.randn(3, d)), nn.LayerNorm(d), nn.LayerNorm(d)
        self.to_q, self.to_kv, self.to_out = nn.Linear(d, d, False), nn.Linear(d, 2 * d, False), nn.Linear(d, d, False)

    def forward(self, x: Tensor) -> Tensor:
        z = self.norm_latents(self.latents).unsqueeze(0).expand(x.shape[0], -1, -1)
        q, (k, v) = self.to_q(z), self.to_kv(torch.cat([self.norm_media(x), z], 1)).chunk(2, -1)
        return self.to_out(torch.softmax(torch.einsum("bid,bjd->bij", q, k) * q.shape[-1] ** -0.5, -1) @ v)


class Caption(nn.Module):
    def __init__(self, d: int = 12) -> None:
        super().__init__()
        self.eye = nn.Sequential(nn.Conv2d(3, d, 4, 4), nn.Flatten(2))
        self.eye_norm, self.between, self.words = nn.LayerNorm(d), Resampler(d), nn.Embedding(20, d)
        self.text = nn.ModuleList([nn.TransformerEncoderLayer(d, 2, 2 * d, batch_first=True) for _ in range(2)])
        for layer in self.text:
            layer.linear2 = Adapter(nn.Linear(2 * d, d), d)
        self.cross_gate, self.answer = nn.Parameter(torch.zeros(1) + 0.3), nn.Linear(d, 20)

    def forward(self, picture: Tensor, ids: Tensor) -> Tensor:
        seen = self.between(self.eye_norm(self.eye(picture).transpose(1, 2)))
        x = torch.cat([seen * torch.tanh(self.cross_gate), self.words(ids)], 1)
        for layer in self.text:
            x = layer(x)
        return self.answer(x[:, 3:])


MODELS = {
    "interpreter": (Interpreter, [("ids", 20, 2, 6), ("ids", 20, 2, 5)]), "recurrent": (Recurrent, [("ids", 20, 2, 5)]),
    "protein": (Protein, [("ids", 20, 2, 7)]), "latents": (Latents, [("ids", 20, 2, 6)]), "caption": (Caption, [(2, 3, 8, 8), ("ids", 20, 2, 5)]),
}
