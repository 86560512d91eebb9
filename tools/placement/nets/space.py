"""Points, volumes, films, weather, driving."""
from typing import Any, List

import torch
import torch.nn.functional as F
from torch import Tensor, nn


# ---------------------------------------------------------------- points: a transformer of space inside the features, numbered layers
class STN(nn.Module):
    def __init__(self, k: int) -> None:
        super().__init__()
        self.k = k
        self.conv1, self.conv2, self.conv3 = nn.Conv1d(k, 6, 1), nn.Conv1d(6, 8, 1), nn.Conv1d(8, 12, 1)
        self.fc1, self.fc2, self.fc3, self.relu = nn.Linear(12, 10), nn.Linear(10, 8), nn.Linear(8, k * k), nn.ReLU()
        self.bn1, self.bn2, self.bn3, self.bn4, self.bn5 = (nn.BatchNorm1d(n) for n in (6, 8, 12, 10, 8))

    def forward(self, x: Tensor) -> Tensor:
        x = F.relu(self.bn1(self.conv1(x)))
        x = F.relu(self.bn2(self.conv2(x)))
        x = torch.max(F.relu(self.bn3(self.conv3(x))), 2)[0]
        x = self.fc3(F.relu(self.bn5(self.fc2(F.relu(self.bn4(self.fc1(x)))))))
        return (x + torch.eye(self.k).flatten()).view(-1, self.k, self.k)


