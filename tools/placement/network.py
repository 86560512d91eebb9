"""The placement network in PyTorch, and its weights as a file. docs/how/placement.md explains what goes in and comes out.

Needs only torch and numpy. `write_onnx.py` writes the weights in ONNX form.
"""
from __future__ import annotations

from typing import Dict, Optional

import torch
import torch.nn.functional as F
from torch import Tensor, nn

FEATURES, COUNTS, DEPTHS, WORDS, ATTRIBUTES, TABLE = 40, 8, 4, 4096, 512, 16


def act(x: Tensor) -> Tensor:
    return x * torch.clamp(x / 6 + 0.5, 0, 1)


def mean_into(size: int, values: Tensor, target: Tensor) -> Tensor:
    """The mean of the rows of `values` that have the same target; 0 where there is none."""
    total = torch.zeros(size, values.shape[1], device=values.device, dtype=values.dtype).index_add(0, target, values)
    count = torch.zeros(size, device=values.device, dtype=values.dtype).index_add(
        0, target, torch.ones(len(target), device=values.device, dtype=values.dtype))
    return total / count.clamp(min=1).unsqueeze(1)


def shifted(g: Tensor, s: int) -> Tensor:
    """Row k is row k - s of g, or zeros outside."""
    if abs(s) >= len(g):
        return torch.zeros_like(g)
    empty = g.new_zeros(abs(s), g.shape[1])
    return torch.cat([empty, g[:-s]]) if s > 0 else torch.cat([g[-s:], empty])


class Placement(nn.Module):
    def __init__(self, operators: int, d: int = 48, rounds: int = 3, h1: int = 64, h2: int = 48, w: int = 24,
                 mean: Optional[Tensor] = None, std: Optional[Tensor] = None, drop: float = 0.1) -> None:
        super().__init__()
        self.rounds, self.h1 = rounds, h1
        self.op, self.attribute = nn.Embedding(operators, d), nn.Embedding(ATTRIBUTES, d)
        self.word = nn.Embedding(WORDS, w, padding_idx=0)
        self.count = nn.ModuleList([nn.Embedding(TABLE, d) for _ in range(COUNTS)])
        self.depth = nn.ModuleList([nn.Embedding(TABLE, d) for _ in range(DEPTHS)])
        self.anchor = nn.Linear(2 * w, d, bias=False)
        self.norm = nn.ModuleList([nn.LayerNorm(d) for _ in range(rounds)])
        self.mix = nn.ModuleList([nn.Linear(7 * d, 2 * d) for _ in range(rounds)])
        self.back = nn.ModuleList([nn.Linear(2 * d, d) for _ in range(rounds)])
        self.features = nn.Linear(FEATURES, d)
        self.head = nn.Linear(5 * d + 4 * w, h1)        # features, own, node, module, pair, names
        self.head_2, self.head_3 = nn.Linear(h1, h2), nn.Linear(h2, 1)
        self.drop = nn.Dropout(drop)
        self.register_buffer("mean", torch.zeros(FEATURES) if mean is None else mean)
        self.register_buffer("std", torch.ones(FEATURES) if std is None else std)

    def words(self, ids: Tensor, groups: int) -> Tensor:
        ids = ids.view(len(ids), groups, 3)
        there = (ids > 0).unsqueeze(-1).float()
        return ((self.word(ids) * there).sum(-2) / there.sum(-2).clamp(min=1)).flatten(1)

    def forward(self, b: Dict[str, Tensor]) -> Tensor:
        """`b` as in the dump. Several files in one batch are kept apart by 8 empty nodes; `b["names"]` (1 or 0 for each node) and
        `b["names_of_row"]` leave out the words of some files."""
        keep = b.get("keep")                              # 0 for the empty nodes between files
        h = self.op(b["op"]) + self.attribute(b["at"])
        for i, table in enumerate(self.count):
            h = h + table(b["nin"][:, i])
        for i, table in enumerate(self.depth):
            h = h + table(b["ad"][:, i])
        anchor = self.anchor(self.words(b["aw"], 2))
        names = self.words(b["cw"], 4)
        if "names" in b:
            anchor, names = anchor * b["names"].unsqueeze(1), names * b["names_of_row"].unsqueeze(1)
        h = h + anchor
        own, n = h, len(h)
        source, target = b["edges"][:, 0], b["edges"][:, 1]
        for i in range(self.rounds):
            g, far = self.norm[i](h), 2 if i % 2 == 0 else 4
            if keep is not None:
                g = g * keep.unsqueeze(1)
            above, below = mean_into(n, g[source], target), mean_into(n, g[target], source)
            order = [shifted(g, s) for s in (1, far, -1, -far)]
            h = h + self.drop(self.back[i](act(self.mix[i](torch.cat([g, above, below, *order], 1)))))
        module = mean_into(int(b["modules"]), h[b["mem"][:, 0]], b["mem"][:, 1])[b["cid"]]
        there = h[b["node"]]
        f = act(self.features((b["X"] - self.mean) / self.std))
        z = act(self.head(self.drop(torch.cat([f, own[b["node"]], there, module, there * module, names], 1))))
        return self.head_3(act(self.head_2(z))).squeeze(1)


