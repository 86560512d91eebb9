"""Networks for images as projects write them by hand, with the names that are usual: for the recipe book."""
from __future__ import annotations

from typing import List

import torch
from torch import Tensor, nn
from torch.nn import functional


def conv_bn(wide: int, out: int, stride: int = 1) -> nn.Sequential:
    return nn.Sequential(nn.Conv2d(wide, out, 3, stride, 1, bias=False), nn.BatchNorm2d(out), nn.ReLU(inplace=True))


def conv_dw(wide: int, out: int, stride: int) -> nn.Sequential:
    return nn.Sequential(
        nn.Conv2d(wide, wide, 3, stride, 1, groups=wide, bias=False), nn.BatchNorm2d(wide), nn.ReLU(inplace=True),
        nn.Conv2d(wide, out, 1, 1, 0, bias=False), nn.BatchNorm2d(out), nn.ReLU(inplace=True))


class FeaturesClassifier(nn.Module):
    """Convolutions in `features`, linear layers in `classifier`."""

    def __init__(self, norm: bool) -> None:
        super().__init__()
        layers: List[nn.Module] = []
        for wide, out in ((3, 8), (8, 16), (16, 32)):
            layers.append(nn.Conv2d(wide, out, 3, padding=1))
            if norm:
                layers.append(nn.BatchNorm2d(out))
            layers += [nn.ReLU(inplace=True), nn.MaxPool2d(2)]
        self.features = nn.Sequential(*layers)
        self.classifier = nn.Sequential(nn.Linear(32 * 16, 48), nn.ReLU(inplace=True), nn.Dropout(), nn.Linear(48, 10))

    def forward(self, x: Tensor) -> Tensor:
        return self.classifier(torch.flatten(self.features(x), 1))


class Numbered(nn.Module):
    """Layers as members with numbers, functions between them."""

    def __init__(self) -> None:
        super().__init__()
        self.conv1, self.bn1 = nn.Conv2d(3, 8, 3, padding=1), nn.BatchNorm2d(8)
        self.conv2, self.bn2 = nn.Conv2d(8, 16, 3, padding=1), nn.BatchNorm2d(16)
        self.conv3, self.bn3 = nn.Conv2d(16, 32, 3, padding=1), nn.BatchNorm2d(32)
        self.pool = nn.MaxPool2d(2, 2)
        self.dropout = nn.Dropout(0.25)
        self.fc1 = nn.Linear(32 * 16, 48)
        self.fc2 = nn.Linear(48, 10)

    def forward(self, x: Tensor) -> Tensor:
        x = self.pool(functional.relu(self.bn1(self.conv1(x))))
        x = self.pool(functional.relu(self.bn2(self.conv2(x))))
        x = self.pool(functional.relu(self.bn3(self.conv3(x))))
        x = self.dropout(functional.relu(self.fc1(x.view(x.size(0), -1))))
        return self.fc2(x)


class Layered(nn.Module):
    """Sequentials called layer1, layer2, and one linear layer."""

    def __init__(self) -> None:
        super().__init__()
        self.layer1 = nn.Sequential(nn.Conv2d(1, 8, 5, padding=2), nn.BatchNorm2d(8), nn.ReLU(), nn.MaxPool2d(2))
        self.layer2 = nn.Sequential(nn.Conv2d(8, 16, 5, padding=2), nn.BatchNorm2d(16), nn.ReLU(), nn.MaxPool2d(2))
        self.fc = nn.Linear(7 * 7 * 16, 10)

    def forward(self, x: Tensor) -> Tensor:
        out = self.layer2(self.layer1(x))
        return self.fc(out.reshape(out.size(0), -1))


