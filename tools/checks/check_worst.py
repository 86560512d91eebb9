#!/usr/bin/env python3
"""Do the modules that `compare` names add most? Leaves them out of quantization, and three others by chance.

    check_worst.py ONNX_TAG [--work DIR] [--draws 5] [--network NAME]...

Trains five small networks on data of scikit-learn, quantizes them with ONNX Runtime (QDQ, 8 bits per tensor), and prints the
SQNR of the output: all quantized, without the three worst modules, and without three by chance. Needs torch, onnxruntime and
scikit-learn, and the companion (python/) on PYTHONPATH. Exit 1 if chance gains more on some network.
"""
import argparse
import contextlib
import io
import json
import os
import pathlib
import random
import statistics
import sys
import tempfile

import numpy as np
import onnxruntime
import torch
from onnxruntime.quantization import CalibrationDataReader, QuantFormat, QuantType, quantize_static
from sklearn.datasets import load_digits
from torch import nn
from torch.nn import functional as F

onnxruntime.set_default_logger_severity(4)


class Residual(nn.Module):
    def __init__(self, *layers: nn.Module) -> None:
        super().__init__()
        self.body = nn.Sequential(*layers)

    def forward(self, x):
        return x + self.body(x)


class Attention(nn.Module):
    def __init__(self, width: int, heads: int) -> None:
        super().__init__()
        self.query, self.key, self.value, self.out = (nn.Linear(width, width) for _ in range(4))
        self.heads = heads

    def forward(self, x):
        q, k, v = (part(x).unflatten(-1, (self.heads, -1)).transpose(1, 2) for part in (self.query, self.key, self.value))
        return self.out(((q @ k.transpose(-1, -2) / q.shape[-1] ** 0.5).softmax(-1) @ v).transpose(1, 2).flatten(2))


class Tokens(nn.Module):
    """The 16 patches of an image as vectors, with learned positions."""
    def __init__(self, width: int) -> None:
        super().__init__()
        self.patch = nn.Conv2d(1, width, 2, 2)
        self.position = nn.Parameter(0.1 * torch.randn(16, width))

    def forward(self, x):
        return self.patch(x).flatten(2).transpose(1, 2) + self.position


class Mean(nn.Module):
    def forward(self, x):
        return x.mean(1)


class Transposed(nn.Module):
    def __init__(self, *layers: nn.Module) -> None:
        super().__init__()
        self.body = nn.Sequential(*layers)

    def forward(self, x):
        return self.body(x.transpose(1, 2)).transpose(1, 2)


def mlp(width: int, hidden: int) -> "list[nn.Module]":
    return [nn.Linear(width, hidden), nn.GELU(), nn.Linear(hidden, width)]


def conv(before: int, after: int, stride: int = 1) -> "list[nn.Module]":
    return [nn.Conv2d(before, after, 3, stride, 1), nn.BatchNorm2d(after), nn.ReLU()]


NETWORKS = {
    "cnn": lambda: nn.Sequential(*conv(1, 16), *conv(16, 32, 2), *conv(32, 32), *conv(32, 64, 2), nn.Flatten(),
                                 nn.Linear(256, 64), nn.ReLU(), nn.Linear(64, 10)),
    "vit": lambda: nn.Sequential(Tokens(32), *(Residual(nn.LayerNorm(32), layer) for _ in range(4) for layer in
                                               (Attention(32, 4), nn.Sequential(*mlp(32, 64)))),
                                 nn.LayerNorm(32), Mean(), nn.Linear(32, 10)),
    "mixer": lambda: nn.Sequential(Tokens(32), *(Residual(nn.LayerNorm(32), layer) for _ in range(4) for layer in
                                                 (Transposed(*mlp(16, 32)), nn.Sequential(*mlp(32, 64)))),
                                   nn.LayerNorm(32), Mean(), nn.Linear(32, 10)),
    "resnet": lambda: nn.Sequential(*conv(1, 16), *(Residual(*conv(16, 16), nn.Conv2d(16, 16, 3, 1, 1), nn.BatchNorm2d(16))
                                                    for _ in range(5)), nn.ReLU(), nn.AvgPool2d(4), nn.Flatten(), nn.Linear(64, 10)),
    "autoencoder": lambda: nn.Sequential(*conv(1, 16, 2), *conv(16, 32, 2), nn.Flatten(), nn.Linear(128, 12), nn.Linear(12, 128),
                                         nn.ReLU(), nn.Unflatten(1, (32, 2, 2)), nn.ConvTranspose2d(32, 16, 2, 2), nn.ReLU(),
                                         *conv(16, 16), nn.ConvTranspose2d(16, 8, 2, 2), nn.ReLU(), nn.Conv2d(8, 1, 3, 1, 1)),
}


