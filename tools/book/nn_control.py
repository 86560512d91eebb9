"""Networks for control, tables, points and graphs as projects write them by hand; for the recipe book."""
from __future__ import annotations

import math
from typing import List, Tuple

import torch
from torch import Tensor, nn
from torch.nn import functional


class QNetwork(nn.Module):
    """Pictures of a game to values of actions."""

    def __init__(self, dueling: bool) -> None:
        super().__init__()
        self.conv1, self.conv2, self.conv3 = nn.Conv2d(4, 8, 8, 4), nn.Conv2d(8, 16, 4, 2), nn.Conv2d(16, 16, 3, 1)
        self.dueling = dueling
        if dueling:
            self.value_stream = nn.Sequential(nn.Linear(16 * 49, 32), nn.ReLU(), nn.Linear(32, 1))
            self.advantage_stream = nn.Sequential(nn.Linear(16 * 49, 32), nn.ReLU(), nn.Linear(32, 6))
        else:
            self.fc1, self.fc2 = nn.Linear(16 * 49, 32), nn.Linear(32, 6)

    def forward(self, state: Tensor) -> Tensor:
        x = functional.relu(self.conv1(state / 255.0))
        x = functional.relu(self.conv2(x))
        x = functional.relu(self.conv3(x)).reshape(state.shape[0], -1)
        if not self.dueling:
            return self.fc2(functional.relu(self.fc1(x)))
        value, advantage = self.value_stream(x), self.advantage_stream(x)
        return value + advantage - advantage.mean(dim=1, keepdim=True)


