"""Recommendation, series, graphs, control."""
from typing import Any, List

import torch
import torch.nn.functional as F
from torch import Tensor, nn


# ---------------------------------------------------------------- recommendation: two towers of sequences, dots between embeddings
def mlp(sizes: List[int], last: nn.Module) -> nn.Sequential:
    layers: List[nn.Module] = []
    for k, (i, o) in enumerate(zip(sizes, sizes[1:])):
        layers += [nn.Linear(i, o), last if k == len(sizes) - 2 else nn.ReLU()]
    return nn.Sequential(*layers)


class ClickNet(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.emb_l = nn.ModuleList([nn.EmbeddingBag(n, 6, mode="sum") for n in (10, 12, 7)])
        self.bot_l, self.top_l = mlp([5, 8, 6], nn.ReLU()), mlp([12, 8, 4, 1], nn.Sigmoid())

    def apply_emb(self, ids: Tensor) -> List[Tensor]:
        return [F.embedding(ids[:, k], e.weight) for k, e in enumerate(self.emb_l)]

    def interact_features(self, x: Tensor, ly: List[Tensor]) -> Tensor:
        t = torch.stack([x, *ly], 1)
        z = torch.bmm(t, t.transpose(1, 2))
        pairs = [(i, j) for i in range(4) for j in range(i)]
        return torch.cat([x, torch.stack([z[:, i, j] for i, j in pairs], 1)], 1)

    def forward(self, dense: Tensor, sparse: Tensor) -> Tensor:
        x = self.bot_l(dense)
        return self.top_l(self.interact_features(x, self.apply_emb(sparse)))


# ---------------------------------------------------------------- recommendation: dictionaries of embeddings, a compressed interaction
class DNN(nn.Module):
    def __init__(self, sizes: List[int]) -> None:
        super().__init__()
        self.dropout = nn.Dropout(0.1)
        self.linears = nn.ModuleList([nn.Linear(i, o) for i, o in zip(sizes, sizes[1:])])
        self.bn = nn.ModuleList([nn.BatchNorm1d(o) for o in sizes[1:]])
        self.activation_layers = nn.ModuleList([nn.PReLU() for _ in sizes[1:]])

    def forward(self, x: Tensor) -> Tensor:
        for i, linear in enumerate(self.linears):
            x = self.dropout(self.activation_layers[i](self.bn[i](linear(x))))
        return x


class CIN(nn.Module):
    def __init__(self, fields: int, sizes: List[int]) -> None:
        super().__init__()
        self.sizes, self.conv1ds, before = sizes, nn.ModuleList(), fields
        for size in sizes:
            self.conv1ds.append(nn.Conv1d(before * fields, size, 1))
            before = size // 2
    def forward(self, x: Tensor) -> Tensor:
        hidden, results = x, []
        for size, conv in zip(self.sizes, self.conv1ds):
            z = torch.einsum("bhd,bmd->bhmd", hidden, x).flatten(1, 2)
            hidden, direct = torch.relu(conv(z)).split([size // 2, size // 2], 1)
            results.append(direct)
        return torch.cat(results, 1).sum(-1)


class Linear(nn.Module):
    def __init__(self, names: List[str], dense: int) -> None:
        super().__init__()
        self.embedding_dict = nn.ModuleDict({n: nn.Embedding(9, 1) for n in names})
        self.weight = nn.Parameter(torch.randn(dense, 1))

    def forward(self, ids: Tensor, dense: Tensor) -> Tensor:
        return sum(e(ids[:, k]) for k, e in enumerate(self.embedding_dict.values())) + dense.matmul(self.weight)


class PredictionLayer(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.bias = nn.Parameter(torch.rand(1))

    def forward(self, x: Tensor) -> Tensor:
        return torch.sigmoid(x + self.bias)


class DeepFactors(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        names = ["user", "item", "shop", "hour"]
        self.embedding_dict, self.linear_model = nn.ModuleDict({n: nn.Embedding(9, 4) for n in names}), Linear(names, 3)
        self.out, self.cin, self.cin_linear = PredictionLayer(), CIN(4, [6, 4]), nn.Linear(5, 1, bias=False)
        self.dnn, self.dnn_linear = DNN([19, 12, 8]), nn.Linear(8, 1, bias=False)

    def forward(self, ids: Tensor, dense: Tensor) -> Tensor:
        e = torch.stack([m(ids[:, k]) for k, m in enumerate(self.embedding_dict.values())], 1)
        deep = self.dnn(torch.cat([e.flatten(1), dense], 1))
        return self.out(self.linear_model(ids, dense) + self.cin_linear(self.cin(e)) + self.dnn_linear(deep))


# ---------------------------------------------------------------- written here: experts for several tasks, towers in a dictionary
class Tasks(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.bags = nn.ParameterDict({"city": nn.Parameter(torch.randn(8, 4)), "age": nn.Parameter(torch.randn(6, 4))})
        self.history = nn.GRU(4, 6, batch_first=True)
        self.experts = nn.ModuleList([nn.Sequential(nn.Linear(14, 10), nn.GELU(), nn.Linear(10, 8)) for _ in range(3)])
        self.gates = nn.ModuleDict({t: nn.Linear(14, 3, bias=False) for t in ("click", "buy")})
        self.towers = nn.ModuleDict({t: nn.ModuleDict({"hid": nn.Linear(8, 6), "out": nn.Linear(6, 1)}) for t in ("click", "buy")})

    def forward(self, who: Tensor, seen: Tensor) -> Any:
        a, b = self.bags["city"][who[:, 0]], self.bags["age"][who[:, 1]]
        x = torch.cat([a, b, self.history(self.bags["city"][seen])[0][:, -1]], -1)
        many = torch.stack([e(x) for e in self.experts], 1)
        said = []
        for task, gate in self.gates.items():
            y = (torch.softmax(gate(x), -1).unsqueeze(-1) * many).sum(1)
            said.append(self.towers[task]["out"](F.silu(self.towers[task]["hid"](y))))
        return torch.sigmoid(torch.cat(said, -1))


# ---------------------------------------------------------------- series: stacks of blocks that subtract what they explain
class Block(nn.Module):
    def __init__(self, back: int, ahead: int, theta: int, shared: bool) -> None:
        super().__init__()
        self.fc1, self.fc2, self.fc3, self.fc4 = nn.Linear(back, 10), nn.Linear(10, 10), nn.Linear(10, 10), nn.Linear(10, 10)
        self.theta_b_fc = nn.Linear(10, theta, bias=False)
        self.theta_f_fc = self.theta_b_fc if shared else nn.Linear(10, theta, bias=False)
        self.backcast_fc, self.forecast_fc = nn.Linear(theta, back), nn.Linear(theta, ahead)

    def forward(self, x: Tensor) -> Any:
        x = F.relu(self.fc4(F.relu(self.fc3(F.relu(self.fc2(F.relu(self.fc1(x))))))))
        return self.backcast_fc(self.theta_b_fc(x)), self.forecast_fc(self.theta_f_fc(x))


class Beats(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.stacks = nn.ModuleList([nn.ModuleList([Block(12, 4, 6, k == 1) for _ in range(2)]) for k in range(2)])

    def forward(self, x: Tensor) -> Any:
        ahead = torch.zeros(x.shape[0], 4)
        for stack in self.stacks:
            for block in stack:
                b, f = block(x)
                x, ahead = x - b, ahead + f
        return x, ahead


# ---------------------------------------------------------------- written here: patches of series, reversible norm, trend and season
class Reversible(nn.Module):
    def __init__(self, n: int) -> None:
        super().__init__()
        self.gain, self.offset = nn.Parameter(torch.ones(n)), nn.Parameter(torch.zeros(n))

    def forward(self, x: Tensor, way: str, stats: Any = None) -> Any:
        if way == "norm":
            stats = (x.mean(1, keepdim=True), torch.sqrt(x.var(1, keepdim=True, unbiased=False) + 1e-5))
            return (x - stats[0]) / stats[1] * self.gain + self.offset, stats
        return (x - self.offset) / self.gain * stats[1] + stats[0]


class Seasons(nn.Module):
    def __init__(self, d: int = 12) -> None:
        super().__init__()
        self.revin, self.smooth = Reversible(3), nn.AvgPool1d(3, 1, 1)
        self.embed, self.place = nn.Linear(4, d), nn.Parameter(torch.randn(4, d))
        layer = nn.TransformerEncoderLayer(d, 2, 2 * d, 0.1, "gelu", batch_first=True, norm_first=True)
        self.encoder = nn.TransformerEncoder(layer, 2, enable_nested_tensor=False)
        self.season_head, self.trend_head = nn.Sequential(nn.Flatten(2), nn.Linear(4 * d, 5)), nn.Linear(16, 5)

    def forward(self, x: Tensor) -> Tensor:
        x, stats = self.revin(x, "norm")
        x = x.transpose(1, 2)
        trend = self.smooth(x)
        p = self.embed((x - trend).unflatten(2, (4, 4))) + self.place
        y = self.encoder(p.flatten(0, 1)).view(x.shape[0], 3, 4, -1)
        return self.revin((self.season_head(y) + self.trend_head(trend)).transpose(1, 2), "denorm", stats)


# ---------------------------------------------------------------- graphs: heads added by name, parameters without modules
class GraphAttention(nn.Module):
    def __init__(self, i: int, o: int, concat: bool = True) -> None:
        super().__init__()
        self.o, self.concat, self.W, self.a = o, concat, nn.Parameter(torch.randn(i, o)), nn.Parameter(torch.randn(2 * o, 1))
        self.leakyrelu = nn.LeakyReLU(0.2)

    def forward(self, h: Tensor, adj: Tensor) -> Tensor:
        wh = torch.mm(h, self.W)
        e = self.leakyrelu(torch.matmul(wh, self.a[:self.o]) + torch.matmul(wh, self.a[self.o:]).T)
        attention = F.softmax(torch.where(adj > 0, e, torch.full_like(e, -9e15)), 1)
        y = torch.matmul(attention, wh)
        return F.elu(y) if self.concat else y


class Papers(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.attentions = [GraphAttention(7, 5) for _ in range(3)]
        for i, attention in enumerate(self.attentions):
            self.add_module(f"attention_{i}", attention)
        self.out_att = GraphAttention(15, 4, concat=False)

    def forward(self, x: Tensor, adj: Tensor) -> Tensor:
        x = torch.cat([a(x, adj) for a in self.attentions], 1)
        return F.log_softmax(F.elu(self.out_att(x, adj)), 1)


# ---------------------------------------------------------------- written here: messages over an index of edges, a virtual node
class Messages(nn.Module):
    def __init__(self, d: int) -> None:
        super().__init__()
        self.lin_src, self.lin_dst, self.lin_edge = nn.Linear(d, d), nn.Linear(d, d, bias=False), nn.Linear(3, d)
        self.eps, self.nn = nn.Parameter(torch.zeros(1)), nn.Sequential(nn.Linear(d, 2 * d), nn.BatchNorm1d(2 * d), nn.ReLU(), nn.Linear(2 * d, d))

    def message(self, x: Tensor, edges: Tensor, kinds: Tensor) -> Tensor:
        return torch.relu(self.lin_src(x)[edges[0]] + self.lin_dst(x)[edges[1]] + self.lin_edge(kinds))

    def forward(self, x: Tensor, edges: Tensor, kinds: Tensor) -> Tensor:
        m = self.message(x, edges, kinds)
        total = torch.zeros_like(x).scatter_add(0, edges[1].unsqueeze(1).expand_as(m), m)
        return self.nn((1 + self.eps) * x + total)


class Molecules(nn.Module):
    def __init__(self, d: int = 8) -> None:
        super().__init__()
        self.atom_encoder, self.virtual = nn.Linear(5, d), nn.Parameter(torch.randn(1, d))
        self.convs = nn.ModuleList([Messages(d) for _ in range(3)])
        self.batch_norms = nn.ModuleList([nn.BatchNorm1d(d) for _ in range(3)])
        self.virtual_mlps = nn.ModuleList([nn.Sequential(nn.Linear(d, d), nn.ReLU()) for _ in range(2)])
        self.graph_pred = nn.Linear(2 * d, 2)

    def forward(self, x: Tensor, edges: Tensor, kinds: Tensor) -> Tensor:
        h, v = self.atom_encoder(x), self.virtual
        for i, (conv, norm) in enumerate(zip(self.convs, self.batch_norms)):
            h = h + F.relu(norm(conv(h + v, edges, kinds)))
            if i < 2:
                v = v + self.virtual_mlps[i](h.sum(0, keepdim=True) + v)
        return self.graph_pred(torch.cat([h.mean(0, keepdim=True), v], 1))


# ---------------------------------------------------------------- control: stages in a sequence, actor and critic on one trunk
class Residual(nn.Module):
    def __init__(self, c: int) -> None:
        super().__init__()
        self.conv0, self.conv1 = nn.Conv2d(c, c, 3, padding=1), nn.Conv2d(c, c, 3, padding=1)

    def forward(self, x: Tensor) -> Tensor:
        return x + self.conv1(F.relu(self.conv0(F.relu(x))))


class Stage(nn.Module):
    def __init__(self, i: int, o: int) -> None:
        super().__init__()
        self.conv, self.res_block0, self.res_block1 = nn.Conv2d(i, o, 3, padding=1), Residual(o), Residual(o)

    def forward(self, x: Tensor) -> Tensor:
        return self.res_block1(self.res_block0(F.max_pool2d(self.conv(x), 3, 2, 1)))


class Player(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.network = nn.Sequential(Stage(3, 6), Stage(6, 8), nn.Flatten(), nn.ReLU(), nn.Linear(8 * 16, 16), nn.ReLU())
        self.actor, self.critic = nn.Linear(16, 5), nn.Linear(16, 1)

    def forward(self, x: Tensor) -> Any:
        hidden = self.network(x.permute(0, 3, 1, 2) / 255.0)
        return F.log_softmax(self.actor(hidden), -1), self.critic(hidden)


# ---------------------------------------------------------------- written here: a model of the world, heads in a dictionary, one trunk twice
class World(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.obs = nn.Sequential(nn.Linear(9, 12), nn.LayerNorm(12), nn.SiLU())
        self.cell, self.cell_norm = nn.GRUCell(12 + 3, 12), nn.LayerNorm(12)
        self.prior, self.posterior = nn.Linear(12, 8), nn.Linear(24, 8)
        self.trunk = nn.Sequential(nn.Linear(12 + 8, 12), nn.ELU(), nn.Linear(12, 12), nn.ELU())
        self.heads = nn.ModuleDict({"reward": nn.Linear(12, 1), "cont": nn.Linear(12, 1), "decode": nn.Linear(12, 9)})
        self.q1, self.q2 = nn.ModuleList([nn.Linear(15, 10), nn.Linear(10, 1)]), nn.ModuleList([nn.Linear(15, 10), nn.Linear(10, 1)])

    def imagine(self, h: Tensor, action: Tensor, e: Tensor) -> Any:
        h = self.cell_norm(self.cell(torch.cat([e, action], -1), h))
        z = torch.softmax(self.prior(h) if e is None else self.posterior(torch.cat([h, e], -1)), -1)
        return h, self.trunk(torch.cat([h, z], -1))

    def forward(self, x: Tensor, actions: Tensor) -> Any:
        e, h, out = self.obs(x), torch.zeros(x.shape[0], 12), []
        for k in range(2):
            h, f = self.imagine(h, actions[:, k], e)
            said = {n: head(f) for n, head in self.heads.items()}
            q = [net[1](F.relu(net[0](torch.cat([f, actions[:, k]], -1)))) for net in (self.q1, self.q2)]
            out.append(torch.cat([said["reward"], torch.sigmoid(said["cont"]), said["decode"], torch.min(*q)], -1))
        return torch.stack(out, 1)


MODELS = {
    "clicknet": (ClickNet, [(2, 5), ("ids", 7, 2, 3)]), "deepfactors": (DeepFactors, [("ids", 9, 3, 4), (3, 3)]),
    "tasks": (Tasks, [("ids", 6, 2, 2), ("ids", 8, 2, 5)]), "beats": (Beats, [(2, 12)]), "seasons": (Seasons, [(2, 16, 3)]),
    "papers": (Papers, [(6, 7), (6, 6)]), "molecules": (Molecules, [(6, 5), ("ids", 6, 2, 9), (9, 3)]),
    "player": (Player, [(2, 16, 16, 3)]), "world": (World, [(2, 9), (2, 2, 3)]),
}