def trained(name: str, steps: int = 400) -> "tuple[nn.Module, torch.Tensor]":
    torch.manual_seed(0)
    digits = load_digits()
    x = torch.tensor(digits.data, dtype=torch.float32).view(-1, 1, 8, 8) / 16
    y, model = torch.tensor(digits.target), NETWORKS[name]()
    optimizer = torch.optim.AdamW(model.parameters(), 3e-3)
    for _ in range(steps):
        some = torch.randint(len(x), (128,))
        out = model(x[some])
        loss = F.mse_loss(out, x[some]) if name == "autoencoder" else F.cross_entropy(out, y[some])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    print(f"{name}: loss {loss.item():.4f}", file=sys.stderr)
    return model.eval(), x


class Reader(CalibrationDataReader):
    def __init__(self, x: np.ndarray) -> None:
        self.batches = iter([{"x": x[i:i + 64]} for i in range(0, 256, 64)])

    def get_next(self):
        return next(self.batches, None)


def output(path: pathlib.Path, x: np.ndarray) -> np.ndarray:
    return onnxruntime.InferenceSession(str(path), providers=["CPUExecutionProvider"]).run(None, {"x": x})[0]


class Trial:
    def __init__(self, name: str, work: pathlib.Path) -> None:
        self.float, self.int8, self.less = (work / f"{name}{end}.onnx" for end in ("", ".int8", ".less"))
        model, x = trained(name)
        self.calibration, self.x = x[:256].numpy(), x[256:512].numpy()
        torch.onnx.export(model, (x[:64],), str(self.float), input_names=["x"], dynamo=True, external_data=False, verbose=False,
                          dynamic_shapes=({0: torch.export.Dim("batch")},))
        self.want = output(self.float, self.x)
        self.quantize(self.int8, [])

    def quantize(self, path: pathlib.Path, exclude: "list[str]") -> None:
        quantize_static(str(self.float), str(path), Reader(self.calibration), quant_format=QuantFormat.QDQ,
                        activation_type=QuantType.QUInt8, weight_type=QuantType.QInt8, nodes_to_exclude=exclude)

    def sqnr(self, path: pathlib.Path) -> float:
        noise = output(path, self.x) - self.want
        return 10 * np.log10((self.want ** 2).sum() / (noise ** 2).sum())

    def without(self, found, a, b, rows) -> float:
        """The SQNR if the nodes stay in float32 that `compare --select` prints for these modules."""
        from onnx_tag import compare
        found.worst, said = rows, io.StringIO()
        with contextlib.redirect_stdout(said), contextlib.redirect_stderr(io.StringIO()):
            compare._select(found, a, b, "ort-quant", [])
        self.quantize(self.less, json.loads(said.getvalue())["nodes_to_exclude"])
        return self.sqnr(self.less)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("onnx_tag")
    parser.add_argument("--work", type=pathlib.Path)
    parser.add_argument("--draws", type=int, default=5)
    parser.add_argument("--network", choices=NETWORKS, action="append")
    args = parser.parse_args()
    os.environ["ONNX_TAG_PROGRAM"] = args.onnx_tag
    from onnx_tag import compare
    torch.set_num_threads(1)
    bad = 0
    with tempfile.TemporaryDirectory() as folder:
        print("network\tmodules\tall quantized\tworst 3 left out\tmean of 3 by chance\tbest of chance\tnamed")
        for name in args.network or NETWORKS:
            trial = Trial(name, args.work or pathlib.Path(folder))
            a, b = compare.OnnxSide(str(trial.float)), compare.OnnxSide(str(trial.int8))
            found = compare.compare(a, b, {"x": trial.x}, most=3, select=True)
            worst = list(found.worst)
            others = [row for row in found.rows if row.module and not any(o.module.startswith(row.module + ".") for o in found.rows)
                      and row not in worst]
            draws = random.Random(0)
            chance = [trial.without(found, a, b, draws.sample(others, 3)) for _ in range(args.draws)]
            less = trial.without(found, a, b, worst)
            print(f"{name}\t{len(others) + len(worst)}\t{trial.sqnr(trial.int8):.1f}\t{less:.1f}\t{statistics.mean(chance):.1f}\t{max(chance):.1f}"
                  f"\t{', '.join(row.module for row in worst)}", flush=True)
            bad += less <= statistics.mean(chance)
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