def weights_of(net: Placement) -> Dict[str, Tensor]:
    """The weights under the names of the file, each as [in, out], with the scale of the features folded in."""
    d = net.op.weight.shape[1]
    found = {"op": net.op.weight, "attribute": net.attribute.weight, "word": net.word.weight,
             "anchor.weight": net.anchor.weight.T}
    for kind in ("count", "depth"):
        found.update({f"{kind}_{i}": t.weight for i, t in enumerate(getattr(net, kind))})
    for i in range(net.rounds):
        found[f"norm_{i}.weight"], found[f"norm_{i}.bias"] = net.norm[i].weight, net.norm[i].bias
        for kind in ("mix", "back"):
            layer = getattr(net, kind)[i]
            found[f"{kind}_{i}.weight"], found[f"{kind}_{i}.bias"] = layer.weight.T, layer.bias
    scaled = net.features.weight / net.std
    found["features.weight"] = scaled.T
    found["features.bias"] = net.features.bias - (scaled * net.mean).sum(1)
    for i, part in enumerate(("features", "own", "node", "module", "pair")):
        found[f"head_{part}.weight"] = net.head.weight[:, i * d:(i + 1) * d].T
    found["head_names.weight"], found["head.bias"] = net.head.weight[:, 5 * d:].T, net.head.bias
    for kind in ("head_2", "head_3"):
        found[f"{kind}.weight"], found[f"{kind}.bias"] = getattr(net, kind).weight.T, getattr(net, kind).bias
    return {name: t.detach().contiguous().half().cpu() for name, t in found.items()}


def network_of(weights: Dict[str, Tensor]) -> Placement:
    """The network with exactly the numbers of the file."""
    w = {name: t.float() for name, t in weights.items()}
    rounds = sum(name.startswith("mix_") and name.endswith(".weight") for name in w)
    net = Placement(len(w["op"]), w["op"].shape[1], rounds, w["head.bias"].shape[0], w["head_2.bias"].shape[0],
                    w["word"].shape[1])
    with torch.no_grad():
        net.op.weight.copy_(w["op"])
        net.attribute.weight.copy_(w["attribute"])
        net.word.weight.copy_(w["word"])
        net.anchor.weight.copy_(w["anchor.weight"].T)
        for kind in ("count", "depth"):
            for i, table in enumerate(getattr(net, kind)):
                table.weight.copy_(w[f"{kind}_{i}"])
        for i in range(rounds):
            net.norm[i].weight.copy_(w[f"norm_{i}.weight"])
            net.norm[i].bias.copy_(w[f"norm_{i}.bias"])
            for kind in ("mix", "back"):
                getattr(net, kind)[i].weight.copy_(w[f"{kind}_{i}.weight"].T)
                getattr(net, kind)[i].bias.copy_(w[f"{kind}_{i}.bias"])
        net.head.weight.copy_(torch.cat([w[f"head_{p}.weight"] for p in (
            "features", "own", "node", "module", "pair", "names")]).T)
        net.head.bias.copy_(w["head.bias"])
        for kind in ("features", "head_2", "head_3"):
            getattr(net, kind).weight.copy_(w[f"{kind}.weight"].T)
            getattr(net, kind).bias.copy_(w[f"{kind}.bias"])
    return net.eval()
