"""Ten networks that were written by hand after the rules of 0.4, to see whether its levels hold for strangers.

BUILD has their names, build(name) makes one, inputs(name) gives its arguments and the names of inputs and outputs: what a maker
of truth asks for. docs/how/accuracy.md has the figures.
"""

import torch
import torch.nn as nn
import torch.nn.functional as F


class SE(nn.Module):
    def __init__(self, c):
        super().__init__()
        self.down = nn.Conv2d(c, c // 2, 1)
        self.grow = nn.Conv2d(c // 2, c, 1)

    def forward(self, x):
        return x * torch.sigmoid(self.grow(F.relu(self.down(x.mean((2, 3), keepdim=True)))))


class MB(nn.Module):
    def __init__(self, c):
        super().__init__()
        self.pw = nn.Conv2d(c, 2 * c, 1, bias=False)
        self.b1 = nn.BatchNorm2d(2 * c)
        self.dw = nn.Conv2d(2 * c, 2 * c, 3, padding=1, groups=2 * c, bias=False)
        self.b2 = nn.BatchNorm2d(2 * c)
        self.se = SE(2 * c)
        self.out = nn.Sequential(nn.Conv2d(2 * c, c, 1, bias=False), nn.BatchNorm2d(c))
        self.act = nn.Hardswish()

    def forward(self, x):
        return x + self.out(self.se(self.act(self.b2(self.dw(self.act(self.b1(self.pw(x))))))))


class PhoneNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.first = nn.Sequential(nn.Conv2d(3, 8, 3, padding=1), nn.BatchNorm2d(8), nn.Hardswish())
        self.rows = nn.ModuleList([MB(8) for _ in range(3)])
        self.answer = nn.Linear(8, 5)

    def forward(self, x):
        x = self.first(x)
        for r in self.rows:
            x = r(x)
        return self.answer(F.adaptive_avg_pool2d(x, 1).flatten(1))


class Tower(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv = nn.Conv1d(6, 8, 3, padding=1)
        self.mix = nn.ModuleDict({"a": nn.Linear(8, 8), "b": nn.Linear(8, 8)})
        self.norm = nn.LayerNorm(8)

    def forward(self, x):
        x = F.gelu(self.conv(x)).transpose(1, 2)
        return self.norm(x + self.mix["a"](x) * torch.tanh(self.mix["b"](x))).mean(1)


class Twins(nn.Module):
    def __init__(self):
        super().__init__()
        self.tower = Tower()
        self.scale = nn.Parameter(torch.tensor(2.5))
        self.merge = nn.Bilinear(8, 8, 4)
        self.say = nn.Linear(8, 2)

    def forward(self, x):
        u, v = self.tower(x), self.tower(x.flip(2) * 0.5)
        z = torch.cat([u - v, u * v], -1)[:, :8]
        return self.say(F.normalize(z, dim=-1) * self.scale)


class Cross(nn.Module):
    def __init__(self, d, h=2):
        super().__init__()
        self.h = h
        self.nq, self.nk = nn.LayerNorm(d), nn.LayerNorm(d)
        self.q = nn.Linear(d, d, bias=False)
        self.kv = nn.Linear(d, 2 * d, bias=False)
        self.out = nn.Linear(d, d)

    def forward(self, z, x):
        q = self.q(self.nq(z))
        k, v = self.kv(self.nk(x)).chunk(2, -1)
        sp = lambda t: t.view(t.shape[0], -1, self.h, t.shape[-1] // self.h).transpose(1, 2)
        q, k, v = sp(q), sp(k), sp(v)
        a = torch.softmax(q @ k.transpose(-1, -2) / q.shape[-1] ** 0.5, -1) @ v
        return z + self.out(a.transpose(1, 2).flatten(2))


class Ffn(nn.Module):
    def __init__(self, d):
        super().__init__()
        self.n = nn.LayerNorm(d)
        self.i = nn.Linear(d, 4 * d)
        self.o = nn.Linear(2 * d, d)

    def forward(self, x):
        a, b = self.i(self.n(x)).chunk(2, -1)
        return x + self.o(a * F.gelu(b))


class Latents(nn.Module):
    def __init__(self):
        super().__init__()
        self.z = nn.Parameter(torch.randn(1, 5, 12))
        self.read = Cross(12)
        self.work = nn.ModuleList([nn.ModuleList([Cross(12), Ffn(12)]) for _ in range(3)])
        self.write = nn.Linear(12, 3)

    def forward(self, x):
        z = self.read(self.z.expand(x.shape[0], -1, -1), x)
        for a, f in self.work:
            z = f(a(z, z))
        return self.write(z.mean(1))


class Translator(nn.Module):
    def __init__(self):
        super().__init__()
        self.src = nn.Linear(12, 10)
        self.enc = nn.GRU(10, 8, batch_first=True, bidirectional=True)
        self.dec = nn.LSTM(16, 8, batch_first=True)
        self.score = nn.Linear(16, 8)
        self.combine = nn.Linear(24, 10)
        self.vocab = nn.Linear(10, 7)

    def forward(self, x):
        m, _ = self.enc(torch.tanh(self.src(x)))
        h, _ = self.dec(m)
        a = torch.softmax(h @ self.score(m).transpose(1, 2), -1)
        return self.vocab(torch.tanh(self.combine(torch.cat([h, a @ m], -1)))).mean(1)


class Message(nn.Module):
    def __init__(self, d):
        super().__init__()
        self.edge = nn.Sequential(nn.Linear(2 * d, d), nn.SiLU(), nn.Linear(d, d))
        self.node = nn.GRUCell(d, d)
        self.gate = nn.Linear(d, 1)

    def forward(self, h):
        n = h.shape[1]
        e = torch.cat([h.unsqueeze(2).expand(-1, -1, n, -1), h.unsqueeze(1).expand(-1, n, -1, -1)], -1)
        m = self.edge(e)
        m = (m * torch.sigmoid(self.gate(m))).sum(2)
        return self.node(m.flatten(0, 1), h.flatten(0, 1)).view_as(h)


class Molecule(nn.Module):
    def __init__(self):
        super().__init__()
        self.atom = nn.Linear(12, 8)
        self.rounds = nn.ModuleDict({"bond": Message(8), "space": Message(8)})
        self.energy = nn.Sequential(nn.Linear(8, 8), nn.Softplus(), nn.Linear(8, 1))

    def forward(self, x):
        h = self.atom(x)
        for k in ("bond", "space", "bond"):
            h = h + self.rounds[k](h)
        return self.energy(h).sum(1)


class Res1(nn.Module):
    def __init__(self, c):
        super().__init__()
        self.g = nn.GroupNorm(2, c)
        self.c = nn.Conv1d(c, c, 3, padding=1)
        self.film = nn.Linear(4, 2 * c)

    def forward(self, x, t):
        a, b = self.film(t).unsqueeze(-1).chunk(2, 1)
        return x + self.c(F.silu(self.g(x) * (1 + a) + b))


class Wave(nn.Module):
    def __init__(self):
        super().__init__()
        self.begin = nn.Conv1d(6, 8, 1)
        self.falls = nn.ModuleList([nn.ModuleList([Res1(8), nn.Conv1d(8, 8, 4, 2, 1)]) for _ in range(2)])
        self.floor = Res1(8)
        self.rises = nn.ModuleList([nn.ModuleList([nn.ConvTranspose1d(8, 8, 4, 2, 1), Res1(8)]) for _ in range(2)])
        self.time = nn.Sequential(nn.Linear(6, 4), nn.Mish())
        self.end = nn.Conv1d(8, 2, 1)

    def forward(self, x):
        t = self.time(x.mean(2))
        x = self.begin(x)
        keep = []
        for r, d in self.falls:
            x = r(x, t)
            keep.append(x)
            x = d(x)
        x = self.floor(x, t)
        for u, r in self.rises:
            x = r(u(x) + keep.pop(), t)
        return self.end(x)


class Expert(nn.Module):
    def __init__(self, d):
        super().__init__()
        self.wi = nn.Linear(d, 2 * d, bias=False)
        self.wo = nn.Linear(2 * d, d, bias=False)

    def forward(self, x):
        return self.wo(F.relu(self.wi(x)) ** 2)


class Choose(nn.Module):
    def __init__(self, d, n=3):
        super().__init__()
        self.router = nn.Linear(d, n, bias=False)
        self.experts = nn.ModuleList([Expert(d) for _ in range(n)])

    def forward(self, x):
        p = torch.softmax(self.router(x), -1)
        return sum(p[..., i : i + 1] * e(x) for i, e in enumerate(self.experts))


class Rms(nn.Module):
    def __init__(self, d):
        super().__init__()
        self.gain = nn.Parameter(torch.rand(d) + 0.5)

    def forward(self, x):
        return x * torch.rsqrt((x * x).mean(-1, keepdim=True) + 1e-6) * self.gain


class Sparse(nn.Module):
    def __init__(self):
        super().__init__()
        self.lift = nn.Linear(12, 8)
        self.pairs = nn.ModuleList(
            [
                nn.ModuleDict(
                    {"n1": Rms(8), "att": nn.MultiheadAttention(8, 2, batch_first=True), "n2": Rms(8), "moe": Choose(8)}
                )
                for _ in range(2)
            ]
        )
        self.last = Rms(8)
        self.out = nn.Linear(8, 12, bias=False)

    def forward(self, x):
        x = self.lift(x)
        for p in self.pairs:
            y = p["n1"](x)
            x = x + p["att"](y, y, y, need_weights=False)[0]
            x = x + p["moe"](p["n2"](x))
        return self.out(self.last(x))


class Look(nn.Module):
    def __init__(self, d, h=2):
        super().__init__()
        self.h = h
        self.qkv = nn.Linear(d, 3 * d)
        self.proj = nn.Linear(d, d)
        self.bias = nn.Parameter(torch.randn(h, 1, 1))

    def forward(self, x):
        b, n, d = x.shape
        q, k, v = self.qkv(x).view(b, n, 3, self.h, d // self.h).permute(2, 0, 3, 1, 4).unbind(0)
        return self.proj(F.scaled_dot_product_attention(q, k, v).transpose(1, 2).reshape(b, n, d))


class Layer(nn.Module):
    def __init__(self, d):
        super().__init__()
        self.norm = nn.LayerNorm(d)
        self.look = Look(d)
        self.ls1 = nn.Parameter(torch.rand(d))
        self.norm_mlp = nn.LayerNorm(d)
        self.mlp = nn.Sequential(nn.Linear(d, 3 * d), nn.GELU(), nn.Dropout(0.1), nn.Linear(3 * d, d))
        self.ls2 = nn.Parameter(torch.rand(d))

    def forward(self, x):
        x = x + self.ls1 * self.look(self.norm(x))
        return x + self.ls2 * self.mlp(self.norm_mlp(x))


class Eye(nn.Module):
    def __init__(self):
        super().__init__()
        self.patch = nn.Conv2d(3, 12, 2, 2)
        self.cls = nn.Parameter(torch.randn(1, 1, 12))
        self.pos = nn.Parameter(torch.randn(1, 5, 12))
        self.deep = nn.Sequential(*[Layer(12) for _ in range(3)])
        self.norm = nn.LayerNorm(12)
        self.cls_head = nn.Linear(12, 4)

    def forward(self, x):
        x = self.patch(x).flatten(2).transpose(1, 2)
        x = torch.cat([self.cls.expand(x.shape[0], -1, -1), x], 1) + self.pos
        return self.cls_head(self.norm(self.deep(x))[:, 0])


class Dilated(nn.Module):
    def __init__(self, c, d):
        super().__init__()
        self.d = d
        self.filter = nn.Conv1d(c, c, 2, dilation=d)
        self.gate = nn.Conv1d(c, c, 2, dilation=d)
        self.skip = nn.Conv1d(c, c, 1)
        self.res = nn.Conv1d(c, c, 1)

    def forward(self, x):
        p = F.pad(x, (self.d, 0))
        y = torch.tanh(self.filter(p)) * torch.sigmoid(self.gate(p))
        return x + self.res(y), self.skip(y)


class Sound(nn.Module):
    def __init__(self):
        super().__init__()
        self.pre = nn.Conv1d(6, 8, 1)
        self.cells = nn.ModuleList([Dilated(8, 2**i) for i in range(3)])
        self.post = nn.Sequential(nn.ReLU(), nn.Conv1d(8, 8, 1), nn.ReLU(), nn.Conv1d(8, 4, 1))

    def forward(self, x):
        x = self.pre(x)
        k = 0
        for c in self.cells:
            x, y = c(x)
            k = k + y
        return self.post(k)


class Spatial(nn.Module):
    def __init__(self, n, d):
        super().__init__()
        self.ln = nn.LayerNorm(d)
        self.w = nn.Parameter(torch.randn(n, n) * 0.1)
        self.b = nn.Parameter(torch.ones(n, 1))

    def forward(self, x):
        u, v = x.chunk(2, -1)
        return u * (self.w @ self.ln(v) + self.b)


class Mix(nn.Module):
    def __init__(self, n, d):
        super().__init__()
        self.pre = nn.LayerNorm(d)
        self.fan = nn.Linear(d, 2 * d)
        self.space = Spatial(n, d)
        self.back = nn.Linear(d, d)

    def forward(self, x):
        return x + self.back(self.space(F.gelu(self.fan(self.pre(x)))))


class Gated(nn.Module):
    def __init__(self):
        super().__init__()
        self.table = nn.Linear(12, 10)
        self.body = nn.ModuleDict({f"step_{i}": Mix(8, 10) for i in range(3)})
        self.tail = nn.ModuleList([nn.LayerNorm(10), nn.Linear(10, 3)])

    def forward(self, x):
        x = self.table(x)
        for m in self.body.values():
            x = m(x)
        for m in self.tail:
            x = m(x)
        return x.amax(1)


ALL = {
    "phone": PhoneNet,
    "twins": Twins,
    "latents": Latents,
    "translator": Translator,
    "molecule": Molecule,
    "wave": Wave,
    "sparse": Sparse,
    "eye": Eye,
    "sound": Sound,
    "gated": Gated,
}
BUILD = list(ALL)


def build(name):
    torch.manual_seed(BUILD.index(name))
    m = ALL[name]()
    for b in m.buffers():
        if b.dtype == torch.float32 and b.dim() == 1:
            b.data = torch.rand_like(b) + 0.5
    return m.eval()


def inputs(name):
    g = torch.Generator().manual_seed(7)
    s = {"phone": (2, 3, 4, 4), "eye": (2, 3, 4, 4), "twins": (2, 6, 8), "wave": (2, 6, 8), "sound": (2, 6, 8)}.get(
        name, (2, 8, 12)
    )
    return (torch.randn(*s, generator=g),), ["x"], ["y"]