class PointFeat(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.stn, self.fstn = STN(3), STN(6)
        self.conv1, self.conv2, self.conv3 = nn.Conv1d(3, 6, 1), nn.Conv1d(6, 8, 1), nn.Conv1d(8, 12, 1)
        self.bn1, self.bn2, self.bn3 = nn.BatchNorm1d(6), nn.BatchNorm1d(8), nn.BatchNorm1d(12)

    def forward(self, x: Tensor) -> Any:
        x = torch.bmm(x.transpose(2, 1), self.stn(x)).transpose(2, 1)
        x = F.relu(self.bn1(self.conv1(x)))
        point = torch.bmm(x.transpose(2, 1), self.fstn(x)).transpose(2, 1)
        x = self.bn3(self.conv3(F.relu(self.bn2(self.conv2(point)))))
        x = torch.max(x, 2, keepdim=True)[0]
        return torch.cat([x.expand(-1, -1, point.shape[2]), point], 1)


class Points(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.feat = PointFeat()
        self.conv1, self.conv2, self.conv3 = nn.Conv1d(18, 10, 1), nn.Conv1d(10, 8, 1), nn.Conv1d(8, 4, 1)
        self.bn1, self.bn2 = nn.BatchNorm1d(10), nn.BatchNorm1d(8)

    def forward(self, x: Tensor) -> Tensor:
        x = F.relu(self.bn1(self.conv1(self.feat(x))))
        x = self.conv3(F.relu(self.bn2(self.conv2(x)))).transpose(2, 1)
        return F.log_softmax(x, -1)


# ---------------------------------------------------------------- volumes: every layer under two names
class ConvUnit(nn.Module):
    def __init__(self, i: int, o: int, stride: int = 1) -> None:
        super().__init__()
        self.conv, self.norm, self.nonlin = nn.Conv3d(i, o, 3, stride, 1), nn.InstanceNorm3d(o, affine=True), nn.LeakyReLU()
        self.all_modules = nn.Sequential(self.conv, self.norm, self.nonlin)

    def forward(self, x: Tensor) -> Tensor:
        return self.all_modules(x)


class Stacked(nn.Module):
    def __init__(self, i: int, o: int, stride: int) -> None:
        super().__init__()
        self.convs = nn.Sequential(ConvUnit(i, o, stride), ConvUnit(o, o))

    def forward(self, x: Tensor) -> Tensor:
        return self.convs(x)


class VolumeEncoder(nn.Module):
    def __init__(self, sizes: List[int]) -> None:
        super().__init__()
        self.stages = nn.Sequential(*[nn.Sequential(Stacked(i, o, 1 if k == 0 else 2)) for k, (i, o) in enumerate(zip([1, *sizes], sizes))])

    def forward(self, x: Tensor) -> List[Tensor]:
        out = []
        for stage in self.stages:
            x = stage(x)
            out.append(x)
        return out


class VolumeDecoder(nn.Module):
    def __init__(self, sizes: List[int]) -> None:
        super().__init__()
        pairs = list(zip(sizes[::-1], sizes[-2::-1]))
        self.stages = nn.ModuleList([Stacked(2 * o, o, 1) for _, o in pairs])
        self.transpconvs = nn.ModuleList([nn.ConvTranspose3d(i, o, 2, 2) for i, o in pairs])
        self.seg_layers = nn.ModuleList([nn.Conv3d(o, 3, 1) for _, o in pairs])

    def forward(self, skips: List[Tensor]) -> Any:
        x, said = skips[-1], []
        for k, stage in enumerate(self.stages):
            x = stage(torch.cat((self.transpconvs[k](x), skips[-(k + 2)]), 1))
            said.append(self.seg_layers[k](x))
        return said[-1], said[0]


class Volume(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.encoder, self.decoder = VolumeEncoder([4, 6, 8]), VolumeDecoder([4, 6, 8])

    def forward(self, x: Tensor) -> Any:
        return self.decoder(self.encoder(x))


# ---------------------------------------------------------------- films: a wrapper shifts channels in time before the wrapped layer
class Shift(nn.Module):
    def __init__(self, net: nn.Module, frames: int = 4, fold: int = 4) -> None:
        super().__init__()
        self.net, self.frames, self.fold_div = net, frames, fold

    def forward(self, x: Tensor) -> Tensor:
        x = x.view(-1, self.frames, *x.shape[1:])
        f = x.shape[2] // self.fold_div
        left = torch.cat([x[:, 1:, :f], torch.zeros_like(x[:, :1, :f])], 1)
        right = torch.cat([torch.zeros_like(x[:, :1, f:2 * f]), x[:, :-1, f:2 * f]], 1)
        return self.net(torch.cat([left, right, x[:, :, 2 * f:]], 2).flatten(0, 1))


class BasicBlock(nn.Module):
    def __init__(self, i: int, o: int, stride: int) -> None:
        super().__init__()
        self.conv1, self.bn1, self.relu = Shift(nn.Conv2d(i, o, 3, stride, 1, bias=False)), nn.BatchNorm2d(o), nn.ReLU()
        self.conv2, self.bn2 = nn.Conv2d(o, o, 3, padding=1, bias=False), nn.BatchNorm2d(o)
        self.downsample = nn.Sequential(nn.Conv2d(i, o, 1, stride, bias=False), nn.BatchNorm2d(o)) if i != o else None

    def forward(self, x: Tensor) -> Tensor:
        y = self.bn2(self.conv2(self.relu(self.bn1(self.conv1(x)))))
        return self.relu(y + (x if self.downsample is None else self.downsample(x)))


class Base(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.conv1, self.bn1, self.relu, self.maxpool = nn.Conv2d(3, 8, 3, 2, 1, bias=False), nn.BatchNorm2d(8), nn.ReLU(), nn.MaxPool2d(3, 2, 1)
        self.layer1, self.layer2 = nn.Sequential(BasicBlock(8, 8, 1), BasicBlock(8, 8, 1)), nn.Sequential(BasicBlock(8, 12, 2), BasicBlock(12, 12, 1))
        self.avgpool, self.fc = nn.AdaptiveAvgPool2d(1), nn.Dropout(0.5)

    def forward(self, x: Tensor) -> Tensor:
        x = self.layer2(self.layer1(self.maxpool(self.relu(self.bn1(self.conv1(x))))))
        return self.fc(torch.flatten(self.avgpool(x), 1))


class Films(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.base_model, self.new_fc, self.softmax = Base(), nn.Linear(12, 5), nn.Softmax(-1)

    def forward(self, x: Tensor) -> Tensor:
        x = self.new_fc(self.base_model(x.view(-1, 3, *x.shape[2:])))
        return x.view(-1, 4, 5).mean(1)


# ---------------------------------------------------------------- weather: cells and samplers added by name, time unrolled
class ConvCell(nn.Module):
    def __init__(self, i: int, h: int) -> None:
        super().__init__()
        self.h = h
        self.conv1 = nn.Sequential(nn.Conv2d(i + h, 2 * h, 3, padding=1), nn.GroupNorm(2, 2 * h))
        self.conv2 = nn.Sequential(nn.Conv2d(i + h, h, 3, padding=1), nn.GroupNorm(2, h))

    def forward(self, x: Any, state: Any, steps: int) -> Any:
        out = []
        for t in range(steps):
            xt = x[:, t] if x is not None else torch.zeros(state.shape[0], self.conv1[0].in_channels - self.h, *state.shape[2:])
            h = torch.zeros(xt.shape[0], self.h, *xt.shape[2:]) if state is None else state
            z, r = torch.sigmoid(self.conv1(torch.cat((xt, h), 1))).split(self.h, 1)
            state = (1 - z) * h + z * torch.tanh(self.conv2(torch.cat((xt, r * h), 1)))
            out.append(state)
        return torch.stack(out, 1), state


class Clouds(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.encoder, self.forecaster = nn.Module(), nn.Module()
        for k, (i, o, stride) in enumerate(((1, 4, 1), (6, 8, 2)), 1):
            setattr(self.encoder, f"stage{k}", nn.Sequential(nn.Conv2d(i, o, 3, stride, 1), nn.LeakyReLU(0.2)))
            setattr(self.encoder, f"rnn{k}", ConvCell(o, 6))
        self.forecaster.rnn2, self.forecaster.stage2 = ConvCell(6, 6), nn.Sequential(nn.ConvTranspose2d(6, 6, 4, 2, 1), nn.LeakyReLU(0.2))
        self.forecaster.rnn1, self.forecaster.stage1 = ConvCell(6, 6), nn.Sequential(nn.Conv2d(6, 4, 3, padding=1), nn.LeakyReLU(0.2), nn.Conv2d(4, 1, 1))

    @staticmethod
    def each(stage: nn.Module, x: Tensor) -> Tensor:
        return stage(x.flatten(0, 1)).unflatten(0, x.shape[:2])

    def forward(self, x: Tensor) -> Tensor:
        states = []
        for k in (1, 2):
            x, state = getattr(self.encoder, f"rnn{k}")(self.each(getattr(self.encoder, f"stage{k}"), x), None, 2)
            states.append(state)
        y = None
        for k in (2, 1):
            y, _ = getattr(self.forecaster, f"rnn{k}")(y, states.pop(), 2)
            y = self.each(getattr(self.forecaster, f"stage{k}"), y)
        return y


# ---------------------------------------------------------------- written here: weather on a grid, attention along the axes, one block called for both
class Axial(nn.Module):
    def __init__(self, d: int) -> None:
        super().__init__()
        self.ln, self.qkv, self.o = nn.LayerNorm(d), nn.Linear(d, 3 * d, bias=False), nn.Linear(d, d)

    def forward(self, x: Tensor) -> Tensor:
        q, k, v = self.qkv(self.ln(x)).chunk(3, -1)
        return x + self.o(torch.softmax(q @ k.transpose(-1, -2) * x.shape[-1] ** -0.5, -1) @ v)


class Grid(nn.Module):
    def __init__(self, d: int = 10) -> None:
        super().__init__()
        self.surface, self.upper, self.static = nn.Conv2d(4, d, 2, 2), nn.Conv3d(3, d, (2, 2, 2), (2, 2, 2)), nn.Parameter(torch.randn(d, 4, 4))
        self.axes = nn.ModuleList([Axial(d) for _ in range(3)])
        self.mixers = nn.ModuleList([nn.Sequential(nn.Linear(d, 2 * d), nn.GELU(), nn.Linear(2 * d, d)) for _ in range(3)])
        self.recover = nn.ModuleDict({"surface": nn.ConvTranspose2d(d, 4, 2, 2), "upper": nn.ConvTranspose3d(d, 3, (2, 2, 2), (2, 2, 2))})

    def forward(self, surface: Tensor, upper: Tensor) -> Any:
        x = torch.cat([(self.surface(surface) + self.static).unsqueeze(2), self.upper(upper)], 2).permute(0, 2, 3, 4, 1)
        for axis, mixer in zip(self.axes, self.mixers):
            x = axis(x)
            x = axis(x.transpose(2, 3)).transpose(2, 3)
            x = x + mixer(x)
        x = x.permute(0, 4, 1, 2, 3)
        return self.recover["surface"](x[:, :, 0]), self.recover["upper"](x[:, :, 1:])


# ---------------------------------------------------------------- written here: lungs in slices, attention gates on skips, deep names
class SkipGate(nn.Module):
    def __init__(self, c: int) -> None:
        super().__init__()
        self.theta, self.phi, self.psi = nn.Conv2d(c, c // 2, 1, bias=False), nn.Conv2d(c, c // 2, 1), nn.Sequential(nn.Conv2d(c // 2, 1, 1), nn.Sigmoid())

    def forward(self, x: Tensor, g: Tensor) -> Tensor:
        return x * self.psi(F.relu(self.theta(x) + self.phi(g)))


class Level(nn.Module):
    def __init__(self, i: int, o: int, inner: Any) -> None:
        super().__init__()
        def pair(a: int, b: int) -> nn.Sequential:
            return nn.Sequential(nn.Conv2d(a, b, 3, padding=1), nn.InstanceNorm2d(b, affine=True), nn.PReLU(), nn.Conv2d(b, b, 3, padding=1), nn.PReLU())
        self.before = pair(i, o)
        if inner is not None:
            self.shrink, self.submodule, self.grow = nn.Conv2d(o, o, 2, 2), inner, nn.Sequential(nn.Upsample(scale_factor=2), nn.Conv2d(inner.o, o, 1))
            self.gate, self.join = SkipGate(o), pair(2 * o, o)
        self.o = o

    def forward(self, x: Tensor) -> Tensor:
        x = self.before(x)
        if not hasattr(self, "submodule"):
            return x
        g = self.grow(self.submodule(self.shrink(x)))
        return self.join(torch.cat([self.gate(x, g), g], 1))


class Lungs(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.model = Level(1, 4, Level(4, 6, Level(6, 8, None)))
        self.mask, self.grade = nn.Conv2d(4, 2, 1), nn.Sequential(nn.AdaptiveMaxPool2d(1), nn.Flatten(), nn.Linear(4, 3))

    def forward(self, x: Tensor) -> Any:
        f = self.model(x)
        return torch.sigmoid(self.mask(f)), self.grade(f)


# ---------------------------------------------------------------- written here: driving, camera and sweep exchange tokens at each scale
class Exchange(nn.Module):
    def __init__(self, d: int) -> None:
        super().__init__()
        self.pos, self.ln = nn.Parameter(torch.randn(1, 8, d)), nn.LayerNorm(d)
        self.a2b, self.b2a = nn.MultiheadAttention(d, 2, batch_first=True), nn.MultiheadAttention(d, 2, batch_first=True)

    def forward(self, a: Tensor, b: Tensor) -> Any:
        t = [F.avg_pool2d(x, x.shape[-1] // 2).flatten(2).transpose(1, 2) for x in (a, b)]
        t = self.ln(torch.cat(t, 1) + self.pos)
        u, v = t[:, :4], t[:, 4:]
        u, v = u + self.a2b(u, v, v, need_weights=False)[0], v + self.b2a(v, u, u, need_weights=False)[0]
        back = [y.transpose(1, 2).unflatten(2, (2, 2)) for y in (u, v)]
        return [x + F.interpolate(y, size=x.shape[2:], mode="nearest") for x, y in zip((a, b), back)]


class Driver(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        net = lambda c: nn.ModuleList([nn.Sequential(nn.Conv2d(i, o, 3, 2, 1), nn.BatchNorm2d(o), nn.ReLU()) for i, o in ((c, 8), (8, 12))])
        self.camera, self.sweep, self.fusion = net(3), net(2), nn.ModuleDict({"s0": Exchange(8), "s1": Exchange(12)})
        self.state, self.join, self.wp, self.delta = nn.Linear(4, 12), nn.Linear(24, 12), nn.GRUCell(2, 12), nn.Linear(12, 2)

    def forward(self, image: Tensor, lidar: Tensor, state: Tensor) -> Tensor:
        for k, (c, s) in enumerate(zip(self.camera, self.sweep)):
            image, lidar = self.fusion[f"s{k}"](c(image), s(lidar))
        h = self.join(torch.cat([image.mean((2, 3)), lidar.mean((2, 3))], 1)) + self.state(state)
        at, way = torch.zeros(h.shape[0], 2), []
        for _ in range(3):
            h = self.wp(at, h)
            at = at + self.delta(h)
            way.append(at)
        return torch.stack(way, 1)


# ---------------------------------------------------------------- written here: two streams of film at two speeds, joined sideways
class Path(nn.Module):
    def __init__(self, i: int, c: int) -> None:
        super().__init__()
        self.stem = nn.ModuleDict({"conv": nn.Conv3d(i, c, (1, 3, 3), (1, 2, 2), (0, 1, 1), bias=False), "bn": nn.BatchNorm3d(c)})
        self.res = nn.ModuleDict({"a": nn.Conv3d(c, c, (3, 1, 1), padding=(1, 0, 0)), "a_bn": nn.BatchNorm3d(c), "b": nn.Conv3d(c, c, (1, 3, 3), padding=(0, 1, 1))})


class Speeds(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.slow, self.fast = Path(3, 8), Path(3, 4)
        self.s1_fuse, self.reduce = nn.Conv3d(4, 8, (5, 1, 1), (4, 1, 1), (2, 0, 0), bias=False), nn.Conv3d(16, 8, 1)
        self.head = nn.Linear(12, 6)

    @staticmethod
    def begin(p: Path, x: Tensor) -> Tensor:
        return F.relu(p.stem["bn"](p.stem["conv"](x)))

    @staticmethod
    def go_on(p: Path, x: Tensor) -> Tensor:
        return F.relu(x + p.res["b"](F.relu(p.res["a_bn"](p.res["a"](x)))))

    def forward(self, x: Tensor) -> Tensor:
        slow, fast = self.begin(self.slow, x[:, :, ::4]), self.begin(self.fast, x)
        slow = self.reduce(torch.cat([slow, self.s1_fuse(fast)], 1))
        slow, fast = self.go_on(self.slow, slow), self.go_on(self.fast, fast)
        return self.head(torch.cat([slow.mean((2, 3, 4)), fast.mean((2, 3, 4))], 1))


MODELS = {
    "points": (Points, [(2, 3, 10)]), "volume": (Volume, [(1, 1, 8, 8, 8)]), "films": (Films, [(2, 12, 16, 16)]),
    "clouds": (Clouds, [(2, 2, 1, 8, 8)]), "grid": (Grid, [(1, 4, 8, 8), (1, 3, 4, 8, 8)]), "lungs": (Lungs, [(1, 1, 16, 16)]),
    "driver": (Driver, [(2, 3, 16, 16), (2, 2, 16, 16), (2, 4)]), "speeds": (Speeds, [(1, 3, 8, 12, 12)]),
}
