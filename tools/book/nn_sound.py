"""Networks for sound and series of numbers as projects write them by hand; for the recipe book."""
from __future__ import annotations

from typing import List

import torch
from torch import Tensor, nn
from torch.nn import functional


class RawAudio(nn.Module):
    """Convolutions over a wave form, each with its norm and pool."""

    def __init__(self) -> None:
        super().__init__()
        self.conv1, self.bn1, self.pool1 = nn.Conv1d(1, 8, 80, 16), nn.BatchNorm1d(8), nn.MaxPool1d(4)
        self.conv2, self.bn2, self.pool2 = nn.Conv1d(8, 8, 3), nn.BatchNorm1d(8), nn.MaxPool1d(4)
        self.conv3, self.bn3, self.pool3 = nn.Conv1d(8, 16, 3), nn.BatchNorm1d(16), nn.MaxPool1d(4)
        self.fc1 = nn.Linear(16, 10)

    def forward(self, x: Tensor) -> Tensor:
        x = self.pool1(functional.relu(self.bn1(self.conv1(x))))
        x = self.pool2(functional.relu(self.bn2(self.conv2(x))))
        x = self.pool3(functional.relu(self.bn3(self.conv3(x))))
        x = functional.avg_pool1d(x, x.shape[-1]).permute(0, 2, 1)
        return functional.log_softmax(self.fc1(x), dim=2)


class TemporalBlock(nn.Module):
    def __init__(self, wide: int, out: int, dilation: int) -> None:
        super().__init__()
        self.conv1 = nn.Conv1d(wide, out, 3, padding=2 * dilation, dilation=dilation)
        self.conv2 = nn.Conv1d(out, out, 3, padding=2 * dilation, dilation=dilation)
        self.relu1, self.relu2, self.relu = nn.ReLU(), nn.ReLU(), nn.ReLU()
        self.dropout1, self.dropout2 = nn.Dropout(0.2), nn.Dropout(0.2)
        self.downsample = nn.Conv1d(wide, out, 1) if wide != out else None
        self.cut = 2 * dilation

    def forward(self, x: Tensor) -> Tensor:
        out = self.dropout1(self.relu1(self.conv1(x)[:, :, :-self.cut]))
        out = self.dropout2(self.relu2(self.conv2(out)[:, :, :-self.cut]))
        return self.relu(out + (x if self.downsample is None else self.downsample(x)))


class TemporalNet(nn.Module):
    """Dilated causal convolutions in residual blocks."""

    def __init__(self) -> None:
        super().__init__()
        self.network = nn.Sequential(TemporalBlock(4, 16, 1), TemporalBlock(16, 16, 2), TemporalBlock(16, 24, 4))
        self.linear = nn.Linear(24, 3)

    def forward(self, x: Tensor) -> Tensor:
        return self.linear(self.network(x)[:, :, -1])


class WaveNet(nn.Module):
    """Gated dilated convolutions with skips, all in lists."""

    def __init__(self) -> None:
        super().__init__()
        self.start_conv = nn.Conv1d(8, 16, 1)
        dilations = (1, 2, 4)
        self.filter_convs = nn.ModuleList([nn.Conv1d(16, 16, 2, dilation=d, padding=d) for d in dilations])
        self.gate_convs = nn.ModuleList([nn.Conv1d(16, 16, 2, dilation=d, padding=d) for d in dilations])
        self.residual_convs = nn.ModuleList([nn.Conv1d(16, 16, 1) for _ in dilations])
        self.skip_convs = nn.ModuleList([nn.Conv1d(16, 24, 1) for _ in dilations])
        self.end_conv_1, self.end_conv_2 = nn.Conv1d(24, 24, 1), nn.Conv1d(24, 8, 1)

    def forward(self, x: Tensor) -> Tensor:
        x = self.start_conv(x)
        skip = None
        lists = zip(self.filter_convs, self.gate_convs, self.residual_convs, self.skip_convs)
        for wave, gate, residual, over in lists:
            length = x.shape[2]
            y = torch.tanh(wave(x)[:, :, :length]) * torch.sigmoid(gate(x)[:, :, :length])
            skip = over(y) if skip is None else skip + over(y)
            x = x + residual(y)
        return self.end_conv_2(functional.relu(self.end_conv_1(functional.relu(skip))))


class Separable1d(nn.Module):
    def __init__(self, width: int, dilation: int) -> None:
        super().__init__()
        self.conv1x1 = nn.Conv1d(width, 2 * width, 1)
        self.prelu1, self.norm1 = nn.PReLU(), nn.GroupNorm(1, 2 * width)
        self.depthwise = nn.Conv1d(2 * width, 2 * width, 3, padding=dilation, dilation=dilation, groups=2 * width)
        self.prelu2, self.norm2 = nn.PReLU(), nn.GroupNorm(1, 2 * width)
        self.pointwise = nn.Conv1d(2 * width, width, 1)

    def forward(self, x: Tensor) -> Tensor:
        y = self.norm1(self.prelu1(self.conv1x1(x)))
        return x + self.pointwise(self.norm2(self.prelu2(self.depthwise(y))))