class LeNet(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.conv1 = nn.Conv2d(3, 6, 5)
        self.pool = nn.MaxPool2d(2, 2)
        self.conv2 = nn.Conv2d(6, 16, 5)
        self.fc1, self.fc2, self.fc3 = nn.Linear(16 * 5 * 5, 120), nn.Linear(120, 84), nn.Linear(84, 10)

    def forward(self, x: Tensor) -> Tensor:
        x = self.pool(functional.relu(self.conv1(x)))
        x = self.pool(functional.relu(self.conv2(x)))
        x = functional.relu(self.fc1(torch.flatten(x, 1)))
        return self.fc3(functional.relu(self.fc2(x)))


class BasicBlock(nn.Module):
    def __init__(self, wide: int, out: int, stride: int) -> None:
        super().__init__()
        self.conv1 = nn.Conv2d(wide, out, 3, stride, 1, bias=False)
        self.bn1 = nn.BatchNorm2d(out)
        self.conv2 = nn.Conv2d(out, out, 3, 1, 1, bias=False)
        self.bn2 = nn.BatchNorm2d(out)
        self.shortcut = nn.Sequential()
        if stride != 1 or wide != out:
            self.shortcut = nn.Sequential(nn.Conv2d(wide, out, 1, stride, bias=False), nn.BatchNorm2d(out))

    def forward(self, x: Tensor) -> Tensor:
        out = functional.relu(self.bn1(self.conv1(x)))
        out = self.bn2(self.conv2(out))
        return functional.relu(out + self.shortcut(x))


class CifarResNet(nn.Module):
    """The ResNet of teaching projects: `shortcut`, `linear`, functions between."""

    def __init__(self) -> None:
        super().__init__()
        self.conv1 = nn.Conv2d(3, 8, 3, 1, 1, bias=False)
        self.bn1 = nn.BatchNorm2d(8)
        widths = (8, 8, 16, 24, 32)
        for i in range(4):
            setattr(self, f"layer{i + 1}", nn.Sequential(
                BasicBlock(widths[i], widths[i + 1], 2 if i else 1), BasicBlock(widths[i + 1], widths[i + 1], 1)))
        self.linear = nn.Linear(32, 10)

    def forward(self, x: Tensor) -> Tensor:
        out = functional.relu(self.bn1(self.conv1(x)))
        out = self.layer4(self.layer3(self.layer2(self.layer1(out))))
        out = functional.avg_pool2d(out, 4)
        return self.linear(out.view(out.size(0), -1))


class ConvBlock(nn.Module):
    """Convolution, norm, activation as members of a block."""

    def __init__(self, wide: int, out: int, stride: int = 1) -> None:
        super().__init__()
        self.conv = nn.Conv2d(wide, out, 3, stride, 1, bias=False)
        self.bn = nn.BatchNorm2d(out)
        self.act = nn.LeakyReLU(0.1)

    def forward(self, x: Tensor) -> Tensor:
        return self.act(self.bn(self.conv(x)))


class Residual(nn.Module):
    def __init__(self, width: int) -> None:
        super().__init__()
        self.conv1 = ConvBlock(width, width)
        self.conv2 = ConvBlock(width, width)

    def forward(self, x: Tensor) -> Tensor:
        return x + self.conv2(self.conv1(x))


class Backboned(nn.Module):
    """A backbone, a neck that adds levels, a head for each of them."""

    def __init__(self) -> None:
        super().__init__()
        self.stem = ConvBlock(3, 8, 2)
        self.stages = nn.ModuleList([
            nn.Sequential(ConvBlock(w, o, 2), Residual(o)) for w, o in ((8, 16), (16, 24), (24, 32))])
        self.lateral = nn.ModuleList([nn.Conv2d(w, 16, 1) for w in (16, 24, 32)])
        self.smooth = nn.ModuleList([nn.Conv2d(16, 16, 3, padding=1) for _ in range(3)])
        self.cls_head = nn.Conv2d(16, 5, 1)
        self.reg_head = nn.Conv2d(16, 4, 1)

    def forward(self, x: Tensor) -> List[Tensor]:
        x = self.stem(x)
        levels = []
        for stage, lateral in zip(self.stages, self.lateral):
            x = stage(x)
            levels.append(lateral(x))
        for i in (1, 0):
            levels[i] = levels[i] + functional.interpolate(levels[i + 1], scale_factor=2, mode="nearest")
        outs = []
        for level, smooth in zip(levels, self.smooth):
            y = smooth(level)
            outs += [self.cls_head(y), self.reg_head(y)]
        return outs


class MobileNet(nn.Module):
    """Separable convolutions in one Sequential."""

    def __init__(self) -> None:
        super().__init__()
        self.model = nn.Sequential(conv_bn(3, 8, 2), conv_dw(8, 16, 1), conv_dw(16, 24, 2), conv_dw(24, 24, 1),
                                   conv_dw(24, 32, 2), nn.AdaptiveAvgPool2d(1))
        self.fc = nn.Linear(32, 10)

    def forward(self, x: Tensor) -> Tensor:
        return self.fc(self.model(x).view(-1, 32))


class SqueezeExcite(nn.Module):
    def __init__(self, width: int) -> None:
        super().__init__()
        self.avg_pool = nn.AdaptiveAvgPool2d(1)
        self.fc = nn.Sequential(nn.Linear(width, width // 4, bias=False), nn.ReLU(inplace=True),
                                nn.Linear(width // 4, width, bias=False), nn.Sigmoid())

    def forward(self, x: Tensor) -> Tensor:
        b, c, _, _ = x.size()
        return x * self.fc(self.avg_pool(x).view(b, c)).view(b, c, 1, 1).expand_as(x)


class SqueezeExciteNet(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.stem = conv_bn(3, 16, 2)
        self.blocks = nn.Sequential(*[nn.Sequential(conv_bn(16, 16), SqueezeExcite(16)) for _ in range(2)])
        self.head = nn.Linear(16, 10)

    def forward(self, x: Tensor) -> Tensor:
        return self.head(self.blocks(self.stem(x)).mean(dim=(2, 3)))


class Fire(nn.Module):
    def __init__(self, wide: int, squeeze: int, expand: int) -> None:
        super().__init__()
        self.branch1 = nn.Conv2d(wide, squeeze, 1)
        self.branch3 = nn.Conv2d(wide, expand, 3, padding=1)
        self.branch5 = nn.Conv2d(wide, expand, 5, padding=2)
        self.branch_pool = nn.Sequential(nn.MaxPool2d(3, 1, 1), nn.Conv2d(wide, squeeze, 1))

    def forward(self, x: Tensor) -> Tensor:
        parts = [self.branch1(x), self.branch3(x), self.branch5(x), self.branch_pool(x)]
        return torch.cat([functional.relu(p) for p in parts], dim=1)


class Branched(nn.Module):
    """Parallel branches that are concatenated."""

    def __init__(self) -> None:
        super().__init__()
        self.stem = nn.Conv2d(3, 16, 3, padding=1)
        self.inception1, self.inception2 = Fire(16, 4, 8), Fire(24, 6, 12)
        self.avgpool = nn.AdaptiveAvgPool2d((1, 1))
        self.fc = nn.Linear(36, 10)

    def forward(self, x: Tensor) -> Tensor:
        x = self.inception2(self.inception1(functional.relu(self.stem(x))))
        return self.fc(torch.flatten(self.avgpool(x), 1))


class Siamese(nn.Module):
    """One encoder for two pictures."""

    def __init__(self) -> None:
        super().__init__()
        self.cnn = nn.Sequential(nn.Conv2d(1, 8, 3), nn.ReLU(inplace=True), nn.MaxPool2d(2),
                                 nn.Conv2d(8, 16, 3), nn.ReLU(inplace=True), nn.MaxPool2d(2))
        self.fc = nn.Sequential(nn.Linear(16 * 25, 32), nn.ReLU(inplace=True), nn.Linear(32, 16))
        self.out = nn.Linear(16, 1)

    def embed(self, x: Tensor) -> Tensor:
        return self.fc(self.cnn(x).flatten(1))

    def forward(self, x1: Tensor, x2: Tensor) -> Tensor:
        return torch.sigmoid(self.out((self.embed(x1) - self.embed(x2)).abs()))


class EmbeddingNet(nn.Module):
    """A face or product embedding: backbone, pooling, normalized vector."""

    def __init__(self) -> None:
        super().__init__()
        self.backbone = nn.Sequential(ConvBlock(3, 8, 2), Residual(8), ConvBlock(8, 16, 2), Residual(16))
        self.pool = nn.AdaptiveAvgPool2d(1)
        self.embedding = nn.Linear(16, 12)
        self.bn = nn.BatchNorm1d(12)

    def forward(self, x: Tensor) -> Tensor:
        x = self.pool(self.backbone(x)).flatten(1)
        return functional.normalize(self.bn(self.embedding(x)), dim=1)


class Crnn(nn.Module):
    """Text in pictures: convolutions, a recurrent net over columns, a classifier."""

    def __init__(self) -> None:
        super().__init__()
        self.cnn = nn.Sequential(
            nn.Conv2d(1, 8, 3, padding=1), nn.ReLU(True), nn.MaxPool2d(2, 2),
            nn.Conv2d(8, 16, 3, padding=1), nn.BatchNorm2d(16), nn.ReLU(True), nn.MaxPool2d((2, 1)),
            nn.Conv2d(16, 24, 3, padding=1), nn.BatchNorm2d(24), nn.ReLU(True), nn.MaxPool2d((8, 1)))
        self.rnn = nn.LSTM(24, 16, num_layers=2, bidirectional=True)
        self.fc = nn.Linear(32, 11)

    def forward(self, x: Tensor) -> Tensor:
        columns = self.cnn(x).squeeze(2).permute(2, 0, 1)
        out, _ = self.rnn(columns)
        return functional.log_softmax(self.fc(out), dim=2)


class PatchAttention(nn.Module):
    def __init__(self, width: int, heads: int) -> None:
        super().__init__()
        self.num_heads, self.scale = heads, (width // heads) ** -0.5
        self.qkv = nn.Linear(width, 3 * width)
        self.proj = nn.Linear(width, width)

    def forward(self, x: Tensor) -> Tensor:
        b, n, c = x.shape
        q, k, v = self.qkv(x).reshape(b, n, 3, self.num_heads, c // self.num_heads).permute(2, 0, 3, 1, 4)
        attn = ((q @ k.transpose(-2, -1)) * self.scale).softmax(dim=-1)
        return self.proj((attn @ v).transpose(1, 2).reshape(b, n, c))


class PatchBlock(nn.Module):
    def __init__(self, width: int, heads: int) -> None:
        super().__init__()
        self.norm1 = nn.LayerNorm(width)
        self.attn = PatchAttention(width, heads)
        self.norm2 = nn.LayerNorm(width)
        self.mlp = nn.Sequential(nn.Linear(width, 2 * width), nn.GELU(), nn.Dropout(0.1), nn.Linear(2 * width, width))

    def forward(self, x: Tensor) -> Tensor:
        x = x + self.attn(self.norm1(x))
        return x + self.mlp(self.norm2(x))


class SmallVit(nn.Module):
    """A vision transformer of one's own."""

    def __init__(self) -> None:
        super().__init__()
        self.patch_embed = nn.Conv2d(3, 32, 8, 8)
        self.cls_token = nn.Parameter(torch.zeros(1, 1, 32))
        self.pos_embed = nn.Parameter(torch.zeros(1, 17, 32))
        self.blocks = nn.ModuleList([PatchBlock(32, 4) for _ in range(2)])
        self.norm = nn.LayerNorm(32)
        self.head = nn.Linear(32, 10)

    def forward(self, x: Tensor) -> Tensor:
        x = self.patch_embed(x).flatten(2).transpose(1, 2)
        x = torch.cat([self.cls_token.expand(x.shape[0], -1, -1), x], dim=1) + self.pos_embed
        for block in self.blocks:
            x = block(x)
        return self.head(self.norm(x)[:, 0])


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