class ActorCritic(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.actor = nn.Sequential(nn.Linear(8, 32), nn.Tanh(), nn.Linear(32, 32), nn.Tanh(), nn.Linear(32, 4),
                                   nn.Softmax(dim=-1))
        self.critic = nn.Sequential(nn.Linear(8, 32), nn.Tanh(), nn.Linear(32, 32), nn.Tanh(), nn.Linear(32, 1))

    def forward(self, obs: Tensor) -> Tuple[Tensor, Tensor]:
        return self.actor(obs), self.critic(obs)


class GaussianPolicy(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.linear1, self.linear2 = nn.Linear(8, 32), nn.Linear(32, 32)
        self.mean_linear, self.log_std_linear = nn.Linear(32, 3), nn.Linear(32, 3)

    def forward(self, state: Tensor) -> Tuple[Tensor, Tensor]:
        x = functional.relu(self.linear2(functional.relu(self.linear1(state))))
        return torch.tanh(self.mean_linear(x)), torch.clamp(self.log_std_linear(x), -20, 2)


class TransformNet(nn.Module):
    def __init__(self, size: int) -> None:
        super().__init__()
        self.size = size
        self.conv1, self.conv2, self.conv3 = nn.Conv1d(size, 8, 1), nn.Conv1d(8, 16, 1), nn.Conv1d(16, 32, 1)
        self.fc1, self.fc2, self.fc3 = nn.Linear(32, 24), nn.Linear(24, 16), nn.Linear(16, size * size)
        self.bn1, self.bn2, self.bn3 = nn.BatchNorm1d(8), nn.BatchNorm1d(16), nn.BatchNorm1d(32)

    def forward(self, x: Tensor) -> Tensor:
        y = functional.relu(self.bn1(self.conv1(x)))
        y = functional.relu(self.bn2(self.conv2(y)))
        y = functional.relu(self.bn3(self.conv3(y)))
        y = torch.max(y, 2)[0]
        y = self.fc3(functional.relu(self.fc2(functional.relu(self.fc1(y)))))
        return y.view(-1, self.size, self.size) + torch.eye(self.size)


class PointNet(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.stn = TransformNet(3)
        self.conv1, self.conv2, self.conv3 = nn.Conv1d(3, 8, 1), nn.Conv1d(8, 16, 1), nn.Conv1d(16, 32, 1)
        self.bn1, self.bn2, self.bn3 = nn.BatchNorm1d(8), nn.BatchNorm1d(16), nn.BatchNorm1d(32)
        self.fc1, self.fc2 = nn.Linear(32, 24), nn.Linear(24, 10)
        self.bn4, self.dropout = nn.BatchNorm1d(24), nn.Dropout(0.3)

    def forward(self, x: Tensor) -> Tensor:
        x = torch.bmm(x.transpose(2, 1), self.stn(x)).transpose(2, 1)
        x = functional.relu(self.bn1(self.conv1(x)))
        x = functional.relu(self.bn2(self.conv2(x)))
        x = torch.max(self.bn3(self.conv3(x)), 2)[0]
        x = functional.relu(self.bn4(self.dropout(self.fc1(x))))
        return functional.log_softmax(self.fc2(x), dim=1)


class Tabular(nn.Module):
    """Columns of categories as embeddings beside columns of numbers."""

    def __init__(self) -> None:
        super().__init__()
        self.embeds = nn.ModuleList([nn.Embedding(10, 4) for _ in range(3)])
        self.bn_cont = nn.BatchNorm1d(5)
        layers: List[nn.Module] = []
        for wide, out in ((17, 32), (32, 16)):
            layers += [nn.Linear(wide, out), nn.ReLU(inplace=True), nn.BatchNorm1d(out), nn.Dropout(0.1)]
        self.layers = nn.Sequential(*layers, nn.Linear(16, 2))

    def forward(self, x_cat: Tensor, x_cont: Tensor) -> Tensor:
        parts = [embed(x_cat[:, i]) for i, embed in enumerate(self.embeds)]
        return self.layers(torch.cat([*parts, self.bn_cont(x_cont)], dim=1))


class Recommender(nn.Module):
    """Users and items: a product of factors beside a perceptron."""

    def __init__(self) -> None:
        super().__init__()
        self.embedding_user_mlp, self.embedding_item_mlp = nn.Embedding(32, 8), nn.Embedding(32, 8)
        self.embedding_user_mf, self.embedding_item_mf = nn.Embedding(32, 6), nn.Embedding(32, 6)
        self.fc_layers = nn.ModuleList([nn.Linear(16, 12), nn.Linear(12, 8)])
        self.affine_output = nn.Linear(14, 1)
        self.logistic = nn.Sigmoid()

    def forward(self, user: Tensor, item: Tensor) -> Tensor:
        x = torch.cat([self.embedding_user_mlp(user), self.embedding_item_mlp(item)], dim=-1)
        for layer in self.fc_layers:
            x = torch.relu(layer(x))
        factors = self.embedding_user_mf(user) * self.embedding_item_mf(item)
        return self.logistic(self.affine_output(torch.cat([x, factors], dim=-1)))


class Factorization(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.user_factors, self.item_factors = nn.Embedding(32, 8), nn.Embedding(32, 8)
        self.user_biases, self.item_biases = nn.Embedding(32, 1), nn.Embedding(32, 1)

    def forward(self, user: Tensor, item: Tensor) -> Tensor:
        score = (self.user_factors(user) * self.item_factors(item)).sum(dim=1, keepdim=True)
        return (score + self.user_biases(user) + self.item_biases(item)).squeeze()


class RadianceField(nn.Module):
    """Encoded points and directions to colour and density, with a skip."""

    def __init__(self) -> None:
        super().__init__()
        self.pts_linears = nn.ModuleList([nn.Linear(21, 32), nn.Linear(32, 32), nn.Linear(53, 32), nn.Linear(32, 32)])
        self.feature_linear, self.alpha_linear = nn.Linear(32, 32), nn.Linear(32, 1)
        self.views_linears = nn.ModuleList([nn.Linear(35, 16)])
        self.rgb_linear = nn.Linear(16, 3)

    def forward(self, points: Tensor, views: Tensor) -> Tensor:
        rates = [points]
        for i in range(3):
            rates += [torch.sin(2.0 ** i * points), torch.cos(2.0 ** i * points)]
        encoded = torch.cat(rates, -1)
        x = encoded
        for i, layer in enumerate(self.pts_linears):
            x = functional.relu(layer(x))
            if i == 1:
                x = torch.cat([encoded, x], -1)
        alpha = self.alpha_linear(x)
        x = torch.cat([self.feature_linear(x), views], -1)
        for layer in self.views_linears:
            x = functional.relu(layer(x))
        return torch.cat([self.rgb_linear(x), alpha], -1)


class GraphNet(nn.Module):
    """Two graph convolutions over a dense adjacency."""

    def __init__(self) -> None:
        super().__init__()
        self.gc1, self.gc2 = nn.Linear(8, 16, bias=False), nn.Linear(16, 4, bias=False)
        self.dropout = nn.Dropout(0.5)

    def forward(self, x: Tensor, adj: Tensor) -> Tensor:
        x = self.dropout(functional.relu(torch.matmul(adj, self.gc1(x))))
        return functional.log_softmax(torch.matmul(adj, self.gc2(x)), dim=1)


class ResidualMlp(nn.Module):
    """Blocks of linear layers with norms and a skip."""

    class Block(nn.Module):
        def __init__(self, width: int) -> None:
            super().__init__()
            self.norm = nn.LayerNorm(width)
            self.linear1, self.linear2 = nn.Linear(width, 2 * width), nn.Linear(2 * width, width)
            self.act, self.dropout = nn.GELU(), nn.Dropout(0.1)

        def forward(self, x: Tensor) -> Tensor:
            return x + self.dropout(self.linear2(self.act(self.linear1(self.norm(x)))))

    def __init__(self) -> None:
        super().__init__()
        self.first_layer = nn.Linear(12, 24)
        self.blocks = nn.ModuleList([ResidualMlp.Block(24) for _ in range(3)])
        self.last_normalization = nn.LayerNorm(24)
        self.head = nn.Linear(24, 2)

    def forward(self, x: Tensor) -> Tensor:
        x = self.first_layer(x)
        for block in self.blocks:
            x = block(x)
        return self.head(torch.relu(self.last_normalization(x)))


class DiffusionTime(nn.Module):
    """A denoising perceptron that is told the time by sines."""

    def __init__(self) -> None:
        super().__init__()
        self.time_mlp = nn.Sequential(nn.Linear(16, 32), nn.SiLU(), nn.Linear(32, 32))
        self.input_layer = nn.Linear(4, 32)
        self.hidden = nn.ModuleList([nn.Linear(32, 32) for _ in range(3)])
        self.output_layer = nn.Linear(32, 4)

    def forward(self, x: Tensor, t: Tensor) -> Tensor:
        rates = torch.exp(torch.arange(8) * (-math.log(10000.0) / 7))
        angles = t[:, None] * rates[None, :]
        time = self.time_mlp(torch.cat([angles.sin(), angles.cos()], dim=-1))
        x = self.input_layer(x)
        for layer in self.hidden:
            x = functional.silu(layer(x + time))
        return self.output_layer(x)
