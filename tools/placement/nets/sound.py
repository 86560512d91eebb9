"""Speech and sound: vocoder, synthesis, separation, recognition, wake words, denoising."""
from typing import List

import torch
import torch.nn.functional as F
from torch import Tensor, nn
from torch.nn.utils.parametrizations import weight_norm


# ---------------------------------------------------------------- a vocoder with resblocks in one flat list
class ResBlock(nn.Module):
    def __init__(self, channels: int, kernel: int) -> None:
        super().__init__()
        self.convs1 = nn.ModuleList([nn.Conv1d(channels, channels, kernel, padding=d * (kernel - 1) // 2, dilation=d) for d in (1, 3)])
        self.convs2 = nn.ModuleList([nn.Conv1d(channels, channels, kernel, padding=(kernel - 1) // 2) for _ in (1, 3)])

    def forward(self, x: Tensor) -> Tensor:
        for first, second in zip(self.convs1, self.convs2):
            y = second(F.leaky_relu(first(F.leaky_relu(x, 0.1)), 0.1))
            x = y + x
        return x


class Vocoder(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.kernels = (3, 5)
        self.conv_pre = nn.Conv1d(10, 16, 7, padding=3)
        self.ups = nn.ModuleList([nn.ConvTranspose1d(16 // 2**i, 8 // 2**i, 4, 2, 1) for i in range(2)])
        self.resblocks = nn.ModuleList([ResBlock(8 // 2**i, k) for i in range(2) for k in self.kernels])
        self.conv_post = nn.Conv1d(4, 1, 7, padding=3)

    def forward(self, mel: Tensor) -> Tensor:
        x = self.conv_pre(mel)
        for i, up in enumerate(self.ups):
            x = up(F.leaky_relu(x, 0.1))
            many = len(self.kernels)
            total = None
            for block in self.resblocks[i * many:(i + 1) * many]:
                total = block(x) if total is None else total + block(x)
            x = total / many
        return torch.tanh(self.conv_post(F.leaky_relu(x)))


# ---------------------------------------------------------------- synthesis: wrappers around one layer each, a decoder by hand
class LinearNorm(nn.Module):
    def __init__(self, i: int, o: int, bias: bool = True) -> None:
        super().__init__()
        self.linear_layer = nn.Linear(i, o, bias=bias)

    def forward(self, x: Tensor) -> Tensor:
        return self.linear_layer(x)


class ConvNorm(nn.Module):
    def __init__(self, i: int, o: int, kernel: int = 1, bias: bool = True) -> None:
        super().__init__()
        self.conv = nn.Conv1d(i, o, kernel, padding=kernel // 2, bias=bias)

    def forward(self, x: Tensor) -> Tensor:
        return self.conv(x)


class LocationLayer(nn.Module):
    def __init__(self, filters: int, d: int) -> None:
        super().__init__()
        self.location_conv = ConvNorm(2, filters, 5, bias=False)
        self.location_dense = LinearNorm(filters, d, bias=False)

    def forward(self, weights: Tensor) -> Tensor:
        return self.location_dense(self.location_conv(weights).transpose(1, 2))


class LocationAttention(nn.Module):
    def __init__(self, d: int) -> None:
        super().__init__()
        self.query_layer, self.memory_layer, self.v = LinearNorm(16, d, False), LinearNorm(12, d, False), LinearNorm(d, 1, False)
        self.location_layer = LocationLayer(4, d)

    def forward(self, query: Tensor, memory: Tensor, processed: Tensor, weights: Tensor) -> "tuple[Tensor, Tensor]":
        energies = self.v(torch.tanh(self.query_layer(query.unsqueeze(1)) + self.location_layer(weights) + processed)).squeeze(-1)
        alignment = F.softmax(energies, dim=1)
        return torch.bmm(alignment.unsqueeze(1), memory).squeeze(1), alignment


class Prenet(nn.Module):
    def __init__(self, sizes: List[int]) -> None:
        super().__init__()
        self.layers = nn.ModuleList([LinearNorm(a, b, bias=False) for a, b in zip(sizes, sizes[1:])])

    def forward(self, x: Tensor) -> Tensor:
        for linear in self.layers:
            x = F.relu(linear(x))
        return x


class Speaker(nn.Module):
    """Encoder with convolutions and a recurrence, attention by location, three steps of a decoder, a postnet."""

    def __init__(self) -> None:
        super().__init__()
        self.embedding = nn.Embedding(30, 12)
        self.convolutions = nn.ModuleList([nn.Sequential(ConvNorm(12, 12, 5), nn.BatchNorm1d(12)) for _ in range(3)])
        self.lstm = nn.LSTM(12, 6, 1, batch_first=True, bidirectional=True)
        self.prenet = Prenet([5, 8, 8])
        self.attention_rnn, self.decoder_rnn = nn.LSTMCell(20, 16), nn.LSTMCell(28, 16)
        self.attention_layer = LocationAttention(10)
        self.linear_projection, self.gate_layer = LinearNorm(28, 5), LinearNorm(28, 1)
        self.postnet = nn.ModuleList([nn.Sequential(ConvNorm(5, 6, 5), nn.BatchNorm1d(6)), nn.Sequential(ConvNorm(6, 5, 5), nn.BatchNorm1d(5))])

    def forward(self, text: Tensor) -> Tensor:
        x = self.embedding(text).transpose(1, 2)
        for conv in self.convolutions:
            x = F.relu(conv(x))
        memory, _ = self.lstm(x.transpose(1, 2))
        processed = self.attention_layer.memory_layer(memory)
        b = text.shape[0]
        frame, h1, c1, h2, c2 = (torch.zeros(b, n) for n in (5, 16, 16, 16, 16))
        context = torch.zeros(b, 12)
        weights, total, frames = torch.zeros(b, 8), torch.zeros(b, 8), []
        for _ in range(3):
            h1, c1 = self.attention_rnn(torch.cat((self.prenet(frame), context), -1), (h1, c1))
            context, weights = self.attention_layer(h1, memory, processed, torch.stack((weights, total), 1))
            total = total + weights
            h2, c2 = self.decoder_rnn(torch.cat((h1, context), -1), (h2, c2))
            frame = self.linear_projection(torch.cat((h2, context), 1))
            frames.append(frame * torch.sigmoid(self.gate_layer(torch.cat((h2, context), 1))))
        mel = torch.stack(frames, 2)
        y = torch.tanh(self.postnet[0](mel))
        return mel + self.postnet[1](y)


# ---------------------------------------------------------------- separation: encoder and decoder as lists of sequences
class Bottleneck(nn.Module):
    def __init__(self, d: int) -> None:
        super().__init__()
        self.lstm = nn.LSTM(d, d, 1, bidirectional=True)
        self.linear = nn.Linear(2 * d, d)

    def forward(self, x: Tensor) -> Tensor:
        y = self.lstm(x.permute(2, 0, 1))[0]
        return self.linear(y).permute(1, 2, 0)


class Separator(nn.Module):
    def __init__(self, sources: int = 3) -> None:
        super().__init__()
        self.encoder, self.decoder, c, channels = nn.ModuleList(), nn.ModuleList(), 2, 6
        for k in range(2):
            self.encoder.append(nn.Sequential(nn.Conv1d(c, channels, 4, 2), nn.ReLU(), nn.Conv1d(channels, 2 * channels, 1), nn.GLU(1)))
            last = [] if k == 0 else [nn.ReLU()]
            out = sources * 2 if k == 0 else c
            self.decoder.insert(0, nn.Sequential(nn.Conv1d(channels, 2 * channels, 3, padding=1), nn.GLU(1), nn.ConvTranspose1d(channels, out, 4, 2), *last))
            c, channels = channels, 2 * channels
        self.lstm = Bottleneck(c)

    def forward(self, mix: Tensor) -> Tensor:
        mean, std = mix.mean((1, 2), keepdim=True), mix.std((1, 2), keepdim=True)
        x, saved = (mix - mean) / (1e-5 + std), []
        for encode in self.encoder:
            x = encode(x)
            saved.append(x)
        x = self.lstm(x)
        for decode in self.decoder:
            skip = saved.pop(-1)
            x = decode(x + skip[..., :x.shape[-1]])
        x = x * std + mean
        return x.view(x.shape[0], 3, 2, x.shape[-1])


# ---------------------------------------------------------------- recognition by hand: half-steps, a module in a module, shared norm
class HalfStep(nn.Module):
    def __init__(self, d: int) -> None:
        super().__init__()
        self.sequential = nn.Sequential(nn.LayerNorm(d), nn.Linear(d, 2 * d), nn.SiLU(), nn.Dropout(0.1), nn.Linear(2 * d, d))

    def forward(self, x: Tensor) -> Tensor:
        return 0.5 * self.sequential(x)


class ConvModule(nn.Module):
    def __init__(self, d: int) -> None:
        super().__init__()
        self.ln = nn.LayerNorm(d)
        self.pointwise_in, self.depth, self.pointwise_out = nn.Conv1d(d, 2 * d, 1), nn.Conv1d(d, d, 3, padding=1, groups=d), nn.Conv1d(d, d, 1)
        self.bn = nn.BatchNorm1d(d)

    def forward(self, x: Tensor) -> Tensor:
        x = F.glu(self.pointwise_in(self.ln(x).transpose(1, 2)), 1)
        return self.pointwise_out(F.silu(self.bn(self.depth(x)))).transpose(1, 2)


class SpeechBlock(nn.Module):
    def __init__(self, d: int) -> None:
        super().__init__()
        self.ff_a, self.ff_b, self.cv = HalfStep(d), HalfStep(d), ConvModule(d)
        self.mh, self.mh_norm, self.out_norm = nn.MultiheadAttention(d, 2, batch_first=True), nn.LayerNorm(d), nn.LayerNorm(d)

    def forward(self, x: Tensor) -> Tensor:
        x = x + self.ff_a(x)
        y = self.mh_norm(x)
        x = x + self.mh(y, y, y, need_weights=False)[0]
        return self.out_norm(x + self.cv(x) + self.ff_b(x))


class Listener(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.subsample = nn.Sequential(nn.Conv2d(1, 6, 3, 2, 1), nn.ReLU(), nn.Conv2d(6, 6, 3, 2, 1), nn.ReLU())
        self.flat = nn.Linear(6 * 4, 16)
        self.tower = nn.ModuleDict({"low": nn.ModuleList([SpeechBlock(16) for _ in range(2)]), "high": nn.ModuleList([SpeechBlock(16)])})
        self.ctc = nn.Linear(16, 11)

    def forward(self, fbank: Tensor) -> Tensor:
        x = self.subsample(fbank.unsqueeze(1))
        x = self.flat(x.transpose(1, 2).flatten(2))
        for part in self.tower.values():
            for block in part:
                x = block(x)
        return F.log_softmax(self.ctc(x), -1)


# ---------------------------------------------------------------- wake word: a function builds the layers, state is a list
def unit(i: int, o: int, dilation: int) -> nn.ModuleDict:
    return nn.ModuleDict({"dw": nn.Conv1d(i, i, 3, padding=dilation, dilation=dilation, groups=i, bias=False), "pw": nn.Conv1d(i, o, 1, bias=False),
                          "bn": nn.BatchNorm1d(o), "skip": nn.Conv1d(i, o, 1) if i != o else nn.Identity()})


class WakeWord(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.pcen_alpha, self.pcen_root = nn.Parameter(torch.tensor(0.9)), nn.Parameter(torch.rand(8) + 1)
        self.s1, self.s2, self.s3 = unit(8, 12, 1), unit(12, 12, 2), unit(12, 16, 4)
        self.pool_score = nn.Linear(16, 1, bias=False)
        self.classes = nn.Linear(16, 3)

    @staticmethod
    def apply_unit(u: nn.ModuleDict, x: Tensor) -> Tensor:
        return F.hardtanh(u["bn"](u["pw"](u["dw"](x))) + u["skip"](x), 0, 6)

    def forward(self, x: Tensor) -> Tensor:
        x = torch.abs(x)
        x = (x / (1e-3 + x.mean(-1, keepdim=True)) ** self.pcen_alpha + 2) ** (1 / self.pcen_root[:, None]) - 1
        for u in (self.s1, self.s2, self.s3):
            x = self.apply_unit(u, x)
        x = x.transpose(1, 2)
        w = torch.softmax(self.pool_score(torch.tanh(x)), 1)
        return self.classes((w * x).sum(1))


# ---------------------------------------------------------------- denoising: weight norm, gates, one GRU between two stacks
class Down(nn.Module):
    def __init__(self, i: int, o: int) -> None:
        super().__init__()
        self.main, self.gate = weight_norm(nn.Conv2d(i, o, 3, (1, 2), 1)), weight_norm(nn.Conv2d(i, o, 3, (1, 2), 1))
        self.slope = nn.PReLU(o)

    def forward(self, x: Tensor) -> Tensor:
        return self.slope(self.main(x)) * torch.sigmoid(self.gate(x))


class Denoiser(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.d0, self.d1 = Down(2, 4), Down(4, 6)
        self.memory = nn.GRU(6 * 4, 24, batch_first=True)
        self.memory_norm = nn.LayerNorm(24)
        self.u1, self.u0 = nn.ConvTranspose2d(12, 4, (3, 4), (1, 2), 1), nn.ConvTranspose2d(8, 2, (3, 4), (1, 2), 1)
        self.u1_act = nn.PReLU()

    def forward(self, spec: Tensor) -> Tensor:
        a = self.d0(spec)
        b = self.d1(a)
        m, _ = self.memory(b.transpose(1, 2).flatten(2))
        m = self.memory_norm(m).unflatten(2, (6, 4)).transpose(1, 2)
        x = self.u1_act(self.u1(torch.cat([m, b], 1)))
        mask = torch.tanh(self.u0(torch.cat([x, a], 1)))
        real, imag, mr, mi = spec[:, :1], spec[:, 1:], mask[:, :1], mask[:, 1:]
        return torch.cat([real * mr - imag * mi, real * mi + imag * mr], 1)


MODELS = {
    "hifi": (Vocoder, [(2, 10, 8)]), "taco": (Speaker, [("ids", 30, 2, 8)]), "demux": (Separator, [(2, 2, 30)]),
    "listener": (Listener, [(2, 16, 16)]), "wakeword": (WakeWord, [(2, 8, 12)]), "denoiser": (Denoiser, [(2, 2, 6, 16)]),
}