class SourceSeparator(nn.Module):
    """A learned filter bank, masks by separable convolutions, the bank's inverse."""

    def __init__(self) -> None:
        super().__init__()
        self.encoder = nn.Conv1d(1, 16, 16, 8, bias=False)
        self.layer_norm = nn.GroupNorm(1, 16)
        self.bottleneck = nn.Conv1d(16, 12, 1)
        self.separator = nn.Sequential(*[Separable1d(12, d) for d in (1, 2, 4)])
        self.mask_conv = nn.Conv1d(12, 32, 1)
        self.decoder = nn.ConvTranspose1d(16, 1, 16, 8, bias=False)

    def forward(self, mixture: Tensor) -> List[Tensor]:
        wave = functional.relu(self.encoder(mixture))
        masks = torch.relu(self.mask_conv(self.separator(self.bottleneck(self.layer_norm(wave)))))
        return [self.decoder(wave * mask) for mask in masks.chunk(2, dim=1)]


class SpeechEncoder(nn.Module):
    """Characters to features: embedding, convolutions with norms, a bidirectional LSTM."""

    def __init__(self) -> None:
        super().__init__()
        self.embedding = nn.Embedding(64, 24)
        self.convolutions = nn.ModuleList([
            nn.Sequential(nn.Conv1d(24, 24, 5, padding=2), nn.BatchNorm1d(24)) for _ in range(3)])
        self.lstm = nn.LSTM(24, 12, 1, batch_first=True, bidirectional=True)

    def forward(self, text: Tensor) -> Tensor:
        x = self.embedding(text).transpose(1, 2)
        for conv in self.convolutions:
            x = functional.relu(conv(x))
        out, _ = self.lstm(x.transpose(1, 2))
        return out


class SpeechRecognizer(nn.Module):
    """Convolutions over a spectrogram, recurrent layers in a Sequential's place, a classifier of letters."""

    def __init__(self) -> None:
        super().__init__()
        self.conv = nn.Sequential(nn.Conv2d(1, 8, (11, 5), (2, 2), (5, 2)), nn.BatchNorm2d(8), nn.Hardtanh(0, 20),
                                  nn.Conv2d(8, 8, (11, 5), (1, 2), (5, 2)), nn.BatchNorm2d(8), nn.Hardtanh(0, 20))
        self.rnns = nn.ModuleList([nn.GRU(8 * 8, 16, batch_first=True, bidirectional=True),
                                   nn.GRU(32, 16, batch_first=True, bidirectional=True)])
        self.norms = nn.ModuleList([nn.LayerNorm(32), nn.LayerNorm(32)])
        self.fc = nn.Linear(32, 29)

    def forward(self, x: Tensor) -> Tensor:
        x = self.conv(x)
        b, c, t, f = x.shape
        x = x.permute(0, 2, 1, 3).reshape(b, t, c * f)
        for rnn, norm in zip(self.rnns, self.norms):
            x = norm(rnn(x)[0])
        return functional.log_softmax(self.fc(x), dim=-1)


class MaskEstimator(nn.Module):
    """Speech enhancement: a mask over a spectrum by recurrent layers."""

    def __init__(self) -> None:
        super().__init__()
        self.fc1, self.gru = nn.Linear(33, 32), nn.GRU(32, 32, 2, batch_first=True)
        self.fc2, self.fc3 = nn.Linear(32, 48), nn.Linear(48, 33)

    def forward(self, spectrum: Tensor) -> Tensor:
        x, _ = self.gru(functional.relu(self.fc1(spectrum)))
        return spectrum * torch.sigmoid(self.fc3(functional.relu(self.fc2(x))))


class SpectrumCnn(nn.Module):
    """Keyword spotting: blocks called conv1, conv2, then linear."""

    def __init__(self) -> None:
        super().__init__()
        for i, (wide, out) in enumerate(((1, 8), (8, 16), (16, 24))):
            setattr(self, f"conv{i + 1}", nn.Sequential(nn.Conv2d(wide, out, 3, 1, 1), nn.ReLU(), nn.MaxPool2d(2)))
        self.flatten = nn.Flatten()
        self.linear = nn.Linear(24 * 4 * 4, 10)
        self.softmax = nn.Softmax(dim=1)

    def forward(self, x: Tensor) -> Tensor:
        return self.softmax(self.linear(self.flatten(self.conv3(self.conv2(self.conv1(x))))))
