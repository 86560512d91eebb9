"""Networks for text and series without transformers, as projects write them by hand; for the recipe book."""
from __future__ import annotations

from typing import Tuple

import torch
from torch import Tensor, nn
from torch.nn import functional


class Recurrent(nn.Module):
    """Embedding, LSTM, GRU or RNN, a head."""

    def __init__(self, kind: type, name: str, both: bool, last: bool) -> None:
        super().__init__()
        self.embedding = nn.Embedding(64, 24)
        setattr(self, name, kind(24, 32, num_layers=2, batch_first=True, bidirectional=both))
        self.fc = nn.Linear(64 if both else 32, 3)
        self.name, self.last = name, last

    def forward(self, x: Tensor) -> Tensor:
        out, _ = getattr(self, self.name)(self.embedding(x))
        return self.fc(out[:, -1] if self.last else out)


class TextCnn(nn.Module):
    """Convolutions of several widths over words."""

    def __init__(self) -> None:
        super().__init__()
        self.embedding = nn.Embedding(64, 24)
        self.convs = nn.ModuleList([nn.Conv1d(24, 8, k) for k in (2, 3, 4)])
        self.dropout = nn.Dropout(0.5)
        self.fc = nn.Linear(24, 3)

    def forward(self, x: Tensor) -> Tensor:
        x = self.embedding(x).permute(0, 2, 1)
        parts = [functional.relu(conv(x)) for conv in self.convs]
        parts = [functional.max_pool1d(p, p.shape[2]).squeeze(2) for p in parts]
        return self.fc(self.dropout(torch.cat(parts, dim=1)))


class BagOfWords(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.embedding = nn.Embedding(64, 24)
        self.fc1, self.fc2 = nn.Linear(24, 16), nn.Linear(16, 3)
        self.dropout = nn.Dropout(0.3)

    def forward(self, text: Tensor) -> Tensor:
        x = self.embedding(text).mean(dim=1)
        return self.fc2(self.dropout(torch.relu(self.fc1(x))))


class Attention(nn.Module):
    """Additive attention over the outputs of a recurrent net."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.attn = nn.Linear(width, width)
        self.v = nn.Linear(width, 1, bias=False)

    def forward(self, x: Tensor) -> Tensor:
        weights = functional.softmax(self.v(torch.tanh(self.attn(x))), dim=1)
        return (weights * x).sum(dim=1)


class AttentiveLstm(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.embedding = nn.Embedding(64, 24)
        self.lstm = nn.LSTM(24, 16, num_layers=2, batch_first=True, bidirectional=True, dropout=0.2)
        self.attention = Attention(32)
        self.dropout = nn.Dropout(0.2)
        self.fc = nn.Linear(32, 3)

    def forward(self, x: Tensor) -> Tensor:
        out, _ = self.lstm(self.embedding(x))
        return self.fc(self.dropout(self.attention(out)))


class Tagger(nn.Module):
    """A label for every word."""

    def __init__(self) -> None:
        super().__init__()
        self.word_embeddings = nn.Embedding(64, 24)
        self.lstm = nn.LSTM(24, 16, batch_first=True, bidirectional=True)
        self.hidden2tag = nn.Linear(32, 5)

    def forward(self, sentence: Tensor) -> Tensor:
        out, _ = self.lstm(self.word_embeddings(sentence))
        return functional.log_softmax(self.hidden2tag(out), dim=-1)


class LanguageModel(nn.Module):
    """encoder, rnn, decoder, as word models are called."""

    def __init__(self) -> None:
        super().__init__()
        self.drop = nn.Dropout(0.2)
        self.encoder = nn.Embedding(64, 24)
        self.rnn = nn.LSTM(24, 24, 2, dropout=0.2)
        self.decoder = nn.Linear(24, 64)

    def forward(self, input: Tensor) -> Tensor:
        out, _ = self.rnn(self.drop(self.encoder(input)))
        return functional.log_softmax(self.decoder(self.drop(out)).view(-1, 64), dim=1)


class Forecaster(nn.Module):
    """The next value of a series."""

    def __init__(self, kind: type, name: str) -> None:
        super().__init__()
        setattr(self, name, kind(4, 24, num_layers=2, batch_first=True))
        self.linear = nn.Linear(24, 1)
        self.name = name

    def forward(self, x: Tensor) -> Tensor:
        out, _ = getattr(self, self.name)(x)
        return self.linear(out[:, -1, :])


class StatefulLstm(nn.Module):
    """Starts from zeros that the forward makes itself, as tutorials do."""

    def __init__(self) -> None:
        super().__init__()
        self.hidden_size, self.num_layers = 24, 2
        self.lstm = nn.LSTM(4, 24, 2, batch_first=True)
        self.fc1 = nn.Linear(24, 16)
        self.fc = nn.Linear(16, 1)
        self.relu = nn.ReLU()

    def forward(self, x: Tensor) -> Tensor:
        h0 = torch.zeros(self.num_layers, x.size(0), self.hidden_size)
        c0 = torch.zeros(self.num_layers, x.size(0), self.hidden_size)
        _, (hidden, _) = self.lstm(x, (h0, c0))
        return self.fc(self.relu(self.fc1(self.relu(hidden[-1]))))


class RecurrentAutoencoder(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.encoder = nn.LSTM(4, 16, batch_first=True)
        self.decoder = nn.LSTM(16, 16, batch_first=True)
        self.output_layer = nn.Linear(16, 4)

    def forward(self, x: Tensor) -> Tensor:
        _, (hidden, _) = self.encoder(x)
        repeated = hidden[-1].unsqueeze(1).repeat(1, x.shape[1], 1)
        out, _ = self.decoder(repeated)
        return self.output_layer(out)


class RecurrentEncoder(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.embedding = nn.Embedding(64, 24)
        self.rnn = nn.GRU(24, 32, batch_first=True)
        self.dropout = nn.Dropout(0.1)

    def forward(self, src: Tensor) -> Tuple[Tensor, Tensor]:
        return self.rnn(self.dropout(self.embedding(src)))


class RecurrentDecoder(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.embedding = nn.Embedding(64, 24)
        self.rnn = nn.GRU(24, 32, batch_first=True)
        self.fc_out = nn.Linear(32, 64)

    def forward(self, trg: Tensor, hidden: Tensor) -> Tensor:
        out, _ = self.rnn(self.embedding(trg), hidden)
        return self.fc_out(out)


class Seq2Seq(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.encoder = RecurrentEncoder()
        self.decoder = RecurrentDecoder()

    def forward(self, src: Tensor, trg: Tensor) -> Tensor:
        _, hidden = self.encoder(src)
        return self.decoder(trg, hidden)


class SiameseLstm(nn.Module):
    """One encoder for two sentences."""

    def __init__(self) -> None:
        super().__init__()
        self.embedding = nn.Embedding(64, 24)
        self.lstm = nn.LSTM(24, 16, batch_first=True)
        self.fc = nn.Linear(64, 2)

    def encode(self, x: Tensor) -> Tensor:
        out, _ = self.lstm(self.embedding(x))
        return out[:, -1]

    def forward(self, left: Tensor, right: Tensor) -> Tensor:
        a, b = self.encode(left), self.encode(right)
        return self.fc(torch.cat([a, b, (a - b).abs(), a * b], dim=1))
