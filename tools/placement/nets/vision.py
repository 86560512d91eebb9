"""Pictures: detection, segmentation, restoration, reading, small classifiers."""
from collections import OrderedDict
from typing import Any, List

import torch
import torch.nn.functional as F
from torch import Tensor, nn


# ---------------------------------------------------------------- face detection: functions that build sequences, heads in lists
def conv_bn(i: int, o: int, stride: int = 1, kernel: int = 3, slope: float = 0.1) -> nn.Sequential:
    return nn.Sequential(nn.Conv2d(i, o, kernel, stride, kernel // 2, bias=False), nn.BatchNorm2d(o), *([nn.LeakyReLU(slope)] if slope else []))


def conv_dw(i: int, o: int, stride: int) -> nn.Sequential:
    return nn.Sequential(nn.Conv2d(i, i, 3, stride, 1, groups=i, bias=False), nn.BatchNorm2d(i), nn.LeakyReLU(0.1),
                         nn.Conv2d(i, o, 1, bias=False), nn.BatchNorm2d(o), nn.LeakyReLU(0.1))


class Context(nn.Module):
    def __init__(self, c: int) -> None:
        super().__init__()
        self.conv3X3 = conv_bn(c, c // 2, slope=0)
        self.conv5X5_1, self.conv5X5_2 = conv_bn(c, c // 4), conv_bn(c // 4, c // 4, slope=0)
        self.conv7X7_2, self.conv7x7_3 = conv_bn(c // 4, c // 4), conv_bn(c // 4, c // 4, slope=0)

    def forward(self, x: Tensor) -> Tensor:
        five = self.conv5X5_1(x)
        return F.relu(torch.cat([self.conv3X3(x), self.conv5X5_2(five), self.conv7x7_3(self.conv7X7_2(five))], 1))


class Pyramid(nn.Module):
    def __init__(self, sizes: List[int], c: int) -> None:
        super().__init__()
        self.output1, self.output2, self.output3 = (conv_bn(i, c, kernel=1) for i in sizes)
        self.merge1, self.merge2 = conv_bn(c, c), conv_bn(c, c)

    def forward(self, x: List[Tensor]) -> List[Tensor]:
        a, b, c = self.output1(x[0]), self.output2(x[1]), self.output3(x[2])
        b = self.merge2(b + F.interpolate(c, size=b.shape[2:], mode="nearest"))
        a = self.merge1(a + F.interpolate(b, size=a.shape[2:], mode="nearest"))
        return [a, b, c]


class Head(nn.Module):
    def __init__(self, c: int, n: int) -> None:
        super().__init__()
        self.n, self.conv1x1 = n, nn.Conv2d(c, 2 * n, 1)

    def forward(self, x: Tensor) -> Tensor:
        y = self.conv1x1(x).permute(0, 2, 3, 1)
        return y.reshape(y.shape[0], -1, self.n)


class Body(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.stage1 = nn.Sequential(conv_bn(3, 4, 2), conv_dw(4, 8, 1))
        self.stage2 = nn.Sequential(conv_dw(8, 8, 2), conv_dw(8, 12, 1))
        self.stage3 = nn.Sequential(conv_dw(12, 16, 2), conv_dw(16, 16, 1))

    def forward(self, x: Tensor) -> List[Tensor]:
        a = self.stage1(x)
        b = self.stage2(a)
        return [a, b, self.stage3(b)]


class Faces(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.body, self.fpn = Body(), Pyramid([8, 12, 16], 8)
        self.ssh1, self.ssh2, self.ssh3 = Context(8), Context(8), Context(8)
        self.ClassHead, self.BboxHead, self.LandmarkHead = (nn.ModuleList([Head(8, n) for _ in range(3)]) for n in (2, 4, 10))

    def forward(self, x: Tensor) -> Any:
        fpn = self.fpn(self.body(x))
        found = [ssh(f) for ssh, f in zip((self.ssh1, self.ssh2, self.ssh3), fpn)]
        boxes, classes, points = (torch.cat([h[i](f) for i, f in enumerate(found)], 1) for h in (self.BboxHead, self.ClassHead, self.LandmarkHead))
        return boxes, F.softmax(classes, dim=-1), points


# ---------------------------------------------------------------- salient objects: nested U, everything numbered
class REBNCONV(nn.Module):
    def __init__(self, i: int, o: int, dirate: int = 1) -> None:
        super().__init__()
        self.conv_s1, self.bn_s1, self.relu_s1 = nn.Conv2d(i, o, 3, padding=dirate, dilation=dirate), nn.BatchNorm2d(o), nn.ReLU()

    def forward(self, x: Tensor) -> Tensor:
        return self.relu_s1(self.bn_s1(self.conv_s1(x)))


class RSU4(nn.Module):
    def __init__(self, i: int, m: int, o: int) -> None:
        super().__init__()
        self.rebnconvin = REBNCONV(i, o)
        self.rebnconv1, self.pool1 = REBNCONV(o, m), nn.MaxPool2d(2, 2, ceil_mode=True)
        self.rebnconv2, self.pool2 = REBNCONV(m, m), nn.MaxPool2d(2, 2, ceil_mode=True)
        self.rebnconv3, self.rebnconv4 = REBNCONV(m, m), REBNCONV(m, m, 2)
        self.rebnconv3d, self.rebnconv2d, self.rebnconv1d = REBNCONV(2 * m, m), REBNCONV(2 * m, m), REBNCONV(2 * m, o)

    def forward(self, x: Tensor) -> Tensor:
        hxin = self.rebnconvin(x)
        hx1 = self.rebnconv1(hxin)
        hx2 = self.rebnconv2(self.pool1(hx1))
        hx3 = self.rebnconv3(self.pool2(hx2))
        hx3d = self.rebnconv3d(torch.cat((self.rebnconv4(hx3), hx3), 1))
        hx2d = self.rebnconv2d(torch.cat((like(hx3d, hx2), hx2), 1))
        return self.rebnconv1d(torch.cat((like(hx2d, hx1), hx1), 1)) + hxin


def like(x: Tensor, y: Tensor) -> Tensor:
    return F.interpolate(x, size=y.shape[2:], mode="bilinear")


class Salient(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.stage1, self.pool12, self.stage2, self.pool23 = RSU4(3, 4, 8), nn.MaxPool2d(2, 2), RSU4(8, 4, 8), nn.MaxPool2d(2, 2)
        self.stage3, self.stage2d, self.stage1d = RSU4(8, 4, 8), RSU4(16, 4, 8), RSU4(16, 4, 8)
        self.side1, self.side2, self.side3 = (nn.Conv2d(8, 1, 3, padding=1) for _ in range(3))
        self.outconv = nn.Conv2d(3, 1, 1)

    def forward(self, x: Tensor) -> Tensor:
        hx1 = self.stage1(x)
        hx2 = self.stage2(self.pool12(hx1))
        hx3 = self.stage3(self.pool23(hx2))
        hx2d = self.stage2d(torch.cat((like(hx3, hx2), hx2), 1))
        hx1d = self.stage1d(torch.cat((like(hx2d, hx1), hx1), 1))
        d1 = self.side1(hx1d)
        d2, d3 = like(self.side2(hx2d), d1), like(self.side3(hx3), d1)
        return torch.sigmoid(self.outconv(torch.cat((d1, d2, d3), 1)))


# ---------------------------------------------------------------- restoration: gates by halves, parameters beside modules
class Norm2d(nn.Module):
    def __init__(self, c: int) -> None:
        super().__init__()
        self.weight, self.bias = nn.Parameter(torch.ones(c)), nn.Parameter(torch.zeros(c))

    def forward(self, x: Tensor) -> Tensor:
        m = x.mean(1, keepdim=True)
        v = (x - m).pow(2).mean(1, keepdim=True)
        return self.weight.view(1, -1, 1, 1) * ((x - m) / (v + 1e-6).sqrt()) + self.bias.view(1, -1, 1, 1)


class SimpleGate(nn.Module):
    def forward(self, x: Tensor) -> Tensor:
        a, b = x.chunk(2, 1)
        return a * b


class PlainBlock(nn.Module):
    def __init__(self, c: int) -> None:
        super().__init__()
        self.conv1, self.conv2, self.conv3 = nn.Conv2d(c, 2 * c, 1), nn.Conv2d(2 * c, 2 * c, 3, padding=1, groups=2 * c), nn.Conv2d(c, c, 1)
        self.sca, self.sg = nn.Sequential(nn.AdaptiveAvgPool2d(1), nn.Conv2d(c, c, 1)), SimpleGate()
        self.conv4, self.conv5 = nn.Conv2d(c, 2 * c, 1), nn.Conv2d(c, c, 1)
        self.norm1, self.norm2 = Norm2d(c), Norm2d(c)
        self.dropout1, self.dropout2 = nn.Identity(), nn.Identity()
        self.beta, self.gamma = nn.Parameter(torch.rand(1, c, 1, 1)), nn.Parameter(torch.rand(1, c, 1, 1))

    def forward(self, inp: Tensor) -> Tensor:
        x = self.sg(self.conv2(self.conv1(self.norm1(inp))))
        y = inp + self.dropout1(self.conv3(x * self.sca(x))) * self.beta
        return y + self.dropout2(self.conv5(self.sg(self.conv4(self.norm2(y))))) * self.gamma


class Restorer(nn.Module):
    def __init__(self, width: int = 8) -> None:
        super().__init__()
        self.intro, self.ending = nn.Conv2d(3, width, 3, padding=1), nn.Conv2d(width, 3, 3, padding=1)
        self.encoders, self.decoders, self.ups, self.downs = (nn.ModuleList() for _ in range(4))
        for n in (1, 2):
            self.encoders.append(nn.Sequential(*[PlainBlock(width) for _ in range(n)]))
            self.downs.append(nn.Conv2d(width, 2 * width, 2, 2))
            width *= 2
        self.middle_blks = nn.Sequential(PlainBlock(width))
        for _ in range(2):
            self.ups.append(nn.Sequential(nn.Conv2d(width, 2 * width, 1, bias=False), nn.PixelShuffle(2)))
            width //= 2
            self.decoders.append(nn.Sequential(PlainBlock(width)))

    def forward(self, inp: Tensor) -> Tensor:
        x, encs = self.intro(inp), []
        for encoder, down in zip(self.encoders, self.downs):
            x = encoder(x)
            encs.append(x)
            x = down(x)
        x = self.middle_blks(x)
        for decoder, up, skip in zip(self.decoders, self.ups, encs[::-1]):
            x = decoder(up(x) + skip)
        return self.ending(x) + inp


# ---------------------------------------------------------------- text detection: slices of a network with numbers of the whole
class Slices(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        layers, c, k = [], 3, 0
        self.slice1, self.slice2, self.slice3 = nn.Sequential(), nn.Sequential(), nn.Sequential()
        for o in (4, 4, "M", 8, 8, "M", 12, 12, "M"):
            layers += [nn.MaxPool2d(2, 2)] if o == "M" else [nn.Conv2d(c, o, 3, padding=1), nn.BatchNorm2d(o), nn.ReLU()]
            c = c if o == "M" else o
        for part, until in ((self.slice1, 7), (self.slice2, 14), (self.slice3, len(layers))):
            while k < until:
                part.add_module(str(k), layers[k])
                k += 1

    def forward(self, x: Tensor) -> List[Tensor]:
        a = self.slice1(x)
        b = self.slice2(a)
        return [self.slice3(b), b, a]


class DoubleConv(nn.Module):
    def __init__(self, i: int, m: int, o: int) -> None:
        super().__init__()
        self.conv = nn.Sequential(nn.Conv2d(i + m, m, 1), nn.BatchNorm2d(m), nn.ReLU(), nn.Conv2d(m, o, 3, padding=1), nn.BatchNorm2d(o), nn.ReLU())

    def forward(self, x: Tensor) -> Tensor:
        return self.conv(x)


class TextFinder(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.basenet = Slices()
        self.upconv1, self.upconv2 = DoubleConv(12, 8, 8), DoubleConv(8, 4, 6)
        self.conv_cls = nn.Sequential(nn.Conv2d(6, 6, 3, padding=1), nn.ReLU(), nn.Conv2d(6, 4, 3, padding=1), nn.ReLU(), nn.Conv2d(4, 2, 1))

    def forward(self, x: Tensor) -> Any:
        c, b, a = self.basenet(x)
        y = F.interpolate(c, size=b.shape[2:], mode="bilinear", align_corners=False)
        y = self.upconv1(torch.cat([y, b], 1))
        y = F.interpolate(y, size=a.shape[2:], mode="bilinear", align_corners=False)
        feature = self.upconv2(torch.cat([y, a], 1))
        return self.conv_cls(feature).permute(0, 2, 3, 1), feature


# ---------------------------------------------------------------- reading: transformation, features, sequence, attention by a cell
class FeatureNet(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.ConvNet = nn.Sequential(nn.Conv2d(1, 6, 3, padding=1), nn.ReLU(True), nn.MaxPool2d(2, 2), nn.Conv2d(6, 10, 3, padding=1, bias=False),
                                     nn.BatchNorm2d(10), nn.ReLU(True), nn.MaxPool2d((2, 1), (2, 1)), nn.Conv2d(10, 10, 2), nn.ReLU(True))

    def forward(self, x: Tensor) -> Tensor:
        return self.ConvNet(x)


class Both(nn.Module):
    def __init__(self, i: int, h: int, o: int) -> None:
        super().__init__()
        self.rnn, self.linear = nn.LSTM(i, h, bidirectional=True, batch_first=True), nn.Linear(2 * h, o)

    def forward(self, x: Tensor) -> Tensor:
        return self.linear(self.rnn(x)[0])


class AttentionCell(nn.Module):
    def __init__(self, i: int, h: int, classes: int) -> None:
        super().__init__()
        self.i2h, self.h2h, self.score = nn.Linear(i, h, bias=False), nn.Linear(h, h), nn.Linear(h, 1, bias=False)
        self.rnn = nn.LSTMCell(i + classes, h)

    def forward(self, hidden: Any, seen: Tensor, token: Tensor) -> Any:
        e = self.score(torch.tanh(self.i2h(seen) + self.h2h(hidden[0]).unsqueeze(1)))
        context = torch.bmm(F.softmax(e, 1).permute(0, 2, 1), seen).squeeze(1)
        return self.rnn(torch.cat([context, token], 1), hidden)


class Prediction(nn.Module):
    def __init__(self, i: int, h: int, classes: int) -> None:
        super().__init__()
        self.attention_cell, self.generator, self.h, self.classes = AttentionCell(i, h, classes), nn.Linear(h, classes), h, classes

    def forward(self, seen: Tensor) -> Tensor:
        hidden = (torch.zeros(seen.shape[0], self.h), torch.zeros(seen.shape[0], self.h))
        token, out = torch.zeros(seen.shape[0], self.classes), []
        for _ in range(3):
            hidden = self.attention_cell(hidden, seen, token)
            p = self.generator(hidden[0])
            token = F.softmax(p, -1)
            out.append(p)
        return torch.stack(out, 1)


class Reader(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.FeatureExtraction, self.AdaptiveAvgPool = FeatureNet(), nn.AdaptiveAvgPool2d((None, 1))
        self.SequenceModeling = nn.Sequential(Both(10, 8, 8), Both(8, 8, 8))
        self.Prediction = Prediction(8, 8, 9)

    def forward(self, picture: Tensor) -> Tensor:
        f = self.FeatureExtraction(picture)
        f = self.AdaptiveAvgPool(f.permute(0, 3, 1, 2)).squeeze(3)
        return self.Prediction(self.SequenceModeling(f).contiguous())


# ---------------------------------------------------------------- written here: windows without a class for attention
class Windows(nn.Module):
    def __init__(self, c: int, shift: bool) -> None:
        super().__init__()
        self.before, self.after = nn.LayerNorm(c), nn.LayerNorm(c)
        self.maps = nn.ModuleDict({k: nn.Linear(c, c) for k in ("q", "k", "v", "o")})
        self.table = nn.Parameter(torch.randn(2, 4, 4) * 0.1)
        self.wide, self.narrow, self.shift = nn.Linear(c, 2 * c), nn.Linear(2 * c, c), shift

    def forward(self, x: Tensor) -> Tensor:
        b, h, w, c = x.shape
        y = self.before(x)
        y = torch.roll(y, (-1, -1), (1, 2)) if self.shift else y
        y = y.view(b, h // 2, 2, w // 2, 2, c).permute(0, 1, 3, 2, 4, 5).reshape(-1, 4, c)
        q, k, v = (self.maps[n](y).view(-1, 4, 2, c // 2).transpose(1, 2) for n in "qkv")
        a = torch.softmax(q @ k.transpose(-1, -2) * (c // 2) ** -0.5 + self.table, -1)
        y = self.maps["o"]((a @ v).transpose(1, 2).reshape(-1, 4, c))
        y = y.view(b, h // 2, w // 2, 2, 2, c).permute(0, 1, 3, 2, 4, 5).reshape(b, h, w, c)
        x = x + (torch.roll(y, (1, 1), (1, 2)) if self.shift else y)
        return x + self.narrow(F.gelu(self.wide(self.after(x))))


class Mosaic(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.patch = nn.Conv2d(3, 8, 2, 2)
        self.fine = nn.Sequential(OrderedDict(plain=Windows(8, False), moved=Windows(8, True)))
        self.merge, self.merge_norm = nn.Linear(32, 12, bias=False), nn.LayerNorm(32)
        self.coarse = nn.Sequential(OrderedDict(plain=Windows(12, False), moved=Windows(12, True)))
        self.norm, self.fc = nn.LayerNorm(12), nn.Linear(12, 5)

    def forward(self, x: Tensor) -> Tensor:
        x = self.fine(self.patch(x).permute(0, 2, 3, 1))
        x = torch.cat([x[:, ::2, ::2], x[:, 1::2, ::2], x[:, ::2, 1::2], x[:, 1::2, 1::2]], -1)
        x = self.coarse(self.merge(self.merge_norm(x)))
        return self.fc(self.norm(x).mean((1, 2)))


# ---------------------------------------------------------------- written here: detection with queries, boxes refined by shared heads
class Refine(nn.Module):
    def __init__(self, d: int) -> None:
        super().__init__()
        self.self_attn, self.cross = nn.MultiheadAttention(d, 2, batch_first=True), nn.MultiheadAttention(d, 2, batch_first=True)
        self.n1, self.n2, self.n3 = nn.LayerNorm(d), nn.LayerNorm(d), nn.LayerNorm(d)
        self.ffn = nn.Sequential(nn.Linear(d, 2 * d), nn.ReLU(), nn.Linear(2 * d, d))

    def forward(self, q: Tensor, pos: Tensor, memory: Tensor) -> Tensor:
        k = q + pos
        q = self.n1(q + self.self_attn(k, k, q, need_weights=False)[0])
        q = self.n2(q + self.cross(q + pos, memory, memory, need_weights=False)[0])
        return self.n3(q + self.ffn(q))


class Boxes(nn.Module):
    def __init__(self, d: int = 12) -> None:
        super().__init__()
        self.backbone = nn.Sequential(conv_bn(3, 6, 2), conv_bn(6, d, 2))
        self.input_proj = nn.Sequential(nn.Conv2d(d, d, 1), nn.GroupNorm(3, d))
        self.query, self.ref = nn.Embedding(4, d), nn.Embedding(4, 4)
        self.ref_head = nn.Sequential(nn.Linear(4, d), nn.SiLU(), nn.Linear(d, d))
        self.layers = nn.ModuleList([Refine(d) for _ in range(2)])
        self.bbox = nn.Sequential(nn.Linear(d, d), nn.ReLU(), nn.Linear(d, 4))      # one for all layers
        self.cls = nn.ModuleList([nn.Linear(d, 3) for _ in range(2)])

    def forward(self, x: Tensor) -> Any:
        memory = self.input_proj(self.backbone(x)).flatten(2).transpose(1, 2)
        q = self.query.weight.unsqueeze(0).expand(x.shape[0], -1, -1)
        ref, said = torch.sigmoid(self.ref.weight).unsqueeze(0), []
        for layer, cls in zip(self.layers, self.cls):
            q = layer(q, self.ref_head(ref), memory)
            ref = torch.sigmoid(self.bbox(q) + torch.log(ref / (1 - ref)))
            said.append(cls(q))
        return ref, torch.stack(said)


MODELS = {
    "faces": (Faces, [(2, 3, 32, 32)]), "salient": (Salient, [(1, 3, 32, 32)]), "restorer": (Restorer, [(1, 3, 16, 16)]),
    "textfinder": (TextFinder, [(1, 3, 32, 32)]), "reader": (Reader, [(2, 1, 12, 16)]), "mosaic": (Mosaic, [(2, 3, 16, 16)]),
    "boxes": (Boxes, [(2, 3, 16, 16)]),
}
